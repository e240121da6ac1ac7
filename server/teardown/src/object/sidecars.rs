//! The containers that stand between a CSI driver and the API.

/// The CSI sidecars among the containers of a workload that clear finalizers of volumes and attachments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sidecars {
    /// The external-provisioner, which deletes the storage behind a volume.
    pub provisioner: bool,
    /// The external-attacher, which detaches volumes.
    pub attacher: bool,
}
