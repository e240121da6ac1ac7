//! The causes that may end while nobody does anything. To wait harms nobody, so by the order of harm it would stand first everywhere,
//! also where a driver has to be installed or a claim's storage has to be brought back before anything can go on.

use super::{act::RemedyAct, case::Case};
use crate::diagnosis::{Cause, Confidence, kubelet_log::KubeletError};

impl RemedyAct {
    /// Whether nobody does anything.
    pub(super) fn is_wait(&self) -> bool {
        matches!(self, Self::Wait { .. })
    }
}

/// Whether nothing but time may be missing. Where something has to be repaired first, waiting stands behind the repairs: the
/// controller or the kubelet tries again then.
pub(super) fn may_end_alone(case: &Case<'_>) -> bool {
    let diagnosis = case.diagnosis;
    match &diagnosis.cause {
        // A grace period runs, the collector or the controller looks again, or a program is at work. The Pods of a silent node are
        // collected once it has its taint.
        Cause::WithinGrace { .. }
        | Cause::NodeSilent { .. }
        | Cause::NodeMissing { .. }
        | Cause::LooksAgain { .. }
        | Cause::Copied { .. }
        | Cause::VolumeAttached { .. }
        | Cause::FinisherBusy { .. } => true,
        // The process that uses a mount may end, unless the kubelet names another reason.
        Cause::VolumesMounted { .. } | Cause::PodDirectoryLeft { .. } => {
            diagnosis.kubelet_facts().all(|fact| may_pass(fact.error))
        }
        Cause::WebhookDenies { .. } | Cause::PolicyDenies { .. } => diagnosis.is_of_lost_rule(),
        // Without evidence the controller may only be slow.
        Cause::ControllerSilent { .. } => diagnosis.confidence == Confidence::Unknown,
        Cause::ContainersRunning { .. }
        | Cause::KubeletUnaware { .. }
        | Cause::StaticPod { .. }
        | Cause::NeverStarted { .. }
        | Cause::SandboxLeft { .. }
        | Cause::DevicesLeft { .. }
        | Cause::ClaimGone { .. }
        | Cause::DriverMissing { .. }
        | Cause::ClaimInUse { .. }
        | Cause::ClaimHeldByCompletedPods { .. }
        | Cause::InUse { .. }
        | Cause::KeptForDependents { .. }
        | Cause::VolumeBound { .. }
        | Cause::DetachFailed { .. }
        | Cause::BackendLeft { .. }
        | Cause::ApiDown { .. }
        | Cause::WebhookDown { .. }
        | Cause::ConversionDown { .. }
        | Cause::Unreadable { .. }
        | Cause::UpdateRejected { .. }
        | Cause::ContentRefused
        | Cause::DiscoveryFailed
        | Cause::NamespaceFinalizer { .. }
        | Cause::ContentUnseen { .. }
        | Cause::NamespaceGone
        | Cause::ManagerSilent
        | Cause::FinisherGone { .. }
        | Cause::FinisherNotReady { .. }
        | Cause::FinisherUnknown { .. }
        | Cause::ManagedElsewhere { .. }
        | Cause::OwnersCircle { .. }
        | Cause::LoadBalancerLeft
        | Cause::CannotSee { .. }
        | Cause::Unknown => false,
    }
}

/// Whether the next try of the kubelet may succeed although nobody has repaired anything. It never does on a directory with files in
/// it, on a mount that its server does not know any more, or without the driver or the driver's file. An operation without an answer
/// has no next try.
fn may_pass(error: KubeletError) -> bool {
    match error {
        KubeletError::Busy
        | KubeletError::TimedOut
        | KubeletError::Network
        | KubeletError::NoConnection
        | KubeletError::Other => true,
        KubeletError::Stale
        | KubeletError::NotEmpty
        | KubeletError::Waiting
        | KubeletError::DriverNotRegistered
        | KubeletError::VolumeDataMissing
        | KubeletError::Rewritten => false,
    }
}
