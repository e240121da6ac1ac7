//! The volume binder: binds claims to volumes, and releases a volume whose claim is gone:
//! pkg/controller/volume/persistentvolume/pv_controller.go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, EventType};
use super::queue::Queue;
use super::read::{
    annotate, annotation, is_deleting, list, name, namespace, phase, selects, set, text, uid,
};
use super::resource::{CLAIMS, STORAGE_CLASSES, VOLUMES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
pub(super) const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
pub(super) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

pub(super) struct Binder {
    period: Duration,
    /// Claims without a volume, for which any new volume may fit.
    unbound: BTreeSet<Key>,
    /// Volumes by the UID of their claim.
    held: BTreeMap<Key, Key>,
}

impl Reconcile for Binder {
    type Work = Key;
    const NAME: &'static str = "persistentvolume-binder-controller";
    const USER: &'static str = "persistent-volume-binder";
    const COMPONENT: &'static str = "persistentvolume-controller";

    fn new(timing: &Timing) -> Self {
        Self { period: timing.binder_period, unbound: BTreeSet::new(), held: BTreeMap::new() }
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if CLAIMS.has(&event.key) {
            if event.change == Change::Deleted
                || !text(&event.object, "/spec/volumeName").is_empty()
            {
                self.unbound.remove(&event.key);
            } else {
                self.unbound.insert(event.key.clone());
            }
            if event.change == Change::Deleted {
                let volume = text(&event.object, "/spec/volumeName");
                if !volume.is_empty() {
                    queue.add(VOLUMES.key("", volume));
                }
                if let Some(volume) = self.held.get(&event.key) {
                    queue.add(volume.clone());
                }
            } else {
                queue.add(event.key.clone());
            }
        } else if VOLUMES.has(&event.key) {
            let claim = claim_of(&event.object);
            if let Some(claim) = &claim {
                self.held.insert(claim.clone(), event.key.clone());
                queue.add(claim.clone());
            }
            if event.change == Change::Deleted {
                self.held.retain(|_, volume| *volume != event.key);
            } else {
                queue.add(event.key.clone());
                if claim.is_none() {
                    for claim in &self.unbound {
                        queue.add(claim.clone());
                    }
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
        let Some(object) = client.get(key) else { return Ok(Next::Rest) };
        if VOLUMES.has(key) {
            return sync_volume(key, &object, client);
        }
        if sync_claim(key, &object, client)? {
            Ok(Next::Rest)
        } else {
            Ok(Next::After(self.period))
        }
    }
}

/// The claim a volume is for.
fn claim_of(volume: &Value) -> Option<Key> {
    let reference = volume.pointer("/spec/claimRef").filter(|it| it.is_object())?;
    Some(CLAIMS.key(text(reference, "/namespace"), text(reference, "/name")))
}

/// Reconciles a claim. Returns whether it needs no further reconciliation of its own.
fn sync_claim(key: &Key, claim: &Value, client: &mut Client<'_>) -> Result<bool, Status> {
    let wanted = text(claim, "/spec/volumeName");
    if annotation(claim, BIND_COMPLETED).is_some() {
        return sync_bound(claim, client).map(|()| true);
    }
    if !wanted.is_empty() {
        let Some(volume) = client.find(VOLUMES, "", wanted) else { return Ok(false) };
        return match claim_of(&volume) {
            Some(other) if other != *key => Ok(false),
            _ => bind(claim, &volume, false, client).map(|()| true),
        };
    }
    if is_deleting(claim) {
        return Ok(true);
    }
    let class = text(claim, "/spec/storageClassName");
    let found = client.find(STORAGE_CLASSES, "", class);
    let late =
        found.as_deref().is_some_and(|it| text(it, "/volumeBindingMode") == "WaitForFirstConsumer");
    let waits = late && annotation(claim, SELECTED_NODE).is_none();
    if let Some(volume) = best(claim, waits, client) {
        return bind(claim, &volume, true, client).map(|()| true);
    }
    let provisioner = found.as_deref().map_or("", |it| text(it, "/provisioner"));
    let (severity, reason, message) = if waits {
        let message = "waiting for first consumer to be created before binding";
        (EventType::Normal, "WaitForFirstConsumer", message.to_owned())
    } else if class.is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        (EventType::Normal, "FailedBinding", message.to_owned())
    } else if found.is_none() {
        let message = format!("storageclass.storage.k8s.io {class:?} not found");
        (EventType::Warning, "ProvisioningFailed", message)
    } else if provisioner == NO_PROVISIONER {
        return Ok(false);
    } else {
        if annotation(claim, PROVISIONER) != Some(provisioner) {
            client.modify(key, |it| {
                annotate(it, "volume.beta.kubernetes.io/storage-provisioner", provisioner);
                annotate(it, PROVISIONER, provisioner);
            })?;
        }
        let message = format!(
            "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the \
             system administrator. If volume creation is delayed, please verify that the provisioner is running and \
             correctly registered."
        );
        (EventType::Normal, "ExternalProvisioning", message)
    };
    client.event(claim, severity, reason, &message);
    if phase(claim).is_empty() {
        client.merge_status(key, &json!({"status": {"phase": "Pending"}}))?;
    }
    Ok(false)
}

/// A claim that was bound stays with its volume, or is lost.
fn sync_bound(claim: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    let key = CLAIMS.key(namespace(claim), name(claim));
    let lost = match client.find(VOLUMES, "", text(claim, "/spec/volumeName")) {
        None => Some((
            "ClaimLost",
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
        )),
        Some(volume) => match text(&volume, "/spec/claimRef/uid") {
            "" => return bind(claim, &volume, false, client),
            owner if owner == uid(claim) => return bind(claim, &volume, false, client),
            _ => Some((
                "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly",
            )),
        },
    };
    if let Some((reason, message)) = lost
        && phase(claim) != "Lost"
    {
        client.merge_status(&key, &json!({"status": {"phase": "Lost"}}))?;
        client.event(claim, EventType::Warning, reason, message);
    }
    Ok(())
}

/// Kubernetes writes sizes in many ways; only their order matters here.
fn size(object: &Value, pointer: &str) -> f64 {
    let text = text(object, pointer);
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "Ki" => 1024_f64,
        "Mi" => 1024_f64.powi(2),
        "Gi" => 1024_f64.powi(3),
        "Ti" => 1024_f64.powi(4),
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => 1_f64,
    };
    number.parse().map_or(0_f64, |it: f64| it * factor)
}

/// The volume reserved for a claim, or else the smallest that fits.
fn best(claim: &Value, only_reserved: bool, client: &Client<'_>) -> Option<Arc<Value>> {
    let key = CLAIMS.key(namespace(claim), name(claim));
    let wanted = size(claim, "/spec/resources/requests/storage");
    let fits = |volume: &Value| {
        let modes = list(volume, "/spec/accessModes");
        text(volume, "/spec/storageClassName") == text(claim, "/spec/storageClassName")
            && size(volume, "/spec/capacity/storage") >= wanted
            && list(claim, "/spec/accessModes").iter().all(|it| modes.contains(it))
            && claim.pointer("/spec/selector").is_none_or(|it| selects(Some(it), volume))
            && !is_deleting(volume)
    };
    let mut smallest: Option<Arc<Value>> = None;
    for volume in client.list(VOLUMES, None) {
        match claim_of(&volume) {
            Some(reserved) => {
                let uid_fits = ["", uid(claim)].contains(&text(&volume, "/spec/claimRef/uid"));
                if reserved == key && uid_fits && fits(&volume) {
                    return Some(volume);
                }
            }
            None if only_reserved || !fits(&volume) => {}
            None => {
                let capacity = |it: &Value| size(it, "/spec/capacity/storage");
                if smallest.as_deref().is_none_or(|it| capacity(&volume) < capacity(it)) {
                    smallest = Some(volume);
                }
            }
        }
    }
    smallest
}

/// Writes both sides of a binding in Kubernetes' order: the volume, then the claim.
fn bind(
    claim: &Value,
    volume: &Value,
    chosen: bool,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    let (claim_key, volume_key) =
        (CLAIMS.key(namespace(claim), name(claim)), VOLUMES.key("", name(volume)));
    client.modify(&volume_key, |it| {
        if text(it, "/spec/claimRef/uid") != uid(claim) {
            if it.pointer("/spec/claimRef").is_none() && chosen {
                annotate(it, BOUND_BY_CONTROLLER, "yes");
            }
            for (member, value) in [
                ("apiVersion", "v1"),
                ("kind", "PersistentVolumeClaim"),
                ("namespace", namespace(claim)),
                ("name", name(claim)),
                ("uid", uid(claim)),
                ("resourceVersion", text(claim, "/metadata/resourceVersion")),
            ] {
                set(it, &["spec", "claimRef", member], json!(value));
            }
        }
    })?;
    if phase(volume) != "Bound" {
        client.merge_status(&volume_key, &json!({"status": {"phase": "Bound"}}))?;
    }
    client.modify(&claim_key, |it| {
        if text(it, "/spec/volumeName").is_empty() {
            set(it, &["spec", "volumeName"], json!(name(volume)));
            annotate(it, BOUND_BY_CONTROLLER, "yes");
        }
        annotate(it, BIND_COMPLETED, "yes");
    })?;
    if phase(claim) != "Bound" {
        let status = json!({
            "phase": "Bound",
            "accessModes": volume.pointer("/spec/accessModes"),
            "capacity": volume.pointer("/spec/capacity"),
        });
        client.merge_status(&claim_key, &json!({"status": status}))?;
    }
    Ok(())
}

fn sync_volume(key: &Key, volume: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let Some(place) = claim_of(volume) else {
        return set_phase(key, volume, "Available", client);
    };
    let owner = text(volume, "/spec/claimRef/uid");
    if owner.is_empty() {
        return set_phase(key, volume, "Available", client);
    }
    match client.get(&place) {
        Some(claim) if uid(&claim) == owner => {
            // The reconciliation of the claim does the rest.
            if annotation(&claim, BIND_COMPLETED).is_none() || phase(volume) != "Bound" {
                sync_claim(&place, &claim, client)?;
            }
            Ok(Next::Rest)
        }
        _ => {
            if phase(volume) == "Failed" {
                return Ok(Next::Rest);
            }
            set_phase(key, volume, "Released", client)?;
            reclaim(key, volume, client)
        }
    }
}

fn set_phase(
    key: &Key,
    volume: &Value,
    phase_now: &str,
    client: &mut Client<'_>,
) -> Result<Next, Status> {
    if phase(volume) != phase_now {
        client.merge_status(key, &json!({"status": {"phase": phase_now}}))?;
    }
    Ok(Next::Rest)
}

/// Reclaims a released volume. An external provisioner deletes its own volumes, and for a volume without a provisioner
/// there is no deleter.
fn reclaim(key: &Key, volume: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let external =
        annotation(volume, PROVISIONED_BY).is_some_and(|it| !it.starts_with("kubernetes.io/"));
    let deletes = text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete";
    if deletes && !external && !is_deleting(volume) {
        let message = format!(
            "error getting deleter volume plugin for volume {:?}: no deletable volume plugin matched",
            name(volume)
        );
        client.merge_status(key, &json!({"status": {"phase": "Failed", "message": message}}))?;
        client.event(volume, EventType::Warning, "VolumeFailedDelete", &message);
    }
    Ok(Next::Rest)
}
