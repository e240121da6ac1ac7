//! The edges from guarded objects to the webhook configurations that guard them: an object goes before the configuration, or
//! its deletion would be decided by nobody. A configuration that guards what stays is kept.
//!
//! # Decisions
//! - These edges are made for a plan alone, between its own objects: a rule for all ConfigMaps would otherwise make an edge
//!   for each of the cluster.
//! - The Pods behind a configuration, and all that goes after them, are not guarded by it: they go after it in any case.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{kept_reason::KeptReason, waiver::Waivers};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, ObjectRef, Uid},
    relation::{
        DeletionPhase, Edge, EdgeKind, FoundEdge, Precedence, Reason, Strength, guarding_rule,
    },
    unit::Unit,
};

/// The edges from guarded objects to the webhook configurations among these objects.
pub(super) fn guards(index: &Index, graph: &Graph, going: &BTreeSet<&Uid>) -> Vec<FoundEdge> {
    let mut edges = Vec::new();
    let objects = || going.iter().filter_map(|uid| index.get(uid));
    for configuration in objects().filter(|it| matches!(it.facts, Facts::Webhooks(_))) {
        let after = goes_after(configuration, graph, |uid| going.contains(uid));
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

/// Everything of these objects that goes after a configuration, by any chain of edges that hold: a hint, and the order of a
/// declaring parent, are the first to be given up.
pub(crate) fn goes_after<'a>(
    configuration: &'a Object,
    graph: &'a Graph,
    is_going: impl Fn(&Uid) -> bool,
) -> BTreeSet<&'a Uid> {
    let mut after = BTreeSet::from([&configuration.uid]);
    let mut open = vec![&configuration.uid];
    while let Some(uid) = open.pop() {
        let holds =
            |edge: &Edge<'_>| edge.strength != Strength::Hint && edge.kind != EdgeKind::Declares;
        let edges = graph.around(uid).filter(holds);
        for (first, then, _) in edges.filter_map(Edge::ordered) {
            if first == uid && is_going(then) && after.insert(then) {
                open.push(then);
            }
        }
    }
    after
}

/// The object outside the unit whose deletion a webhook configuration of the unit decides.
pub(super) fn guards_outsiders(
    configuration: &Object,
    index: &Index,
    unit: &Unit,
    waivers: &Waivers,
) -> Option<KeptReason> {
    if !matches!(configuration.facts, Facts::Webhooks(_)) || waivers.covers(&configuration.uid) {
        return None;
    }
    let outsiders = index.objects().filter(|object| !unit.members.contains(&object.uid));
    let (user, reason) = first(guarded(configuration, outsiders, index))?;
    Some(KeptReason::UsedBy { user, edge: EdgeKind::Guards, reason })
}

/// The objects among these that a webhook configuration guards, each with the rule.
pub(super) fn guarded<'a>(
    configuration: &'a Object,
    among: impl Iterator<Item = &'a Arc<Object>>,
    index: &'a Index,
) -> impl Iterator<Item = (&'a Arc<Object>, Reason)> {
    among.filter_map(move |object| Some((object, guarding_rule(configuration, object, index)?)))
}

fn first<'a>(
    guarded: impl Iterator<Item = (&'a Arc<Object>, Reason)>,
) -> Option<(ObjectRef, Reason)> {
    guarded.map(|(object, reason)| (object.reference(), reason)).min()
}

/// Keeps the webhook configurations that guard what stays. Returns whether there are any.
pub(super) fn keep_guards_of_kept_objects(
    index: &Index,
    unit: &Unit,
    waivers: &Waivers,
    kept: &mut BTreeMap<Uid, KeptReason>,
) -> bool {
    let configurations =
        unit.members.iter().filter(|uid| !kept.contains_key(*uid) && !waivers.covers(uid));
    let configurations = configurations
        .filter_map(|uid| index.get(uid))
        .filter(|it| matches!(it.facts, Facts::Webhooks(_)));
    let found: Vec<(Uid, KeptReason)> = configurations
        .filter_map(|configuration| {
            let staying = kept.iter().filter(|(_, reason)| reason.needs_guards());
            let staying = staying.filter_map(|(uid, _)| index.get(uid));
            let (user, reason) = first(guarded(configuration, staying, index))?;
            let reason = KeptReason::NeededBy { user, edge: EdgeKind::Guards, reason };
            Some((configuration.uid.clone(), reason))
        })
        .collect();
    let is_any = !found.is_empty();
    kept.extend(found);
    is_any
}
