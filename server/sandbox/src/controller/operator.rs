//! Operators: a ready Pod with the annotation [`FINALIZES`] removes that finalizer from every object that is being
//! deleted, like the controller that would run in it. Without such a Pod the finalizer stays, as after an operator was
//! uninstalled too early. With the annotation [`LEADS`] such a Pod also renews that lease in its namespace, as a controller that
//! leads does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::client::Client;
use super::leader_election::renew;
use super::pods;
use super::queue::Queue;
use super::read::{annotation, finalizers, has_finalizer, is_deleting, remove_finalizer};
use super::resource::{LEASES, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The annotation with the finalizer that the controller in a Pod removes.
pub(crate) const FINALIZES: &str = "unwind.test/finalizes";
/// The annotation with the name of the lease that the controller in a Pod renews.
const LEADS: &str = "unwind.test/leads";
/// The time of a cleanup outside the cluster.
const CLEANUP: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Operators {
    /// Objects that are being deleted and have finalizers that may be an operator's.
    waiting: BTreeSet<Key>,
    /// The finalizers of the operators whose Pods are ready.
    ready: BTreeMap<Key, String>,
}

impl Reconcile for Operators {
    type Work = Key;
    const NAME: &'static str = "operators";
    const USER: &'static str = "operator";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        let (key, object) = (&event.key, &event.object);
        let gone = event.change == Change::Deleted;
        if PODS.has(key)
            && let Some(finalizer) = annotation(object, FINALIZES)
        {
            if gone || is_deleting(object) || !pods::is_ready(object) {
                self.ready.remove(key);
            } else if self.ready.insert(key.clone(), finalizer.to_owned()).is_none() {
                for waiting in &self.waiting {
                    queue.add_after(waiting.clone(), CLEANUP);
                }
            }
        }
        if PODS.has(key) && !gone && leads(object).is_some() {
            queue.add(key.clone());
        }
        if gone || !is_deleting(object) || finalizers(object).next().is_none() {
            self.waiting.remove(key);
        } else if self.waiting.insert(key.clone()) {
            queue.add_after(key.clone(), CLEANUP);
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(object) = client.get(key) else { return Ok(Next::Rest) };
        if let Some(lease) = leads(&object).filter(|_| PODS.has(key)) {
            return renew(&LEASES.key(&key.namespace, lease), &key.name, client);
        }
        if !is_deleting(&object) {
            return Ok(Next::Rest);
        }
        let ours = self.ready.values().find(|it| has_finalizer(&object, it));
        if let Some(finalizer) = ours.cloned() {
            client.modify(key, |it| {
                remove_finalizer(it, &finalizer);
            })?;
        }
        Ok(Next::Rest)
    }
}

/// The lease that a Pod renews.
fn leads(pod: &Value) -> Option<&str> {
    annotation(pod, LEADS).filter(|_| !is_deleting(pod) && pods::is_ready(pod))
}
