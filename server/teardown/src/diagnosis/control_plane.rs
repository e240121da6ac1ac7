//! The kube-controller-manager: without it, many deletions wait for one cause.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Diagnosis, EVIDENCE,
    case::Case,
    cause::{Cause, Confidence, Evidence, Finding, Source, Verdict},
};
use crate::object::{Object, Uid};

/// No kube-controller-manager leads. It is a root beside the others that its controllers would end, and never in their
/// place: what is read of a lease may be missing at the next look.
pub(super) fn manager<'a>(case: &Case<'a>, _: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let is_its_work = |finding: &Finding<'_>| match finding {
        Finding::Root(verdict) => match &verdict.cause {
            Cause::ControllerSilent { controller } => is_of_manager(controller),
            Cause::NodeMissing { .. }
            | Cause::LooksAgain { .. }
            // It counts again at each look.
            | Cause::ContentUnseen { .. }
            // Volumes without a driver are the work of its own controllers, and so is the phase of every volume.
            | Cause::BackendLeft { driver: None }
            | Cause::VolumeBound { claim: None } => true,
            // It asks for the detach; after that the driver has to answer.
            Cause::VolumeAttached { detach, .. } => !detach.is_requested(),
            // It would have found out by now that the node is silent.
            Cause::ContainersRunning { .. }
            | Cause::StaticPod { .. }
            | Cause::NeverStarted { .. }
            | Cause::SandboxLeft { .. }
            | Cause::DevicesLeft { .. }
            | Cause::VolumesMounted { .. }
            | Cause::ClaimGone { .. }
            | Cause::DriverMissing { .. }
            | Cause::PodDirectoryLeft { .. } => verdict.evidence.iter().any(is_of_silent_node),
            _ => false,
        },
        Finding::WaitsFor(..) => false,
    };
    if !found.iter().any(is_its_work) {
        return;
    }
    if let Some(lease) = case.manager_is_silent() {
        let verdict = Verdict::at(Cause::ManagerSilent, lease.of.clone(), Confidence::Confirmed);
        found.push(verdict.with([lease]).into());
    }
}

/// Makes the verdicts on controllers of a kube-controller-manager that does not run part of its card: they have one cause and one way
/// out, and a DELETE that is sent again reaches nobody. It is done for those who read cards, after the verdicts: see [`manager`].
pub(crate) fn joined(mut found: Vec<Diagnosis>) -> Vec<Diagnosis> {
    let Some(at) = found.iter().position(|it| it.cause == Cause::ManagerSilent) else {
        return found;
    };
    let mut root = found.remove(at);
    let held: BTreeSet<Uid> = root.held.iter().cloned().collect();
    let is_part = |it: &Diagnosis| {
        matches!(&it.cause, Cause::ControllerSilent { controller } if is_of_manager(controller))
            && it.held.iter().all(|uid| held.contains(uid))
    };
    for part in found.extract_if(.., |it| is_part(it)) {
        for fact in part.evidence {
            if root.evidence.len() < EVIDENCE && !root.evidence.contains(&fact) {
                root.evidence.push(fact);
            }
        }
    }
    found.insert(at.min(found.len()), root);
    found
}

/// Whether a controller runs in the kube-controller-manager.
fn is_of_manager(controller: &str) -> bool {
    controller != "kube-apiserver"
}

fn is_of_silent_node(evidence: &Evidence) -> bool {
    evidence.source == Source::NotRenewed
}
