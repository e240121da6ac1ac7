//! The states of a detach that has not ended.

use serde::{Deserialize, Serialize};

/// The state of the detach of a volume, which says who has to act next.
///
/// The attach-detach controller requests a detach by the deletion of the VolumeAttachment, once no Pod of the node needs the volume and
/// the node does not list it in `status.volumesInUse` any more (`reconcile` in
/// `pkg/controller/volume/attachdetach/reconciler/reconciler.go`). The external-attacher of the driver then has the volume detached,
/// writes `status.attached: false` and takes its finalizer off (`syncDetach` in `pkg/controller/csi_handler.go` and
/// `markAsDetached` in `pkg/controller/util.go` of `kubernetes-csi/external-attacher`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DetachState {
    /// The node lists the volume in `status.volumesInUse`, so nobody requests the detach.
    InUse,
    /// The attach-detach controller has not requested the detach, and the node is not seen to use the volume.
    NotRequested,
    /// The external-attacher has to detach the volume.
    Requested,
    /// The volume is not attached, and the external-attacher has not taken its finalizer off.
    NotAttached,
}

impl DetachState {
    /// Whether the attachment is deleted, and its driver has to act.
    pub fn is_requested(self) -> bool {
        matches!(self, Self::Requested | Self::NotAttached)
    }
}
