//! The harm that a deletion that waits does, and the mistake that would make it worse. Only the server asks for these: see
//! `teardown::advice`.

use teardown::diagnosis::{Cause, DetachState, Diagnosis};

use super::holds_namespace;
use crate::text::{isolated, names, visible};

pub(super) const NO_HARM: &str = "Only leftovers wait. Nothing that should run is affected.";
const STILL_ATTACHED: &str =
    "remove the attachment’s finalizer while the volume is attached: two nodes could write to it.";

/// The mistake that would make it worse, if there is a likely one.
pub(super) fn do_not(diagnosis: &Diagnosis) -> Option<&'static str> {
    Some(match &diagnosis.cause {
        Cause::NodeSilent { .. } if diagnosis.is_of_replacements() => STILL_ATTACHED,
        Cause::NodeSilent { .. } => {
            "force the deletion while the machine may still run: a second copy of the Pod could write to the same volume."
        }
        Cause::ContainersRunning { .. }
        | Cause::KubeletUnaware { .. }
        | Cause::SandboxLeft { .. } => {
            "force the deletion: the containers may keep running, unseen by the cluster, and write to their volumes."
        }
        Cause::VolumesMounted { .. } | Cause::ClaimGone { .. } | Cause::DriverMissing { .. } => {
            "force the deletion: the mount stays on the node, and the volume can be deleted or attached elsewhere under it."
        }
        Cause::ClaimInUse { .. } => {
            "remove the finalizer kubernetes.io/pvc-protection: the volume would go while Pods use it."
        }
        Cause::VolumeAttached { detach: DetachState::NotAttached, .. } => {
            "remove the attachment’s finalizer before the storage system itself shows the volume as detached: two nodes could write to it."
        }
        Cause::DetachFailed { .. } | Cause::VolumeAttached { .. } => STILL_ATTACHED,
        Cause::Copied { .. } => {
            "remove the finalizer: the copy would be incomplete but look complete."
        }
        Cause::InUse { .. } => {
            "remove the finalizer: what uses it would refer to an object that does not exist."
        }
        Cause::KeptForDependents { .. } => {
            "remove the finalizer: it would go at once, and its dependents would lose what they depend on."
        }
        Cause::NamespaceGone => {
            "create the namespace and leave it: what was left in it starts again. Nor force a Pod that may still run: its node would keep running it, unseen by the cluster."
        }
        Cause::BackendLeft { .. } => {
            "remove the volume’s finalizer: its storage would stay, and nothing would say where."
        }
        Cause::ApiDown { .. } if !holds_namespace(diagnosis) => {
            "remove foregroundDeletion or orphan by hand: the garbage collector’s work would be skipped, and dependents that orphan keeps would be deleted."
        }
        Cause::ApiDown { .. } => {
            "finalize the namespace by hand: objects of the missing API could be left in a namespace that no longer exists."
        }
        Cause::WebhookDown { .. } | Cause::WebhookDenies { .. } | Cause::PolicyDenies { .. }
            if diagnosis.is_of_lost_rule() =>
        {
            return None;
        }
        Cause::WebhookDown { .. } | Cause::WebhookDenies { .. } | Cause::PolicyDenies { .. } => {
            "switch the check off before you know what else it protects in this cluster."
        }
        Cause::NamespaceFinalizer { .. }
        | Cause::FinisherGone { .. }
        | Cause::FinisherNotReady { .. }
        | Cause::FinisherBusy { .. }
        | Cause::FinisherUnknown { .. }
        | Cause::ManagedElsewhere { .. } => {
            "remove the finalizer first: the program’s clean-up, also outside the cluster, would never happen."
        }
        Cause::LoadBalancerLeft => {
            "remove the finalizer: the load balancer would stay in the cloud, and be charged for."
        }
        Cause::OwnersCircle { .. } => {
            "remove the finalizer by hand: a second DELETE does it without skipping the garbage collector."
        }
        Cause::ManagerSilent | Cause::ControllerSilent { .. } => {
            "remove the finalizer by hand: the controller’s work would be skipped."
        }
        Cause::StaticPod { .. } => {
            "force the deletion: its containers keep running, and the kubelet creates the Pod again."
        }
        Cause::Unreadable { .. } => {
            "delete the object unread: its finalizers, its dependents and every check would be skipped, and its data is lost."
        }
        Cause::UpdateRejected { .. } => {
            "force the deletion: that skips the work that its finalizers and its kubelet wait for."
        }
        Cause::WithinGrace { .. }
        | Cause::NodeMissing { .. }
        | Cause::NeverStarted { .. }
        | Cause::LooksAgain { .. }
        | Cause::DevicesLeft { .. }
        | Cause::PodDirectoryLeft { .. }
        | Cause::ClaimHeldByCompletedPods { .. }
        | Cause::VolumeBound { .. }
        | Cause::ConversionDown { .. }
        | Cause::ContentRefused
        | Cause::DiscoveryFailed
        | Cause::ContentUnseen { .. }
        | Cause::CannotSee { .. }
        | Cause::Unknown => return None,
    })
}

/// The harm that a cause does beyond the objects of its card; `None` where these show all of it.
fn beyond(diagnosis: &Diagnosis) -> Option<String> {
    Some(match &diagnosis.cause {
        Cause::NodeSilent { node, .. } => format!(
            "The Pods on node {} count as not ready, so Services send them no requests.",
            isolated(node)
        ),
        Cause::ManagerSilent => {
            "No Pod is replaced, nothing is scaled or rolled out, and the endpoints of Services do not change."
                .to_owned()
        }
        Cause::WebhookDown { .. } if diagnosis.is_of_lost_rule() => return None,
        Cause::WebhookDown { .. } => {
            "Every request that the webhook’s rules cover is refused, not only these deletions: creations and updates too, if the rules cover them."
                .to_owned()
        }
        Cause::ApiDown { group_version, .. } => format!(
            "Every request to the API {} fails: with an API of metrics, autoscalers that need it do not scale. No deletion of a namespace can end.",
            isolated(group_version)
        ),
        Cause::ConversionDown { kind } => format!(
            "Requests for objects of {} fail where they have to be converted, so the programs that manage these may do nothing. If they live in namespaces, no deletion of a namespace can end.",
            isolated(kind)
        ),
        Cause::Unreadable { resource } => {
            let kind = match visible(resource) {
                name if name.is_empty() => "that kind".to_owned(),
                name => name,
            };
            format!(
                "No list of {kind} succeeds, so the programs that need one do nothing, or work with what they read before."
            )
        }
        Cause::DiscoveryFailed => "No deletion of a namespace can end.".to_owned(),
        Cause::NamespaceGone => {
            "Nothing in that namespace can be created or changed, so a Pod that still runs there is not replaced when it ends."
                .to_owned()
        }
        _ => return None,
    })
}

/// The harm that the wait does now.
pub(super) fn harm(diagnosis: &Diagnosis) -> Vec<String> {
    let impact = &diagnosis.impact;
    let unseen = impact.unseen.as_deref().map(visible);
    let mut said: Vec<String> = beyond(diagnosis).into_iter().collect();
    if said.is_empty() && impact.is_none() && impact.losing_claim.is_empty() {
        return vec![match unseen {
            Some(resource) => {
                format!("None is known, but Unwind cannot see {resource}, which may be affected.")
            }
            None => NO_HARM.to_owned(),
        }];
    }
    if !impact.without_endpoints.is_empty() {
        let have = if impact.without_endpoints.len() == 1 { "has" } else { "have" };
        said.push(format!("{} {have} no ready Pod.", names(&impact.without_endpoints)));
    }
    if !impact.replacements_blocked.is_empty() {
        let until = match impact.replacements_blocked.len() {
            1 => "starts no replacement until its Pod is gone.",
            _ => "start no replacement until their Pods are gone.",
        };
        said.push(format!("{} {until}", names(&impact.replacements_blocked)));
    }
    if !impact.waiting_for_disk.is_empty() {
        let hang = match impact.waiting_for_disk.len() {
            1 => "hangs in ContainerCreating (Multi-Attach error): its disk is",
            _ => "hang in ContainerCreating (Multi-Attach error): their disks are",
        };
        let pods = names(&impact.waiting_for_disk);
        said.push(format!("{pods} {hang} still attached to another node."));
    }
    if !impact.losing_claim.is_empty() {
        let run = if impact.losing_claim.len() == 1 { "runs" } else { "run" };
        said.push(format!(
            "{} {run} on a claim that is being deleted: no Pod can start with it any more.",
            names(&impact.losing_claim)
        ));
    }
    if let Some(resource) = unseen {
        said.push(format!("There may be more: Unwind cannot see {resource}."));
    }
    said
}
