//! Distinguishes a Pod whose containers have ended from one that is gone from the API alone, and a volume that is released
//! from one that a node may still write to.
//!
//! # Decisions
//! - The kubelet reports that the containers have ended, and then removes the Pod. A DELETED event for a Pod without that
//!   report means that somebody forced it: the node may still run it.
//! - Where nobody watched while a Pod went, its node decides. The API server removes a Pod of a node only when the kubelet
//!   has reported its end, or somebody forces it; on a node that is ready nobody has a reason to force it.
//! - The containers of a Pod that had run to completion before its DELETE have ended, although the API server then removes it
//!   at once, and not after its volumes are unmounted. An attachment shows those; a volume without attachments has none left
//!   to write to it.
//! - A namespace whose controller had not found it empty went by force, through `/finalize`: whatever was in it may be left, and
//!   is unknown where its kind cannot be listed in the whole cluster.
//! - How a namespace ended while nobody watched is not known, and what it was like before says nothing of that. What is left in it
//!   of kinds that can be seen does: while there is something, it went by force, or the news of that is still on its way.
//! - A volume that was attached to a node that does not exist any more, and no longer is, is released. A detach alone proves
//!   nothing: six minutes after a node fell silent it is forced (`pkg/controller/volume/attachdetach/reconciler`).
//! - An object of which a remedy removed a finalizer is gone from the API alone: nobody reported that the work of the finalizer
//!   was done. A person may have removed it too early. A volume is not known to be detached if its attachment went so.

use std::{collections::HashSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{Departure, Index, UnconfirmedEnd};
use crate::{
    object::{
        ConditionStatus, Container, ContainerState, Facts, Object, ObjectRef, Phase, Pod, Uid,
    },
    proof::Proof,
};

/// The most namespaces that are remembered after their end.
const MOST_FORMER: usize = 1_000;
/// The time within which nodes fall silent for one cause, such as a broken network: the node controller finds each out on its
/// own, and may be away for minutes itself.
const TOGETHER: SignedDuration = SignedDuration::from_mins(10);
/// The time for which a silent node says that the network may be broken now: nodes behind one broken switch, or with one expired
/// certificate, fall silent over hours.
const RECENT: SignedDuration = SignedDuration::from_hours(24);
/// The conditions of a namespace that is being deleted (`pkg/controller/namespace/deletion/status_condition_utils.go`).
const CONDITIONS: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
];

/// The traces of an object that is gone.
#[derive(Clone, Debug)]
pub(super) struct Tombstone {
    pub(super) owners: Vec<Uid>,
    pub(super) proof: Proof,
}

/// An object that is gone from the API alone.
#[derive(Clone, Debug)]
pub(super) struct UnconfirmedDeparture {
    gone: Departure,
    /// The things that stood behind it then.
    end: UnconfirmedEnd,
}

impl Index {
    /// The proof that an object is gone. A list proves it for an object that this process has never seen.
    pub fn proof_of(&self, uid: &Uid) -> Proof {
        self.tombstones.get(uid).map_or(Proof::List, |tombstone| tombstone.proof)
    }

    /// Whether an object is gone from the API alone: nobody reported that the containers of a Pod have ended, or a finalizer was
    /// removed by hand. `node` is the node of a Pod when the plan was made, for one that went while no process watched.
    pub fn is_unconfirmed(&self, uid: &Uid, node: Option<&str>) -> bool {
        let is_silent = || node.is_some_and(|node| !self.is_node_ready(node));
        self.unconfirmed.contains_key(uid)
            || self.by_hand.contains(uid)
            || self.has_ended_by_hand(uid)
            || !self.tombstones.contains_key(uid) && is_silent()
    }

    /// Whether anything is gone from the API alone.
    pub fn has_unconfirmed(&self) -> bool {
        !self.unconfirmed.is_empty()
    }

    /// Takes over which objects, none of them a Pod, lost a finalizer by hand, or may have.
    pub fn set_by_hand(&mut self, objects: HashSet<Uid>) {
        self.by_hand = objects;
        self.recent.note_everything();
        // One that went while a remedy was under way that then did nothing went by itself.
        let by_hand = &self.by_hand;
        self.unconfirmed.retain(|uid, it| it.end.is_of_pod() || by_hand.contains(uid));
    }

    /// The objects that stood in front of another and went from the API alone while this process watched, each with the time at which
    /// it went.
    pub fn unconfirmed_users<'a>(
        &'a self,
        of: &'a ObjectRef,
        uid: &'a Uid,
    ) -> impl Iterator<Item = &'a Departure> {
        let is_in_front = self.in_front_of(of, uid);
        self.unconfirmed.values().filter(move |it| is_in_front(&it.end)).map(|it| &it.gone)
    }

    /// Remembers an object that goes from the API alone, with what stands behind it now.
    pub(super) fn note_unconfirmed(&mut self, object: &Arc<Object>) {
        if let Facts::Attachment(attachment) = &object.facts {
            // Its detach proves nothing any more.
            attachment.volume.iter().for_each(|volume| _ = self.attached.remove(volume));
        }
        let gone = Departure { object: object.clone(), at: self.now };
        let gone = UnconfirmedDeparture { gone, end: self.end_of(object) };
        self.unconfirmed.insert(object.uid.clone(), gone);
        self.recent.note_everything();
    }

    /// A namespace that is gone, as it was last; none if this process never saw it.
    pub(crate) fn former_namespace(&self, name: &str) -> Option<&Arc<Object>> {
        self.former.get(name)
    }

    /// Remembers a namespace that is gone.
    pub(super) fn note_former(&mut self, namespace: &Arc<Object>, proof: Proof) {
        let name: Arc<str> = (*namespace.name).into();
        self.unseen_ends.remove(&name);
        if was_empty(namespace) {
            self.forced.remove(&name);
        } else if proof == Proof::DeletedEvent || self.forcing.contains(&namespace.uid) {
            self.forced.insert(name.clone());
        } else {
            self.unseen_ends.insert(name.clone());
        }
        if self.former.insert(name.clone(), namespace.clone()).is_none() {
            self.former_by_age.push_back(name);
        }
        if self.former.len() > MOST_FORMER
            && let Some(oldest) = self.former_by_age.pop_front()
        {
            self.former.remove(&oldest);
            self.forced.remove(&oldest);
            self.unseen_ends.remove(&oldest);
        }
    }

    /// Counts namespaces whose end nobody watched as ended in order, once nothing is left in them that can be seen.
    pub(super) fn settle_unseen_ends(&mut self) {
        if self.unseen_ends.is_empty() {
            return;
        }
        let is_left = |name: &str| {
            let mut content = self.in_namespace(name);
            // The controller takes no object along that cannot be deleted.
            content.any(|object| {
                !self.is_watched_per_namespace(&object.kind.resource())
                    && !self.is_undeletable(&object.kind)
            })
        };
        let empty: Vec<Arc<str>> =
            self.unseen_ends.iter().filter(|name| !is_left(name)).cloned().collect();
        if empty.is_empty() {
            return;
        }
        for name in &empty {
            self.unseen_ends.remove(name);
        }
        self.remove_with_namespaces();
    }

    /// Whether the last namespace of this name ended in order, as far as this process saw it.
    pub fn has_ended_in_order(&self, name: &str) -> bool {
        self.former.contains_key(name)
            && !self.forced.contains(name)
            && !self.unseen_ends.contains(name)
    }

    /// Whether the last namespace of this name ended in order, and was another one than this.
    pub fn has_ended_in_order_since(&self, name: &str, uid: &Uid) -> bool {
        let is_other = self.former.get(name).is_some_and(|former| former.uid != *uid);
        is_other && self.get(uid).is_none() && self.has_ended_in_order(name)
    }

    /// Notes a namespace that is about to be finished by force: its end is none in order, however it becomes known.
    pub fn note_forcing(&mut self, namespace: Uid) {
        self.forcing.insert(namespace);
    }

    /// Notes a namespace that somebody had finished by force before this process began.
    pub fn note_forced(&mut self, namespace: Arc<str>) {
        if !self.former.contains_key(&namespace) {
            self.forced.insert(namespace);
            self.recent.note_everything();
        }
    }

    /// The node that a volume is attached to.
    pub fn attached_to(&self, volume: &str) -> Option<&Arc<str>> {
        let mut attachments = self.of_resource("volumeattachments.storage.k8s.io");
        attachments.find_map(|object| match &object.facts {
            Facts::Attachment(it) if it.volume.as_deref() == Some(volume) => Some(&it.node),
            _ => None,
        })
    }

    /// The number of Nodes whose kubelets stopped reporting at about the time at which that of this Node did, this one
    /// included. One that nobody took out of the cluster weeks ago says nothing of the network now; one of which the time is
    /// not known may.
    pub fn silent_together(&self, name: &str) -> usize {
        let is_together = self.is_silent_together(name);
        self.silent_nodes().filter(|(_, at)| is_together(*at)).count()
    }

    /// The number of Nodes whose kubelets do not report and that say something of the network now, this one included: those that fell
    /// silent less than 24 h ago, and those that did so together with this one. A remedy that treats this one as dead is
    /// withheld where there are others, although they need not have one cause with it.
    pub fn silent_with(&self, name: &str) -> usize {
        let is_together = self.is_silent_together(name);
        let is_recent = |at: Timestamp| self.now.duration_since(at) < RECENT;
        let counts = |(node, at): &(&Arc<Object>, Option<Timestamp>)| {
            *node.name == *name || is_together(*at) || at.is_some_and(is_recent)
        };
        self.silent_nodes().filter(counts).count()
    }

    /// The Nodes whose kubelets do not report, each with the time since when, if that is known.
    fn silent_nodes(&self) -> impl Iterator<Item = (&Arc<Object>, Option<Timestamp>)> {
        self.of_resource("nodes").filter_map(|object| match &object.facts {
            Facts::Node(node) if node.is_silent() => {
                let since = node.ready.as_ref().and_then(|ready| ready.since);
                Some((object, since.map(Timestamp::from)))
            }
            _ => None,
        })
    }

    /// Whether a Node that fell silent at a time did so together with this one. Where one of the times is not known, it may have.
    fn is_silent_together(&self, name: &str) -> impl Fn(Option<Timestamp>) -> bool + use<> {
        let this = self.silent_nodes().find(|(node, _)| *node.name == *name);
        let this = this.and_then(|(_, at)| at);
        let mut times: Vec<Timestamp> = self.silent_nodes().filter_map(|(_, at)| at).collect();
        times.sort_unstable();
        // One after the other, as a fault of the network spreads.
        let mut runs = times.chunk_by(|earlier, later| later.duration_since(*earlier) <= TOGETHER);
        let with_this = runs.find(|run| this.is_some_and(|this| run.contains(&this)));
        let span = with_this.and_then(|run| Some(*run.first()?..=*run.last()?));
        move |at| at.is_none_or(|at| span.as_ref().is_none_or(|span| span.contains(&at)))
    }

    /// Whether an object is in a namespace that does not exist, so that nobody can change it. Every cluster has namespaces:
    /// where there is none at all, they were not read.
    pub fn is_in_gone_namespace(&self, object: &Object) -> bool {
        object.namespace.as_deref().is_some_and(|name| {
            self.check_visible("namespaces", None).is_ok()
                && self.of_resource("namespaces").next().is_some()
                && self.find("", "Namespace", None, name).is_none()
        })
    }

    /// Whether it is proven that there is no Node of this name.
    pub fn is_missing_node(&self, name: &str) -> bool {
        self.find("", "Node", None, name).is_none() && self.check_visible("nodes", None).is_ok()
    }

    /// Whether a volume was attached at some time, and is not any more.
    pub fn is_detached(&self, volume: &str) -> bool {
        self.attached.contains(volume) && self.attached_to(volume).is_none()
    }

    pub(super) fn is_node_ready(&self, name: &str) -> bool {
        let node = self.find("", "Node", None, name);
        node.is_some_and(|node| matches!(&node.facts, Facts::Node(node) if node.is_ready()))
    }

    /// Whether the Pod garbage collector may have set the phase: it marks a Pod as Failed, without a condition that says so,
    /// where its node is out of service (`pkg/controller/podgc/gc_controller.go`). The kubelet alone sets Succeeded.
    fn is_ended_by_collector(&self, pod: &Pod, node: &str) -> bool {
        let node = self.find("", "Node", None, node);
        let is_out_of_service = node.is_some_and(|node| match &node.facts {
            Facts::Node(node) => node.is_out_of_service(),
            _ => false,
        });
        pod.phase == Some(Phase::Failed) && is_out_of_service
    }

    /// Whether nothing of an object that goes is left anywhere. Of a Pod there may be, and of an object that lost a finalizer by
    /// hand.
    pub(super) fn is_confirmed(&self, object: &Object, proof: Proof) -> bool {
        let Facts::Pod(pod) = &object.facts else { return !self.by_hand.contains(&object.uid) };
        let Some(node) = &pod.node else { return true };
        let nobody_watched = !matches!(proof, Proof::DeletedEvent | Proof::NamespaceGone);
        has_ended(pod) && !self.is_ended_by_collector(pod, node)
            || nobody_watched && self.is_node_ready(node)
    }
}

/// Whether the controller had found a namespace empty: it writes all of its conditions in the pass in which it finds nothing
/// left, and only then removes its finalizer. While Pods are left two of them say the same (`deleteAllContent`), so Pods are
/// judged by themselves.
fn was_empty(namespace: &Object) -> bool {
    let Facts::Namespace(facts) = &namespace.facts else { return false };
    let is_false = |name: &&str| {
        let mut conditions = facts.conditions.iter();
        conditions.any(|it| &*it.name == *name && it.status == ConditionStatus::False)
    };
    namespace.deletion.is_some() && CONDITIONS.iter().all(is_false)
}

/// Whether the kubelet reported that a Pod has ended: a terminal phase, and no container that runs. The kubelet reports that
/// phase once no container runs any more (`pkg/kubelet/kubelet_pods.go`, since 1.27). The phase alone does not say so, for
/// the Pod garbage collector sets it too, for the Pods of a node that is away. Containers that wait have never started, or
/// wait to be restarted: of those the phase is not terminal.
fn has_ended(pod: &Pod) -> bool {
    pod.phase.is_some_and(Phase::is_over)
        && pod.ending.as_ref().is_some_and(|ending| {
            let is_collected = ending.disruption.as_deref() == Some("DeletionByPodGC");
            let runs = |it: &Container| it.state == ContainerState::Running;
            !is_collected && !ending.containers.iter().any(runs)
        })
}
