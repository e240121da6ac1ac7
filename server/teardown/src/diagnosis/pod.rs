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
    plugin,
    static_pod::is_mirror,
    unaware,
};
use crate::object::{ContainerState, Deletion, Facts, Object, ObjectRef, Phase, PodReferenceKind};

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
/// that use it, and one repair frees them: they are one diagnosis, at the node's CSINode or at the Pod of the driver.
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
    for used in claims() {
        match case.index.find("", "PersistentVolumeClaim", namespace, &used.name) {
            Some(claim) if is_newer(claim, pod.deletion) => gone.push(used.name.clone()),
            Some(claim) => {
                if let Some(volume) = gone_volume(case, claim) {
                    lost.extend(loss_of(claim, volume));
                    volumes.push(volume.clone());
                }
            }
            None if case.index.check_claims_visible(namespace).is_ok() => {
                gone.push(used.name.clone());
            }
            None => {}
        }
    }
    let drivers = plugin::drivers_of(case.index, object, pod.pod);
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
    } else if let Some(missing) = plugin::missing(case.index, pod.node, &drivers) {
        let (driver, plugin) = (missing.driver.clone(), missing.plugin());
        let cause = Cause::DriverMissing { node: node_name, driver, plugin };
        let verdict = pod.verdict(cause).rooted(missing.root).part(&missing.driver);
        found.push(verdict.with(evidence).with(missing.evidence).into());
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
