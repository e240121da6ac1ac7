//! The causes for which a deletion waits.

mod detach;
mod evidence;
mod verdict;
mod wire;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(in crate::diagnosis) use self::verdict::Finding;
pub(crate) use self::verdict::Verdict;
use self::wire::FlatCause;
pub use self::{
    detach::DetachState,
    evidence::{Evidence, Source},
    verdict::Link,
};
use crate::object::ObjectRef;

/// The cause at the root of a chain of waiting objects. Texts from the cluster are bounded and have no line breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FlatCause", into = "FlatCause")]
pub enum Cause {
    /// The Pod is within its grace period.
    WithinGrace {
        /// The end of the grace period.
        until: Timestamp,
        /// A container has a preStop hook, which runs within the grace period.
        pre_stop: bool,
    },
    /// The node's kubelet has stopped reporting, so nobody confirms that the Pods on it have ended.
    NodeSilent {
        /// The node.
        node: Arc<str>,
        /// `spec.providerID`, by which a cloud names the machine.
        provider: Option<Arc<str>>,
        /// The node runs the control plane.
        control_plane: bool,
        /// The number of nodes that fell silent at about the same time, this one included.
        silent: usize,
        /// Its lease is renewed all the same, so the kubelet lives.
        renews: bool,
    },
    /// The Pod's Node does not exist any more. The Pod garbage collector removes the Pod.
    NodeMissing {
        /// The name of the node.
        node: Arc<str>,
    },
    /// Containers still run after the grace period, on a node that reports.
    ContainersRunning {
        /// The node.
        node: Arc<str>,
        /// The containers that run.
        containers: Vec<Arc<str>>,
        /// The node reports that it is not ready.
        not_ready: bool,
    },
    /// Containers run after the grace period on a node whose kubelet lives, and nothing says that it has begun to stop them.
    KubeletUnaware {
        /// The node.
        node: Arc<str>,
        /// The containers that run.
        containers: Vec<Arc<str>>,
    },
    /// The Pod is the mirror of a static one, which its kubelet runs for as long as its file is on the node.
    StaticPod {
        /// The node.
        node: Arc<str>,
    },
    /// No container has started, on a node that reports: a mount, an image or the sandbox may hang.
    NeverStarted {
        /// The node.
        node: Arc<str>,
    },
    /// All containers have terminated, and the Pod's phase says that its sandbox, with its network, has not.
    SandboxLeft {
        /// The node.
        node: Arc<str>,
    },
    /// All containers have terminated, and the devices of the Pod's resource claims are not released.
    DevicesLeft {
        /// The node.
        node: Arc<str>,
    },
    /// All containers have terminated, and the volumes are not unmounted.
    VolumesMounted {
        /// The node.
        node: Arc<str>,
        /// Containers mounted a part of a volume with `subPath`.
        sub_paths: bool,
    },
    /// The volumes are not unmounted, and a claim of the Pod, or its volume, does not exist any more.
    ClaimGone {
        /// The node.
        node: Arc<str>,
        /// The claims that are gone.
        claims: Vec<Arc<str>>,
        /// The volumes that are gone while their claims are left.
        volumes: Vec<Arc<str>>,
        /// Containers mounted a part of a volume with `subPath`.
        sub_paths: bool,
    },
    /// The volumes are not unmounted, and their driver is not registered on the node, or its Pod there is not ready.
    DriverMissing {
        /// The node.
        node: Arc<str>,
        /// The CSI driver.
        driver: Arc<str>,
        /// The Pod of the driver that is not ready; none of a driver that is not registered.
        plugin: Option<ObjectRef>,
    },
    /// All containers have terminated, and the Pod has no volume to unmount.
    PodDirectoryLeft {
        /// The node.
        node: Arc<str>,
    },
    /// Pods that nobody deletes use the claim.
    ClaimInUse {
        /// The Pods.
        pods: Vec<ObjectRef>,
    },
    /// Only Pods that have run to completion use the claim. They hold it as running ones do.
    ClaimHeldByCompletedPods {
        /// The Pods.
        pods: Vec<ObjectRef>,
    },
    /// Objects that nobody deletes use this one, which is protected until the last of them goes.
    InUse {
        /// The objects.
        users: Vec<ObjectRef>,
    },
    /// The object's own program keeps it for those that depend on it, and says so in a condition.
    KeptForDependents {
        /// The dependents that are objects of the cluster and that nobody deletes.
        dependents: Vec<ObjectRef>,
    },
    /// Copies of the object are being made, for which it stays.
    Copied {
        /// The clones and snapshots.
        copies: Vec<ObjectRef>,
    },
    /// A claim that nobody deletes is bound to the volume.
    VolumeBound {
        /// The claim.
        claim: Option<ObjectRef>,
    },
    /// The driver answers the detach of the volume with an error.
    DetachFailed {
        /// The CSI driver.
        attacher: Arc<str>,
        /// The node.
        node: Arc<str>,
        /// The driver's error.
        said: Arc<str>,
    },
    /// The detach of the volume from a node has not ended.
    VolumeAttached {
        /// The CSI driver.
        attacher: Arc<str>,
        /// The node.
        node: Arc<str>,
        /// The PersistentVolume; none for an inline volume.
        volume: Option<Arc<str>>,
        /// The state of the detach.
        detach: DetachState,
    },
    /// The provisioner has not deleted the storage behind the volume.
    BackendLeft {
        /// The CSI driver; none for a volume without one.
        driver: Option<Arc<str>>,
    },
    /// The API server behind an aggregated group version does not answer, so nobody can say that the namespace is empty.
    ApiDown {
        /// The group version, such as `metrics.k8s.io/v1beta1`.
        group_version: Arc<str>,
        /// The Service that should serve it.
        service: Option<ObjectRef>,
    },
    /// The problem of a condition is over, and the controller has not looked since.
    LooksAgain {
        /// The controller, by the name that kube-controller-manager gives it.
        controller: Arc<str>,
        /// The group version that answers again, or is not registered any more.
        group_version: Arc<str>,
    },
    /// A webhook that refuses what it cannot check does not answer.
    WebhookDown {
        /// The name of the webhook in its configuration.
        webhook: Arc<str>,
        /// The configurations that hold a webhook of this name.
        configurations: Vec<ObjectRef>,
    },
    /// A webhook denies the request.
    WebhookDenies {
        /// The name of the webhook in its configuration.
        webhook: Arc<str>,
    },
    /// A ValidatingAdmissionPolicy denies the request.
    PolicyDenies {
        /// The policy.
        policy: Arc<str>,
    },
    /// The webhook that converts the objects of a kind between versions does not answer.
    ConversionDown {
        /// The kind, as the API server writes it: `example.com/v1, Kind=Widget`.
        kind: Arc<str>,
    },
    /// An object of a resource cannot be read from the API server's storage, so that no list of it succeeds.
    Unreadable {
        /// The resource; empty if it is not known.
        resource: Arc<str>,
    },
    /// Every update of the Pod is refused, because something changes its spec on the way.
    UpdateRejected {
        /// The configurations of mutating webhooks that are asked about it.
        webhooks: Vec<ObjectRef>,
    },
    /// The controller that deletes the content was refused for another reason.
    ContentRefused,
    /// The controller of namespaces cannot read the list of the APIs that are served, and its error names none.
    DiscoveryFailed,
    /// Another program keeps a finalizer in the spec of the namespace.
    NamespaceFinalizer {
        /// The finalizer.
        finalizer: Arc<str>,
    },
    /// Content remains of kinds that are not watched or cannot be seen.
    ContentUnseen {
        /// The resources.
        resources: Vec<Arc<str>>,
    },
    /// The namespace of the objects does not exist, so nobody can clear their finalizers or report that their Pods ended.
    NamespaceGone,
    /// No kube-controller-manager renews the lease of the leader, so nobody does the work of the control plane's
    /// controllers.
    ManagerSilent,
    /// A controller of the control plane has not done its part.
    ControllerSilent {
        /// The controller, by the name that kube-controller-manager gives it.
        controller: Arc<str>,
    },
    /// Each of these owns the next, the last one the first, and each was deleted so that it waits for what it owns.
    OwnersCircle {
        /// The owners; one that owns itself is alone.
        owners: Vec<ObjectRef>,
    },
    /// The program that clears the finalizer is not there any more, or never was.
    FinisherGone {
        /// The finalizer.
        finalizer: Arc<str>,
        /// Workloads that were deleted lately and may have been the program, the likeliest first.
        deleted: Vec<ObjectRef>,
    },
    /// The program that clears the finalizer has no ready Pod.
    FinisherNotReady {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The program.
        finisher: ObjectRef,
    },
    /// The program that clears the finalizer runs, and has not cleared it.
    FinisherBusy {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The program.
        finisher: ObjectRef,
    },
    /// It is not known which of several programs clears the finalizer.
    FinisherUnknown {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The programs that may.
        possible: Vec<ObjectRef>,
    },
    /// The Job of the Pods is left to another controller, which has not released them.
    ManagedElsewhere {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The controller, as `spec.managedBy` of the Job names it.
        manager: Arc<str>,
    },
    /// The cloud's load balancer is not removed.
    LoadBalancerLeft,
    /// The kinds that would say are hidden.
    CannotSee {
        /// The resource, such as `pods`.
        resource: Arc<str>,
    },
    /// No known cause fits what can be seen.
    Unknown,
}

impl Cause {
    /// The names of all causes.
    pub const NAMES: [&str; 46] = [
        "withinGrace",
        "nodeSilent",
        "nodeMissing",
        "containersRunning",
        "kubeletUnaware",
        "staticPod",
        "neverStarted",
        "sandboxLeft",
        "devicesLeft",
        "volumesMounted",
        "claimGone",
        "driverMissing",
        "podDirectoryLeft",
        "claimInUse",
        "claimHeldByCompletedPods",
        "inUse",
        "keptForDependents",
        "copied",
        "volumeBound",
        "detachFailed",
        "volumeAttached",
        "backendLeft",
        "apiDown",
        "looksAgain",
        "webhookDown",
        "webhookDenies",
        "policyDenies",
        "conversionDown",
        "unreadable",
        "updateRejected",
        "contentRefused",
        "discoveryFailed",
        "namespaceFinalizer",
        "contentUnseen",
        "namespaceGone",
        "managerSilent",
        "controllerSilent",
        "ownersCircle",
        "finisherGone",
        "finisherNotReady",
        "finisherBusy",
        "finisherUnknown",
        "managedElsewhere",
        "loadBalancerLeft",
        "cannotSee",
        "unknown",
    ];

    /// The name of the cause, as on the wire. It is part of the identity of a diagnosis.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WithinGrace { .. } => "withinGrace",
            Self::NodeSilent { .. } => "nodeSilent",
            Self::NodeMissing { .. } => "nodeMissing",
            Self::ContainersRunning { .. } => "containersRunning",
            Self::KubeletUnaware { .. } => "kubeletUnaware",
            Self::StaticPod { .. } => "staticPod",
            Self::NeverStarted { .. } => "neverStarted",
            Self::SandboxLeft { .. } => "sandboxLeft",
            Self::DevicesLeft { .. } => "devicesLeft",
            Self::VolumesMounted { .. } => "volumesMounted",
            Self::ClaimGone { .. } => "claimGone",
            Self::DriverMissing { .. } => "driverMissing",
            Self::PodDirectoryLeft { .. } => "podDirectoryLeft",
            Self::ClaimInUse { .. } => "claimInUse",
            Self::ClaimHeldByCompletedPods { .. } => "claimHeldByCompletedPods",
            Self::InUse { .. } => "inUse",
            Self::KeptForDependents { .. } => "keptForDependents",
            Self::Copied { .. } => "copied",
            Self::VolumeBound { .. } => "volumeBound",
            Self::DetachFailed { .. } => "detachFailed",
            Self::VolumeAttached { .. } => "volumeAttached",
            Self::BackendLeft { .. } => "backendLeft",
            Self::ApiDown { .. } => "apiDown",
            Self::LooksAgain { .. } => "looksAgain",
            Self::WebhookDown { .. } => "webhookDown",
            Self::WebhookDenies { .. } => "webhookDenies",
            Self::PolicyDenies { .. } => "policyDenies",
            Self::ConversionDown { .. } => "conversionDown",
            Self::Unreadable { .. } => "unreadable",
            Self::UpdateRejected { .. } => "updateRejected",
            Self::ContentRefused => "contentRefused",
            Self::DiscoveryFailed => "discoveryFailed",
            Self::NamespaceFinalizer { .. } => "namespaceFinalizer",
            Self::ContentUnseen { .. } => "contentUnseen",
            Self::NamespaceGone => "namespaceGone",
            Self::ManagerSilent => "managerSilent",
            Self::ControllerSilent { .. } => "controllerSilent",
            Self::OwnersCircle { .. } => "ownersCircle",
            Self::FinisherGone { .. } => "finisherGone",
            Self::FinisherNotReady { .. } => "finisherNotReady",
            Self::FinisherBusy { .. } => "finisherBusy",
            Self::FinisherUnknown { .. } => "finisherUnknown",
            Self::ManagedElsewhere { .. } => "managedElsewhere",
            Self::LoadBalancerLeft => "loadBalancerLeft",
            Self::CannotSee { .. } => "cannotSee",
            Self::Unknown => "unknown",
        }
    }

    /// The node that it is about.
    pub fn node(&self) -> Option<&Arc<str>> {
        match self {
            Self::NodeSilent { node, .. }
            | Self::NodeMissing { node }
            | Self::StaticPod { node }
            | Self::DetachFailed { node, .. }
            | Self::VolumeAttached { node, .. } => Some(node),
            _ => self.node_of_kubelet(),
        }
    }

    /// The node whose kubelet works on the Pod.
    pub fn node_of_kubelet(&self) -> Option<&Arc<str>> {
        match self {
            Self::ContainersRunning { node, .. }
            | Self::KubeletUnaware { node, .. }
            | Self::NeverStarted { node }
            | Self::SandboxLeft { node }
            | Self::DevicesLeft { node }
            | Self::VolumesMounted { node, .. }
            | Self::ClaimGone { node, .. }
            | Self::DriverMissing { node, .. }
            | Self::PodDirectoryLeft { node } => Some(node),
            _ => None,
        }
    }

    /// Whether it explains more than its own card: it is to be solved first, and the others looked at again.
    pub fn explains_others(&self) -> bool {
        match self {
            Self::ManagerSilent
            | Self::NamespaceGone
            | Self::WebhookDown { .. }
            | Self::Unreadable { .. } => true,
            Self::NodeSilent { silent, .. } => *silent > 1,
            _ => false,
        }
    }

    /// Whether waiting is expected to end it, so that it is worth showing only once it takes longer than expected. A
    /// `false` cause is shown at once, for nothing will happen by itself.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::FinisherGone { deleted, .. } if deleted.is_empty())
            || matches!(
                self,
                Self::WithinGrace { .. }
                    | Self::NeverStarted { .. }
                    | Self::NodeMissing { .. }
                    | Self::ContainersRunning { .. }
                    | Self::KubeletUnaware { .. }
                    | Self::StaticPod { .. }
                    | Self::SandboxLeft { .. }
                    | Self::DevicesLeft { .. }
                    | Self::VolumesMounted { .. }
                    | Self::PodDirectoryLeft { .. }
                    | Self::Copied { .. }
                    | Self::VolumeAttached { .. }
                    | Self::BackendLeft { .. }
                    | Self::ContentRefused
                    | Self::DiscoveryFailed
                    | Self::ContentUnseen { .. }
                    | Self::ControllerSilent { .. }
                    | Self::FinisherNotReady { .. }
                    | Self::FinisherBusy { .. }
                    | Self::FinisherUnknown { .. }
                    | Self::ManagedElsewhere { .. }
                    | Self::LoadBalancerLeft
                    | Self::CannotSee { .. }
                    | Self::Unknown
            )
    }
}

/// How sure a diagnosis is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum Confidence {
    /// The kinds that would say are hidden, or nothing fits.
    #[default]
    Unknown,
    /// The state of the objects fits this cause and no other that is known.
    Inferred,
    /// The cluster says so: in a condition, or in an error.
    Confirmed,
}

impl Confidence {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Unknown, Self::Inferred, Self::Confirmed];
}
