//! The parts of a remedy. Codes and parameters travel; a page makes the sentences.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    command::{Command, Purpose},
    permit::Permit,
    reach::Reach,
};
pub use super::{driver_part::DriverPart, loss::Loss};
use crate::object::{Object, ObjectRef, Reclaim};

/// One way out of a deletion that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// The worst that it does if it works as intended. Remedies are listed in this order.
    pub harm: Harm,
    /// The action.
    pub act: RemedyAct,
    /// The object that it changes, or looks at.
    pub target: Option<ObjectRef>,
    /// The commands for it, those that look first.
    pub commands: Vec<Command>,
    /// The conditions that must hold before it is done.
    pub needs: Vec<Need>,
    /// The objects that it hits besides its target.
    pub reaches: Reach,
    /// The losses that come with it, or may.
    pub loses: Vec<Loss>,
    /// The way to take it back; none if there is none, or if it changes nothing.
    pub undo: Option<Undo>,
    /// The reason for which it is shown and cannot be chosen now.
    pub withheld: Option<Withheld>,
    /// The rights that its calls need, each with whether Unwind has it.
    #[serde(skip)]
    pub permits: Vec<Permit>,
}

/// The harm that a remedy does, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Harm {
    /// It changes no object: wait, look, repair.
    None,
    /// It changes something that can be changed back.
    Reversible,
    /// It interrupts what runs.
    Interruption,
    /// It switches off a check or an API for the whole cluster until somebody puts it back.
    SwitchesOff,
    /// It deletes what nobody has deleted, or ends a wait that had a reason; the cluster does the rest in order.
    Deletion,
    /// It leaves behind what the finalizer guarded.
    Leftovers,
    /// Data may be lost or damaged.
    DataLoss,
}

/// The action of a remedy. The object that it concerns is its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RemedyAct {
    /// Wait: it is expected to end by itself.
    Wait {
        /// The event that ends it.
        reason: WaitReason,
        /// The time by which it ends, if it is known.
        #[serde(with = "crate::millis::optional")]
        until: Option<Timestamp>,
    },
    /// Look at the target.
    Look,
    /// Delete the dependents for which its own program keeps the target.
    DeleteDependents,
    /// Start the node again, or reconnect it.
    StartNode {
        /// The node.
        node: Arc<str>,
        /// `spec.providerID`, by which a cloud names the machine.
        provider: Option<Arc<str>>,
    },
    /// End the process that holds a mount of the Pod.
    FreeMount {
        /// The node.
        node: Arc<str>,
        /// The volumes of the Pod's claims, each with the name of its claim.
        #[serde(default)]
        volumes: Vec<(Arc<str>, Arc<str>)>,
    },
    /// Bring back the directory or the server behind a volume that is gone, or whose claim is.
    RestoreExport {
        /// The node.
        node: Arc<str>,
        /// The claims that are gone.
        claims: Vec<Arc<str>>,
        /// The volumes that are gone while their claims are left.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        volumes: Vec<Arc<str>>,
    },
    /// Move away the files that lie where the kubelet wants to remove an empty directory of the Pod.
    EmptyDirectory {
        /// The node.
        node: Arc<str>,
    },
    /// Find out what a container that does not end waits for.
    EndProcess {
        /// The node.
        node: Arc<str>,
        /// The containers.
        containers: Vec<Arc<str>>,
    },
    /// Find out what the kubelet waits for before it starts the Pod.
    FindHang {
        /// The node.
        node: Arc<str>,
    },
    /// Repair the network agent of the node.
    RepairNetwork {
        /// The node.
        node: Arc<str>,
    },
    /// Repair the device driver of the node.
    RepairDevices {
        /// The node.
        node: Arc<str>,
    },
    /// Repair a storage driver.
    RepairDriver {
        /// The CSI driver; none for a volume without one.
        driver: Option<Arc<str>>,
        /// The part that has not done its work.
        part: DriverPart,
        /// The node, for the parts that work on one.
        node: Option<Arc<str>>,
    },
    /// Delete the Pod of a storage driver on a node, the target, so that its DaemonSet starts it anew.
    RestartDriver {
        /// The CSI driver.
        driver: Arc<str>,
        /// The node.
        node: Arc<str>,
    },
    /// Restart the kubelet. Containers go on.
    RestartKubelet {
        /// The node.
        node: Arc<str>,
    },
    /// Restart the node.
    RestartNode {
        /// The node.
        node: Arc<str>,
    },
    /// Install the program again that clears the finalizer.
    RestoreFinisher {
        /// The finalizer.
        finalizer: Arc<str>,
        /// Programs that it may be, the likeliest first.
        candidates: Vec<ObjectRef>,
    },
    /// Repair the program that clears the finalizer, the target.
    RepairFinisher {
        /// The finalizer.
        finalizer: Arc<str>,
    },
    /// Repair what serves an API group; the target is its Service.
    RepairApi {
        /// The group version.
        group_version: Arc<str>,
    },
    /// Repair what serves a webhook.
    RepairWebhook {
        /// The webhook.
        webhook: Arc<str>,
    },
    /// Repair the webhook that converts objects of a kind.
    RepairConverter {
        /// The kind, as the API server writes it.
        kind: Arc<str>,
    },
    /// Remove the file of a static Pod from its node.
    RemoveManifest {
        /// The node.
        node: Arc<str>,
    },
    /// Give the API server back what it needs to read its storage.
    RepairStorage {
        /// The resource that cannot be read.
        resource: Arc<str>,
    },
    /// Have a mutating webhook, the target, leave Pods alone that are being deleted.
    ExemptPods,
    /// Repair a controller of the control plane.
    RepairController {
        /// The controller.
        controller: Arc<str>,
    },
    /// Let the cloud's controller remove the load balancer.
    RepairLoadBalancer,
    /// Meet, or change, the rule that denies the request.
    SatisfyPolicy {
        /// The webhook or the policy.
        policy: Arc<str>,
    },
    /// Make a resource visible to Unwind.
    MakeVisible {
        /// The resource, or the group version.
        resource: Arc<str>,
    },
    /// Write an annotation, so that the controller looks again.
    Nudge,
    /// Have a webhook, which the target configures, leave out namespaces.
    ExemptNamespaces {
        /// The webhook.
        webhook: Arc<str>,
        /// The namespaces.
        namespaces: Vec<Arc<str>>,
    },
    /// Set `failurePolicy` of a webhook to `Ignore`.
    IgnoreWebhook {
        /// The webhook.
        webhook: Arc<str>,
    },
    /// Delete a webhook configuration.
    DeleteWebhookConfiguration,
    /// Delete an APIService.
    DeleteApiService {
        /// The group version.
        group_version: Arc<str>,
    },
    /// Set the reclaim policy of the volume to `Retain`, so that its data stays when its claim goes.
    RetainVolume {
        /// The policy that it has.
        was: Reclaim,
    },
    /// Set the replicas of the workload to 0.
    ScaleDown {
        /// The replicas that it has.
        replicas: i64,
        /// The same request makes the StatefulSet keep the claims of the replicas that go.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_claims: bool,
    },
    /// Send DELETE again, with a shorter grace period.
    ShortenGrace {
        /// The node.
        node: Arc<str>,
    },
    /// Suspend a GitOps parent. Only runs do that.
    SuspendParent,
    /// Delete an object that uses the waiting one.
    DeleteUser,
    /// Send DELETE again, with propagation policy Background.
    DeleteAgain {
        /// The finalizer of the garbage collector that this removes.
        instead_of: Arc<str>,
    },
    /// Create the namespace again and delete it at once, so that what was left in it can go.
    RecreateNamespace {
        /// The namespace.
        namespace: Arc<str>,
        /// Whether the labels that it had are known. Its annotations never are.
        #[serde(default)]
        has_labels: bool,
    },
    /// Remove one finalizer.
    RemoveFinalizer {
        /// The finalizer.
        finalizer: Arc<str>,
    },
    /// Remove one finalizer from the spec of a namespace.
    RemoveSpecFinalizer {
        /// The finalizer.
        finalizer: Arc<str>,
    },
    /// Finish a namespace without its controller.
    FinalizeNamespace,
    /// Turn off the conversion of a definition's objects.
    StopConversion,
    /// Set the taint that says that the node is out of service.
    OutOfServiceTaint {
        /// The node.
        node: Arc<str>,
    },
    /// Delete the Node object.
    DeleteNode {
        /// The node.
        node: Arc<str>,
    },
    /// Remove the Pod from the API without the kubelet's confirmation.
    ForceDeletePod {
        /// The node.
        node: Arc<str>,
    },
}

impl RemedyAct {
    /// The worst that it does if it works as intended.
    fn harm(&self) -> Harm {
        match self {
            Self::Wait { .. }
            | Self::Look
            | Self::StartNode { .. }
            | Self::FreeMount { .. }
            | Self::RestoreExport { .. }
            | Self::EmptyDirectory { .. }
            | Self::EndProcess { .. }
            | Self::FindHang { .. }
            | Self::RepairNetwork { .. }
            | Self::RepairDevices { .. }
            | Self::RepairDriver { .. }
            | Self::RestartKubelet { .. }
            | Self::RestoreFinisher { .. }
            | Self::RepairFinisher { .. }
            | Self::RepairApi { .. }
            | Self::RepairWebhook { .. }
            | Self::RepairConverter { .. }
            | Self::RemoveManifest { .. }
            | Self::RepairStorage { .. }
            | Self::ExemptPods
            | Self::RepairController { .. }
            | Self::RepairLoadBalancer
            | Self::SatisfyPolicy { .. }
            | Self::MakeVisible { .. } => Harm::None,
            Self::Nudge
            | Self::SuspendParent
            | Self::RetainVolume { .. }
            | Self::ExemptNamespaces { .. } => Harm::Reversible,
            Self::ScaleDown { .. }
            | Self::ShortenGrace { .. }
            | Self::RestartDriver { .. }
            | Self::RestartNode { .. } => Harm::Interruption,
            Self::IgnoreWebhook { .. }
            | Self::DeleteWebhookConfiguration
            | Self::DeleteApiService { .. } => Harm::SwitchesOff,
            Self::DeleteUser | Self::DeleteAgain { .. } | Self::RecreateNamespace { .. } => {
                Harm::Deletion
            }
            Self::RemoveFinalizer { .. }
            | Self::RemoveSpecFinalizer { .. }
            | Self::FinalizeNamespace => Harm::Leftovers,
            Self::StopConversion
            | Self::DeleteDependents
            | Self::OutOfServiceTaint { .. }
            | Self::DeleteNode { .. }
            | Self::ForceDeletePod { .. } => Harm::DataLoss,
        }
    }

    /// Whether a person does it outside the API, so that it is complete without a command.
    fn is_by_hand(&self) -> bool {
        self.harm() == Harm::None
            || matches!(self, Self::RestartNode { .. } | Self::DeleteDependents)
    }
}

/// The event that ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitReason {
    /// The grace period ends.
    GracePeriod,
    /// The kubelet tries again to unmount.
    KubeletRetry,
    /// The Pod garbage collector removes the Pod.
    PodCollector,
    /// The controller looks again after its back-off.
    ControllerRetry,
    /// The program that runs clears its finalizer.
    Finisher,
    /// The driver detaches the volume.
    Detach,
}

/// Something that must hold before a remedy is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// The condition.
    pub code: NeedCode,
    /// Whether it holds now.
    pub holds: Holds,
}

/// Whether a need holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Holds {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// The API does not show it: a person has to check.
    Unknown,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// A condition for a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NeedCode {
    /// Condition Ready of the node is Unknown: its kubelet has stopped reporting.
    NodeSilent,
    /// The node's lease has not been renewed while somebody watched.
    LeaseStill,
    /// The machine is off, by the cloud's taint or by the word of somebody who has checked.
    PoweredOff {
        /// The node.
        node: Arc<str>,
        /// The name of its instance, from `spec.providerID`.
        instance: Option<Arc<str>>,
        /// The kubelet said, before it fell silent, that the node shuts down. That is no proof that it did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        announced: bool,
    },
    /// No other node fell silent in the last 24 hours, or at about the same time as this one.
    OnlySilentNode,
    /// The node does not run the control plane.
    NotControlPlane,
    /// The kubelet has reported that all containers of the Pod have ended.
    ContainersEnded,
    /// Nothing on the node uses the volumes of the Pod any more.
    MountsUnused,
    /// The cause is repaired, or removed.
    CauseRemoved,
    /// The API group stores no objects.
    GroupStoresNothing,
    /// Every kind can be listed in the namespace.
    NamespaceListable,
    /// No Pod is left in the namespace.
    NoPodsInside,
    /// The program cannot come back, or cannot do its work any more.
    FinisherCannotFinish,
    /// The things that the finalizer guarded have been cleaned up by hand, or may stay.
    CleanedUpByHand,
    /// The storage system shows that the volume is not attached.
    DetachChecked,
    /// No node has the volume attached.
    NotAttached,
    /// All stored objects of the kind have one version.
    OneStoredVersion,
}

/// The way to take a remedy back. The commands with purpose [`Purpose::Undo`] do it where one can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Undo {
    /// Take the annotation off; it does no harm.
    TakeAnnotationOff,
    /// Take the taint off once the node is back. It must not be forgotten.
    TakeTaintOff,
    /// Create the object again, from the copy.
    CreateAgain,
    /// Set the field back.
    SetBack,
    /// Restart the kubelet: it registers the Node again.
    RestartKubelet,
}

/// The reason for which a remedy cannot be chosen now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Withheld {
    /// A resource cannot be seen: there may be a Pod, a node or a volume that this would hit.
    CannotSee {
        /// The resource.
        resource: String,
    },
    /// The node reports, so its kubelet can end the Pod.
    NodeReports,
    /// The node runs the control plane.
    ControlPlaneNode,
    /// Several nodes are silent at once: more likely the network is broken than all of them are off.
    SeveralNodesSilent {
        /// Their number.
        silent: usize,
    },
    /// The lease of the node has not been seen to stand still for as long as it is valid, so its kubelet may live. A node
    /// without a lease never gets that far.
    LeaseNotWatched,
    /// The leases of nodes cannot be read, so the kubelet may live.
    LeaseHidden,
    /// Containers of the Pod run.
    ContainersRun,
    /// The API server does not reach the kubelet, and nothing else says that it lives: the node may be about to count as silent.
    KubeletUnreachable,
    /// The namespace cannot be listed whole: nobody knows what would be left in it.
    CannotList {
        /// The resource, or the group version.
        resource: String,
    },
    /// Pods are left in the namespace. They would run on without it.
    PodsInside,
    /// The group may store objects, which nobody can see now.
    GroupMayStoreObjects {
        /// The group.
        group: String,
    },
    /// A node has the volume attached.
    Attached {
        /// The node.
        node: Arc<str>,
    },
    /// The object's namespace does not exist, so the API server refuses every change of it.
    NamespaceGone,
    /// A name has characters that do not belong in a command.
    UnsafeName,
}

impl Remedy {
    pub(super) fn new(act: RemedyAct) -> Self {
        Self {
            harm: act.harm(),
            act,
            target: None,
            commands: Vec::new(),
            needs: Vec::new(),
            reaches: Reach::default(),
            loses: Vec::new(),
            undo: None,
            withheld: None,
            permits: Vec::new(),
        }
    }

    /// The lines for a POSIX shell with the place where each belongs. A command that cannot be written for this context is
    /// not among them.
    pub fn lines(&self, context: &str) -> Vec<(&Command, String)> {
        let line = |command: &Command| command.line(context);
        self.commands.iter().filter_map(|it| Some((it, line(it)?))).collect()
    }

    pub(super) fn at(mut self, target: &Object) -> Self {
        self.target = Some(target.reference());
        self
    }

    pub(super) fn named(mut self, target: Option<ObjectRef>) -> Self {
        self.target = target;
        self
    }

    /// Adds commands. Without its acting command, a remedy that changes the API cannot be chosen.
    pub(super) fn with(mut self, commands: impl IntoIterator<Item = Option<Command>>) -> Self {
        self.commands.extend(commands.into_iter().flatten());
        self.commands.sort_by_key(|command| command.purpose);
        self
    }

    pub(super) fn need(mut self, code: NeedCode, holds: impl Into<Holds>) -> Self {
        self.needs.push(Need { code, holds: holds.into() });
        self
    }

    pub(super) fn reach(mut self, reaches: Reach) -> Self {
        self.reaches = reaches;
        self
    }

    pub(super) fn loss(mut self, loses: impl IntoIterator<Item = Loss>) -> Self {
        self.loses.extend(loses);
        self
    }

    pub(super) fn undo(mut self, undo: Undo) -> Self {
        self.undo = Some(undo);
        self
    }

    /// Keeps the first reason.
    pub(super) fn withhold(mut self, why: Option<Withheld>) -> Self {
        self.withheld = self.withheld.or(why);
        self
    }

    /// The same with the commands that a person may use now: none that changes something while it is withheld, which it is
    /// without a command for a change of the API.
    pub(super) fn checked(self) -> Self {
        let acts = |command: &Command| command.purpose == Purpose::Act;
        let is_complete = self.act.is_by_hand() || self.commands.iter().any(acts);
        let mut remedy = self.withhold((!is_complete).then_some(Withheld::UnsafeName));
        if remedy.withheld.is_some() {
            remedy.commands.retain(|command| command.purpose == Purpose::Look);
        }
        remedy
    }
}
