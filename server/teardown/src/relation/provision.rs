//! The edges of what is made and removed by a driver, and of what a controller answers for: objects before their class, and
//! before the workload that must still run to remove them.
//!
//! # Decisions
//! - A workload is the driver if its Pods mount the folder of the driver's plugin from their node, or if its account may change
//!   volumes or attachments and it was installed with that workload or with the CSIDriver object.
//! - A workload is the controller of a class if its project ships the name by which the class names its controller, or if it was
//!   installed with the class and may write the status of the objects.
//! - All others that have the rights are *possible* drivers or controllers: they go later, and that is all.
//! - A bound claim needs the driver of its volume, whatever becomes of the volume: the driver unmounts and detaches it, and a claim
//!   goes only after that. A volume that is retained is no step that the driver would wait for.
//! - A claim without a volume needs the driver of its class, and so does a workload whose Pods get claims from a template, however
//!   many claims it has now: an autoscaler may start a StatefulSet of 0 replicas while the driver goes, and its new Pods would never
//!   get a volume, or never unmount it.
//! - A class whose volumes are made by hand or by a part of Kubernetes has no driver here, as its volumes have none. A plugin of
//!   Kubernetes that was migrated to a driver is that driver (`object/migration.rs`).
//! - A provisioner that is no CSI driver deletes what is stored on the volumes that it made, and so goes after those with policy
//!   Delete and after their claims (`shouldDelete` in `controller/controller.go` of `sig-storage-lib-external-provisioner`). The
//!   kubelet mounts them by itself, so that nothing of a retained volume needs it.
//! - A workload is such a provisioner if a container of it is told the name, in an argument or by `PROVISIONER_NAME`, and its account
//!   may change or delete volumes; or if it has that right by a rule that names them, and is called like the program whose
//!   provisioner has the name by default. One that is told another name is not even a possible one.
//! - The driver of devices is found as a CSI driver is, by its folder. Most drivers of devices mount the folder above it: then all
//!   that publish ResourceSlices are possible drivers.
//! - A Released volume with policy Retain stands for nothing but itself: its class and its driver are not kept for it.

use std::sync::Arc;

use super::{
    DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, Precedence, Strength, final_phase,
    finish::{Programs, of_class, of_devices, of_driver, owners},
    is_numbered,
    refer::{GATEWAY_API, gateway_class},
    storage::{content_of, volume_of},
    used_object, uses,
};
use crate::{
    index::Index,
    object::{
        Claim, ClaimRef, Facts, Object, PodReference, PodReferenceKind, Reclaim, Volume,
        driver_of_provisioner,
    },
};

const STORAGE: &str = "storage.k8s.io";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";
const DEVICES: &str = "resource.k8s.io";
const BEFORE: Precedence = Precedence::FromFirst(DeletionPhase::Gone);

/// Claims, volumes, snapshots, attachments and Pods go before their class, their driver, and the workloads that are the driver.
pub(super) fn provisions(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    match &found.from.facts {
        Facts::Claim(claim) => {
            let [class, attributes] = [claim.class.clone(), claim.attributes.clone()];
            to_class(found, Strength::Hard, STORAGE_CLASS, class, index);
            to_class(found, Strength::Hard, ATTRIBUTES_CLASS, attributes, index);
            if let Some(Facts::Volume(volume)) = volume_of(found.from, index).map(|it| &it.facts) {
                for (_, driver) in drivers_of(volume) {
                    to_driver(found, Strength::Hard, "spec.volumeName", &driver, index, lookup);
                }
            }
            if let Some(driver) = driver_to_come(claim, index) {
                to_driver(found, Strength::Hard, STORAGE_CLASS.2, &driver, index, lookup);
            }
        }
        Facts::Volume(volume) => {
            let strength = need_of(volume);
            to_class(found, strength, STORAGE_CLASS, volume.class.clone(), index);
            to_class(found, strength, ATTRIBUTES_CLASS, volume.attributes.clone(), index);
            for (field, driver) in drivers_of(volume) {
                to_driver(found, strength, field, &driver, index, lookup);
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
        Facts::Pod(_) | Facts::Workload(_) => of_pod_volumes(found, index, lookup),
        Facts::References(references) if found.from.kind.is(DEVICES, "ResourceClaim") => {
            for driver in &references.drivers {
                to_device_driver(found, driver, index, lookup);
            }
        }
        Facts::References(references) => {
            for name in &references.drivers {
                let driver = driver_of_provisioner(name)
                    .and_then(|driver| index.find(STORAGE, "CSIDriver", None, driver));
                let Some(driver) = driver else { continue };
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
            let Programs { strength, programs } =
                of_driver(&driver, Some(found.from), lookup, index);
            for program in programs {
                let (kind, order) = (EdgeKind::Provisions, Precedence::Unordered);
                found.push_with(strength, program, kind, order, "metadata.name", driver.clone());
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

/// The annotation that names the provisioner of a volume.
const PROVISIONED_BY: &str = "metadata.annotations[pv.kubernetes.io/provisioned-by]";

/// The driver that attaches and mounts a volume, and the provisioner that deletes what is stored on it, if that is another one: each
/// with the field that names it. The plugins of Kubernetes that no driver replaced are a part of the controller manager.
fn drivers_of(volume: &Volume) -> impl Iterator<Item = (&'static str, Arc<str>)> {
    let deletes = volume.provisioner.as_ref().filter(|_| volume.reclaim == Reclaim::Delete);
    let provisioner =
        deletes.and_then(driver_named).filter(|it| Some(it) != volume.driver.as_ref());
    let driver = volume.driver.clone().map(|driver| (volume.driver_field(), driver));
    driver.into_iter().chain(provisioner.map(|it| (PROVISIONED_BY, it)))
}

/// The driver that a class or volume means by the name of a provisioner.
fn driver_named(provisioner: &Arc<str>) -> Option<Arc<str>> {
    let driver = driver_of_provisioner(provisioner)?;
    Some(if *driver == **provisioner { provisioner.clone() } else { driver.into() })
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
    let need = Need { kind: EdgeKind::Provisions, order: BEFORE, strength };
    for program in drivers.programs {
        if !goes_first(program, found.from, index) {
            to_program(found, need, program, field, driver, index);
        }
    }
}

/// Pods go before the driver of their inline volumes, which unmounts them, and of the claims that are made for them from a
/// template: the CSIDriver and the StorageClass are among the names that they use
/// (<https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/>).
fn of_pod_volumes(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let order = Precedence::FromFirst(final_phase(found.from));
    for used in uses(found.from) {
        let is_inline = used.what == PodReferenceKind::Driver;
        let Some(driver) = driver_of(used, index) else { continue };
        let declared = index.find(STORAGE, "CSIDriver", None, &driver);
        let Programs { strength, programs } =
            of_driver(&driver, declared.map(|it| &**it), lookup, index);
        // An inline volume is mounted by a plugin, never by a controller that is only a possible one.
        if is_inline && strength < Strength::Hard {
            continue;
        }
        let need = Need { kind: EdgeKind::Provisions, order, strength };
        for program in programs {
            // A Pod of the driver goes with its workload.
            if !index.descends(&found.from.uid, &program.uid) {
                to_program(found, need, program, used.field.clone(), &driver, index);
            }
        }
    }
}

/// The driver that a Pod names, or that the class of its claims names.
fn driver_of(used: &PodReference, index: &Index) -> Option<Arc<str>> {
    match used.what {
        PodReferenceKind::Driver => Some(used.name.clone()),
        PodReferenceKind::StorageClass | PodReferenceKind::DefaultStorageClass => {
            provisioner(used_object(used, None, index)?)
        }
        _ => None,
    }
}

/// The driver that makes the volume of a claim that has none yet.
fn driver_to_come(claim: &Claim, index: &Index) -> Option<Arc<str>> {
    let class = claim.class.as_ref().filter(|_| claim.volume.is_none())?;
    provisioner(index.find(STORAGE, "StorageClass", None, class)?)
}

/// The driver that makes the volumes of a class.
fn provisioner(class: &Object) -> Option<Arc<str>> {
    let Facts::References(facts) = &class.facts else { return None };
    facts.drivers.first().and_then(driver_named)
}

/// A ResourceClaim goes before the driver of its devices. It goes after the Pods that use them, and each of those ends only when
/// the plugin on its node has unprepared the devices
/// (<https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/>).
fn to_device_driver(
    found: &mut EdgeCollector<'_>,
    driver: &Arc<str>,
    index: &Index,
    lookup: &EdgeLookup<'_>,
) {
    let Programs { strength, programs } = of_devices(driver, lookup, index);
    let need = Need { kind: EdgeKind::Provisions, order: BEFORE, strength };
    for program in programs {
        if !goes_first(program, found.from, index) {
            let field = "status.allocation.devices.results";
            to_program(found, need, program, field, driver, index);
        }
    }
}

/// Whether the Pods of a program use a ResourceClaim, so that it goes after them.
fn is_used_by(claim: &Object, program: &Object) -> bool {
    let names = |used: &PodReference| {
        used.what == PodReferenceKind::ResourceClaim && *used.name == *claim.name
    };
    program.namespace == claim.namespace && uses(program).iter().any(names)
}

/// Whether a workload mounts the claim or the volume itself, so that it cannot be the driver that removes it.
fn stores_on_it(program: &Object, storage: &Object) -> bool {
    let (namespace, name) = match &storage.facts {
        Facts::Claim(_) => (storage.namespace.as_ref(), &*storage.name),
        _ => match claim_of(storage) {
            Some(claim) => (Some(&claim.namespace), &*claim.name),
            None => return false,
        },
    };
    let mounts = |used: &PodReference| used.what == PodReferenceKind::Claim && *used.name == *name;
    let has_template = || match &program.facts {
        Facts::Workload(set) => set
            .claim_templates
            .iter()
            .any(|template| is_numbered(name, &format!("{template}-{}-", program.name))),
        _ => false,
    };
    program.namespace.as_ref() == namespace && (uses(program).iter().any(mounts) || has_template())
}

fn claim_of(volume: &Object) -> Option<&ClaimRef> {
    match &volume.facts {
        Facts::Volume(volume) => volume.claim.as_ref(),
        _ => None,
    }
}

/// The words of an edge to a program.
#[derive(Clone, Copy)]
struct Need {
    kind: EdgeKind,
    order: Precedence,
    strength: Strength,
}

/// An edge to a workload and to its owners, whose deletion would take it along.
fn to_program(
    found: &mut EdgeCollector<'_>,
    Need { kind, order, strength }: Need,
    program: &Object,
    field: impl Into<Arc<str>>,
    value: &Arc<str>,
    index: &Index,
) {
    let field = field.into();
    found.push_with(strength, program, kind, order, field.clone(), value.clone());
    for owner in owners(program, index) {
        if !goes_first(owner, found.from, index) && !users_descend(found.from, owner, index) {
            let value = format!("{value} → {}", program.name);
            found.push_with(strength, owner, kind, order, field.clone(), value);
        }
    }
}

/// Whether a program or its owner goes before an object in any case: it owns the object or the claim of the volume, or its Pods
/// mount them. A claim for a generic ephemeral volume or from a ResourceClaimTemplate is owned by the Pod that it was made for.
fn goes_first(program: &Object, object: &Object, index: &Index) -> bool {
    index.descends(&object.uid, &program.uid)
        || claims_descend(object, program, index)
        || uses_it(program, object)
}

/// Whether an object owns a workload or Pod that uses a claim, a volume or a ResourceClaim, and so goes before it: an operator's
/// object may own both the plugin of a driver and a StatefulSet that stores on it.
fn users_descend(object: &Object, owner: &Object, index: &Index) -> bool {
    let namespace = match &object.facts {
        Facts::Claim(_) => object.namespace.as_ref(),
        _ if object.kind.is(DEVICES, "ResourceClaim") => object.namespace.as_ref(),
        _ => claim_of(object).map(|claim| &claim.namespace),
    };
    let Some(namespace) = namespace else { return false };
    // An object owns those of its own namespace alone, unless it is in none.
    owner.namespace.as_ref().is_none_or(|it| it == namespace)
        && index
            .workers_in(namespace)
            .any(|user| uses_it(user, object) && index.descends(&user.uid, &owner.uid))
}

/// Whether a workload or Pod uses a claim, a volume or a ResourceClaim.
fn uses_it(program: &Object, object: &Object) -> bool {
    if object.kind.is(DEVICES, "ResourceClaim") {
        is_used_by(object, program)
    } else {
        stores_on_it(program, object)
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
    let need = Need { kind: EdgeKind::Controls, order: BEFORE, strength };
    for program in programs {
        to_program(found, need, program, field, controller, index);
    }
}
