//! The edges of what is made and removed by a driver, and of what a controller answers for: objects before their class, and
//! before the workload that must still run to remove them.
//!
//! # Decisions
//! - A workload is the driver if its Pods mount the folder of the driver's plugin from their node, or if its account may change
//!   volumes or attachments and it was installed with that workload or with the CSIDriver object.
//! - A workload is the controller of a class if its project ships the name by which the class names its controller, or if it was
//!   installed with the class and may write the status of the objects.
//! - All others that have the rights are *possible* drivers or controllers: they go later, and that is all.
//! - A Released volume with policy Retain stands for nothing but itself: its class and its driver are not kept for it.

use std::sync::Arc;

use super::{
    DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, Precedence, Strength,
    finish::{Programs, of_class, of_driver, owners},
    refer::{GATEWAY_API, gateway_class},
    storage::content_of,
    uses,
};
use crate::{
    index::Index,
    object::{ClaimRef, Facts, Object, PodReferenceKind, Reclaim, Volume},
};

const STORAGE: &str = "storage.k8s.io";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";
const BEFORE: Precedence = Precedence::FromFirst(DeletionPhase::Gone);

/// Volumes, snapshots and attachments go before their class, their driver, and the workloads that are the driver.
pub(super) fn provisions(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    match &found.from.facts {
        Facts::Claim(claim) => {
            let [class, attributes] = [claim.class.clone(), claim.attributes.clone()];
            to_class(found, Strength::Hard, STORAGE_CLASS, class, index);
            to_class(found, Strength::Hard, ATTRIBUTES_CLASS, attributes, index);
        }
        Facts::Volume(volume) => {
            let strength = need_of(volume);
            to_class(found, strength, STORAGE_CLASS, volume.class.clone(), index);
            to_class(found, strength, ATTRIBUTES_CLASS, volume.attributes.clone(), index);
            if let Some(driver) = &volume.driver {
                to_driver(found, strength, "spec.csi.driver", driver, index, lookup);
            }
        }
        Facts::Snapshot(snapshot) => {
            to_class(found, Strength::Hard, SNAPSHOT_CLASS, snapshot.class.clone(), index);
            if let Some(content) = content_of(found.from, snapshot, index)
                && let Facts::SnapshotContent(content) = &content.facts
            {
                let (field, driver) = ("status.boundVolumeSnapshotContentName", &content.driver);
                to_driver(found, Strength::Hard, field, driver, index, lookup);
            }
        }
        Facts::SnapshotContent(content) => {
            to_class(found, Strength::Hard, SNAPSHOT_CLASS, content.class.clone(), index);
            to_driver(found, Strength::Hard, "spec.driver", &content.driver, index, lookup);
        }
        Facts::Attachment(attachment) => {
            let driver = &attachment.attacher;
            to_driver(found, Strength::Hard, "spec.attacher", driver, index, lookup);
        }
        Facts::References(references) => {
            if let Some(name) = &references.driver
                && let Some(driver) = index.find(STORAGE, "CSIDriver", None, name)
            {
                let field = if found.from.kind.is(STORAGE, "StorageClass") {
                    "provisioner"
                } else {
                    "driver"
                };
                found.push(driver, EdgeKind::Provisions, BEFORE, field, name.clone());
            }
        }
        _ if found.from.kind.is(STORAGE, "CSIDriver") => {
            let driver: Arc<str> = (*found.from.name).into();
            for program in of_driver(&driver, Some(found.from), lookup, index).programs {
                let (kind, order) = (EdgeKind::Provisions, Precedence::Unordered);
                found.push(program, kind, order, "metadata.name", driver.clone());
            }
        }
        _ => {}
    }
}

/// A kind of class: group, kind, and the field that names it.
type Class = (&'static str, &'static str, &'static str);
const STORAGE_CLASS: Class = (STORAGE, "StorageClass", "spec.storageClassName");
const ATTRIBUTES_CLASS: Class =
    (STORAGE, "VolumeAttributesClass", "spec.volumeAttributesClassName");
const SNAPSHOT_CLASS: Class = (SNAPSHOTS, "VolumeSnapshotClass", "spec.volumeSnapshotClassName");

/// The strength with which a volume needs its class and driver.
fn need_of(volume: &Volume) -> Strength {
    let is_released = volume.phase.as_deref() == Some("Released");
    if is_released && volume.reclaim == Reclaim::Retain {
        Strength::Yielding
    } else {
        Strength::Hard
    }
}

fn to_class(
    found: &mut EdgeCollector<'_>,
    strength: Strength,
    (group, kind, field): Class,
    name: Option<Arc<str>>,
    index: &Index,
) {
    if let Some(name) = name
        && let Some(class) = index.find(group, kind, None, &name)
    {
        found.push_with(strength, class, EdgeKind::Provisions, BEFORE, field, name);
    }
}

fn to_driver(
    found: &mut EdgeCollector<'_>,
    strength: Strength,
    field: &'static str,
    driver: &Arc<str>,
    index: &Index,
    lookup: &EdgeLookup<'_>,
) {
    let declared = index.find(STORAGE, "CSIDriver", None, driver);
    if let Some(declared) = declared {
        found.push_with(strength, declared, EdgeKind::Provisions, BEFORE, field, driver.clone());
    }
    let drivers = of_driver(driver, declared.map(|it| &**it), lookup, index);
    let strength = strength.min(drivers.strength);
    for program in drivers.programs {
        if !stores_on_it(program, found.from) {
            to_program(found, EdgeKind::Provisions, strength, program, field, driver, index);
        }
    }
}

/// Whether a workload mounts the volume itself, so that it cannot be the driver that removes it.
fn stores_on_it(program: &Object, volume: &Object) -> bool {
    let Some(claim) = claim_of(volume) else { return false };
    program.namespace.as_ref() == Some(&claim.namespace)
        && uses(program)
            .iter()
            .any(|used| used.what == PodReferenceKind::Claim && used.name == claim.name)
}

fn claim_of(volume: &Object) -> Option<&ClaimRef> {
    match &volume.facts {
        Facts::Volume(volume) => volume.claim.as_ref(),
        _ => None,
    }
}

/// An edge to a workload and to its owners, whose deletion would take it along.
fn to_program(
    found: &mut EdgeCollector<'_>,
    kind: EdgeKind,
    strength: Strength,
    program: &Object,
    field: &'static str,
    value: &Arc<str>,
    index: &Index,
) {
    found.push_with(strength, program, kind, BEFORE, field, value.clone());
    for owner in owners(program, index) {
        let is_over_both = owner.uid == found.from.uid
            || index.descends(&found.from.uid, &owner.uid)
            || claims_descend(found.from, owner, index);
        if !is_over_both {
            let value = format!("{value} → {}", program.name);
            found.push_with(strength, owner, kind, BEFORE, field, value);
        }
    }
}

/// Whether the claim of a volume is owned by an object, which then goes before the volume.
fn claims_descend(volume: &Object, owner: &Object, index: &Index) -> bool {
    let claim = claim_of(volume)
        .and_then(|it| index.find("", "PersistentVolumeClaim", Some(&it.namespace), &it.name));
    claim.is_some_and(|claim| index.descends(&claim.uid, &owner.uid))
}

/// A class, and what names it, goes before the workload that answers for the class: a load balancer outside of the cluster is
/// removed by it, with or without a finalizer.
pub(super) fn controls(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let (class, field) = match &found.from.facts {
        Facts::Ingress(ingress) => {
            let class = ingress.class.as_ref();
            let class =
                class.and_then(|it| index.find("networking.k8s.io", "IngressClass", None, it));
            (class, "spec.ingressClassName")
        }
        Facts::References(_) if found.from.kind.is(GATEWAY_API, "Gateway") => {
            (gateway_class(found.from, index), "spec.gatewayClassName")
        }
        Facts::References(_) if found.from.kind.is(GATEWAY_API, "GatewayClass") => {
            (index.get(&found.from.uid), "spec.controllerName")
        }
        Facts::References(_) if found.from.kind.is("networking.k8s.io", "IngressClass") => {
            (index.get(&found.from.uid), "spec.controller")
        }
        _ => return,
    };
    let Some(class) = class else { return };
    let Facts::References(facts) = &class.facts else { return };
    let Some(controller) = &facts.controller else { return };
    let resource = if class.kind.is(GATEWAY_API, "GatewayClass") {
        (GATEWAY_API, "gateways/status")
    } else {
        ("networking.k8s.io", "ingresses/status")
    };
    let Programs { strength, programs } = of_class(controller, class, resource, lookup, index);
    for program in programs {
        to_program(found, EdgeKind::Controls, strength, program, field, controller, index);
    }
}
