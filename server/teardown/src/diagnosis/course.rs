//! The course of things if nobody acts: what the cluster does by itself about deletions that wait, and by when.
//!
//! # Decisions
//! - A time is given only where a rule of the cluster gives one and the start of the rule was seen. Otherwise the length of the
//!   wait is given.
//! - A time that has passed is overdue. It is never worded as if it were still to come.
//! - Where no kube-controller-manager leads, its controllers promise nothing. Where the lease of a node stands still, neither
//!   does its kubelet.
//! - The times are those of Kubernetes without flags. A cluster's owner may have set others; the API does not say so.
//!
//! # Sources
//! All in Kubernetes 1.36 unless another module is named.
//! - Back-off of a kubelet's volume operation, and of the binder's: 500 ms, doubled up to 2 min 2 s
//!   (`pkg/util/goroutinemap/exponentialbackoff/exponential_backoff.go`).
//! - A kubelet's pod worker tries again after 10 s, spread by half of it (`backOffPeriod` in `pkg/kubelet/kubelet.go`,
//!   `completeWork` in `pkg/kubelet/pod_workers.go`).
//! - Eviction after the toleration of the taint, 300 s where a Pod has none of its own
//!   (`pkg/controller/tainteviction/taint_eviction.go`, `plugin/pkg/admission/defaulttolerationseconds/admission.go`).
//! - The Pod garbage collector looks every 20 s, and waits 40 s after a look that misses a Node; it removes terminating Pods
//!   of a node that is out of service and not ready at its next look (`pkg/controller/podgc/gc_controller.go`).
//! - Detach by force 6 min after no Pod of the node wants the volume, if the node is not ready, and at once if it is out of
//!   service (`pkg/controller/volume/attachdetach/reconciler/reconciler.go`; the 6 min are
//!   `ReconcilerMaxWaitForUnmountDuration` in `attach_detach_controller.go`). A Pod that is being deleted wants its volumes
//!   while a container runs (`IsPodTerminated` in `pkg/volume/util/util.go`).
//! - The binder looks at all volumes every 15 s (`PVClaimBinderSyncPeriod` in
//!   `pkg/controller/volume/persistentvolume/config/v1alpha1/defaults.go`).
//! - The namespace controller tries again after at most 60 s (`pkg/controller/namespace/namespace_controller.go`), the Job
//!   controller after at most 1 min (`MaxJobApiBackOff` in `pkg/controller/job/job_controller.go`), the other controllers after
//!   at most 1000 s (`DefaultTypedControllerRateLimiter` in `k8s.io/client-go/util/workqueue`), the controller of a cloud's load
//!   balancers after at most 300 s (`maxRetryDelay` in `k8s.io/cloud-provider/controllers/service/controller.go`), the sidecars of
//!   a CSI driver after at most 5 min (`retry-interval-max` of external-provisioner and external-attacher).
//! - The API server asks an aggregated API for its kinds every 60 s (`discoveryRefreshInterval` in
//!   `k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go`).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use super::{Diagnosis, case::Case, cause::Cause, kubelet_log::KubeletError};
use crate::{
    graph::Graph,
    index::{Index, Renewal},
    object::{ContainerState, Ending, Facts, Node, Object, ObjectRef, Phase, Pod},
    relation::EdgeKind,
};

const VOLUME_BACK_OFF: SignedDuration = SignedDuration::from_secs(122);
const POD_WORKER: SignedDuration = SignedDuration::from_secs(15);
const COLLECTOR_LOOKS: SignedDuration = SignedDuration::from_secs(20);
/// A look misses the Node, the quarantine passes, the next look removes the Pod.
const ORPHAN: SignedDuration = SignedDuration::from_secs(80);
pub(super) const FORCED_DETACH: SignedDuration = SignedDuration::from_mins(6);
const BINDER_LOOKS: SignedDuration = SignedDuration::from_secs(15);
const NAMESPACE_BACK_OFF: SignedDuration = SignedDuration::from_secs(60);
const JOB_BACK_OFF: SignedDuration = SignedDuration::from_secs(60);
const CONTROLLER_BACK_OFF: SignedDuration = SignedDuration::from_secs(1000);
const LOAD_BALANCER_BACK_OFF: SignedDuration = SignedDuration::from_secs(300);
const DRIVER_BACK_OFF: SignedDuration = SignedDuration::from_mins(5);
/// An APIService is gone: the refresh of discovery and the back-off of the namespace controller overlap.
const AFTER_REMOVAL: SignedDuration = SignedDuration::from_secs(75);
/// Its API is available again: found available within 30 s, asked for its kinds within 60 s, and then the back-off of the
/// namespace controller.
const AFTER_REPAIR: SignedDuration = SignedDuration::from_secs(150);

/// The taint that the node controller puts on a Node whose kubelet does not report.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Something that the cluster does by itself while a deletion waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Upcoming {
    /// The kubelet kills the containers that have not stopped.
    GraceEnds {
        /// The node.
        node: Arc<str>,
        /// The end of the grace period.
        due: Due,
    },
    /// The kubelet tries again what failed.
    KubeletRetries {
        /// The node.
        node: Arc<str>,
        /// The next try, by the clock of the node where it is a time.
        due: Due,
    },
    /// The kubelet waits for an operation that has no answer, and begins no other.
    KubeletWaits {
        /// The node.
        node: Arc<str>,
    },
    /// The taint eviction controller deletes Pods that are still assigned to an unreachable node. They then wait for it too.
    Eviction {
        /// The node.
        node: Arc<str>,
        /// The Pods.
        pods: Vec<ObjectRef>,
        /// The end of their toleration.
        due: Due,
    },
    /// The Pod garbage collector removes the Pods of a node that does not exist.
    OrphansCollected {
        /// The node.
        node: Arc<str>,
        /// The look that removes them.
        due: Due,
    },
    /// The Pod garbage collector removes the terminating Pods of a node that is out of service.
    OutOfServiceCollected {
        /// The node.
        node: Arc<str>,
        /// The look that removes them.
        due: Due,
    },
    /// The attach-detach controller detaches volumes from the node without its kubelet.
    ForcedDetach {
        /// The node.
        node: Arc<str>,
        /// The volumes.
        volumes: Vec<Arc<str>>,
        /// The node is out of service, so it waits for nothing but the Pods.
        at_once: bool,
        /// The end of the wait, counted from the last Pod of the node that wanted the volume.
        due: Due,
    },
    /// A controller of the control plane looks again.
    ControllerLooks {
        /// The controller, by the name that kube-controller-manager gives it.
        controller: Arc<str>,
        /// Its next look.
        due: Due,
    },
    /// No kube-controller-manager leads, so none of its controllers does anything.
    NoManager,
    /// The storage driver tries again.
    DriverRetries {
        /// The CSI driver.
        driver: Arc<str>,
        /// Its next try.
        due: Due,
    },
    /// The program that clears a finalizer tries again, by rules of its own.
    ProgramRetries {
        /// The programs that may clear it.
        programs: Vec<ObjectRef>,
    },
}

/// The time of something that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Due {
    /// It should have happened by this time.
    Overdue(Timestamp),
    /// At this time.
    By(Timestamp),
    /// This long, at most, after a moment that was not seen: the last try, or the moment that starts the rule.
    Within(SignedDuration),
}

impl Due {
    fn at(at: Timestamp, now: Timestamp) -> Self {
        if now < at { Self::By(at) } else { Self::Overdue(at) }
    }

    /// A span after a time that the cluster wrote, which may be any.
    fn after(start: Timestamp, span: SignedDuration, now: Timestamp) -> Self {
        start.checked_add(span).map_or(Self::Within(span), |at| Self::at(at, now))
    }
}

/// The acts of the cluster itself about the deletions of a diagnosis.
pub(crate) fn course(
    index: &Index,
    graph: &Graph,
    diagnosis: &Diagnosis,
    now: Timestamp,
) -> Vec<Upcoming> {
    let case = Case { index, graph, now };
    let mut found = Vec::new();
    match &diagnosis.cause {
        Cause::WithinGrace { until, .. } => {
            let node = case.index.named(&diagnosis.root).and_then(|it| pod(it)?.node.clone());
            let due = Due::at(*until, now);
            found.extend(node.map(|node| Upcoming::GraceEnds { node, due }));
        }
        Cause::ContainersRunning { node, .. } => {
            let pod = case.index.named(&diagnosis.root);
            let due = pod.and_then(|pod| Some(Due::at(pod.deletion.as_ref()?.at, now)));
            found.extend(due.map(|due| Upcoming::GraceEnds { node: node.clone(), due }));
            found.extend(case.kubelet_retries(node, POD_WORKER, diagnosis));
        }
        Cause::NeverStarted { node }
        | Cause::SandboxLeft { node }
        | Cause::DevicesLeft { node }
        | Cause::PodDirectoryLeft { node } => {
            found.extend(case.kubelet_retries(node, POD_WORKER, diagnosis));
        }
        Cause::VolumesMounted { node, .. }
        | Cause::ClaimGone { node, .. }
        | Cause::DriverMissing { node, .. } => {
            found.extend(case.kubelet_retries(node, VOLUME_BACK_OFF, diagnosis));
            found.extend(case.detached_by_force(node));
        }
        Cause::NodeSilent { node, .. } => {
            found.extend(case.evicted(node, |_| true));
            found.extend(case.collected_out_of_service(node));
            found.extend(case.detached_by_force(node));
        }
        Cause::NodeMissing { node } => {
            found.push(case.orphans_collected(node));
            found.extend(case.detached_by_force(node));
        }
        Cause::ClaimInUse { pods } => found.extend(case.users_evicted(pods)),
        Cause::DetachFailed { attacher, .. } => found.push(driver_retries(attacher)),
        Cause::VolumeAttached { attacher, node, detach, .. } => {
            found.extend(detach.is_requested().then(|| driver_retries(attacher)));
            if diagnosis.kubelet_facts().next().is_some() {
                found.extend(case.kubelet_retries(node, VOLUME_BACK_OFF, diagnosis));
            }
            found.extend(case.detached_by_force(node));
        }
        Cause::BackendLeft { driver: Some(driver) } => found.push(driver_retries(driver)),
        Cause::BackendLeft { driver: None } => {
            found.push(looks("persistentvolume-binder-controller", Due::Within(VOLUME_BACK_OFF)));
        }
        Cause::VolumeBound { claim: None } => {
            found.push(looks("persistentvolume-binder-controller", Due::Within(BINDER_LOOKS)));
        }
        Cause::ApiDown { .. } => {
            found.push(api_looked_for(diagnosis));
        }
        Cause::LooksAgain { controller, .. } => {
            let due = repaired(case.index, &diagnosis.root)
                .map_or(Due::Within(AFTER_REPAIR), |(at, within)| Due::after(at, within, now));
            found.push(looks(controller, due));
        }
        Cause::WebhookDown { .. }
        | Cause::WebhookDenies { .. }
        | Cause::PolicyDenies { .. }
        | Cause::ConversionDown { .. }
        | Cause::Unreadable { .. }
        | Cause::ContentRefused => {
            found.extend(refused_again(diagnosis));
        }
        Cause::ControllerSilent { controller } => {
            found.push(looks(controller, Due::Within(back_off_of(controller))));
        }
        Cause::FinisherBusy { finisher, .. } => {
            found.push(Upcoming::ProgramRetries { programs: vec![finisher.clone()] });
        }
        Cause::FinisherUnknown { possible, .. } => {
            found.push(Upcoming::ProgramRetries { programs: possible.clone() });
        }
        Cause::LoadBalancerLeft => {
            found.push(looks("service-lb-controller", Due::Within(LOAD_BALANCER_BACK_OFF)));
        }
        Cause::ContentUnseen { .. } | Cause::DiscoveryFailed => found.push(namespace_looks()),
        Cause::VolumeBound { claim: Some(_) }
        | Cause::KubeletUnaware { .. }
        | Cause::StaticPod { .. }
        | Cause::UpdateRejected { .. }
        | Cause::ManagedElsewhere { .. }
        | Cause::OwnersCircle { .. }
        | Cause::InUse { .. }
        | Cause::KeptForDependents { .. }
        | Cause::Copied { .. }
        | Cause::NamespaceGone
        | Cause::ClaimHeldByCompletedPods { .. }
        | Cause::NamespaceFinalizer { .. }
        | Cause::ManagerSilent
        | Cause::FinisherGone { .. }
        | Cause::FinisherNotReady { .. }
        | Cause::CannotSee { .. }
        | Cause::Unknown => {}
    }
    if matches!(case.index.manager_renewal(), Renewal::Still(_)) {
        let all = found.len();
        found.retain(|it| !it.is_of_manager());
        found.extend((found.len() < all).then_some(Upcoming::NoManager));
    }
    found
}

/// The controller that looks again whether an aggregated API answers.
fn api_looked_for(diagnosis: &Diagnosis) -> Upcoming {
    let is_namespace = diagnosis.waiting.iter().any(|held| &*held.object.kind == "Namespace");
    if is_namespace {
        namespace_looks()
    } else {
        looks("garbage-collector-controller", Due::Within(CONTROLLER_BACK_OFF))
    }
}

/// The controllers that repeat a request that was refused: one for the content of a namespace, one for the objects of a definition.
fn refused_again(diagnosis: &Diagnosis) -> Vec<Upcoming> {
    let direct = || diagnosis.waiting.iter().filter(|held| held.on.is_none());
    let is = |kind: &str| direct().any(|held| &*held.object.kind == kind);
    let definition = is("CustomResourceDefinition")
        .then(|| looks("kube-apiserver", Due::Within(CONTROLLER_BACK_OFF)));
    is("Namespace").then(namespace_looks).into_iter().chain(definition).collect()
}

/// The longest time between two tries of a controller.
fn back_off_of(controller: &str) -> SignedDuration {
    match controller {
        "namespace-controller" => NAMESPACE_BACK_OFF,
        "job-controller" => JOB_BACK_OFF,
        _ => CONTROLLER_BACK_OFF,
    }
}

impl Upcoming {
    /// Whether a controller of the kube-controller-manager does it.
    fn is_of_manager(&self) -> bool {
        match self {
            Self::Eviction { .. }
            | Self::OrphansCollected { .. }
            | Self::OutOfServiceCollected { .. }
            | Self::ForcedDetach { .. } => true,
            Self::ControllerLooks { controller, .. } => {
                !matches!(&**controller, "kube-apiserver" | "service-lb-controller")
            }
            Self::GraceEnds { .. }
            | Self::KubeletRetries { .. }
            | Self::KubeletWaits { .. }
            | Self::NoManager
            | Self::DriverRetries { .. }
            | Self::ProgramRetries { .. } => false,
        }
    }
}

impl<'a> Case<'a> {
    /// The next try of a kubelet: by its own log if it was read. A node whose lease stands still has no kubelet that tries.
    fn kubelet_retries(
        &self,
        node: &Arc<str>,
        back_off: SignedDuration,
        diagnosis: &Diagnosis,
    ) -> Option<Upcoming> {
        if matches!(self.index.node_renewal(node), Renewal::Still(_)) {
            return None;
        }
        let node = node.clone();
        let next = diagnosis.kubelet_facts().filter_map(|fact| fact.retry).map(|it| it.at).max();
        if let Some(at) = next {
            return Some(Upcoming::KubeletRetries { node, due: Due::at(at, self.now) });
        }
        let hangs = diagnosis.kubelet_facts().any(|fact| fact.error == KubeletError::Waiting);
        Some(if hangs {
            Upcoming::KubeletWaits { node }
        } else {
            Upcoming::KubeletRetries { node, due: Due::Within(back_off) }
        })
    }

    /// The end of the Pods of a node that is out of service.
    fn collected_out_of_service(&self, node: &Arc<str>) -> Option<Upcoming> {
        let (_, facts) = self.node(node)?;
        let due = Due::Within(COLLECTOR_LOOKS);
        let collected = Upcoming::OutOfServiceCollected { node: node.clone(), due };
        facts.is_out_of_service().then_some(collected)
    }

    /// The end of the Pods of a node that does not exist any more.
    fn orphans_collected(&self, node: &Arc<str>) -> Upcoming {
        let is_it =
            |object: &Object| matches!(object.facts, Facts::Node(_)) && *object.name == **node;
        let gone = self.index.departures().rfind(|it| is_it(&it.object));
        let due = gone.map_or(Due::Within(ORPHAN), |gone| Due::after(gone.at, ORPHAN, self.now));
        Upcoming::OrphansCollected { node: node.clone(), due }
    }

    /// The evictions of the Pods that use a claim.
    fn users_evicted(&self, pods: &[ObjectRef]) -> Vec<Upcoming> {
        let nodes = pods.iter().filter_map(|it| pod(self.index.named(it)?)?.node.clone());
        let nodes: BTreeSet<Arc<str>> = nodes.collect();
        let is_user = |pod: &Object| pods.contains(&pod.reference());
        nodes.iter().flat_map(|node| self.evicted(node, is_user)).collect()
    }

    /// The evictions of Pods from an unreachable node, by the end of their tolerations. The toleration runs from the moment at
    /// which the taint is seen, which is that at which the node is found silent.
    fn evicted(&self, node: &Arc<str>, is_asked: impl Fn(&Object) -> bool) -> Vec<Upcoming> {
        let Some((object, facts)) = self.node(node) else { return Vec::new() };
        let is_tainted = facts
            .taints
            .iter()
            .any(|(key, effect)| &**key == UNREACHABLE && &**effect == "NoExecute");
        // A Pod tolerates no node that is out of service, and is deleted at once.
        if !facts.is_silent() || !is_tainted || facts.is_out_of_service() {
            return Vec::new();
        }
        let since = facts.ready.as_ref().and_then(|ready| ready.since).map(Timestamp::from);
        let mut by_due: BTreeMap<Due, Vec<ObjectRef>> = BTreeMap::new();
        for other in self.sources(object, EdgeKind::RunsOn) {
            let Some(stays) = pod(other).and_then(|pod| pod.stays_unreachable) else { continue };
            if other.deletion.is_none() && is_asked(other) {
                let stays = SignedDuration::from_secs(stays.get().into());
                let due = since.map_or(Due::Within(stays), |at| Due::after(at, stays, self.now));
                by_due.entry(due).or_default().push(other.reference());
            }
        }
        let evictions = by_due.into_iter().map(|(due, mut pods)| {
            pods.sort();
            Upcoming::Eviction { node: node.clone(), pods, due }
        });
        evictions.collect()
    }

    /// The detaches by force from a node, by the end of their waits: none from a node that is ready.
    fn detached_by_force(&self, node: &Arc<str>) -> Vec<Upcoming> {
        let facts = self.node(node).map(|(_, facts)| facts);
        if facts.is_some_and(Node::is_ready) || facts.is_none() && !self.index.is_missing_node(node)
        {
            return Vec::new();
        }
        let at_once = facts.is_some_and(Node::is_out_of_service);
        let attachments: Vec<&Arc<Object>> = match self.node(node) {
            Some((node, _)) => self.sources(node, EdgeKind::Attaches).collect(),
            None => self.index.of_resource("volumeattachments.storage.k8s.io").collect(),
        };
        let mut by_due: BTreeMap<Due, Vec<Arc<str>>> = BTreeMap::new();
        for attachment in attachments.into_iter().filter(|it| it.deletion.is_none()) {
            let Facts::Attachment(facts) = &attachment.facts else { continue };
            if let Some(volume) = facts.volume.as_ref().filter(|_| facts.node == *node) {
                let unwanted = self.unwanted_since(volume, node);
                let due = match unwanted {
                    _ if at_once => Due::Within(SignedDuration::ZERO),
                    Some(at) => Due::after(at, FORCED_DETACH, self.now),
                    None => Due::Within(FORCED_DETACH),
                };
                by_due.entry(due).or_default().push(volume.clone());
            }
        }
        let detaches = by_due.into_iter().map(|(due, mut volumes)| {
            volumes.sort();
            Upcoming::ForcedDetach { node: node.clone(), volumes, at_once, due }
        });
        detaches.collect()
    }

    /// The time since which no Pod of a node wants a volume; `None` while one does, or where nobody saw the last one go.
    pub(super) fn unwanted_since(&self, volume: &str, node: &Arc<str>) -> Option<Timestamp> {
        let claim = self.claim_of_volume(volume).filter(|claim| !self.is_wanted(claim, node))?;
        let name = claim.reference();
        let gone = self.index.unconfirmed_users(&name, &claim.uid);
        gone.filter(|it| pod(&it.object).is_some_and(|pod| is_on(pod, node))).map(|it| it.at).max()
    }

    /// The claim that a volume is bound to, if both can be seen.
    pub(super) fn claim_of_volume(&self, volume: &str) -> Option<&'a Arc<Object>> {
        let volume = self.index.find("", "PersistentVolume", None, volume)?;
        let Facts::Volume(facts) = &volume.facts else { return None };
        self.index.claim_of(facts).ok()?
    }

    /// Whether a Pod of a node wants the volume of a claim.
    pub(super) fn is_wanted(&self, claim: &Object, node: &Arc<str>) -> bool {
        let wants = |object: &Arc<Object>| {
            pod(object).is_some_and(|pod| is_on(pod, node) && wants(object, pod))
        };
        self.sources(claim, EdgeKind::Mounts).any(wants)
    }
}

/// The time at which an APIService was repaired or deleted, and the longest time until the namespace controller has looked again.
pub(crate) fn repaired(index: &Index, service: &ObjectRef) -> Option<(Timestamp, SignedDuration)> {
    match index.named(service).map(|object| &object.facts) {
        Some(Facts::ApiService(api)) => {
            Some((Timestamp::from(api.available.as_ref()?.since?), AFTER_REPAIR))
        }
        Some(_) => None,
        None => {
            let gone = index.departures().rfind(|it| it.object.reference() == *service)?;
            Some((gone.at, AFTER_REMOVAL))
        }
    }
}

fn pod(object: &Object) -> Option<&Pod> {
    match &object.facts {
        Facts::Pod(pod) => Some(pod),
        _ => None,
    }
}

fn is_on(pod: &Pod, node: &Arc<str>) -> bool {
    pod.node.as_ref() == Some(node)
}

/// Whether the attach-detach controller keeps the volumes of a Pod attached.
fn wants(object: &Object, pod: &Pod) -> bool {
    let runs =
        |ending: &Ending| ending.containers.iter().any(|it| it.state == ContainerState::Running);
    let is_over = pod.phase.is_some_and(Phase::is_over);
    !is_over && (object.deletion.is_none() || pod.ending.as_deref().is_some_and(runs))
}

fn looks(controller: &str, due: Due) -> Upcoming {
    Upcoming::ControllerLooks { controller: controller.into(), due }
}

fn namespace_looks() -> Upcoming {
    looks("namespace-controller", Due::Within(NAMESPACE_BACK_OFF))
}

fn driver_retries(driver: &Arc<str>) -> Upcoming {
    Upcoming::DriverRetries { driver: driver.clone(), due: Due::Within(DRIVER_BACK_OFF) }
}
