//! The proof that a remedy has worked, and what stays unproven. Only the server asks for it: see `teardown::advice`.

use teardown::remedy::{DriverPart, RemedyAct, WaitReason};

/// The sign by which a person knows that it has worked; where a record only vanishes, that nothing is proven.
pub(super) fn remedy_proof(act: &RemedyAct) -> &'static str {
    match act {
        RemedyAct::Wait { reason, .. } => match reason {
            WaitReason::GracePeriod | WaitReason::KubeletRetry => OF_KUBELET,
            WaitReason::PodCollector => OF_NOTHING,
            WaitReason::ControllerRetry => OF_CONDITION,
            WaitReason::Finisher => OF_FINISHER,
            WaitReason::Detach => OF_ATTACHER,
        },
        RemedyAct::StartNode { .. } | RemedyAct::RestartNode { .. } => {
            "Proof: the node reports Ready, and its kubelet removes the Pod itself."
        }
        RemedyAct::FreeMount { .. }
        | RemedyAct::RestoreExport { .. }
        | RemedyAct::EmptyDirectory { .. }
        | RemedyAct::EndProcess { .. }
        | RemedyAct::FindHang { .. }
        | RemedyAct::RepairNetwork { .. }
        | RemedyAct::RepairDevices { .. }
        | RemedyAct::RepairDriver { part: DriverPart::Node, .. }
        | RemedyAct::RemoveManifest { .. }
        | RemedyAct::ShortenGrace { .. }
        | RemedyAct::RestartDriver { .. }
        | RemedyAct::RestartKubelet { .. } => OF_KUBELET,
        RemedyAct::RepairDriver { part: DriverPart::Attacher, .. } => OF_ATTACHER,
        RemedyAct::RepairDriver { part: DriverPart::Provisioner, .. } => {
            "Proof: the provisioner takes its finalizer off the volume, once the storage is deleted."
        }
        RemedyAct::RestoreFinisher { .. }
        | RemedyAct::RepairFinisher { .. }
        | RemedyAct::RepairLoadBalancer => OF_FINISHER,
        RemedyAct::RepairApi { .. } | RemedyAct::DeleteApiService { .. } => {
            "Proof: condition NamespaceDeletionDiscoveryFailure becomes False, and the namespace goes."
        }
        RemedyAct::RepairWebhook { .. }
        | RemedyAct::RepairConverter { .. }
        | RemedyAct::SatisfyPolicy { .. }
        | RemedyAct::RepairStorage { .. }
        | RemedyAct::ExemptPods
        | RemedyAct::ExemptNamespaces { .. }
        | RemedyAct::IgnoreWebhook { .. }
        | RemedyAct::DeleteWebhookConfiguration
        | RemedyAct::StopConversion => {
            "Proof: the next request of the controller is not refused, and its condition becomes False."
        }
        RemedyAct::RepairController { .. } => {
            "Proof: its lease is renewed, and the object goes without a change by hand."
        }
        RemedyAct::Nudge => OF_CONDITION,
        RemedyAct::RetainVolume { .. } => {
            "Proof: the volume shows policy Retain. Its data then stays when the claim goes."
        }
        RemedyAct::DeleteUser => {
            "Proof: nothing uses what is stuck any more, and Kubernetes itself removes its finalizer."
        }
        RemedyAct::ScaleDown { .. } => {
            "Proof: no Pod names the claim any more, and Kubernetes itself removes the claim’s finalizer."
        }
        RemedyAct::SuspendParent => "Proof: the parent reports that it is suspended.",
        RemedyAct::DeleteAgain { .. } => {
            "Proof: the garbage collector takes its finalizer off, and the dependents go after the owner."
        }
        RemedyAct::RecreateNamespace { .. } => {
            "Proof: the namespace is gone, and the objects that were left went with it."
        }
        RemedyAct::RemoveFinalizer { .. } => {
            "No proof: that the object is gone does not mean that its clean-up was done. Unless it is a Pod, a run keeps the storage and the namespace behind it until a person answers for it."
        }
        RemedyAct::RemoveSpecFinalizer { .. } => {
            "No proof: that the object is gone does not mean that its clean-up was done."
        }
        RemedyAct::FinalizeNamespace => {
            "No proof: that the namespace is gone says nothing about the objects that were in it."
        }
        RemedyAct::OutOfServiceTaint { .. }
        | RemedyAct::DeleteNode { .. }
        | RemedyAct::ForceDeletePod { .. } => OF_NOTHING,
        RemedyAct::DeleteDependents => {
            "Proof: condition DeletionIsBlocked becomes False, and the program itself takes its finalizer off."
        }
        RemedyAct::Look | RemedyAct::MakeVisible { .. } => {
            "Proof: this card names another cause, or it goes."
        }
    }
}

const OF_KUBELET: &str = "Proof: the kubelet removes the Pod itself, which it does once nothing of it is left on the node.";
const OF_ATTACHER: &str = "Proof: the VolumeAttachment is gone.";
const OF_FINISHER: &str = "Proof: the program itself takes its finalizer off.";
const OF_CONDITION: &str = "Proof: the conditions of the object have a new time, or it is gone.";
const OF_NOTHING: &str = "No proof: a Pod that is gone from the API may still run. In a run, its storage and namespace stay blocked until the node is back or a person confirms the end.";
