//! The action on a step's object, and how far the garbage collector may follow it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{StepId, order::Ordered};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, Reclaim, Uid},
    relation::{DeletionPhase, Edge, EdgeKind},
};

/// The action on a step's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepAction {
    /// DELETE with the UID as precondition.
    Delete {
        /// `propagationPolicy`, always explicit.
        propagation: Propagation,
    },
    /// A PATCH that suspends a parent, which stays.
    Suspend,
    /// No call: its controller removes the object once every step in front of it is finished, and the run waits for
    /// that.
    Await,
}

/// `propagationPolicy` of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Propagation {
    /// The owner goes first, its dependents after it.
    Background,
    /// The dependents stay and lose this owner.
    Orphan,
}

/// The action that a plan has for an object that goes.
pub(super) fn action(
    object: &Object,
    index: &Index,
    graph: &Graph,
    order: &Ordered<'_>,
    numbers: &HashMap<&Uid, StepId>,
) -> StepAction {
    match &object.facts {
        // The volume's own controller destroys the data and then the object; a DELETE by the run would change nothing.
        Facts::Volume(volume)
            if volume.reclaim == Reclaim::Delete
                && graph.to(&object.uid).any(|edge| edge.kind == EdgeKind::Binds) =>
        {
            StepAction::Await
        }
        // The workload may have claims that are hidden.
        Facts::Workload(workload) if workload.claims_go_with_it => {
            StepAction::Delete { propagation: Propagation::Orphan }
        }
        _ if hides_its_claims(object, index)
            || collects_too_much(object, index, graph, order, numbers) =>
        {
            StepAction::Delete { propagation: Propagation::Orphan }
        }
        _ => StepAction::Delete { propagation: Propagation::Background },
    }
}

/// Whether an operator's object may own hidden claims, which the garbage collector would delete while Pods use them.
fn hides_its_claims(object: &Object, index: &Index) -> bool {
    object.kind.is_an_operators()
        && index.check_claims_visible(object.namespace.as_deref()).is_err()
}

/// Whether the garbage collector, which deletes an object's dependents as soon as the object is gone, would delete an
/// object that stays, or one that has to wait for more than its owners, as a claim waits for the Pods that mount it. Another
/// owner counts as such: one that is deleted with Orphan lets go of its dependents while its finalizers still keep it.
fn collects_too_much(
    object: &Object,
    index: &Index,
    graph: &Graph,
    order: &Ordered<'_>,
    numbers: &HashMap<&Uid, StepId>,
) -> bool {
    let firsts = |uid: &Uid| {
        let orders = order.around(uid).filter_map(Edge::ordered);
        orders
            .filter(|(first, then, _)| {
                *then == uid && numbers.contains_key(first) && order.keeps(first, then)
            })
            .map(|(first, _, phase)| (first, phase))
            .collect::<Vec<_>>()
    };
    // Steps in front of the object itself are finished before the collector starts.
    let awaited = firsts(&object.uid);
    let is_over = |(first, phase): &(&Uid, DeletionPhase), line: &[&Uid]| {
        line.contains(first) || awaited.iter().any(|(it, reached)| it == first && reached >= phase)
    };
    let mut seen = BTreeSet::from([&object.uid]);
    let mut open = vec![vec![&object.uid]];
    while let Some(line) = open.pop() {
        let owned = line.last().into_iter().flat_map(|owner| graph.to(owner));
        for edge in owned.filter(|edge| edge.kind == EdgeKind::Owns) {
            // The collector does not know kinds that cannot be deleted (`GetDeletableResources` in
            // `pkg/controller/garbagecollector/garbagecollector.go`).
            let is_left =
                |it: &&Arc<Object>| it.is_made_by_cluster() || index.is_undeletable(&it.kind);
            let Some(it) = index.get(edge.from).filter(|it| !is_left(it)) else {
                continue;
            };
            if !numbers.contains_key(&it.uid)
                || !firsts(&it.uid).iter().all(|first| is_over(first, &line))
            {
                return true;
            }
            if seen.insert(&it.uid) {
                open.push([&line[..], &[&it.uid]].concat());
            }
        }
    }
    false
}
