//! Notes which questions a search asks the index, and which answers have changed since, so that only a search with
//! another answer is done again: as a signal notes who reads it.
//!
//! # Decisions
//! - The index notes the questions itself. A search for edges need not say what its result depends on, and cannot forget to.
//! - A question is kept as a hash of four bytes. Two questions with the same hash cost a search that finds the same again.
//! - The answer about an object changes with its shape (`object/shape.rs`), not with its status: the readiness of a Pod is
//!   the most frequent event of a cluster, and no edge depends on it.

use std::{
    cell::RefCell,
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{Index, key::Name};
use crate::{
    declaration::recorded_release,
    labels::PART_OF,
    object::{Facts, Object, Uid},
};

/// The most changed objects that are remembered one by one. After more, everything counts as changed.
const MOST: usize = 20_000;

/// A question to the index, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Question(u32);

/// The questions that a search may ask.
#[derive(Hash)]
pub(super) enum Asked<'a> {
    /// The object of a UID.
    Uid(&'a Uid),
    /// The object of a name.
    Name(Name<'a>),
    /// All objects.
    Objects,
    /// The objects of a resource.
    Resource(&'a str),
    /// The objects of a namespace.
    Content(&'a str),
    /// The Pods and workloads of a namespace.
    Workers(&'a str),
    /// Those of them with this label, or that make Pods with it.
    Labelled(&'a str, &'a str, &'a str),
    /// The Pods and workloads of a unit, by its label.
    WorkersOf(&'a str),
    /// The workloads whose Pods are a CSI driver.
    Plugins(&'a str),
    /// The workloads that are told to be a provisioner.
    Provisioners(&'a str),
    /// The claims of a namespace.
    Claims(&'a str),
    /// The Secrets with a name, in any namespace.
    Secrets(&'a str),
    /// The definition of a kind.
    Definition(&'a str, &'a str),
    /// The dependents of an owner.
    Dependents(&'a Uid),
    /// The records of a Helm release, by its namespace and name.
    Records(&'a str, &'a str),
    /// The roles and bindings.
    Rights,
}

impl From<Asked<'_>> for Question {
    fn from(asked: Asked<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        asked.hash(&mut hasher);
        Self(hasher.finish() as u32)
    }
}

/// The questions of the search that is being done, if one is.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads(RefCell<Option<Vec<Question>>>);

/// The objects and answers that changed since somebody last took them.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// Too much changed, or nobody has asked yet: everything counts as changed.
    pub(crate) everything: bool,
    /// The objects that came, went, or have another shape.
    pub(crate) objects: HashSet<Uid>,
    /// The questions with another answer.
    pub(crate) answers: HashSet<Question>,
    /// The objects that came, went or changed in any way.
    pub(crate) seen: HashSet<Uid>,
    /// More than single objects changed: a list arrived, or it changed what is visible.
    pub(crate) listed: bool,
}

impl Default for Changes {
    fn default() -> Self {
        Self { everything: true, listed: true, ..Self::nothing() }
    }
}

impl Changes {
    fn nothing() -> Self {
        let (objects, seen, answers) = (HashSet::new(), HashSet::new(), HashSet::new());
        Self { everything: false, objects, answers, seen, listed: false }
    }

    /// Notes that more than single objects changed.
    pub(super) fn note_list(&mut self) {
        self.listed = true;
        self.seen.clear();
    }

    /// Whether every search would find the same again.
    pub(crate) fn is_empty(&self) -> bool {
        !self.everything && self.objects.is_empty() && self.answers.is_empty()
    }

    /// Notes that an object changed from one state to another one; it has none before it came and after it went.
    pub(super) fn note(
        &mut self,
        before: Option<&Object>,
        after: Option<&Object>,
        is_of_status: bool,
    ) {
        if !self.listed {
            self.seen.extend(before.or(after).map(|object| object.uid.clone()));
        }
        if self.seen.len() > MOST {
            self.note_list();
        }
        if self.everything || is_of_status {
            return;
        }
        if self.objects.len() >= MOST {
            return *self = Self::default();
        }
        for object in before.into_iter().chain(after) {
            self.objects.insert(object.uid.clone());
            self.note_answers(object);
        }
    }

    /// Notes the questions whose answers an object is part of.
    fn note_answers(&mut self, object: &Object) {
        let mut changed = |asked: Asked<'_>| {
            self.answers.insert(asked.into());
        };
        changed(Asked::Uid(&object.uid));
        changed(Asked::Name(Name::of(object)));
        changed(Asked::Objects);
        changed(Asked::Resource(&object.kind.resource()));
        for owner in &*object.owners {
            changed(Asked::Dependents(&owner.uid));
        }
        if let Some(namespace) = object.namespace.as_deref() {
            changed(Asked::Content(namespace));
            if let Some(labels) = object.pod_labels() {
                changed(Asked::Workers(namespace));
                for (key, value) in labels.iter() {
                    changed(Asked::Labelled(namespace, key, value));
                }
                if let Some(unit) = object.labels.get(PART_OF) {
                    changed(Asked::WorkersOf(unit));
                }
            }
            if matches!(object.facts, Facts::Claim(_)) {
                changed(Asked::Claims(namespace));
            }
        }
        if object.kind.is("", "Secret") {
            changed(Asked::Secrets(&object.name));
        }
        if let Facts::Workload(workload) = &object.facts {
            for driver in &workload.drivers {
                changed(Asked::Plugins(driver));
            }
            for name in &workload.provisioners {
                changed(Asked::Provisioners(name));
            }
        }
        if let Facts::Definition(definition) = &object.facts {
            changed(Asked::Definition(&definition.group, &definition.kind));
        }
        if let Some((namespace, name)) = recorded_release(object) {
            changed(Asked::Records(namespace, name));
        }
        if matches!(object.facts, Facts::Role(_) | Facts::Binding(_)) {
            changed(Asked::Rights);
        }
    }

    /// Notes that other roles and bindings may be visible.
    pub(super) fn note_rights(&mut self) {
        if !self.everything {
            self.answers.insert(Asked::Rights.into());
        }
    }

    /// Notes that nothing is known any more about an object that went long ago.
    pub(super) fn note_forgotten(&mut self, uid: &Uid) {
        if !self.everything {
            self.answers.insert(Asked::Uid(uid).into());
        }
    }
}

impl Index {
    /// Does a search, and returns the questions that it asked.
    pub(crate) fn noting<T>(&self, search: impl FnOnce() -> T) -> (T, Box<[Question]>) {
        let outer = self.reads.0.replace(Some(Vec::new()));
        let found = search();
        let mut asked = self.reads.0.replace(outer).unwrap_or_default();
        asked.sort_unstable();
        asked.dedup();
        (found, asked.into())
    }

    /// Notes a question, if a search is being done.
    pub(super) fn ask(&self, asked: Asked<'_>) {
        if let Some(noted) = &mut *self.reads.0.borrow_mut() {
            noted.push(asked.into());
        }
    }

    /// Notes that a search depends on the roles and bindings.
    pub(crate) fn ask_rights(&self) {
        self.ask(Asked::Rights);
    }

    /// The changes since this was last called.
    pub(crate) fn take_changes(&mut self) -> Changes {
        std::mem::replace(&mut self.fresh, Changes::nothing())
    }
}
