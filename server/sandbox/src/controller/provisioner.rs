//! The external provisioner of every StorageClass that has one: creates and reclaims volumes in a backend, with the
//! finalizer and in the order of kubernetes-csi/external-provisioner: volume in the backend, DELETE of the
//! PersistentVolume, then its finalizer. It does nothing for a CSI driver whose controller is away.
//!
//! A class with the parameter `server` gets NFS exports, as from nfs-subdir-external-provisioner, which has no
//! finalizer and does not check whether a Pod still has the export mounted.

use serde_json::{Value, json};

use super::attacher::LOOK;
use super::binder::{PROVISIONED_BY, PROVISIONER};
use super::client::{Client, Deletion, EventType};
use super::node_faults::export_of;
use super::queue::Queue;
use super::read::{
    annotation, has_finalizer, is_deleting, name, namespace, phase, remove_finalizer, text, uid,
};
use super::resource::{ATTACHMENTS, CLAIMS, STORAGE_CLASSES, VOLUMES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

pub(super) const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

pub(super) struct Provisioner;

impl Reconcile for Provisioner {
    type Work = Key;
    const NAME: &'static str = "external-provisioner";
    const USER: &'static str = "external-provisioner";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if event.change == Change::Deleted {
            return;
        }
        let object = &event.object;
        if CLAIMS.has(&event.key) {
            if annotation(object, PROVISIONER).is_some()
                && text(object, "/spec/volumeName").is_empty()
            {
                queue.add(event.key.clone());
            }
        } else if VOLUMES.has(&event.key)
            && annotation(object, PROVISIONED_BY).is_some()
            && (phase(object) == "Released" || is_deleting(object))
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
            Some(claim) if CLAIMS.has(key) => provision(&claim, client),
            Some(volume) => reclaim(key, &volume, client),
            None => Ok(Next::Rest),
        }
    }
}

fn provision(claim: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let volume = format!("pvc-{}", uid(claim));
    let taken =
        client.find(VOLUMES, "", &volume).is_some() || !text(claim, "/spec/volumeName").is_empty();
    let class = client.find(STORAGE_CLASSES, "", text(claim, "/spec/storageClassName"));
    let (Some(class), false, false) = (class, taken, is_deleting(claim)) else {
        return Ok(Next::Rest);
    };
    let driver = text(&class, "/provisioner");
    if !client.node_faults.has_driver_controller(driver) {
        return Ok(Next::After(LOOK));
    }
    let mut object = json!({
        "metadata": {"name": volume, "annotations": {PROVISIONED_BY: driver}},
        "spec": {
            "storageClassName": name(&class),
            "accessModes": claim.pointer("/spec/accessModes"),
            "capacity": claim.pointer("/spec/resources/requests"),
            "persistentVolumeReclaimPolicy": class.get("reclaimPolicy").cloned().unwrap_or_else(|| json!("Delete")),
            "volumeMode": "Filesystem",
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": namespace(claim),
                "name": name(claim),
                "uid": uid(claim),
                "resourceVersion": text(claim, "/metadata/resourceVersion"),
            },
        },
    });
    match text(&class, "/parameters/server") {
        "" => {
            object["spec"]["csi"] =
                json!({"driver": driver, "volumeHandle": volume, "fsType": "ext4"});
            object["metadata"]["finalizers"] = json!([FINALIZER]);
            object["metadata"]["annotations"]["volume.kubernetes.io/provisioner-deletion-secret-name"] =
                json!("");
            object["metadata"]["annotations"]["volume.kubernetes.io/provisioner-deletion-secret-namespace"] =
                json!("");
        }
        server => {
            let path = format!("/exports/{}-{}-{volume}", namespace(claim), name(claim));
            object["spec"]["nfs"] = json!({"server": server, "path": path});
        }
    }
    client.create_if_absent(VOLUMES, object)?;
    client.event(
        claim,
        EventType::Normal,
        "ProvisioningSucceeded",
        &format!("Successfully provisioned volume {volume}"),
    );
    Ok(Next::Rest)
}

fn reclaim(key: &Key, volume: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let ours = annotation(volume, PROVISIONED_BY).is_some();
    let deletes = text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete";
    if !ours || !deletes || phase(volume) == "Bound" || phase(volume).is_empty() {
        return Ok(Next::Rest);
    }
    let csi = has_finalizer(volume, FINALIZER);
    if is_deleting(volume) && !csi {
        return Ok(Next::Rest);
    }
    if !client.node_faults.has_driver_controller(text(volume, "/spec/csi/driver")) {
        return Ok(Next::After(LOOK));
    }
    let attached = client
        .list(ATTACHMENTS, None)
        .into_iter()
        .find(|it| text(it, "/spec/source/persistentVolumeName") == name(volume));
    if let Some(attachment) = attached {
        let node = text(&attachment, "/spec/nodeName");
        let message = format!("persistentvolume {} is still attached to node {node}", name(volume));
        client.event(volume, EventType::Warning, "VolumeFailedDelete", &message);
        return Err(Status::internal(&message));
    }
    if let Some(export) = export_of(volume) {
        client.node_faults.removed_exports.insert(export);
    }
    match client.delete(key, &Deletion::of(volume)) {
        Err(status) if !status.is_not_found() => return Err(status),
        _ => {}
    }
    if csi {
        match client.modify(key, |it| {
            remove_finalizer(it, FINALIZER);
        }) {
            Err(status) if !status.is_not_found() => return Err(status),
            _ => {}
        }
    }
    Ok(Next::Rest)
}
