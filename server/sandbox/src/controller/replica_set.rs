//! ReplicaSets and ReplicationControllers: as many active Pods as requested. A terminating Pod does not count, so it is
//! replaced at once: pkg/controller/replicaset/replica_set.go, which does both.

use serde_json::{Value, json};

use super::client::Client;
use super::pods;
use super::queue::Queue;
use super::read::{
    active, controller, generation, is_deleting, kind, number, selects, selects_plainly, set,
    small, uid,
};
use super::resource::{PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Resource};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Event, Key};

pub(super) struct ReplicaSets;
pub(super) struct ReplicationControllers;

impl Reconcile for ReplicaSets {
    type Work = Key;
    const NAME: &'static str = "replicaset-controller";
    const USER: &'static str = "replicaset-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        pods::notice(REPLICA_SETS, PODS, event, queue);
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        sync(REPLICA_SETS, key, client)
    }
}

impl Reconcile for ReplicationControllers {
    type Work = Key;
    const NAME: &'static str = "replicationcontroller-controller";
    const USER: &'static str = "replication-controller";
    const COMPONENT: &'static str = "replication-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        pods::notice(REPLICATION_CONTROLLERS, PODS, event, queue);
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        sync(REPLICATION_CONTROLLERS, key, client)
    }
}

fn sync(resource: Resource, key: &Key, client: &mut Client<'_>) -> Result<Next, Status> {
    let Some(set) = client.get(key) else { return Ok(Next::Rest) };
    if !is_deleting(&set) {
        adopt(&set, client)?;
    }
    if !is_deleting(&set) {
        release(&set, client)?;
    }
    let owned = client.controlled(PODS, uid(&set));
    let mut running: Vec<_> = owned.iter().filter(|it| active(it)).cloned().collect();
    let wanted =
        usize::try_from(small(number(&set, "/spec/replicas").unwrap_or(1))).unwrap_or_default();
    let mut done = Ok(());
    if !is_deleting(&set) {
        if running.len() < wanted {
            for _ in running.len()..wanted.min(running.len() + pods::BURST) {
                done =
                    pods::create(&set, pods::from_template(&set, &set["spec"]["template"]), client);
                if done.is_err() {
                    break;
                }
            }
        } else {
            running.sort_by_cached_key(|it| pods::rank(it));
            for pod in &running[..running.len() - wanted] {
                pods::delete(&set, pod, client)?;
            }
        }
    }
    publish(resource, key, client)?;
    let waits = wanted.saturating_sub(running.len()) > pods::BURST;
    done.map(|()| if waits { Next::After(pods::BURST_PERIOD) } else { Next::Rest })
}

/// Releases Pods that no longer match.
fn release(owner: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    for pod in client.controlled(PODS, uid(owner)) {
        if !is_deleting(&pod) && !matches(owner, &pod) {
            let kept: Vec<&Value> = super::read::owners(&pod)
                .iter()
                .filter(|it| super::read::text(it, "/uid") != uid(owner))
                .collect();
            let patch = json!({"metadata": {"uid": uid(&pod), "ownerReferences": kept}});
            client
                .merge(&PODS.key(super::read::namespace(&pod), super::read::name(&pod)), &patch)?;
        }
    }
    Ok(())
}

/// The selector of a ReplicationController is a plain map.
fn matches(owner: &Value, pod: &Value) -> bool {
    let selector = owner.pointer("/spec/selector");
    if kind(owner) == "ReplicaSet" {
        selects(selector, pod)
    } else {
        selects_plainly(selector, pod)
    }
}

/// Adopts Pods that match and have no controller.
fn adopt(owner: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    for pod in client.list(PODS, Some(super::read::namespace(owner))) {
        if controller(&pod).is_none() && active(&pod) && matches(owner, &pod) {
            let mut references = super::read::owners(&pod).to_vec();
            references.push(super::read::controller_reference(owner));
            let patch = json!({"metadata": {"uid": uid(&pod), "ownerReferences": references}});
            client
                .merge(&PODS.key(super::read::namespace(&pod), super::read::name(&pod)), &patch)?;
        }
    }
    Ok(())
}

fn publish(resource: Resource, key: &Key, client: &mut Client<'_>) -> Result<(), Status> {
    let Some(set_now) = client.get(key) else { return Ok(()) };
    let owned = client.controlled(PODS, uid(&set_now));
    let live: Vec<_> = owned.iter().filter(|it| active(it)).collect();
    let ready = live.iter().filter(|it| pods::is_ready(it)).count();
    let terminating = owned.iter().filter(|it| is_deleting(it) && !super::read::ended(it)).count();
    let mut changed = Value::clone(&set_now);
    let mut status = json!({"replicas": live.len(), "observedGeneration": generation(&set_now)});
    if resource == REPLICA_SETS {
        status["terminatingReplicas"] = json!(terminating);
    }
    for (member, count) in [
        ("fullyLabeledReplicas", live.len()),
        ("readyReplicas", ready),
        ("availableReplicas", ready),
    ] {
        if count > 0 {
            status[member] = json!(count);
        }
    }
    super::read::keep(&set_now, &mut status);
    set(&mut changed, &["status"], status);
    match client.update_status(resource, &changed) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}
