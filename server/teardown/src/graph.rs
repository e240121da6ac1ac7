//! All edges of the cluster at one moment, indexed by both ends.

use std::collections::HashMap;

use crate::{
    index::Index,
    object::Uid,
    relation::{Edge, EdgeLookup, edges_of},
};

/// All edges between the objects of an index.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    edges: Vec<Edge>,
    out: HashMap<Uid, Vec<usize>>,
    into: HashMap<Uid, Vec<usize>>,
}

impl Graph {
    /// Finds every edge of the index.
    pub fn of(index: &Index) -> Self {
        let lookup = EdgeLookup::of(index);
        let mut graph = Self::default();
        for object in index.objects() {
            for edge in edges_of(object, index, &lookup) {
                let place = graph.edges.len();
                graph.out.entry(edge.from.clone()).or_default().push(place);
                graph.into.entry(edge.to.clone()).or_default().push(place);
                graph.edges.push(edge);
            }
        }
        graph
    }

    /// Every edge, in no order.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Edges whose field is on this object.
    pub fn from(&self, uid: &Uid) -> impl Iterator<Item = &Edge> {
        self.out.get(uid).into_iter().flatten().map(|place| &self.edges[*place])
    }

    /// Edges that point at this object.
    pub fn to(&self, uid: &Uid) -> impl Iterator<Item = &Edge> {
        self.into.get(uid).into_iter().flatten().map(|place| &self.edges[*place])
    }

    /// All edges of this object.
    pub fn around(&self, uid: &Uid) -> impl Iterator<Item = &Edge> {
        self.from(uid).chain(self.to(uid))
    }
}
