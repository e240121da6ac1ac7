//! Everything that is known of the cluster now, by UID, and how sure that is.
//!
//! Only [`Index::apply`] changes it. An object leaves in three ways, each a proof: a DELETED event, a complete list
//! without it, or the end of its kind. A kind that cannot be seen keeps its objects, and every question about it is
//! answered "cannot tell".

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    object::{Facts, Kind, Object, ObjectRef, OwnerRef, Uid},
    observation::{BlindCause, Observation, Unreachable},
    selector::{Labels, Selector},
};

/// How many objects that are gone are remembered with their owners, so that a Pod whose ReplicaSet went first is still
/// known as the Deployment's.
const GRAVES: usize = 100_000;

/// Everything that is known of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Index {
    kinds: BTreeMap<String, Watch>,
    objects: HashMap<Uid, Arc<Object>>,
    names: HashMap<ObjectRef, Uid>,
    blind: BTreeMap<String, Blind>,
    graves: HashMap<Uid, Vec<Uid>>,
    graves_by_age: VecDeque<Uid>,
    version: Option<String>,
    unreachable: Option<Unreachable>,
    changes: u64,
}

#[derive(Clone, Debug, Default)]
struct Watch {
    namespaced: bool,
    listed: bool,
    objects: HashSet<Uid>,
}

/// A resource or group version that cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blind {
    /// Why.
    pub cause: BlindCause,
    /// What the API server said.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

/// The answer to "is this UID there?".
#[derive(Clone, Debug, PartialEq)]
pub enum Presence<'a> {
    /// It is.
    Present(&'a Arc<Object>),
    /// It is not, and that is proven.
    Gone,
    /// Nobody can say; why.
    CannotTell(String),
}

impl Index {
    /// Takes in what the watches saw, in order.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Observation>, now: Timestamp) {
        for observation in batch {
            self.changes += 1;
            self.observe(observation, now);
        }
    }

    fn observe(&mut self, observation: Observation, now: Timestamp) {
        match observation {
            Observation::Watching(kind) => {
                self.kinds.entry(kind.resource()).or_default().namespaced = kind.namespaced;
            }
            Observation::Listed { kind, objects } => self.list(&kind, objects),
            Observation::Applied(object) => self.put(*object),
            Observation::Deleted { kind, uid } => {
                if let Some(watch) = self.kinds.get_mut(&kind.resource()) {
                    watch.objects.remove(&uid);
                }
                self.bury(&uid);
            }
            Observation::Withdrawn(kind) => {
                if let Some(watch) = self.kinds.remove(&kind.resource()) {
                    for uid in watch.objects {
                        self.bury(&uid);
                    }
                }
                self.blind.remove(&kind.resource());
            }
            Observation::Blind { resource, cause, message } => {
                let since = self.blind.get(&resource).map_or(now, |blind| blind.since);
                self.blind.insert(resource, Blind { cause, message, since });
            }
            Observation::Sighted { resource } => {
                self.blind.remove(&resource);
            }
            Observation::Reached { version } => {
                self.version = Some(version);
                self.unreachable = None;
            }
            Observation::Unreachable { message } => {
                let since = self.unreachable.as_ref().map_or(now, |unreachable| unreachable.since);
                self.unreachable = Some(Unreachable { since, message });
            }
        }
    }

    fn list(&mut self, kind: &Arc<Kind>, objects: Vec<Object>) {
        let watch = self.kinds.entry(kind.resource()).or_default();
        watch.listed = true;
        watch.namespaced = kind.namespaced;
        let before = std::mem::take(&mut watch.objects);
        let listed: HashSet<&Uid> = objects.iter().map(|object| &object.uid).collect();
        let missing: Vec<Uid> = before.into_iter().filter(|uid| !listed.contains(uid)).collect();
        for uid in missing {
            self.bury(&uid);
        }
        for object in objects {
            self.put(object);
        }
    }

    fn put(&mut self, object: Object) {
        let name = object.reference();
        // A name that is used again: the object before is gone even if its DELETED event was never seen.
        if let Some(before) = self.names.get(&name).filter(|before| **before != object.uid).cloned() {
            if let Some(watch) = self.kinds.get_mut(&object.kind.resource()) {
                watch.objects.remove(&before);
            }
            self.bury(&before);
        }
        if let Some(watch) = self.kinds.get_mut(&object.kind.resource()) {
            watch.objects.insert(object.uid.clone());
        }
        self.names.insert(name, object.uid.clone());
        self.objects.insert(object.uid.clone(), Arc::new(object));
    }

    fn bury(&mut self, uid: &Uid) {
        let Some(object) = self.objects.remove(uid) else { return };
        let name = object.reference();
        if self.names.get(&name) == Some(uid) {
            self.names.remove(&name);
        }
        if object.owners.is_empty() {
            return;
        }
        let owners = object.owners.iter().map(|owner| owner.uid.clone()).collect();
        if self.graves.insert(uid.clone(), owners).is_none() {
            self.graves_by_age.push_back(uid.clone());
        }
        if self.graves_by_age.len() > GRAVES
            && let Some(oldest) = self.graves_by_age.pop_front()
        {
            self.graves.remove(&oldest);
        }
    }

    /// A number that grows with everything that is taken in.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// All objects, in no order.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values()
    }

    /// How many objects are known.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether no object is known.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many kinds are watched.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The object of that UID.
    pub fn get(&self, uid: &Uid) -> Option<&Arc<Object>> {
        self.objects.get(uid)
    }

    /// The object of that name now.
    pub fn named(&self, name: &ObjectRef) -> Option<&Arc<Object>> {
        self.names.get(name).and_then(|uid| self.objects.get(uid))
    }

    /// The object of that group, kind, namespace and name now.
    pub fn find(&self, group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Option<&Arc<Object>> {
        let reference = ObjectRef {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.map(Arc::from),
            name: name.into(),
        };
        self.named(&reference)
    }

    /// What cannot be seen, by resource or group version.
    pub fn blind(&self) -> &BTreeMap<String, Blind> {
        &self.blind
    }

    /// The API server's version, once it has answered.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Set while the API server does not answer.
    pub fn unreachable(&self) -> Option<&Unreachable> {
        self.unreachable.as_ref()
    }

    /// Whether every kind that can be seen has been listed once.
    pub fn is_synced(&self) -> bool {
        !self.kinds.is_empty()
            && self.kinds.iter().all(|(resource, watch)| watch.listed || self.blind.contains_key(resource))
    }

    /// Whether the object of that UID and kind is there.
    pub fn presence(&self, kind: &Kind, uid: &Uid) -> Presence<'_> {
        let resource = kind.resource();
        if let Some(blind) = self.blindness(kind, &resource) {
            return Presence::CannotTell(format!("{resource} cannot be seen: {}", blind.message));
        }
        if let Some(object) = self.objects.get(uid) {
            return Presence::Present(object);
        }
        match self.kinds.get(&resource) {
            Some(watch) if watch.listed => Presence::Gone,
            Some(_) => Presence::CannotTell(format!("{resource} has not been listed yet")),
            // The kind went with its definition, which waits for the last object before it goes.
            None if self.definition_is_gone(kind) => Presence::Gone,
            None => Presence::CannotTell(format!("{resource} is not served")),
        }
    }

    fn blindness(&self, kind: &Kind, resource: &str) -> Option<&Blind> {
        let group_version =
            if kind.group.is_empty() { kind.version.to_string() } else { format!("{}/{}", kind.group, kind.version) };
        self.blind.get(resource).or_else(|| self.blind.get(&group_version))
    }

    fn definition_is_gone(&self, kind: &Kind) -> bool {
        let definitions = "customresourcedefinitions.apiextensions.k8s.io";
        let seen = self.kinds.get(definitions).is_some_and(|watch| watch.listed);
        let defined = self.objects.values().any(|object| {
            matches!(&object.facts, Facts::Definition(definition)
                if definition.group == kind.group && definition.kind == kind.kind)
        });
        seen && !self.blind.contains_key(definitions) && !defined && kind.group.contains('.')
    }

    /// Whether everything that could be in a namespace can be seen, so that an empty one can be told from one whose
    /// content is hidden.
    ///
    /// # Errors
    /// The first reason why not.
    pub fn sees_into_namespaces(&self) -> Result<(), String> {
        let hidden = |resource: &&String| self.kinds.get(*resource).is_none_or(|watch| watch.namespaced);
        if let Some(resource) = self.blind.keys().find(hidden) {
            return Err(format!("{resource} cannot be seen, so nobody can tell whether the namespace is empty"));
        }
        match self.kinds.iter().find(|(_, watch)| watch.namespaced && !watch.listed) {
            Some((resource, _)) => Err(format!("{resource} has not been listed yet")),
            None => Ok(()),
        }
    }

    /// The Pods that are left of a workload: those whose chain of owners ends at its UID, and those its selector
    /// matches that nothing else controls.
    ///
    /// # Errors
    /// The reason, where Pods cannot be seen.
    pub fn pods_of(
        &self,
        workload: &Uid,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Result<Vec<&Arc<Object>>, String> {
        if let Some(blind) = self.blind.get("pods") {
            return Err(format!("pods cannot be seen: {}", blind.message));
        }
        if !self.kinds.get("pods").is_some_and(|watch| watch.listed) {
            return Err("pods have not been listed yet".to_owned());
        }
        Ok(self
            .kinds
            .get("pods")
            .into_iter()
            .flat_map(|watch| &watch.objects)
            .filter_map(|uid| self.objects.get(uid))
            .filter(|pod| pod.namespace.as_deref() == namespace)
            .filter(|pod| self.is_pod_of(&pod.owners, &pod.labels, workload, selector))
            .collect())
    }

    /// Whether a Pod with these owners and labels is (left) of this workload.
    pub fn is_pod_of(
        &self,
        owners: &[OwnerRef],
        labels: &Labels,
        workload: &Uid,
        selector: Option<&Selector>,
    ) -> bool {
        if owners.iter().any(|owner| self.descends(&owner.uid, workload)) {
            return true;
        }
        let controlled_by_another = owners.iter().any(|owner| owner.controller && self.objects.contains_key(&owner.uid));
        !controlled_by_another && selector.is_some_and(|selector| selector.matches(labels))
    }

    /// Whether the chain of owners that begins at `from` reaches `ancestor`; graves are part of the chain.
    pub fn descends(&self, from: &Uid, ancestor: &Uid) -> bool {
        let mut open = vec![from.clone()];
        let mut seen = HashSet::new();
        while let Some(uid) = open.pop() {
            if uid == *ancestor {
                return true;
            }
            if !seen.insert(uid.clone()) {
                continue;
            }
            match (self.objects.get(&uid), self.graves.get(&uid)) {
                (Some(object), _) => open.extend(object.owners.iter().map(|owner| owner.uid.clone())),
                (None, Some(owners)) => open.extend(owners.iter().cloned()),
                (None, None) => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
