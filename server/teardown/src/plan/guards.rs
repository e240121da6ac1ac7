//! The edges from guarded objects to the webhook configurations that guard them: an object goes before the configuration, or
//! its deletion would be decided by nobody.
//!
//! # Decisions
//! - These edges are made for a plan alone, between its own objects: a rule for all ConfigMaps would otherwise make an edge
//!   for each of the cluster.
//! - The Pods behind a configuration, and all that goes after them, are not guarded by it: they go after it in any case.

use std::collections::BTreeSet;

use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, Uid},
    relation::{DeletionPhase, Edge, EdgeKind, FoundEdge, Precedence, Strength, guarding_rule},
};

/// The edges from guarded objects to the webhook configurations among these objects.
pub(super) fn guards(index: &Index, graph: &Graph, going: &BTreeSet<&Uid>) -> Vec<FoundEdge> {
    let mut edges = Vec::new();
    let objects = || going.iter().filter_map(|uid| index.get(uid));
    for configuration in objects().filter(|it| matches!(it.facts, Facts::Webhooks(_))) {
        let after = goes_after(configuration, graph, going);
        let guarded = objects().filter(|it| !after.contains(&it.uid));
        edges.extend(guarded.filter_map(|object| {
            let reason = guarding_rule(configuration, object, index)?;
            Some(FoundEdge {
                from: object.uid.clone(),
                to: configuration.uid.clone(),
                kind: EdgeKind::Guards,
                order: Precedence::FromFirst(DeletionPhase::Gone),
                strength: Strength::Yielding,
                reason,
            })
        }));
    }
    edges
}

/// Everything that goes after a configuration, by any chain of edges that hold: a hint, and the order of a declaring parent, are
/// the first to be given up.
fn goes_after<'a>(
    configuration: &'a Object,
    graph: &'a Graph,
    going: &BTreeSet<&Uid>,
) -> BTreeSet<&'a Uid> {
    let mut after = BTreeSet::from([&configuration.uid]);
    let mut open = vec![&configuration.uid];
    while let Some(uid) = open.pop() {
        let holds =
            |edge: &Edge<'_>| edge.strength != Strength::Hint && edge.kind != EdgeKind::Declares;
        let edges = graph.around(uid).filter(holds);
        for (first, then, _) in edges.filter_map(Edge::ordered) {
            if first == uid && going.contains(then) && after.insert(then) {
                open.push(then);
            }
        }
    }
    after
}
