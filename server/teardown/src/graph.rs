//! All edges of the cluster, indexed by both ends. They change with the objects: the questions that a search for edges asked
//! the index decide whether it is done again.
//!
//! Only [`Graph::of`] goes through all objects: for the first lists, and after more changes than the index remembers.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
};

use hashbrown::HashTable;

use crate::{
    index::{Changes, Index, Question},
    interner::Texts,
    object::Uid,
    relation::{Edge, EdgeLookup, edges_of},
};

/// The number of an object in the tables of a graph, half as long as a pointer.
type Place = u32;

/// All edges between the objects of an index.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The place of each object, by its UID.
    places: HashTable<Place>,
    hasher: RandomState,
    sources: Vec<Source>,
    /// Places whose objects are gone.
    free: Vec<Place>,
    /// The target and the source of each edge.
    into: BTreeSet<(Place, Place)>,
    /// The questions that the searches asked.
    asking: BTreeSet<(Question, Place)>,
    texts: Texts,
}

/// An object with the result of the search for its edges.
#[derive(Clone, Debug)]
struct Source {
    uid: Uid,
    edges: Box<[Edge]>,
    asked: Box<[Question]>,
}

impl Graph {
    /// Finds every edge of the index.
    pub fn of(index: &Index) -> Self {
        let mut graph = Self::default();
        let lookup = EdgeLookup::of(index);
        let (mut into, mut asking) = (Vec::new(), Vec::new());
        for object in index.objects() {
            let place = graph.place_of(&object.uid);
            graph.search(place, index, &lookup);
            let Source { edges, asked, .. } = &graph.sources[place as usize];
            asking.extend(asked.iter().map(|asked| (*asked, place)));
            let targets: Vec<Uid> = edges.iter().map(|edge| edge.to.clone()).collect();
            into.extend(targets.iter().map(|target| (graph.place_of(target), place)));
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
        let Source { uid, edges, asked } = &self.sources[place as usize];
        let (edges_now, is_same) = (edges, **edges == *before.edges);
        if asked != &before.asked {
            let asked_now = asked.clone();
            before.asked.iter().for_each(|asked| {
                self.asking.remove(&(*asked, place));
            });
            self.asking.extend(asked_now.iter().map(|asked| (*asked, place)));
        }
        moved.insert(uid.clone());
        if is_same {
            return;
        }
        let targets: Vec<Uid> = edges_now.iter().map(|edge| edge.to.clone()).collect();
        for edge in &before.edges {
            let target = self.place_of(&edge.to);
            self.into.remove(&(target, place));
        }
        for target in &targets {
            let target = self.place_of(target);
            self.into.insert((target, place));
        }
        moved.extend(before.edges.iter().map(|edge| edge.to.clone()).chain(targets));
    }

    /// Searches the edges of an object, and returns what was found before.
    fn search(&mut self, place: Place, index: &Index, lookup: &EdgeLookup<'_>) -> Source {
        let uid = self.sources[place as usize].uid.clone();
        let (mut edges, asked) = index.noting(|| {
            index.get(&uid).map(|object| edges_of(object, index, lookup)).unwrap_or_default()
        });
        for edge in &mut edges {
            self.texts.share(&mut edge.reason.field);
            self.texts.share(&mut edge.reason.value);
        }
        let found = Source { uid, edges: edges.into(), asked };
        std::mem::replace(&mut self.sources[place as usize], found)
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

    fn place(&self, uid: &Uid) -> Option<Place> {
        let is_it = |place: &Place| self.sources[*place as usize].uid == *uid;
        self.places.find(self.hasher.hash_one(uid), is_it).copied()
    }

    /// Gives up the place of an object that is gone.
    fn release(&mut self, place: Place, index: &Index) {
        let uid = self.sources[place as usize].uid.clone();
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
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.sources.iter().flat_map(|source| &source.edges)
    }

    /// Edges whose field is on this object.
    pub fn from(&self, uid: &Uid) -> impl Iterator<Item = &Edge> {
        let source = self.place(uid).map(|place| &self.sources[place as usize]);
        source.into_iter().flat_map(|source| &source.edges)
    }

    /// Edges that point at this object.
    pub fn to<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = &'a Edge> + use<'a> {
        let place = self.place(uid);
        let sources = place.map(|it| self.into.range((it, 0)..=(it, Place::MAX)));
        sources.into_iter().flatten().flat_map(|(target, source)| {
            let target = &self.sources[*target as usize].uid;
            let edges = &self.sources[*source as usize].edges;
            edges.iter().filter(move |edge| edge.to == *target)
        })
    }

    /// All edges of this object.
    pub fn around(&self, uid: &Uid) -> impl Iterator<Item = &Edge> {
        self.from(uid).chain(self.to(uid))
    }
}
