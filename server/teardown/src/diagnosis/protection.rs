//! Finalizers that protect an object while others use it, or are copied from it. Claims and volumes of Pods have detectors of
//! their own (`storage`).

use std::sync::Arc;

use super::{
    case::{Case, cannot_see_verdict, names, part},
    cause::{Cause, Confidence, Evidence, Finding, Link, Verdict},
};
use crate::{
    deadlines::Overdue,
    object::{Facts, Object, Phase},
    relation::{EdgeKind, GATEWAY_API},
    unknown_reason::UnknownReason,
};

/// `pkg/controller/volume/vacprotection`.
const ATTRIBUTES_CLASS: &str = "kubernetes.io/vac-protection";
/// `pkg/controller/resourceclaim`.
const RESOURCE_CLAIM: &str = "resource.kubernetes.io/delete-protection";
/// `pkg/controller/servicecidrs`.
const SERVICE_CIDR: &str = "networking.k8s.io/service-cidr-finalizer";

/// `pkg/controller/scheduling/podgroup`, since 1.36.
const POD_GROUP: &str = "scheduling.k8s.io/podgroup-protection";

/// Set by the snapshot-controller on a claim while a snapshot is made of it.
const SNAPSHOT_SOURCE: &str = "snapshot.storage.kubernetes.io/pvc-as-source-protection";

/// Set on a GatewayClass by its controller as long as Gateways name it (`GatewayClassFinalizerGatewaysExist` in
/// `apis/v1/gatewayclass_types.go` of `kubernetes-sigs/gateway-api`). Any controller may be the class's.
const GATEWAYS_EXIST: &str = "gateway-exists-finalizer.gateway.networking.k8s.io";
/// The field by which a Gateway names its class.
const CLASS_NAME: &str = "spec.gatewayClassName";

/// Finalizers of a claim or a snapshot that its copies are made from: two of the external-provisioner and two of the
/// snapshot-controller.
const SOURCES: [&str; 4] = [
    "provisioner.storage.kubernetes.io/cloning-protection",
    "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection",
    SNAPSHOT_SOURCE,
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
];

/// Set by the snapshot-controller on a snapshot, and kept until the content goes that it deletes with the snapshot
/// (`checkandRemoveSnapshotFinalizersAndCheckandDeleteContent` in `pkg/common-controller/snapshot_controller.go` of
/// `kubernetes-csi/external-snapshotter`).
const BOUND_SNAPSHOT: &str = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection";
/// Set on the content of a snapshot. The csi-snapshotter of the driver deletes nothing before the snapshot is deleted that the
/// content is bound to (`shouldDelete` in `pkg/sidecar-controller/snapshot_controller.go` there).
pub(super) const BOUND_CONTENT: &str =
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection";

/// The other half of a snapshot and its content, for which one that is being deleted keeps this finalizer: the content that is
/// going, or the snapshot that nobody deletes.
fn other_half<'a>(case: &Case<'a>, object: &Object, finalizer: &str) -> Option<&'a Arc<Object>> {
    object.deletion.as_ref()?;
    match (finalizer, &object.facts) {
        (BOUND_SNAPSHOT, Facts::Snapshot(_)) => {
            let bound = case.graph.from(&object.uid).filter(|edge| edge.kind == EdgeKind::Binds);
            let mut contents = bound.filter_map(|edge| case.index.get(edge.to));
            contents.find(|content| content.deletion.is_some())
        }
        (BOUND_CONTENT, Facts::SnapshotContent(_)) => {
            case.sources(object, EdgeKind::Binds).find(|snapshot| snapshot.deletion.is_none())
        }
        _ => None,
    }
}

/// Whether a finalizer stays on a snapshot for its content, or on a content for its snapshot: its program has a reason to keep it.
pub(super) fn is_for_other_half(case: &Case<'_>, object: &Object, finalizer: &str) -> bool {
    other_half(case, object, finalizer).is_some()
}

/// Whether a finalizer protects a source whose copies are not complete: its program has a reason to keep it.
pub(super) fn is_source_of_copies(case: &Case<'_>, object: &Object, finalizer: &str) -> bool {
    SOURCES.contains(&finalizer) && copies(case, object, finalizer).next().is_some()
}

/// The Gateways that name a class, in any namespace, for which its controller keeps this finalizer.
fn gateways<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let is_kept = finalizer == GATEWAYS_EXIST && object.kind.is(GATEWAY_API, "GatewayClass");
    let named = case.sources(object, EdgeKind::Controls);
    named.filter(move |it| is_kept && it.kind.is(GATEWAY_API, "Gateway"))
}

/// Whether a finalizer stays on a class that is being deleted for its Gateways: its controller has a reason to keep it.
pub(super) fn is_for_gateways(case: &Case<'_>, object: &Object, finalizer: &str) -> bool {
    object.deletion.is_some() && gateways(case, object, finalizer).next().is_some()
}

/// The reason why nobody can tell whether the copies of a protected source are complete, or whether a class has Gateways; `None` if
/// their kind is visible.
pub(super) fn unseen_users(
    case: &Case<'_>,
    object: &Object,
    finalizer: &str,
) -> Option<UnknownReason> {
    let resource = match finalizer {
        SNAPSHOT_SOURCE => "volumesnapshots.snapshot.storage.k8s.io",
        GATEWAYS_EXIST => "gateways.gateway.networking.k8s.io",
        _ if SOURCES.contains(&finalizer) => "persistentvolumeclaims",
        _ => return None,
    };
    case.index.check_visible(resource, object.namespace.as_deref()).err()
}

/// A finalizer that a controller of the control plane keeps on an object while others name it.
struct Protection {
    /// The field in which they name it.
    field: &'static str,
    /// The resources that they are of.
    resources: &'static [&'static str],
    controller: &'static str,
}

const OF_ATTRIBUTES_CLASS: Protection = Protection {
    field: "spec.volumeAttributesClassName",
    resources: &["persistentvolumeclaims", "persistentvolumes"],
    controller: "volumeattributesclass-protection-controller",
};
const OF_RESOURCE_CLAIM: Protection = Protection {
    field: "spec.resourceClaims",
    resources: &["pods"],
    controller: "resourceclaim-controller",
};

const OF_POD_GROUP: Protection = Protection {
    field: "spec.schedulingGroup.podGroupName",
    resources: &["pods"],
    controller: "podgroup-protection-controller",
};

/// The users of an object that is protected until the last of them goes, and the copies that are made from it.
pub(super) fn users<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let is_storage = |user: &Object| matches!(user.facts, Facts::Claim(_) | Facts::Volume(_));
    let runs = |user: &Object| match &user.facts {
        Facts::Pod(pod) => pod.node.is_some() && !pod.phase.is_some_and(Phase::is_over),
        _ => false,
    };
    for finalizer in object.finalizers.iter() {
        match &**finalizer {
            ATTRIBUTES_CLASS => {
                let users = case.sources(object, EdgeKind::Provisions).filter(|it| is_storage(it));
                in_use(case, object, finalizer, &OF_ATTRIBUTES_CLASS, users.collect(), found);
            }
            RESOURCE_CLAIM => {
                let users = case.sources(object, EdgeKind::Mounts).filter(|it| runs(it));
                in_use(case, object, finalizer, &OF_RESOURCE_CLAIM, users.collect(), found);
            }
            // A Pod counts before it has a node: the scheduler places the group as one.
            POD_GROUP => {
                let is_over = |user: &Object| match &user.facts {
                    Facts::Pod(pod) => pod.phase.is_some_and(Phase::is_over),
                    _ => true,
                };
                let users = case.sources(object, EdgeKind::Mounts).filter(|it| !is_over(it));
                in_use(case, object, finalizer, &OF_POD_GROUP, users.collect(), found);
            }
            // The addresses of Services are objects that nobody watches.
            SERVICE_CIDR if case.overdue(object) > Overdue::No => {
                let resource: Arc<str> = "ipaddresses.networking.k8s.io".into();
                let cause = Cause::CannotSee { resource: resource.clone() };
                let verdict = Verdict::new(cause, object, Confidence::Unknown).part(&resource);
                found.push(verdict.into());
            }
            BOUND_SNAPSHOT | BOUND_CONTENT => match other_half(case, object, finalizer) {
                Some(content) if content.deletion.is_some() => {
                    found.push(Finding::WaitsFor(Link::Claim, vec![content]));
                }
                Some(snapshot) => {
                    let verdict =
                        held(object, finalizer, Cause::InUse { users: names(&[snapshot]) });
                    let field = "status.boundVolumeSnapshotContentName";
                    found.push(
                        verdict.with([Evidence::field(snapshot, field, &*object.name)]).into(),
                    );
                }
                None => {}
            },
            // Once there are none, its controller is what it waits for.
            GATEWAYS_EXIST => {
                let (going, staying) = part(gateways(case, object, finalizer));
                if !staying.is_empty() {
                    let verdict = held(object, finalizer, Cause::InUse { users: names(&staying) });
                    found.push(verdict.with(uses(&staying, CLASS_NAME, object)).into());
                }
                waits_for(going, found);
            }
            name if is_source_of_copies(case, object, name) => {
                let (going, staying) = part(copies(case, object, name));
                let copied = Cause::Copied { copies: names(&staying) };
                let verdict = held(object, finalizer, copied).part(finalizer);
                if !staying.is_empty() {
                    found.push(verdict.with(staying.into_iter().take(3).map(state)).into());
                }
                waits_for(going, found);
            }
            _ => {}
        }
    }
}

fn in_use<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &Arc<str>,
    protection: &Protection,
    users: Vec<&'a Arc<Object>>,
    found: &mut Vec<Finding<'a>>,
) {
    let Protection { field, resources, controller } = protection;
    let is_unused = users.is_empty();
    let (going, staying) = part(users);
    if !staying.is_empty() {
        let verdict = held(object, finalizer, Cause::InUse { users: names(&staying) });
        found.push(verdict.with(uses(&staying, field, object)).into());
    }
    waits_for(going, found);
    if is_unused && case.overdue(object) > Overdue::No {
        let namespace = object.namespace.as_deref();
        let hidden = resources.iter().find_map(|it| case.index.check_visible(it, namespace).err());
        let cause = Cause::ControllerSilent { controller: (*controller).into() };
        let silent = Verdict { confidence: Confidence::Inferred, ..held(object, finalizer, cause) };
        found.push(hidden.map_or(silent, |why| cannot_see_verdict(object, &why)).into());
    }
}

/// The field by which each of the first few users names an object.
fn uses(users: &[&Arc<Object>], field: &str, object: &Object) -> Vec<Evidence> {
    let of = |user: &&Arc<Object>| Evidence::field(user, field, &*object.name);
    users.iter().take(3).map(of).collect()
}

fn held(object: &Object, finalizer: &Arc<str>, cause: Cause) -> Verdict {
    let said = Evidence::field(object, "metadata.finalizers", &**finalizer);
    Verdict::new(cause, object, Confidence::Confirmed).with([said])
}

fn waits_for<'a>(going: Vec<&'a Arc<Object>>, found: &mut Vec<Finding<'a>>) {
    if !going.is_empty() {
        found.push(Finding::WaitsFor(Link::Use, going));
    }
}

/// The state of a copy.
fn state(copy: &Arc<Object>) -> Evidence {
    match &copy.facts {
        Facts::Snapshot(snapshot) => {
            Evidence::field(copy, "status.readyToUse", snapshot.ready.to_string())
        }
        Facts::Claim(claim) => {
            Evidence::field(copy, "status.phase", claim.phase.as_deref().unwrap_or_default())
        }
        _ => Evidence::field(copy, "status", ""),
    }
}

/// The copies for which an object has the finalizer and that are not complete: snapshots of a claim, or claims.
fn copies<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let are_snapshots = finalizer == SNAPSHOT_SOURCE;
    case.sources(object, EdgeKind::Snapshots).filter(move |copy| match &copy.facts {
        Facts::Claim(claim) => !are_snapshots && claim.phase.as_deref() != Some("Bound"),
        Facts::Snapshot(snapshot) => are_snapshots && !snapshot.ready,
        _ => false,
    })
}
