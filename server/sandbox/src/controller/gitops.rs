//! Somebody outside the cluster who makes an object again whenever it is gone, as a GitOps agent or an operator does.
//! What it insists on is in [`super::breakage::Breakage::recreated`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::client::Client;
use super::queue::Queue;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::object::unset;
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// How long it takes to notice.
const RECONCILIATION: Duration = Duration::from_secs(1);

pub(super) struct GitOps {
    gone: BTreeMap<Key, Arc<Value>>,
}

impl Reconcile for GitOps {
    type Work = Key;
    const NAME: &'static str = "gitops-agent";
    const USER: &'static str = "gitops-agent";
    const LAST_RETRY: Duration = Duration::from_secs(10);

    fn new(_: &Timing) -> Self {
        Self { gone: BTreeMap::new() }
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if event.change == Change::Deleted {
            self.gone.insert(event.key.clone(), event.object.clone());
            queue.add_after(event.key.clone(), RECONCILIATION);
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        if let Some(last) = self.gone.get(key)
            && client.breakage.recreated.contains(key)
            && client.get(key).is_none()
        {
            let mut object = Value::clone(last);
            for path in [
                &["metadata", "uid"][..],
                &["metadata", "resourceVersion"],
                &["metadata", "creationTimestamp"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "deletionGracePeriodSeconds"],
                &["metadata", "generation"],
                &["metadata", "managedFields"],
                &["metadata", "finalizers"],
                &["metadata", "ownerReferences"],
                &["status"],
            ] {
                unset(&mut object, path);
            }
            client.recreate(key, object)?;
        }
        self.gone.remove(key);
        Ok(Next::Rest)
    }
}
