//! Claims, volumes and snapshots.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Reference, Uid, migration::field_of_source};

/// The stored fields of a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// `spec.volumeName`.
    pub volume: Option<Arc<str>>,
    /// `spec.storageClassName`.
    pub class: Option<Arc<str>>,
    /// `status.capacity.storage`, as written.
    pub capacity: Option<Arc<str>>,
    /// `status.phase`.
    pub phase: Option<Arc<str>>,
    /// `spec.volumeAttributesClassName`.
    pub attributes: Option<Arc<str>>,
    /// `spec.dataSourceRef` or `spec.dataSource`: what the claim was cloned or restored from.
    pub source: Option<Box<Reference>>,
    /// `spec.accessModes` let one node use it at a time: `ReadWriteOnce` or `ReadWriteOncePod`.
    pub one_node: bool,
}

/// The stored fields of a PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// `spec.claimRef`.
    pub claim: Option<ClaimRef>,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub reclaim: Reclaim,
    /// `spec.storageClassName`.
    pub class: Option<Arc<str>>,
    /// The place where the data is stored, in one line: `nfs server:/path`, `csi driver`.
    pub source: Option<Arc<str>>,
    /// `spec.csi.driver`, or the driver to which Kubernetes' own plugin for its source was migrated.
    pub driver: Option<Arc<str>>,
    /// `pv.kubernetes.io/provisioned-by`: the provisioner that made it, and that deletes what is stored if its policy says so.
    pub provisioner: Option<Arc<str>>,
    /// `spec.capacity.storage`, as written.
    pub capacity: Option<Arc<str>>,
    /// `status.phase`.
    pub phase: Option<Arc<str>>,
    /// `spec.volumeAttributesClassName`.
    pub attributes: Option<Arc<str>>,
    /// The data is on a disk of one node: `spec.local`, `spec.hostPath`, or a `spec.nodeAffinity` that names nodes.
    pub node_local: bool,
}

impl Volume {
    /// The field that names the driver.
    pub(crate) fn driver_field(&self) -> &'static str {
        let source = self.source.as_ref().and_then(|source| source.split(' ').next());
        source.and_then(field_of_source).unwrap_or("spec.csi.driver")
    }

    /// The name by which a node lists a volume of a CSI driver in `status.volumesInUse`: `kubernetes.io/csi/DRIVER^HANDLE`
    /// (`GetUniqueVolumeName` in `pkg/volume/util/util.go`, `GetVolumeName` in `pkg/volume/csi/csi_plugin.go`).
    pub fn unique_name(&self) -> Option<String> {
        let driver = self.driver.as_ref()?;
        let handle = self.source.as_ref()?.strip_prefix("csi ")?.strip_prefix(&**driver)?;
        Some(format!("kubernetes.io/csi/{driver}^{}", handle.strip_prefix(' ')?))
    }
}

/// `spec.claimRef` of a PersistentVolume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// The claim's namespace.
    pub namespace: Arc<str>,
    /// The claim's name.
    pub name: Arc<str>,
    /// The claim's UID, once bound.
    pub uid: Option<Uid>,
}

/// The stored fields of a VolumeSnapshotContent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotContent {
    /// `spec.deletionPolicy` is `Delete`: the snapshot in the storage system goes with the object.
    pub deletes: bool,
    /// `spec.volumeSnapshotRef`: the namespace and the name of its VolumeSnapshot.
    pub snapshot: Option<(Arc<str>, Arc<str>)>,
    /// `spec.driver`.
    pub driver: Arc<str>,
    /// `spec.volumeSnapshotClassName`.
    pub class: Option<Arc<str>>,
}

/// The stored fields of a VolumeSnapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// `spec.source.persistentVolumeClaimName`.
    pub claim: Option<Arc<str>>,
    /// `status.boundVolumeSnapshotContentName`; before it is bound, `spec.source.volumeSnapshotContentName`.
    pub content: Option<Arc<str>>,
    /// `spec.volumeSnapshotClassName`.
    pub class: Option<Arc<str>>,
    /// `status.readyToUse`: it no longer needs the volume that it was taken from.
    pub ready: bool,
}

/// `persistentVolumeReclaimPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reclaim {
    /// The volume stays as `Released`, and its data is kept.
    #[default]
    Retain,
    /// The volume and its data are destroyed once the claim is gone.
    Delete,
    /// The volume is scrubbed and offered again (deprecated, still accepted).
    Recycle,
}
