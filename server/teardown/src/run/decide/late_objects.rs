//! What came after the plan was made, and nobody confirmed the end of.

use std::{collections::HashMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::{
    index::Index,
    object::{Facts, Object, Uid},
    plan::Plan,
    relation::{Edge, EdgeKind, EdgeLookup, edges_of},
};

/// What was made so long before the plan and was in no watch yet is new to it all the same.
const BEHIND: SignedDuration = SignedDuration::from_secs(60);

/// Objects that are younger than a plan and in none of its steps, with their edges. Pods are asked for by themselves.
pub(super) struct LateObjects<'a> {
    index: &'a Index,
    objects: HashMap<&'a Uid, &'a Arc<Object>>,
    /// Those of their edges that order something, by what goes after.
    edges: HashMap<Uid, Vec<Edge>>,
    lookup: EdgeLookup,
}

impl<'a> LateObjects<'a> {
    pub(super) fn of(plan: &Plan, index: &'a Index) -> Self {
        let since = plan.made.checked_sub(BEHIND).unwrap_or(Timestamp::MIN);
        let is_new = |object: &Object| {
            object.created.is_some_and(|created| Timestamp::from(created) >= since)
        };
        let mut objects: HashMap<&Uid, &Arc<Object>> = index
            .objects()
            .filter(|it| {
                is_new(it) && !it.is_made_by_cluster() && !matches!(it.facts, Facts::Pod(_))
            })
            .map(|object| (&object.uid, object))
            .collect();
        for step in &plan.steps {
            objects.remove(&step.uid);
        }
        for kept in &plan.kept {
            objects.remove(&kept.uid);
        }
        let lookup = if objects.is_empty() { EdgeLookup::default() } else { EdgeLookup::of(index) };
        let mut edges: HashMap<Uid, Vec<Edge>> = HashMap::new();
        for edge in objects.values().flat_map(|object| edges_of(object, index, &lookup)) {
            if let Some((_, then, _)) = edge.ordered() {
                edges.entry(then.clone()).or_default().push(edge);
            }
        }
        Self { index, objects, edges, lookup }
    }

    /// One that would have to go before an object, and does not go with it. What is in a namespace is asked for by itself.
    pub(super) fn before(&self, object: &Object) -> Option<&'a Object> {
        if self.objects.is_empty() {
            return None;
        }
        let own = edges_of(object, self.index, &self.lookup);
        let theirs = self.edges.get(&object.uid).into_iter().flatten();
        let firsts = theirs.chain(&own).filter_map(|edge| {
            let (first, then, _) = edge.ordered()?;
            let it = self.objects.get(first).filter(|_| *then == object.uid)?;
            let goes_with = || self.index.descends(first, &object.uid);
            (edge.kind != EdgeKind::Contains && !goes_with()).then_some(&***it)
        });
        firsts.min_by_key(|first| first.reference())
    }
}
