//! The external attacher of every CSI driver: performs the attachments and detachments that VolumeAttachments request,
//! and keeps its finalizer on a volume while it is attached anywhere: kubernetes-csi/external-attacher. A node whose CSINode lacks the
//! driver has no name for it, so nothing can be attached there; a detachment knows the name from the attachment (`getNodeID` in
//! pkg/controller/csi_handler.go there). Nothing is attached or detached while the driver's controller is away.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::queue::Queue;
use super::read::{
    add_finalizer, has_finalizer, is_deleting, name, remove_finalizer, set, text, unset, written,
};
use super::resource::{ATTACHMENTS, VOLUMES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The period at which it looks whether the controller of a driver is back.
pub(super) const LOOK: Duration = Duration::from_secs(1);

pub(super) struct Attacher;

/// The attacher's finalizer for a driver: every character that a name may not have becomes `-`.
pub(super) fn finalizer(driver: &str) -> String {
    let driver: String = driver
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || it == '-' { it } else { '-' })
        .collect();
    format!("external-attacher/{driver}")
}

impl Reconcile for Attacher {
    type Work = Key;
    const NAME: &'static str = "external-attacher";
    const USER: &'static str = "external-attacher";
    /// `--retry-interval-max` of the external-attacher.
    const LAST_RETRY: Duration = Duration::from_secs(300);

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if ATTACHMENTS.has(&event.key) {
            queue.add(if event.change == Change::Deleted {
                VOLUMES.key("", text(&event.object, "/spec/source/persistentVolumeName"))
            } else {
                event.key.clone()
            });
        } else if VOLUMES.has(&event.key)
            && event.change != Change::Deleted
            && is_deleting(&event.object)
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
        match client.get(key) {
            Some(attachment) if ATTACHMENTS.has(key) => tend(key, &attachment, client),
            Some(volume) => let_go(key, &volume, client),
            None => Ok(Next::Rest),
        }
    }
}

fn tend(key: &Key, attachment: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let driver = text(attachment, "/spec/attacher");
    if !client.node_faults.has_driver_controller(driver) {
        return Ok(Next::After(LOOK));
    }
    let ours = finalizer(driver);
    let attached = super::read::flag(attachment, "/status/attached");
    let mut changed = attachment.clone();
    if is_deleting(attachment) {
        if attached {
            set(&mut changed, &["status", "attached"], json!(false));
            client.update_status(ATTACHMENTS, &changed)?;
        }
        client.modify(key, |it| {
            remove_finalizer(it, &ours);
        })?;
    } else if !attached {
        let node = text(attachment, "/spec/nodeName");
        if !client.node_faults.is_registered(node, driver) {
            let message = format!("CSINode {node} does not contain driver {driver}");
            let error = json!({"message": message, "time": written(client.now())});
            set(&mut changed, &["status", "attachError"], error);
            client.update_status(ATTACHMENTS, &changed)?;
            return Err(Status::internal(&message));
        }
        let volume = VOLUMES.key("", text(attachment, "/spec/source/persistentVolumeName"));
        client.modify(&volume, |it| {
            if !is_deleting(it) {
                add_finalizer(it, &ours);
            }
        })?;
        let marked = client.modify(key, |it| {
            add_finalizer(it, &ours);
        })?;
        let mut marked = Value::clone(&marked);
        set(&mut marked, &["status", "attached"], json!(true));
        unset(&mut marked, &["status", "attachError"]);
        client.update_status(ATTACHMENTS, &marked)?;
    }
    Ok(Next::Rest)
}

/// Removes the finalizer of a volume that is being deleted and not attached.
fn let_go(key: &Key, volume: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let driver = text(volume, "/spec/csi/driver");
    if !client.node_faults.has_driver_controller(driver) {
        return Ok(Next::After(LOOK));
    }
    let ours = finalizer(driver);
    let attached =
        |it: &std::sync::Arc<Value>| text(it, "/spec/source/persistentVolumeName") == name(volume);
    if is_deleting(volume)
        && has_finalizer(volume, &ours)
        && !client.list(ATTACHMENTS, None).iter().any(attached)
    {
        client.modify(key, |it| {
            remove_finalizer(it, &ours);
        })?;
    }
    Ok(Next::Rest)
}
