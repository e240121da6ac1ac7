//! Keeps the units up to date: only the objects whose units may differ are asked again.
//!
//! # Decisions
//! - An object that changed, or whose edges did, may change the units of those that belong to it: its dependents, its claims
//!   and their volumes, its autoscaler, the claims that it mounts, and the records of its release. All of them are asked again, however far away.
//! - A namespace is asked as a whole when its own object changes, and when its first object that names a unit comes or the
//!   last one goes. Only then, and in [`Units::of`], more objects than those around a change are gone through.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::{Belonging, Standing, Unit, UnitId, is_namespace, names_a_unit};
use crate::{
    declaration::recorded_release,
    graph::Graph,
    index::{Changes, Index},
    interner::Shared,
    object::{Object, Uid},
    relation::EdgeKind,
};

/// The units of an index, with what is needed to change them.
#[derive(Clone, Debug, Default)]
pub struct Units {
    by_id: BTreeMap<UnitId, Unit>,
    known: HashMap<Uid, Arc<Known>>,
    /// Most objects of a unit are known with equal values.
    shared: Shared<Known>,
    /// The number of objects that name a unit, by namespace.
    named_in: HashMap<Arc<str>, usize>,
    namespaces: HashMap<Uid, Arc<str>>,
}

/// An object as it was when it was asked last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    places: Box<[(UnitId, Standing)]>,
    /// The namespace for which it names a unit.
    names: Option<Arc<str>>,
}

impl From<Units> for BTreeMap<UnitId, Unit> {
    fn from(units: Units) -> Self {
        units.by_id
    }
}

impl Units {
    /// The units of an index.
    pub fn of(index: &Index, graph: &Graph) -> Self {
        let mut units = Self::default();
        for object in index.objects() {
            units.note(&object.uid, Some(object));
        }
        let mut members: BTreeMap<UnitId, Vec<(Uid, Standing)>> = BTreeMap::new();
        for object in index.objects() {
            let places = units.places(object, index, graph);
            for (id, standing) in &places {
                members.entry(id.clone()).or_default().push((object.uid.clone(), *standing));
            }
            let names = units.known.get(&object.uid).and_then(|known| known.names.clone());
            units.know(&object.uid, Known { places, names });
        }
        // A set that is made of everything at once is packed closer.
        units.by_id = members.into_iter().map(|(id, it)| (id.clone(), Unit::of(id, it))).collect();
        units
    }

    /// All units, by id.
    pub fn by_id(&self) -> &BTreeMap<UnitId, Unit> {
        &self.by_id
    }

    /// The units that an object is in.
    pub(crate) fn around<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = &'a UnitId> + use<'a> {
        self.known.get(uid).into_iter().flat_map(|known| &known.places).map(|(unit, _)| unit)
    }

    /// Follows the changes of objects, and of the edges of those that moved. Returns the units with other members.
    pub(crate) fn follow(
        &mut self,
        index: &Index,
        graph: &Graph,
        changes: &Changes,
        moved: &BTreeSet<Uid>,
    ) -> BTreeSet<UnitId> {
        let mut open: Vec<Uid> = moved.iter().cloned().collect();
        for uid in &changes.objects {
            for namespace in self.note(uid, index.get(uid)) {
                open.extend(index.in_namespace(&namespace).map(|object| object.uid.clone()));
            }
        }
        let mut again = BTreeSet::new();
        while let Some(uid) = open.pop() {
            if again.contains(&uid) {
                continue;
            }
            let behind = graph
                .to(&uid)
                .filter(|edge| matches!(edge.kind, EdgeKind::Owns | EdgeKind::Scales));
            open.extend(behind.map(|edge| edge.from.clone()));
            let storage = graph.from(&uid).filter(|edge| {
                matches!(edge.kind, EdgeKind::Claims | EdgeKind::Binds | EdgeKind::Mounts)
            });
            open.extend(storage.map(|edge| edge.to.clone()));
            open.extend(records_around(&uid, index, graph));
            again.insert(uid);
        }
        self.ask_again(&again, index, graph)
    }

    /// Notes the state of an object. Returns the namespaces all of whose objects may be in other units now.
    fn note(&mut self, uid: &Uid, object: Option<&Arc<Object>>) -> Vec<Arc<str>> {
        let mut changed = Vec::new();
        if object.is_some_and(|object| is_namespace(object)) || self.namespaces.contains_key(uid) {
            let name = object.map(|object| Arc::from(&*object.name));
            changed.extend(name.clone().or_else(|| self.namespaces.get(uid).cloned()));
            match name {
                Some(name) => self.namespaces.insert(uid.clone(), name),
                None => self.namespaces.remove(uid),
            };
        }
        let named = object.filter(|object| names_a_unit(object));
        let names = named.and_then(|object| object.namespace.clone());
        let known = self.known.get(uid).cloned();
        let before = known.as_ref().and_then(|known| known.names.clone());
        if object.is_some() && (known.is_none() || before != names) {
            let places = known.map(|known| known.places.clone()).unwrap_or_default();
            self.know(uid, Known { places, names: names.clone() });
        }
        if before == names {
            return changed;
        }
        if let Some(namespace) = names {
            let count = self.named_in.entry(namespace.clone()).or_default();
            *count += 1;
            changed.extend((*count == 1).then_some(namespace));
        }
        if let Some(namespace) = before
            && let Some(count) = self.named_in.get_mut(&namespace)
        {
            *count -= 1;
            if *count == 0 {
                self.named_in.remove(&namespace);
                changed.push(namespace);
            }
        }
        changed
    }

    /// Moves objects to the units that they are in now. Returns the units that they left or joined.
    fn ask_again(
        &mut self,
        again: &BTreeSet<Uid>,
        index: &Index,
        graph: &Graph,
    ) -> BTreeSet<UnitId> {
        let mut changed = BTreeSet::new();
        for uid in again {
            let object = index.get(uid);
            let places = object.map(|object| self.places(object, index, graph)).unwrap_or_default();
            let known = self.known.get(uid).cloned().unwrap_or_default();
            if known.places == places && !places.is_empty() {
                continue;
            }
            changed.extend(known.places.iter().chain(&places).map(|(id, _)| id.clone()));
            for (id, _) in &known.places {
                if let Some(unit) = self.by_id.get_mut(id) {
                    unit.remove(uid);
                    if unit.members.is_empty() {
                        self.by_id.remove(id);
                    }
                }
            }
            for (id, standing) in &places {
                let unit = match self.by_id.get_mut(id) {
                    Some(unit) => unit,
                    None => {
                        self.by_id.entry(id.clone()).or_insert(Unit::of(id.clone(), Vec::new()))
                    }
                };
                unit.add(uid, *standing);
            }
            match object {
                Some(_) => self.know(uid, Known { places, names: known.names.clone() }),
                None => {
                    self.known.remove(uid);
                }
            }
        }
        changed
    }

    fn places(&self, object: &Object, index: &Index, graph: &Graph) -> Box<[(UnitId, Standing)]> {
        let belonging = Belonging { index, graph, named_in: &self.named_in };
        belonging.places(object).into_iter().collect()
    }

    fn know(&mut self, uid: &Uid, known: Known) {
        let known = self.shared.share(&Arc::new(known));
        self.known.insert(uid.clone(), known);
    }
}

/// The records of the Helm release that installed an object, or that an object is a record of.
fn records_around(uid: &Uid, index: &Index, graph: &Graph) -> Vec<Uid> {
    let declares = graph.from(uid).filter(|edge| edge.kind == EdgeKind::Declares);
    let named = declares.map(|edge| edge.to).chain([uid]).filter_map(|uid| index.get(uid));
    let releases = named.filter_map(|object| recorded_release(object));
    releases
        .flat_map(|(namespace, name)| index.records_of(namespace, name))
        .map(|record| record.uid.clone())
        .collect()
}
