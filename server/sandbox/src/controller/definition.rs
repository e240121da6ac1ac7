//! The finalizer of CustomResourceDefinitions: deletes all objects of a definition that is being deleted, and keeps the
//! definition until none is left: pkg/controller/finalizer/crd_finalizer.go of apiextensions-apiserver.

use serde_json::Value;

use super::client::{Client, Deletion};
use super::queue::Queue;
use super::read::{
    has_finalizer, is_deleting, is_true, name, namespace, remove_finalizer, set_condition, text,
};
use super::resource::DEFINITIONS;
use super::timing::{INSTANCE_CHECK, Timing};
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(super) struct Definitions;

impl Reconcile for Definitions {
    type Work = Key;
    const NAME: &'static str = "crd-finalizer";
    const USER: &'static str = "crd-finalizer";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if DEFINITIONS.has(&event.key)
            && event.change != Change::Deleted
            && is_deleting(&event.object)
            && has_finalizer(&event.object, FINALIZER)
        {
            queue.add(event.key.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let waits = |it: &Value| is_deleting(it) && has_finalizer(it, FINALIZER);
        let Some(definition) = client.get(key).filter(|it| waits(it)) else {
            return Ok(Next::Rest);
        };
        let mut changed = Value::clone(&definition);
        let (status, reason, message) = if is_true(&definition, "Established") {
            let progress = "CustomResource deletion is in progress";
            if super::read::condition(&changed, "Terminating")["reason"]
                == "InstanceDeletionPending"
            {
                set_condition(
                    &mut changed,
                    "Terminating",
                    "True",
                    "InstanceDeletionInProgress",
                    progress,
                    client.now(),
                );
                changed = Value::clone(&*client.update_status(DEFINITIONS, &changed)?);
            }
            if let Err(message) = delete_instances(&definition, client) {
                set_condition(
                    &mut changed,
                    "Terminating",
                    "True",
                    "InstanceDeletionFailed",
                    &message,
                    client.now(),
                );
                client.update_status(DEFINITIONS, &changed)?;
                return Ok(Next::After(INSTANCE_CHECK));
            }
            if count(&definition, client) > 0 {
                return wait(&mut changed, client);
            }
            ("False", "InstanceDeletionCompleted", "removed all instances")
        } else {
            ("False", "NeverEstablished", "resource was never established")
        };
        set_condition(&mut changed, "Terminating", status, reason, message, client.now());
        client.update_status(DEFINITIONS, &changed)?;
        client.modify(key, |it| {
            remove_finalizer(it, FINALIZER);
        })?;
        Ok(Next::Rest)
    }
}

/// The time after which it reports that objects remain: the poll's timeout in the same file.
const TIMEOUT: i64 = 60;

fn wait(definition: &mut Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let since =
        super::read::time(super::read::condition(definition, "Terminating"), "/lastTransitionTime");
    if since.is_some_and(|it| client.now().duration_since(it).as_secs() >= TIMEOUT) {
        let message = "could not confirm zero CustomResources remaining: context deadline exceeded";
        set_condition(
            definition,
            "Terminating",
            "True",
            "InstanceDeletionCheck",
            message,
            client.now(),
        );
        client.update_status(DEFINITIONS, definition)?;
    }
    Ok(Next::After(INSTANCE_CHECK))
}

fn count(definition: &Value, client: &Client<'_>) -> usize {
    let (group, plural) = (text(definition, "/spec/group"), text(definition, "/spec/names/plural"));
    client.list_any(group, plural).len()
}

/// Deletes all objects of a definition. Returns the errors as one message.
fn delete_instances(definition: &Value, client: &mut Client<'_>) -> Result<(), String> {
    let (group, plural) = (text(definition, "/spec/group"), text(definition, "/spec/names/plural"));
    if let Some(kind) = client.stored(group, plural) {
        client.check_all_readable(&kind, None).map_err(|status| {
            format!(
                "could not list instances: storage is (re)initializing: failed to list {}, Kind={}: {}",
                kind.api_version(),
                kind.kind,
                status.message
            )
        })?;
    }
    let mut refused = Vec::new();
    for instance in client.list_any(group, plural).iter().filter(|it| !is_deleting(it)) {
        let key = Key::new(group, plural, namespace(instance), name(instance));
        match client.delete_in_storage(&key, &Deletion::of(instance)) {
            Err(status) if !status.is_not_found() => refused.push(status.message),
            _ => {}
        }
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(format!("could not issue all deletes: {}", refused.join(", ")))
    }
}
