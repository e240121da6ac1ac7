//! A program outside the cluster that creates an object again whenever it is gone, as a GitOps agent or an operator
//! does. [`super::node_faults::NodeFaults::recreated`] has these objects.

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

/// The time until it notices that an object is gone.
const RECONCILIATION: Duration = Duration::from_secs(1);

pub(super) struct GitOps {
    gone: BTreeMap<Key, Arc<Value>>,
}

/// A work item of the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// All its objects, when it starts: it has not observed what was deleted before.
    All,
    /// One object that was deleted.
    One(Key),
}

impl Reconcile for GitOps {
    type Work = Work;
    const NAME: &'static str = "gitops-agent";
    const USER: &'static str = "gitops-agent";
    const LAST_RETRY: Duration = Duration::from_secs(10);

    fn new(_: &Timing) -> Self {
        Self { gone: BTreeMap::new() }
    }

    fn begin(&mut self, queue: &mut Queue<Work>) {
        queue.add(Work::All);
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Work>) {
        if event.change == Change::Deleted {
            self.gone.insert(event.key.clone(), event.object.clone());
            queue.add_after(Work::One(event.key.clone()), RECONCILIATION);
        }
    }

    fn reconcile(
        &mut self,
        work: &Work,
        client: &mut Client<'_>,
        _: &mut Queue<Work>,
    ) -> Result<Next, Status> {
        match work {
            Work::All => {
                for (key, once) in client.node_faults.recreated.clone() {
                    if let Some(once) = once {
                        make_again(&key, &once, client)?;
                    }
                }
            }
            Work::One(key) => {
                if let Some(last) = self.gone.get(key)
                    && client.node_faults.recreated.contains_key(key)
                {
                    make_again(key, last, client)?;
                }
                self.gone.remove(key);
            }
        }
        Ok(Next::Rest)
    }
}

/// Creates an object again if it is gone, without the fields that the cluster wrote.
pub(super) fn make_again(key: &Key, last: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    if client.get(key).is_some() {
        return Ok(());
    }
    let mut object = last.clone();
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
    client.recreate(key, object)
}
