//! Claims, volumes and their attachments.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    case::{Case, cannot_see, names, part},
    cause::{Cause, Confidence, DetachState, Evidence, Finding, Link, Verdict},
    driver::driver_finisher,
};
use crate::{
    deadlines::Overdue,
    index::Index,
    object::{Attachment, Facts, Object, Phase},
    relation::{EdgeKind, is_an_attachers},
};

/// Set on a volume by its CSI provisioner, and by the controller of volumes for in-tree ones.
const PROVISIONERS: [&str; 2] =
    ["external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-controller"];

/// `kubernetes.io/pvc-protection`: a Pod that names the claim holds it, in whatever phase the Pod is
/// (`pkg/controller/volume/pvcprotection/pvc_protection_controller.go`).
pub(super) fn claim_in_use<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let protection = "kubernetes.io/pvc-protection";
    if !object.has_finalizer(protection) {
        return;
    }
    if let Err(why) = case.index.check_pods_visible(object.namespace.as_deref()) {
        found.push(cannot_see(object, &why));
        return;
    }
    let is_pod = |user: &&Arc<Object>| matches!(&user.facts, Facts::Pod(pod) if pod.node.is_some());
    let (going, staying) = part(case.sources(object, EdgeKind::Mounts).filter(is_pod));
    let is_completed = |pod: &&Arc<Object>| matches!(&pod.facts, Facts::Pod(pod) if pod.phase.is_some_and(Phase::is_over));
    let (completed, live): (Vec<_>, Vec<_>) = staying.into_iter().partition(is_completed);
    let field = |pod: &&Arc<Object>| {
        Evidence::field(pod, "spec.volumes", format!("persistentVolumeClaim {}", object.name))
    };
    if going.is_empty() && completed.is_empty() && live.is_empty() {
        if case.overdue(object) > Overdue::No {
            found.push(silent(object, "persistentvolumeclaim-protection-controller", protection));
        }
        return;
    }
    if !live.is_empty() {
        let cause = Cause::ClaimInUse { pods: names(&live) };
        let verdict = Verdict::new(cause, object, Confidence::Confirmed);
        found.push(verdict.with(live.iter().take(3).map(field)).into());
    } else if !completed.is_empty() {
        let cause = Cause::ClaimHeldByCompletedPods { pods: names(&completed) };
        let verdict = Verdict::new(cause, object, Confidence::Confirmed);
        found.push(verdict.with(completed.iter().take(3).map(field)).into());
    }
    if !going.is_empty() {
        found.push(Finding::WaitsFor(Link::Mount, going));
    }
}

/// `kubernetes.io/pv-protection`: a volume that is bound waits for its claim.
pub(super) fn volume_bound<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Facts::Volume(volume) = &object.facts else { return };
    if !object.has_finalizer("kubernetes.io/pv-protection")
        || volume.phase.as_deref() != Some("Bound")
    {
        return;
    }
    match case.index.claim_of(volume) {
        Err(why) => found.push(cannot_see(object, &why)),
        Ok(Some(claim)) if claim.deletion.is_some() => {
            found.push(Finding::WaitsFor(Link::Claim, vec![claim]));
        }
        Ok(claim) => {
            let cause = Cause::VolumeBound { claim: claim.map(|claim| claim.reference()) };
            let phase = Evidence::field(object, "status.phase", "Bound");
            found.push(Verdict::new(cause, object, Confidence::Confirmed).with([phase]).into());
        }
    }
}

/// A volume waits for its attachments, and then for its provisioner, which deletes the storage behind it. A provisioner that is
/// known and not ready is the cause.
pub(super) fn volume_released<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Facts::Volume(volume) = &object.facts else { return };
    // A volume that is attached cannot be deleted, so without its attachments nothing can be said.
    if let Err(why) = case.index.check_visible("volumeattachments.storage.k8s.io", None) {
        found.push(cannot_see(object, &why));
        return;
    }
    let (going, staying) = part(attachments_of(case, object));
    let phase = volume.phase.as_deref().unwrap_or_default();
    if object.finalizers.iter().any(|it| is_an_attachers(it)) {
        let claim = case.claim_of_volume(&object.name);
        // A volume that is bound waits for its claim, and no Pod on a node that uses the claim lets the volume go before that.
        let is_bound = !found.is_empty();
        for attachment in &staying {
            let is_wanted =
                claim.zip(node_of(attachment)).is_some_and(|(it, node)| case.is_wanted(it, node));
            if !(is_bound && is_wanted) {
                found.extend(attached(case, attachment).map(Finding::from));
            }
        }
        if !going.is_empty() {
            found.push(Finding::WaitsFor(Link::Attachment, going));
            return;
        }
    }
    let provisioners = object.finalizers.iter().find(|it| PROVISIONERS.contains(&&***it));
    if let Some(finalizer) = provisioners
        && staying.is_empty()
        && matches!(phase, "Released" | "Failed")
    {
        let said = Evidence::field(object, "status.phase", phase);
        let program = driver_finisher(case, object, finalizer);
        let is_failed = phase == "Failed";
        // A phase of Failed is the answer of a provisioner, and a cause of its own, whether one is ready now or not.
        if let Some(verdict) = program.clone().filter(Verdict::is_not_ready) {
            let held = Evidence::field(object, "metadata.finalizers", &**finalizer);
            found.push(verdict.part(finalizer).with([held, said.clone()]).into());
            if !is_failed {
                return;
            }
        }
        let cause = Cause::BackendLeft { driver: volume.driver.clone() };
        let confidence = if is_failed { Confidence::Confirmed } else { Confidence::Inferred };
        let programs = program.map(|verdict| verdict.evidence).unwrap_or_default();
        let verdict = Verdict::new(cause, object, confidence).with([said]);
        found.push(verdict.with(programs).into());
    }
}

/// A VolumeAttachment waits for the external-attacher of the driver, which takes its finalizer off once the volume is detached.
pub(super) fn not_detached<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    if matches!(object.facts, Facts::Attachment(_)) {
        found.extend(attached(case, object).map(Finding::from));
    }
}

/// The verdict on a detach that has not ended. None where another program than the external-attacher keeps an attachment.
pub(super) fn attached(case: &Case<'_>, object: &Arc<Object>) -> Option<Verdict> {
    let Facts::Attachment(attachment) = &object.facts else { return None };
    let is_of_others = !object.finalizers.iter().any(|it| is_an_attachers(it));
    if object.deletion.is_some() && is_of_others && !object.finalizers.is_empty() {
        return None;
    }
    let Attachment { node, attacher, detach_error, detach_failed, volume, .. } = &**attachment;
    let (node, attacher) = (node.clone(), attacher.clone());
    if let Some(said) = detach_error {
        let cause = Cause::DetachFailed { attacher, node, said: said.clone() };
        let error = Evidence::field(object, "status.detachError.message", &**said)
            .since(detach_failed.map(Timestamp::from));
        return Some(Verdict::new(cause, object, Confidence::Confirmed).with([error]));
    }
    let said = Evidence::field(object, "status.attached", attachment.attached.to_string());
    // The deletion of the attachment requests the detach, and after that the node does not matter.
    let (detach, facts): (_, Vec<Evidence>) = if object.deletion.is_none() {
        if let Some(verdict) = case.silent_node(&node) {
            return Some(verdict);
        }
        let in_use = in_use(case.index, attachment);
        let detach = in_use.as_ref().map_or(DetachState::NotRequested, |_| DetachState::InUse);
        (detach, in_use.into_iter().collect())
    } else if attachment.attached {
        let of_program = |finalizer| program(case, object, finalizer);
        (DetachState::Requested, object.finalizers.iter().flat_map(of_program).collect())
    } else {
        let held = |finalizer: &Arc<str>| {
            let held = Evidence::field(object, "metadata.finalizers", &**finalizer);
            program(case, object, finalizer).into_iter().chain([held]).collect::<Vec<_>>()
        };
        (DetachState::NotAttached, object.finalizers.iter().flat_map(held).collect())
    };
    let cause = Cause::VolumeAttached { attacher, node, volume: volume.clone(), detach };
    Some(Verdict::new(cause, object, Confidence::Inferred).with([said]).with(facts))
}

/// The evidence that a node uses the volume of an attachment: as long as it says so, the attach-detach controller does not delete the
/// attachment.
pub(crate) fn in_use(index: &Index, attachment: &Attachment) -> Option<Evidence> {
    let object = index.find("", "Node", None, &attachment.node)?;
    let Facts::Node(node) = &object.facts else { return None };
    let volume = index.find("", "PersistentVolume", None, attachment.volume.as_deref()?)?;
    let Facts::Volume(volume) = &volume.facts else { return None };
    let name = volume.unique_name()?;
    let is_listed = node.in_use.iter().any(|it| **it == *name);
    is_listed.then(|| Evidence::field(object, "status.volumesInUse", name))
}

fn node_of(attachment: &Object) -> Option<&Arc<str>> {
    match &attachment.facts {
        Facts::Attachment(facts) => Some(&facts.node),
        _ => None,
    }
}

/// The readiness of the program of a driver that clears a finalizer, where it is known.
fn program(case: &Case<'_>, object: &Object, finalizer: &Arc<str>) -> Vec<Evidence> {
    driver_finisher(case, object, finalizer).map(|verdict| verdict.evidence).unwrap_or_default()
}

fn attachments_of<'a>(
    case: &Case<'a>,
    volume: &'a Object,
) -> impl Iterator<Item = &'a Arc<Object>> {
    case.index.of_resource("volumeattachments.storage.k8s.io").filter(|object| {
        let Facts::Attachment(attachment) = &object.facts else { return false };
        attachment.volume.as_deref() == Some(&*volume.name)
    })
}

fn silent<'a>(object: &Object, controller: &str, finalizer: &str) -> Finding<'a> {
    let cause = Cause::ControllerSilent { controller: controller.into() };
    let held = Evidence::field(object, "metadata.finalizers", finalizer);
    Verdict::new(cause, object, Confidence::Inferred).with([held]).into()
}
