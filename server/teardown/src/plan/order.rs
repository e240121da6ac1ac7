//! Orders the objects to delete: keeps every hard edge, and gives up weaker ones where edges form a cycle.
//!
//! # Decisions
//! - Only cycles of hard edges refuse a plan. Inside a strong component the weaker edges are tried one after the other, the
//!   stronger first; one that would close a cycle is given up, and the plan names it unless it was only a hint.
//! - Of edges that are equally strong, what is known goes before what is inferred: an owner, and the application on its
//!   database, before a possible finisher.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use petgraph::{
    algo::{has_path_connecting, tarjan_scc},
    graph::{DiGraph, NodeIndex},
};
use serde::{Deserialize, Serialize};

use super::PlanError;
use crate::{
    graph::Graph,
    index::Index,
    object::{ObjectRef, Uid},
    relation::{Edge, EdgeKind, FoundEdge, Reason, Strength},
};

/// An edge whose order a plan does not keep, because it would close a cycle of harder edges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GivenUp {
    /// The object that should have gone first.
    pub first: ObjectRef,
    /// The object that should have followed.
    pub then: ObjectRef,
    /// The kind of the edge between them.
    pub edge: EdgeKind,
    /// The field and value the edge comes from.
    pub reason: Reason,
}

/// The objects to delete, in an order that respects every edge that was not given up, with their rank on the longest path.
pub(super) struct Ordered<'a> {
    graph: &'a Graph,
    /// Edges that only this plan has.
    added: &'a [FoundEdge],
    /// The same by the objects at both ends.
    added_of: HashMap<&'a Uid, Vec<Edge<'a>>>,
    pub(super) sequence: Vec<&'a Uid>,
    pub(super) waves: HashMap<&'a Uid, u32>,
    /// The pairs, first and then, whose edges were given up.
    broken: BTreeSet<(&'a Uid, &'a Uid)>,
}

/// The strongest edge between two objects in one direction.
type Pairs<'a> = BTreeMap<(&'a Uid, &'a Uid), Edge<'a>>;

impl<'a> Ordered<'a> {
    pub(super) fn of(
        index: &Index,
        graph: &'a Graph,
        added: &'a [FoundEdge],
        going: &BTreeSet<&'a Uid>,
    ) -> Result<Self, PlanError> {
        let mut pairs: Pairs<'a> = BTreeMap::new();
        let own = going.iter().flat_map(|uid| graph.from(uid));
        for edge in own.chain(added.iter().map(FoundEdge::edge)) {
            let Some((first, then, _)) = edge.ordered() else { continue };
            if going.contains(first) && going.contains(then) {
                let strongest = pairs.entry((first, then)).or_insert(edge);
                if rank(&edge) < rank(strongest) {
                    *strongest = edge;
                }
            }
        }
        let broken = broken(&pairs, index);
        for pair in &broken {
            pairs.remove(pair);
        }
        let waves = waves(&pairs, going)
            .map_err(|stuck| PlanError::Cycle { path: circle(index, &pairs, &stuck) })?;
        let mut sequence: Vec<&Uid> = going.iter().copied().collect();
        sequence.sort_by_cached_key(|uid| {
            (waves[uid], index.get(uid).map(|object| object.reference()), (*uid).clone())
        });
        let mut added_of: HashMap<&Uid, Vec<Edge<'a>>> = HashMap::new();
        for edge in added.iter().map(FoundEdge::edge) {
            added_of.entry(edge.from).or_default().push(edge);
            added_of.entry(edge.to).or_default().push(edge);
        }
        Ok(Self { graph, added, added_of, sequence, waves, broken })
    }

    /// Whether an edge's order is kept.
    pub(super) fn keeps(&self, first: &Uid, then: &Uid) -> bool {
        !self.broken.contains(&(first, then))
    }

    /// All edges of an object, with those that only this plan has.
    pub(super) fn around(&self, uid: &Uid) -> impl Iterator<Item = Edge<'a>> {
        self.graph.around(uid).chain(self.added_of.get(uid).into_iter().flatten().copied())
    }

    /// The edges that were given up, without mere hints.
    pub(super) fn given_up(&self, index: &Index) -> Vec<GivenUp> {
        let named = |uid: &Uid| index.get(uid).map(|object| object.reference());
        let own = self.waves.keys().flat_map(|uid| self.graph.from(uid));
        let edges = own.chain(self.added.iter().map(FoundEdge::edge)).filter_map(|edge| {
            let (first, then, _) = edge.ordered()?;
            if edge.strength == Strength::Hint || self.keeps(first, then) {
                return None;
            }
            let (first, then) = (named(first)?, named(then)?);
            Some(GivenUp { first, then, edge: edge.kind, reason: edge.reason.clone() })
        });
        let mut given_up: Vec<GivenUp> = edges.collect();
        given_up.sort();
        given_up
    }
}

/// The place of an edge among those that compete: the smaller is kept first.
fn rank(edge: &Edge<'_>) -> (std::cmp::Reverse<Strength>, bool, EdgeKind) {
    (std::cmp::Reverse(edge.strength), edge.kind == EdgeKind::Finishes, edge.kind)
}

/// The pairs to give up so that what is left of the weaker edges closes no cycle.
fn broken<'a>(pairs: &Pairs<'a>, index: &Index) -> BTreeSet<(&'a Uid, &'a Uid)> {
    let mut numbers: HashMap<&Uid, NodeIndex> = HashMap::new();
    let mut all: DiGraph<(), ()> = DiGraph::new();
    for uid in pairs.keys().flat_map(|(first, then)| [*first, *then]) {
        numbers.entry(uid).or_insert_with(|| all.add_node(()));
    }
    let mut kept = all.clone();
    for ((first, then), edge) in pairs {
        all.add_edge(numbers[first], numbers[then], ());
        if edge.strength == Strength::Hard {
            kept.add_edge(numbers[first], numbers[then], ());
        }
    }
    let components: HashMap<NodeIndex, usize> = tarjan_scc(&all)
        .into_iter()
        .enumerate()
        .flat_map(|(number, component)| component.into_iter().map(move |node| (node, number)))
        .collect();
    let mut weak: Vec<(&(&Uid, &Uid), &Edge<'_>)> = pairs
        .iter()
        .filter(|((first, then), edge)| {
            edge.strength != Strength::Hard
                && components[&numbers[first]] == components[&numbers[then]]
        })
        .collect();
    let named = |uid: &Uid| index.get(uid).map(|object| object.reference());
    weak.sort_by_cached_key(|((first, then), edge)| (rank(edge), named(first), named(then)));
    let mut broken = BTreeSet::new();
    for (pair @ (first, then), _) in weak {
        let (first, then) = (numbers[first], numbers[then]);
        if has_path_connecting(&kept, then, first, None) {
            broken.insert(*pair);
        } else {
            kept.add_edge(first, then, ());
        }
    }
    broken
}

/// The rank of each object on the longest path, from 1.
///
/// # Errors
/// The objects that wait for each other.
fn waves<'a>(
    pairs: &Pairs<'a>,
    going: &BTreeSet<&'a Uid>,
) -> Result<HashMap<&'a Uid, u32>, BTreeSet<&'a Uid>> {
    let mut after: HashMap<&Uid, Vec<&'a Uid>> = HashMap::new();
    let mut open: HashMap<&Uid, usize> = HashMap::new();
    for (first, then) in pairs.keys() {
        after.entry(first).or_default().push(then);
        *open.entry(then).or_default() += 1;
    }
    let mut waves: HashMap<&Uid, u32> = HashMap::new();
    let mut ready: VecDeque<&Uid> =
        going.iter().copied().filter(|uid| !open.contains_key(uid)).collect();
    waves.extend(ready.iter().map(|uid| (*uid, 1)));
    let mut done = BTreeSet::new();
    while let Some(uid) = ready.pop_front() {
        done.insert(uid);
        let next = waves[uid] + 1;
        for then in after.get(uid).into_iter().flatten().copied() {
            let wave = waves.entry(then).or_insert(next);
            *wave = next.max(*wave);
            if let Some(left) = open.get_mut(then) {
                *left -= 1;
                if *left == 0 {
                    ready.push_back(then);
                }
            }
        }
    }
    if done.len() < going.len() {
        return Err(going.difference(&done).copied().collect());
    }
    Ok(waves)
}

/// Finds one cycle among objects that wait for each other: walks backwards until an object occurs again.
fn circle(index: &Index, pairs: &Pairs<'_>, stuck: &BTreeSet<&Uid>) -> Vec<ObjectRef> {
    let mut before: HashMap<&Uid, BTreeSet<&Uid>> = HashMap::new();
    for (first, then) in pairs.keys() {
        before.entry(then).or_default().insert(first);
    }
    let mut path: Vec<&Uid> = Vec::new();
    let mut at = stuck.iter().next().copied();
    while let Some(uid) = at {
        if let Some(start) = path.iter().position(|seen| *seen == uid) {
            path.drain(..start);
            path.push(uid);
            break;
        }
        path.push(uid);
        at = before
            .get(uid)
            .and_then(|firsts| firsts.iter().copied().find(|first| stuck.contains(first)));
    }
    path.iter().rev().filter_map(|uid| index.get(uid)).map(|object| object.reference()).collect()
}
