//! Creates and counts Pods for the workloads that own them: pkg/controller/controller_utils.go.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::client::{Client, Deletion, EventType, fingerprint};
use super::queue::Queue;
use super::read::{controller, controller_reference, is_true, name, namespace, text};
use super::resource::{PODS, Resource};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The number of Pods that are created in one reconciliation: `BurstReplicas` in
/// pkg/controller/replicaset/replica_set.go.
pub(super) const BURST: usize = 500;
/// The wait before the next reconciliation, where Kubernetes' client would be rate limited.
pub(super) const BURST_PERIOD: Duration = Duration::from_secs(10);

/// The number of Pods that controllers create in all. Kubernetes has no such limit, but its clients and its disk slow
/// it down; here a wrong number of replicas would leave time for nothing else.
const MOST: usize = 1_000;

/// A Pod from a workload's template, which controls it. Its name is generated unless the caller sets one.
pub(super) fn from_template(owner: &Value, template: &Value) -> Value {
    let empty = Value::Object(Map::new());
    let part = |member: &str| template.pointer(member).cloned().unwrap_or_else(|| empty.clone());
    let mut metadata = json!({
        "generateName": format!("{}-", name(owner)),
        "namespace": namespace(owner),
        "labels": part("/metadata/labels"),
        "ownerReferences": [controller_reference(owner)],
    });
    for member in ["annotations", "finalizers"] {
        if let Some(value) = template.pointer("/metadata").and_then(|it| it.get(member)) {
            metadata[member] = value.clone();
        }
    }
    json!({"metadata": metadata, "spec": part("/spec")})
}

/// Creates a Pod, with an event about its owner.
pub(super) fn create(owner: &Value, pod: Value, client: &mut Client<'_>) -> Result<(), Status> {
    let made = if client.count(PODS) < MOST {
        client.create(PODS, pod)
    } else {
        let why = format!("the sandbox holds no more than {MOST} Pods of controllers");
        Err(Status::forbidden("", PODS.plural, text(&pod, "/metadata/name"), &why))
    };
    match made {
        Ok(made) => {
            let message = format!("Created pod: {}", name(&made));
            client.event(owner, EventType::Normal, "SuccessfulCreate", &message);
            Ok(())
        }
        Err(status) => {
            let message = format!("Error creating: {}", status.message);
            client.event(owner, EventType::Warning, "FailedCreate", &message);
            Err(status)
        }
    }
}

/// Deletes a Pod, with an event about its owner.
pub(super) fn delete(owner: &Value, pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    match client.delete(&PODS.key(namespace(pod), name(pod)), &Deletion::of(pod)) {
        Ok(()) => {
            let message = format!("Deleted pod: {}", name(pod));
            client.event(owner, EventType::Normal, "SuccessfulDelete", &message);
            Ok(())
        }
        Err(status) if status.is_not_found() => Ok(()),
        Err(status) => Err(status),
    }
}

pub(super) fn is_ready(pod: &Value) -> bool {
    is_true(pod, "Ready")
}

/// The order in which a workload deletes Pods: first those without a node, not running or not ready, then the youngest
/// (`ActivePodsWithRanks`, shortened).
pub(super) fn rank(pod: &Value) -> impl Ord + use<> {
    let running = text(pod, "/status/phase") == "Running";
    let created = std::cmp::Reverse(text(pod, "/metadata/creationTimestamp").to_owned());
    (!text(pod, "/spec/nodeName").is_empty(), running, is_ready(pod), created, name(pod).to_owned())
}

/// Queues an object of this controller's kind, or the owner of a dependent.
pub(super) fn notice(own: Resource, dependents: Resource, event: &Event, queue: &mut Queue<Key>) {
    if own.has(&event.key) && event.change != Change::Deleted {
        queue.add(event.key.clone());
    } else if dependents.has(&event.key) {
        for key in controllers_of(event, own) {
            queue.add(key);
        }
    }
}

/// The key of the controller of this kind that an object has or had.
pub(super) fn controllers_of(event: &Event, owner: Resource) -> impl Iterator<Item = Key> {
    let key = move |object: &Value| {
        let reference = controller(object)?;
        let ours = text(reference, "/kind") == owner.kind
            && crate::cluster::split_api_version(text(reference, "/apiVersion")).0 == owner.group;
        ours.then(|| owner.key(namespace(object), text(reference, "/name")))
    };
    let now = key(&event.object);
    let before = event.previous.as_deref().and_then(key).filter(|it| Some(it) != now.as_ref());
    now.into_iter().chain(before)
}

/// The label value that distinguishes the Pods of one template.
pub(super) fn template_hash(template: &Value) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = fingerprint(&template.to_string());
    let mut hash = String::new();
    for _ in 0..10 {
        let at = usize::try_from(rest % 27).unwrap_or_default();
        hash.push(char::from(ALPHABET[at]));
        rest /= 27;
    }
    hash
}
