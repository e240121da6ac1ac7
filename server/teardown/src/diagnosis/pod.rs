//! Pods that are being deleted: the node, the containers, then the volumes.
//!
//! The kubelet stops the containers, reports a terminal phase, unmounts the volumes and sends the last DELETE with a grace
//! period of 0 (`pkg/kubelet/pod_workers.go`, `pkg/kubelet/status/status_manager.go`). So a terminal phase with all
//! containers terminated means that the volumes are left, and another phase that the containers or the sandbox are. A Pod
//! with a grace period of 0 is waiting for its finalizers alone.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    case::{Case, cannot_see, condition},
    cause::{Cause, Confidence, Evidence, Finding, Source, Verdict},
    ended::{Ended, reporting},
    static_pod::is_mirror,
    unaware,
};
use crate::object::{
    Claim, ContainerState, Deletion, Facts, Object, ObjectRef, Phase, Pod, PodReferenceKind,
};

/// The grace period is not over: the kubelet is stopping the containers.
pub(super) fn within_grace<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(pod) = Ended::of(object) else { return };
    if case.now < pod.deletion.at && case.node(pod.node).is_some_and(|(_, node)| node.is_ready()) {
        let (until, pre_stop) = (pod.deletion.at, pod.ending.has_pre_stop_hook);
        found.push(pod.verdict(Cause::WithinGrace { until, pre_stop }).into());
    }
}

/// The node does not exist, or its kubelet has stopped reporting.
pub(super) fn node_away<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(pod) = Ended::of(object) else { return };
    if let Some(mut verdict) = case.silent_node(pod.node) {
        if let Some(reason) = &pod.ending.disruption {
            verdict = verdict.with([Evidence {
                of: object.reference(),
                source: Source::Condition("DisruptionTarget".into()),
                said: reason.to_string(),
                at: pod.ending.disrupted.map(Timestamp::from),
            }]);
        }
        found.push(verdict.into());
    } else if case.node(pod.node).is_none() {
        if let Err(why) = case.index.check_visible("nodes", None) {
            found.push(cannot_see(object, &why));
            return;
        }
        let node = ObjectRef {
            group: "".into(),
            kind: "Node".into(),
            namespace: None,
            name: pod.node.clone(),
        };
        let cause = Cause::NodeMissing { node: pod.node.clone() };
        let evidence =
            [Evidence::absent(node.clone()), Evidence::field(object, "spec.nodeName", &**pod.node)];
        found.push(Verdict::at(cause, node, Confidence::Confirmed).with(evidence).into());
    }
}

/// The node reports, and containers, sandbox or devices are left after the grace period.
pub(super) fn not_stopped<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(pod) = Ended::of(object) else { return };
    let Some((node_object, node)) = reporting(case, &pod) else { return };
    if pod.is_over() || is_mirror(object) || unaware::has_not_noticed(case, &pod) {
        return;
    }
    let name = pod.node.clone();
    let running: Vec<Arc<str>> =
        pod.in_state(ContainerState::Running).map(|it| it.name.clone()).collect();
    let is_none_in = |state| pod.in_state(state).next().is_none();
    let has_ended = running.is_empty()
        && is_none_in(ContainerState::Waiting)
        && !is_none_in(ContainerState::Terminated);
    // The phase is Pending until a container runs; of a Pod that it has not begun with the kubelet reports no container.
    let is_unreported = pod.ending.containers.is_empty() && pod.pod.phase != Some(Phase::Running);
    let is_waiting = running.is_empty() && !is_none_in(ContainerState::Waiting);
    let cause = if is_waiting || is_unreported {
        Cause::NeverStarted { node: name }
    } else if has_ended && pod.ending.has_devices {
        Cause::DevicesLeft { node: name }
    } else if has_ended {
        Cause::SandboxLeft { node: name }
    } else {
        let not_ready = !node.is_ready();
        Cause::ContainersRunning { node: name, containers: running, not_ready }
    };
    let ready = node.ready.as_ref().map(|ready| condition(node_object, ready));
    found.push(pod.verdict(cause).with(ready).with(case.node_lease(pod.node)).into());
}

/// The containers have terminated, and the kubelet has not unmounted the volumes. A driver that is missing holds all Pods of a node
/// that use it, and one repair frees them: they are one diagnosis, at the node's CSINode.
pub(super) fn not_unmounted<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(pod) = Ended::of(object) else { return };
    let Some((node_object, node)) = reporting(case, &pod) else { return };
    if !pod.is_over() || is_mirror(object) {
        return;
    }
    let (node_name, sub_paths) = (pod.node.clone(), pod.ending.mounts_sub_paths);
    let claims = || pod.pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
    let namespace = object.namespace.as_deref();
    let (mut gone, mut volumes, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let mut drivers: Vec<Arc<str>> = inline_drivers(pod.pod).cloned().collect();
    for used in claims() {
        match case.index.find("", "PersistentVolumeClaim", namespace, &used.name) {
            Some(claim) if is_newer(claim, pod.deletion) => gone.push(used.name.clone()),
            Some(claim) => match gone_volume(case, claim) {
                Some(volume) => {
                    lost.extend(loss_of(claim, volume));
                    volumes.push(volume.clone());
                }
                None => drivers.extend(driver_of(case, claim)),
            },
            None if case.index.check_claims_visible(namespace).is_ok() => {
                gone.push(used.name.clone());
            }
            None => {}
        }
    }
    let missing =
        drivers.iter().find_map(|driver| Some((unregistered(case, pod.node, driver)?, driver)));
    let mut evidence: Vec<Evidence> =
        node.ready.iter().map(|ready| condition(node_object, ready)).collect();
    evidence.extend(case.node_lease(pod.node));
    let cause = if !gone.is_empty() || !volumes.is_empty() {
        evidence.extend(gone.iter().map(|name| {
            match case.index.find("", "PersistentVolumeClaim", namespace, name) {
                Some(newer) => Evidence::field(newer, "metadata.creationTimestamp", "")
                    .since(newer.created.map(Timestamp::from)),
                None => Evidence::absent(ObjectRef {
                    group: "".into(),
                    kind: "PersistentVolumeClaim".into(),
                    namespace: object.namespace.clone(),
                    name: name.clone(),
                }),
            }
        }));
        evidence.extend(lost);
        Cause::ClaimGone { node: node_name, claims: gone, volumes, sub_paths }
    } else if let Some((csi_node, driver)) = missing {
        let cause = Cause::DriverMissing { node: node_name, driver: driver.clone() };
        let verdict = pod.verdict(cause).rooted(csi_node).part(driver).with(evidence);
        found.push(verdict.with([drivers_of(csi_node)]).into());
        return;
    } else if claims().next().is_some() || pod.ending.has_volumes || !drivers.is_empty() {
        Cause::VolumesMounted { node: node_name, sub_paths }
    } else {
        Cause::PodDirectoryLeft { node: node_name }
    };
    found.push(pod.verdict(cause).with(evidence).into());
}

/// Whether a claim was created after the deletion of a Pod that names it. The Pod mounts the one that had the name before.
fn is_newer(claim: &Object, deletion: &Deletion) -> bool {
    claim.created.is_some_and(|created| Timestamp::from(created) > deletion.accepted())
}

/// The volume of a claim if it was deleted while the claim is left. The controller of volumes then sets the claim's phase to Lost
/// (`syncBoundClaim` in `pkg/controller/volume/persistentvolume/pv_controller.go`).
fn gone_volume<'a>(case: &Case<'a>, claim: &'a Object) -> Option<&'a Arc<str>> {
    let Facts::Claim(facts) = &claim.facts else { return None };
    let volume = facts.volume.as_ref()?;
    let is_there = case.index.find("", "PersistentVolume", None, volume).is_some();
    (!is_there && case.index.can_see_volumes()).then_some(volume)
}

/// The evidence that the volume of a claim is gone.
fn loss_of(claim: &Object, volume: &Arc<str>) -> Vec<Evidence> {
    let phase = match &claim.facts {
        Facts::Claim(facts) => facts.phase.as_deref().unwrap_or_default(),
        _ => "",
    };
    let absent = Evidence::absent(ObjectRef {
        group: "".into(),
        kind: "PersistentVolume".into(),
        namespace: None,
        name: volume.clone(),
    });
    [Evidence::field(claim, "status.phase", phase), absent].into()
}

/// A CSI driver that a Pod needs to unmount an inline volume or the volume of a claim, and that is not registered on its node.
pub(crate) fn missing_driver(case: &Case<'_>, object: &Object, pod: &Pod) -> Option<Arc<str>> {
    let (node, namespace) = (pod.node.as_ref()?, object.namespace.as_deref());
    let used = pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
    let claims =
        used.filter_map(|used| case.index.find("", "PersistentVolumeClaim", namespace, &used.name));
    let of_claims = claims.filter_map(|claim| driver_of(case, claim));
    let mut drivers = inline_drivers(pod).cloned().chain(of_claims);
    drivers.find(|driver| unregistered(case, node, driver).is_some())
}

/// The CSI drivers of the inline volumes of a Pod.
fn inline_drivers(pod: &Pod) -> impl Iterator<Item = &Arc<str>> {
    let used = pod.uses.iter().filter(|used| used.what == PodReferenceKind::Driver);
    used.map(|used| &used.name)
}

/// The CSI driver of the volume that a claim is bound to.
fn driver_of(case: &Case<'_>, claim: &Object) -> Option<Arc<str>> {
    let Facts::Claim(facts) = &claim.facts else { return None };
    let Claim { volume: Some(volume), .. } = &**facts else { return None };
    match &case.index.find("", "PersistentVolume", None, volume)?.facts {
        Facts::Volume(volume) => volume.driver.clone(),
        _ => None,
    }
}

/// The CSINode of this name if it does not list the driver. One that cannot be seen says nothing against it.
fn unregistered<'a>(case: &Case<'a>, node: &str, driver: &Arc<str>) -> Option<&'a Arc<Object>> {
    let found = case.index.find("storage.k8s.io", "CSINode", None, node)?;
    let Facts::CsiNode(facts) = &found.facts else { return None };
    (!facts.drivers.contains(driver)).then_some(found)
}

/// The drivers that a CSINode lists.
fn drivers_of(csi_node: &Object) -> Evidence {
    let drivers = match &csi_node.facts {
        Facts::CsiNode(facts) => facts.drivers.join(", "),
        _ => String::new(),
    };
    Evidence::field(csi_node, "spec.drivers", drivers)
}
