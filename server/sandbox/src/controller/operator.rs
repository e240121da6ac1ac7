//! Operators: a ready Pod with the annotation [`FINALIZES`] removes that finalizer from every object that is being
//! deleted, like the controller that would run in it. Without such a Pod the finalizer stays, as after an operator was
//! uninstalled too early. With the annotation [`LEADS`] such a Pod also renews that lease in its namespace, as a controller that
//! leads does.
//!
//! An operator writes with the token of its Pod's ServiceAccount, so RBAC decides on its writes: without a binding that lets it
//! update the object, the finalizer stays as well. As in controller-runtime, a write that was refused is tried again later and
//! later, so the operator notices a right that it gets at its next try.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::client::Client;
use super::leader_election::renew;
use super::pods;
use super::queue::Queue;
use super::read::{
    annotation, finalizers, has_finalizer, is_deleting, namespace, remove_finalizer, text,
};
use super::resource::{LEASES, PODS, SERVICE_ACCOUNTS};
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

/// The controller in a ready Pod.
struct Operator {
    finalizer: String,
    /// The ServiceAccount of the Pod.
    account: Key,
}

#[derive(Default)]
pub(super) struct Operators {
    /// Objects that are being deleted and have finalizers that may be an operator's.
    waiting: BTreeSet<Key>,
    /// The operators whose Pods are ready, by Pod.
    ready: BTreeMap<Key, Operator>,
}

impl Reconcile for Operators {
    type Work = Key;
    const NAME: &'static str = "operators";
    // Every write is that of a Pod's ServiceAccount, so nothing is sent as this user.
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
            } else {
                let operator =
                    Operator { finalizer: finalizer.to_owned(), account: account_of(object) };
                if self.ready.insert(key.clone(), operator).is_none() {
                    for waiting in &self.waiting {
                        queue.add_after(waiting.clone(), CLEANUP);
                    }
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
            let mut client = client.service_account(&account_of(&object));
            return renew(&LEASES.key(&key.namespace, lease), &key.name, &mut client);
        }
        if !is_deleting(&object) {
            return Ok(Next::Rest);
        }
        let mut refusal = None;
        for Operator { finalizer, account } in self.ready.values() {
            // Another operator may have removed the last finalizer, or another Pod of the same one.
            let is_left = client.get(key).is_some_and(|it| has_finalizer(&it, finalizer));
            if is_left {
                let written = client.service_account(account).modify(key, |it| {
                    remove_finalizer(it, finalizer);
                });
                refusal = written.err().or(refusal);
            }
        }
        refusal.map_or(Ok(Next::Rest), Err)
    }
}

/// The ServiceAccount of a Pod.
fn account_of(pod: &Value) -> Key {
    SERVICE_ACCOUNTS.key(namespace(pod), text(pod, "/spec/serviceAccountName"))
}

/// The lease that a Pod renews.
fn leads(pod: &Value) -> Option<&str> {
    annotation(pod, LEADS).filter(|_| !is_deleting(pod) && pods::is_ready(pod))
}
