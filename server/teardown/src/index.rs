//! The current state of the cluster by UID, as far as it is known.
//!
//! Only [`Index::apply`] changes it. An object leaves in one of three ways, and each is a proof that it is gone: a
//! DELETED event, a complete list without it (of the cluster or of its namespace), or the removal of its kind. If a
//! kind is listed namespace by namespace, the removal of a namespace is a proof as well. A hidden kind keeps its
//! objects, and every query about them returns "unknown". If a kind is hidden in some namespaces only, this holds for
//! queries about those namespaces.

mod by_use;
mod changed;
mod controller;
mod content_changes;
mod departures;
mod durations;
mod fetches;
mod former_cluster;
mod gone;
mod key;
mod kind_watch;
mod pods;
mod reads;
mod recent;
mod refused;
mod unconfirmed;
mod visibility;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    hash::RandomState,
    sync::Arc,
};

use hashbrown::HashSet as NameSet;
use jiff::Timestamp;

use self::{
    by_use::ByUse,
    changed::{Kept, Rules},
    content_changes::ContentChanges,
    departures::Departures,
    durations::Durations,
    fetches::Fetches,
    gone::{Tombstone, UnconfirmedDeparture},
    key::{ByName, ByUid, Name},
    kind_watch::{Part, Watch},
    reads::{Asked, Reads},
    recent::Recent,
    refused::Refused,
};
pub use self::{
    departures::{Departure, Transition},
    fetches::Renewal,
    unconfirmed::UnconfirmedEnd,
    visibility::{HiddenKind, Presence},
};
pub(crate) use self::{
    pods::PodsByOwner,
    reads::{Changes, Question},
    recent::Change,
};
use crate::{
    object::{Facts, Kind, Object, ObjectRef, Uid, UidHasher},
    observation::{Observation, Unreachable},
    proof::Proof,
};

/// The most deleted objects of which the index keeps a tombstone with their owners. Without tombstones, the Pod of a
/// Deployment whose ReplicaSet is already gone could no longer be attributed to the Deployment, and a ReplicaSet could
/// not be recognised as one whose Deployment is gone.
const MAX_TOMBSTONES: usize = 100_000;

/// The current state of the cluster, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Index {
    kinds: BTreeMap<String, Watch>,
    objects: HashSet<Kept, UidHasher>,
    names: NameSet<ByName, RandomState>,
    by_use: ByUse,
    /// The changes that nobody has taken yet.
    fresh: Changes,
    recent: Recent,
    reads: Reads,
    hidden: BTreeMap<String, HiddenKind>,
    /// Whether a kind is hidden, or may be in some namespaces.
    hides: bool,
    /// The resources of which discovery lists no verb `delete`.
    undeletable: BTreeSet<String>,
    tombstones: HashMap<Uid, Tombstone>,
    /// Objects that are gone from the API alone, as they were last.
    unconfirmed: HashMap<Uid, UnconfirmedDeparture>,
    /// Objects that lost a finalizer by hand, or may have: a few, each by a person.
    by_hand: HashSet<Uid>,
    /// The objects that remedies sent away from the API alone, or may have, as the journal has them.
    ends_by_hand: Vec<UnconfirmedEnd>,
    /// Objects whose end a person answers for.
    answered_for: HashSet<Uid>,
    /// Volumes that were attached to a node at some time.
    attached: HashSet<Arc<str>>,
    tombstones_by_age: VecDeque<Uid>,
    departures: Departures,
    content_changes: ContentChanges,
    /// Namespaces that are gone, as they were last.
    former: BTreeMap<Arc<str>, Arc<Object>>,
    former_by_age: VecDeque<Arc<str>>,
    /// Names of namespaces that went although nobody had found them empty.
    forced: BTreeSet<Arc<str>>,
    /// Namespaces that this process was told to finish by force: a few, each by a person.
    forcing: BTreeSet<Uid>,
    /// Names of namespaces that went while nobody watched, and of whose content something is left.
    unseen_ends: BTreeSet<Arc<str>>,
    durations: Durations,
    fetches: Fetches,
    refused: Refused,
    rules: Rules,
    /// The time of the batch that is applied.
    now: Timestamp,
    /// The namespace `kube-system` as it was last.
    system: Option<Uid>,
    /// The time at which this cluster began, if another one was watched before it.
    began: Option<Timestamp>,
    /// Group and kind of the definitions that were deleted.
    undefined: HashSet<(Arc<str>, Arc<str>)>,
    version: Option<String>,
    unreachable: Option<Unreachable>,
    own_namespace: Option<Arc<str>>,
    changes: u64,
}

impl Index {
    /// Applies what the watches observed, in order.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Observation>, now: Timestamp) {
        self.now = now;
        for observation in batch {
            // No edge and no unit depends on what is fetched.
            let is_fetched =
                matches!(observation, Observation::Fetched { .. } | Observation::Unasked(_));
            self.changes += u64::from(!is_fetched);
            let concerns_one = observation.concerns_one_object();
            if observation.concerns_rights() {
                self.fresh.note_rights();
            }
            self.observe(observation, now);
            if !concerns_one {
                self.fresh.note_list();
                self.recent.note_everything();
                let is_partly_watched = |watch: &Watch| watch.per_namespace.is_some();
                self.hides = !self.hidden.is_empty() || self.kinds.values().any(is_partly_watched);
            }
        }
        self.settle_unseen_ends();
        if self.departures.are_due(now) {
            let accepted = self.going().filter_map(|object| object.deletion.as_ref());
            let waits = accepted.map(|deletion| deletion.accepted()).min();
            self.departures.forget(waits, now);
        }
    }

    fn observe(&mut self, observation: Observation, now: Timestamp) {
        match observation {
            Observation::Watching(kind) => {
                self.watch(&kind);
            }
            Observation::Listed { kind, objects } => {
                let watch = self.watch(&kind);
                watch.listed = true;
                watch.per_namespace = None;
                self.list(&kind, None, objects);
            }
            Observation::PerNamespace { kind, namespaces, message } => {
                self.watch_per_namespace(&kind, namespaces, message, now);
            }
            Observation::ListedIn { kind, namespace, objects } => {
                if let Some(part) = self.part(&kind, &namespace) {
                    *part = Part { listed: true, hidden: None };
                    self.list(&kind, Some(&namespace), objects);
                }
            }
            Observation::HiddenIn { kind, namespace, cause: _, message } => {
                if let Some(part) = self.part(&kind, &namespace) {
                    part.hidden = Some(message);
                }
            }
            Observation::VisibleIn { kind, namespace } => {
                if let Some(part) = self.part(&kind, &namespace) {
                    part.hidden = None;
                }
            }
            Observation::Applied(object) => self.put(*object, true),
            Observation::Deleted { kind, uid } => {
                if let Some(watch) = self.kinds.get_mut(&kind.resource()) {
                    watch.objects.remove(&uid);
                }
                self.remove(&uid, Proof::DeletedEvent);
                if kind.is("", "Namespace") {
                    self.remove_with_namespaces();
                }
            }
            Observation::Withdrawn(kind) => {
                if let Some(watch) = self.kinds.remove(&kind.resource()) {
                    for ByUid(object) in watch.objects {
                        self.remove(&object.uid, Proof::KindGone);
                    }
                }
                self.hidden.remove(&kind.resource());
            }
            Observation::Hidden { resource, cause, message } => {
                if let Some(watch) = self.kinds.get_mut(&resource) {
                    watch.per_namespace = None;
                }
                let since = self.hidden.get(&resource).map_or(now, |hidden| hidden.since);
                self.hidden.insert(resource, HiddenKind { cause, message, since });
            }
            Observation::Visible { resource } => {
                self.hidden.remove(&resource);
            }
            Observation::Undeletable(resources) => self.undeletable = resources,
            Observation::Reached { version } => {
                self.version = Some(version);
                self.unreachable = None;
            }
            // They concern the caller's clock; the index receives the time as an argument.
            Observation::Time(_) | Observation::Pace(_) => {}
            Observation::Fetched { question, answer } => self.fetches.note(question, answer, now),
            Observation::Unasked(question) => self.fetches.forget(&question),
            Observation::RunsIn { namespace } => self.own_namespace = Some(namespace),
            Observation::Unreachable { cause, message } => {
                let since = self.unreachable.as_ref().map_or(now, |unreachable| unreachable.since);
                self.unreachable = Some(Unreachable { since, cause, message });
            }
        }
    }

    fn list(&mut self, kind: &Kind, namespace: Option<&str>, objects: Vec<Object>) {
        let listed: HashSet<&Uid> = objects.iter().map(|object| &object.uid).collect();
        let is_here =
            |object: &Object| namespace.is_none() || object.namespace.as_deref() == namespace;
        let resource = kind.resource();
        let before = self.of_resource(&resource);
        let missing: Vec<Uid> = before
            .filter(|object| !listed.contains(&object.uid) && is_here(object))
            .map(|object| object.uid.clone())
            .collect();
        self.remove_all(&resource, &missing, Proof::List);
        for object in objects {
            self.put(object, false);
        }
        if kind.is("", "Namespace") {
            self.remove_with_namespaces();
        }
    }

    fn remove_all(&mut self, resource: &str, uids: &[Uid], proof: Proof) {
        for uid in uids {
            if let Some(watch) = self.kinds.get_mut(resource) {
                watch.objects.remove(uid);
            }
            self.remove(uid, proof);
        }
    }

    /// Keeps an object. An event is a change even if no stored field differs, because most fields are not stored.
    fn put(&mut self, object: Object, is_event: bool) {
        self.follow_cluster(&object);
        let object = Arc::new(object);
        let before = self.objects.get(&object.uid);
        if let Some(before) = before {
            self.departures.compare(&before.object, &object, self.now);
            self.durations.compare(&before.object, &object);
        }
        let changed = match before.filter(|before| !is_event && *before.object == *object) {
            Some(before) => before.changed,
            None => self.rules.note(&object.kind, self.now),
        };
        let resource = object.kind.resource();
        if let Facts::Definition(definition) = &object.facts {
            self.undefined.remove(&(definition.group.clone(), definition.kind.clone()));
        }
        if let Facts::Attachment(attachment) = &object.facts {
            self.attached.extend(attachment.volume.clone());
        }
        // The name is used again: the earlier object is gone even if its DELETED event was never received.
        let before = self.names.get(&Name::of(&object)).map(|ByName(before)| before.uid.clone());
        if let Some(before) = before.filter(|before| *before != object.uid) {
            self.remove_all(&resource, &[before], Proof::OtherUid);
        }
        if let Some(watch) = self.kinds.get_mut(&resource) {
            watch.objects.replace(ByUid(object.clone()));
        }
        self.names.replace(ByName(object.clone()));
        let before = self.objects.replace(Kept { object: object.clone(), changed });
        let before = before.map(|kept| kept.object);
        if before.is_none() {
            self.content_changes.note(&object, false, self.now);
        }
        self.note_change(before.as_ref(), Some(&object));
    }

    fn remove(&mut self, uid: &Uid, proof: Proof) {
        let Some(Kept { object, .. }) = self.objects.take(uid) else { return };
        self.refused.forget(uid);
        self.note_change(Some(&object), None);
        self.content_changes.note(&object, true, self.now);
        self.rules.note(&object.kind, self.now);
        let is_former = self.is_of_former_cluster(&object);
        if !is_former && !self.is_confirmed(&object, proof) {
            self.note_unconfirmed(&object);
        }
        let name = Name::of(&object);
        if self.names.get(&name).is_some_and(|ByName(named)| named.uid == *uid) {
            self.names.remove(&name);
        }
        if let Facts::Definition(definition) = &object.facts {
            self.undefined.insert((definition.group.clone(), definition.kind.clone()));
        }
        if !is_former && object.kind.is("", "Namespace") {
            self.note_former(&object, proof);
        }
        if object.kind.is("", "PersistentVolume") {
            self.attached.remove(&*object.name);
        }
        if !is_former {
            self.departures.push(&object, self.now);
        }
        if !is_former && proof == Proof::DeletedEvent {
            self.durations.note(&object, self.now);
        }
        self.durations.forget_work(uid);
        let owners = object.owners.iter().map(|owner| owner.uid.clone()).collect();
        if self.tombstones.insert(uid.clone(), Tombstone { owners, proof }).is_none() {
            self.tombstones_by_age.push_back(uid.clone());
        }
        if self.tombstones_by_age.len() > MAX_TOMBSTONES
            && let Some(oldest) = self.tombstones_by_age.pop_front()
        {
            self.tombstones.remove(&oldest);
            self.fresh.note_forgotten(&oldest);
            self.unconfirmed.remove(&oldest);
        }
    }

    /// A counter that grows with every change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// All objects, in no order.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.ask(Asked::Objects);
        self.objects.iter().map(|kept| &kept.object)
    }

    /// Objects that were deleted in the last half hour, or not long before a deletion that waits, and without which others may not be
    /// able to go, oldest first.
    pub fn departures(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.departures.deleted()
    }

    /// Nodes that became ready or stopped being so in the same time, oldest first.
    pub fn transitions(&self) -> impl DoubleEndedIterator<Item = &Transition> {
        self.departures.transitions()
    }

    /// The number of known objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether no object is known.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The object of that UID.
    pub fn get(&self, uid: &Uid) -> Option<&Arc<Object>> {
        self.ask(Asked::Uid(uid));
        self.objects.get(uid).map(|kept| &kept.object)
    }

    /// The object that has this name now.
    pub fn named(&self, name: &ObjectRef) -> Option<&Arc<Object>> {
        self.ask(Asked::Name(Name::from(name)));
        self.names.get(&Name::from(name)).map(|ByName(object)| object)
    }

    /// The object that has this group, kind, namespace and name now.
    pub fn find(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<&Arc<Object>> {
        let name = Name { group, kind, namespace, name };
        self.ask(Asked::Name(name));
        self.names.get(&name).map(|ByName(object)| object)
    }

    /// The objects of a resource, such as `deployments.apps`, in no order.
    pub(crate) fn of_resource(&self, resource: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.ask(Asked::Resource(resource));
        let watch = self.kinds.get(resource);
        watch.into_iter().flat_map(|watch| &watch.objects).map(|ByUid(object)| object)
    }

    /// The API server's version, once it has answered.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The namespace that the server runs in, if it runs in this cluster.
    pub fn own_namespace(&self) -> Option<&str> {
        self.own_namespace.as_deref()
    }

    /// Set while the API server is unreachable.
    pub fn unreachable(&self) -> Option<&Unreachable> {
        self.unreachable.as_ref()
    }
}

#[cfg(test)]
mod tests;
