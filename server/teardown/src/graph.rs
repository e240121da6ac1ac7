//! All edges of the cluster, indexed by both ends. They change with the objects: the questions that a search for edges asked
//! the index decide whether it is done again.
//!
//! Only [`Graph::of`] goes through all objects: for the first lists, and after more changes than the index remembers.

mod kept;

use std::{collections::BTreeSet, hash::BuildHasher, sync::Arc};

use hashbrown::HashTable;

use self::kept::Kept;
use crate::{
    index::{Changes, Index, Question},
    interner::Shared,
    object::{Uid, UidHasher},
    relation::{Edge, EdgeKind, EdgeLookup, FoundEdge, Precedence, Reason, Strength, edges_of},
};

/// The number of an object in the tables of a graph, half as long as a pointer.
type Place = u32;

/// All edges between the objects of an index.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The place of each object, by its UID.
    places: HashTable<Place>,
    hasher: UidHasher,
    sources: Vec<Source>,
    /// Places whose objects are gone.
    free: Vec<Place>,
    /// The target and the source of each edge.
    into: BTreeSet<(Place, Place)>,
    /// The questions that the searches asked.
    asking: BTreeSet<(Question, Place)>,
    reasons: Reasons,
    kept: Kept,
}

/// An object with the result of the search for its edges.
#[derive(Clone, Debug)]
struct Source {
    uid: Uid,
    edges: Box<[StoredEdge]>,
    asked: Box<[Question]>,
}

/// An edge of a source. There are several for each object of the cluster, and the Pods of one workload have equal reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredEdge {
    to: Place,
    kind: EdgeKind,
    order: Precedence,
    strength: Strength,
    reason: Arc<Reason>,
}

/// Reasons and their fields, each stored once.
#[derive(Clone, Debug, Default)]
struct Reasons {
    reasons: Shared<Reason>,
    fields: Shared<str>,
}

impl Reasons {
    fn share(&mut self, reason: Reason) -> Arc<Reason> {
        let mut reason = Arc::new(reason);
        self.reasons.share_with_parts(&mut reason, |reason| {
            self.fields.share_text(&mut Arc::make_mut(reason).field);
        });
        reason
    }
}

impl Graph {
    /// Finds every edge of the index.
    pub fn of(index: &Index) -> Self {
        // Room for a few more, or the first one that comes would double it.
        let sources = Vec::with_capacity(index.len() + index.len() / 8);
        let mut graph = Self { sources, ..Self::default() };
        let lookup = EdgeLookup::of(index);
        let (mut into, mut asking) = (Vec::new(), Vec::new());
        for object in index.objects() {
            let place = graph.place_of(&object.uid);
            graph.search(place, index, &lookup);
            let Source { edges, asked, .. } = graph.source(place);
            asking.extend(asked.iter().map(|asked| (*asked, place)));
            into.extend(edges.iter().map(|edge| (edge.to, place)));
        }
        // A set that is made of everything at once is packed closer.
        graph.into = into.into_iter().collect();
        graph.asking = asking.into_iter().collect();
        graph
    }

    /// Follows the changes of the index. Returns the objects whose edges may differ: every object that was asked again, and
    /// both ends of every edge that it had or has. `None` if everything was searched again.
    pub(crate) fn follow(&mut self, index: &Index, changes: &Changes) -> Option<BTreeSet<Uid>> {
        if changes.everything {
            *self = Self::of(index);
            return None;
        }
        let changed: Vec<Place> = changes.objects.iter().map(|uid| self.place_of(uid)).collect();
        let asking = changes.answers.iter().flat_map(|answer| {
            self.asking.range((*answer, 0)..=(*answer, Place::MAX)).map(|(_, place)| *place)
        });
        let again: BTreeSet<Place> = asking.chain(changed.iter().copied()).collect();
        let mut moved: BTreeSet<Uid> = changes.objects.iter().cloned().collect();
        let lookup = EdgeLookup::of(index);
        for place in again {
            self.search_again(place, index, &lookup, &mut moved);
        }
        for place in changed {
            self.release(place, index);
        }
        self.forget_around(&moved);
        Some(moved)
    }

    /// Searches the edges of an object that may have other ones now.
    fn search_again(
        &mut self,
        place: Place,
        index: &Index,
        lookup: &EdgeLookup<'_>,
        moved: &mut BTreeSet<Uid>,
    ) {
        let before = self.search(place, index, lookup);
        let Self { sources, into, asking, .. } = self;
        let Source { uid, edges, asked } = &sources[place as usize];
        if *asked != before.asked {
            for asked in &before.asked {
                asking.remove(&(*asked, place));
            }
            asking.extend(asked.iter().map(|asked| (*asked, place)));
        }
        moved.insert(uid.clone());
        if *edges == before.edges {
            return;
        }
        for edge in &before.edges {
            into.remove(&(edge.to, place));
        }
        into.extend(edges.iter().map(|edge| (edge.to, place)));
        let targets = before.edges.iter().chain(edges).map(|edge| edge.to);
        moved.extend(targets.map(|target| sources[target as usize].uid.clone()));
    }

    /// Searches the edges of an object, and returns what was found before.
    fn search(&mut self, place: Place, index: &Index, lookup: &EdgeLookup<'_>) -> Source {
        let uid = self.source(place).uid.clone();
        let object = index.get(&uid);
        let (found, asked) =
            index.noting(|| object.map(|it| edges_of(it, index, lookup)).unwrap_or_default());
        let edges = found.into_iter().map(|edge| self.stored(edge)).collect();
        std::mem::replace(&mut self.sources[place as usize], Source { uid, edges, asked })
    }

    fn stored(&mut self, edge: FoundEdge) -> StoredEdge {
        let FoundEdge { from: _, to, kind, order, strength, reason } = edge;
        let (to, reason) = (self.place_of(&to), self.reasons.share(reason));
        StoredEdge { to, kind, order, strength, reason }
    }

    /// The place of an object, a new one if it has none.
    fn place_of(&mut self, uid: &Uid) -> Place {
        if let Some(place) = self.place(uid) {
            return place;
        }
        let source = Source { uid: uid.clone(), edges: Box::default(), asked: Box::default() };
        let place = match self.free.pop() {
            Some(place) => {
                self.sources[place as usize] = source;
                place
            }
            None => {
                self.sources.push(source);
                (self.sources.len() - 1) as Place
            }
        };
        let Self { places, hasher, sources, .. } = self;
        let hash = hasher.hash_one(uid);
        places.insert_unique(hash, place, |it| hasher.hash_one(&sources[*it as usize].uid));
        place
    }

    fn source(&self, place: Place) -> &Source {
        &self.sources[place as usize]
    }

    fn place(&self, uid: &Uid) -> Option<Place> {
        let is_it = |place: &Place| self.source(*place).uid == *uid;
        self.places.find(self.hasher.hash_one(uid), is_it).copied()
    }

    /// Gives up the place of an object that is gone.
    fn release(&mut self, place: Place, index: &Index) {
        let uid = self.source(place).uid.clone();
        let is_target = self.into.range((place, 0)..=(place, Place::MAX)).next().is_some();
        if is_target || index.get(&uid).is_some() {
            return;
        }
        let asked = std::mem::take(&mut self.sources[place as usize].asked);
        for asked in asked {
            self.asking.remove(&(asked, place));
        }
        let is_it = |it: &Place| *it == place;
        if let Ok(entry) = self.places.find_entry(self.hasher.hash_one(&uid), is_it) {
            entry.remove();
            self.free.push(place);
        }
    }

    /// Every edge, in no order.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.sources.iter().flat_map(|source| self.edges_of(source))
    }

    /// Edges whose field is on this object.
    pub fn from<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = Edge<'a>> + use<'a> {
        let source = self.place(uid).map(|place| self.source(place));
        source.into_iter().flat_map(|source| self.edges_of(source))
    }

    /// Edges that point at this object.
    pub fn to<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = Edge<'a>> + use<'a> {
        let place = self.place(uid);
        let sources = place.map(|it| self.into.range((it, 0)..=(it, Place::MAX)));
        sources.into_iter().flatten().flat_map(|(target, source)| {
            let source = self.source(*source);
            let edges = source.edges.iter().filter(|edge| edge.to == *target);
            edges.map(|edge| self.edge(source, edge))
        })
    }

    /// All edges of this object.
    pub fn around<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = Edge<'a>> + use<'a> {
        self.from(uid).chain(self.to(uid))
    }

    fn edges_of<'a>(&'a self, source: &'a Source) -> impl Iterator<Item = Edge<'a>> {
        source.edges.iter().map(|edge| self.edge(source, edge))
    }

    fn edge<'a>(&'a self, source: &'a Source, edge: &'a StoredEdge) -> Edge<'a> {
        let StoredEdge { to, kind, order, strength, reason } = edge;
        let (from, to) = (&source.uid, &self.source(*to).uid);
        Edge { from, to, kind: *kind, order: *order, strength: *strength, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_edge_is_small() {
        assert_eq!(size_of::<StoredEdge>(), 16);
    }
}
