//! ResourceClaims: deallocates a device that no Pod uses, and removes the finalizer of a claim that is being deleted:
//! pkg/controller/resourceclaim, without the claims from templates.

use serde_json::{Value, json};

use super::client::Client;
use super::queue::Queue;
use super::read::{
    ended, has_finalizer, is_deleting, list, namespace, remove_finalizer, set, text, uid, unset,
};
use super::resource::{PODS, RESOURCE_CLAIMS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The finalizer that the scheduler adds to a claim to which it allocates a device.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

pub(super) struct ResourceClaims;

impl Reconcile for ResourceClaims {
    type Work = Key;
    const NAME: &'static str = "resourceclaim-controller";
    const USER: &'static str = "resource-claim-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if RESOURCE_CLAIMS.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.clone());
        } else if PODS.has(&event.key)
            && (event.change == Change::Deleted || is_done(&event.object))
        {
            for claim in list(&event.object, "/spec/resourceClaims") {
                let name = text(claim, "/resourceClaimName");
                if !name.is_empty() {
                    queue.add(RESOURCE_CLAIMS.key(&event.key.namespace, name));
                }
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(claim) = client.get(key) else { return Ok(Next::Rest) };
        let reserved = list(&claim, "/status/reservedFor");
        let valid: Vec<&Value> =
            reserved.iter().filter(|it| is_there(it, namespace(&claim), client)).collect();
        let is_given = has_finalizer(&claim, FINALIZER);
        let is_left = valid.is_empty() && (!reserved.is_empty() || is_deleting(&claim));
        if valid.len() == reserved.len() && !(is_given && is_left) {
            return Ok(Next::Rest);
        }
        let mut changed = Value::clone(&claim);
        if valid.is_empty() {
            unset(&mut changed, &["status", "reservedFor"]);
        } else {
            set(&mut changed, &["status", "reservedFor"], json!(valid));
        }
        if is_given && is_left {
            unset(&mut changed, &["status", "allocation"]);
        }
        client.update_status(RESOURCE_CLAIMS, &changed)?;
        if is_given && is_left {
            client.modify(key, |it| {
                remove_finalizer(it, FINALIZER);
            })?;
        }
        Ok(Next::Rest)
    }
}

/// Whether the Pod of a reservation exists and may still run. Reservations of other kinds are not this controller's.
fn is_there(consumer: &Value, namespace: &str, client: &Client<'_>) -> bool {
    if text(consumer, "/resource") != PODS.plural || !text(consumer, "/apiGroup").is_empty() {
        return true;
    }
    let pod = client.find(PODS, namespace, text(consumer, "/name"));
    pod.is_some_and(|pod| uid(&pod) == text(consumer, "/uid") && !is_done(&pod))
}

/// Whether a Pod has ended, or will never run: `isPodDone`.
fn is_done(pod: &Value) -> bool {
    ended(pod) || is_deleting(pod) && text(pod, "/spec/nodeName").is_empty()
}
