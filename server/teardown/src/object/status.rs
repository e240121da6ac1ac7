//! The parts of a status that say why a deletion waits: conditions, containers, taints and attachments.

use std::sync::Arc;

use super::{Seconds, ServiceRef};

/// One condition of `status.conditions`. Its texts are bounded and have no line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `type`, such as `NamespaceContentRemaining`.
    pub name: Arc<str>,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`, in CamelCase.
    pub reason: Arc<str>,
    /// `message`.
    pub message: Arc<str>,
    /// `lastTransitionTime`, at which the status last changed. The message may be newer.
    pub since: Option<Seconds>,
}

/// The type of the condition by which an operator says that it keeps an object that is being deleted, as Rook's does.
const DELETION_IS_BLOCKED: &str = "DeletionIsBlocked";
/// Parts of the types of conditions that are about the deletion itself, as Cluster API's `Deleting`.
const OF_DELETION: [&str; 2] = ["Delet", "Terminating"];
/// The last words of the types of conditions that say by True what is not done or wrong, as kstatus' `Stalled` and `ACK.Terminal`.
const ABNORMAL: [&str; 11] = [
    "Deleting",
    "Terminating",
    "Stalled",
    "Blocked",
    "Failed",
    "Failure",
    "Failing",
    "Degraded",
    "Error",
    "Terminal",
    "Recoverable",
];

/// `status` of a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`, and every word that the API does not define.
    #[default]
    Unknown,
}

/// The stored fields of a Namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    /// `spec.finalizers`; normally `kubernetes` alone.
    pub finalizers: Box<[Arc<str>]>,
    /// `status.conditions`, which the namespace controller writes while it deletes the content.
    pub conditions: Box<[Condition]>,
}

/// The taint by which an administrator says that a node is off for good, so that its Pods are removed and its volumes are
/// detached at once, without its kubelet (`pkg/controller/podgc/gc_controller.go`, KEP-2268).
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The stored fields of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Condition Ready, once a kubelet or the node controller has written it.
    pub ready: Option<Condition>,
    /// `spec.taints`: key and effect.
    pub taints: Box<[(Arc<str>, Arc<str>)]>,
    /// `spec.providerID`, by which a cloud names the machine.
    pub provider: Option<Arc<str>>,
    /// `status.volumesInUse`: the unique names of the attachable volumes that its kubelet uses.
    pub in_use: Box<[Arc<str>]>,
}

impl Condition {
    /// Whether it says that an operator keeps the object.
    pub fn blocks_deletion(&self) -> bool {
        &*self.name == DELETION_IS_BLOCKED && self.status == ConditionStatus::True
    }

    /// Whether its type is about the deletion of the object.
    pub fn is_of_deletion(&self) -> bool {
        OF_DELETION.iter().any(|part| self.name.contains(part))
    }

    /// Whether it may say why the operator of an object that is being deleted has not let it go: something is not
    /// done by it, or wrong. Most types are True where all is well, as Crossplane's `Synced`
    /// (`contributors/devel/sig-architecture/api-conventions.md` of `kubernetes/community`).
    pub fn tells_of_deletion(&self) -> bool {
        let says_something = !self.reason.is_empty() || !self.message.is_empty();
        let is_abnormal = || ABNORMAL.iter().any(|last| self.name.ends_with(last));
        let is_wrong = match self.status {
            ConditionStatus::True => is_abnormal(),
            ConditionStatus::False => !is_abnormal(),
            ConditionStatus::Unknown => true,
        };
        says_something && is_wrong
    }
}

impl Node {
    /// Whether condition Ready is Unknown: the kubelet has stopped reporting.
    pub fn is_silent(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.status == ConditionStatus::Unknown)
    }

    /// Whether condition Ready is True.
    pub fn is_ready(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// Whether it has the taint [`OUT_OF_SERVICE`].
    pub fn is_out_of_service(&self) -> bool {
        self.taints.iter().any(|(key, _)| &**key == OUT_OF_SERVICE)
    }
}

/// The stored fields of an APIService.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiService {
    /// The Service that serves the group version; none for the groups of the API server itself.
    pub service: Option<ServiceRef>,
    /// Condition Available.
    pub available: Option<Condition>,
}

/// The status of a Pod that is being deleted. For other Pods nobody asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// `status.containerStatuses`, init and ephemeral containers included.
    pub containers: Box<[Container]>,
    /// Condition DisruptionTarget is True: its reason, such as `DeletionByTaintManager`.
    pub disruption: Option<Arc<str>>,
    /// The time at which it became True.
    pub disrupted: Option<Seconds>,
    /// A container mounts a volume with `subPath`.
    pub mounts_sub_paths: bool,
    /// `spec.resourceClaims` is not empty.
    pub has_devices: bool,
    /// A container has a preStop hook.
    pub has_pre_stop_hook: bool,
    /// It has a volume, other than a claim, that a server or a disk backs, such as an inline NFS volume.
    pub has_volumes: bool,
}

/// A container of a Pod that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: Arc<str>,
    /// The kubelet's last report on it.
    pub state: ContainerState,
}

/// `state` of a container status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// `waiting`, which is also the default.
    Waiting,
    /// `running`.
    Running,
    /// `terminated`.
    Terminated,
}

/// The stored fields of a VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// `spec.source.persistentVolumeName`; none for an inline volume.
    pub volume: Option<Arc<str>>,
    /// `spec.nodeName`.
    pub node: Arc<str>,
    /// `spec.attacher`: the CSI driver.
    pub attacher: Arc<str>,
    /// `status.attached`.
    pub attached: bool,
    /// `status.detachError.message`, bounded and without line breaks.
    pub detach_error: Option<Arc<str>>,
    /// `status.detachError.time`.
    pub detach_failed: Option<Seconds>,
}

/// The stored fields of a CSINode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiNode {
    /// The drivers that are registered on the node.
    pub drivers: Box<[Arc<str>]>,
}
