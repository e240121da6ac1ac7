//! Checks that a webhook configuration guards nothing but what goes before it. Once the configuration is gone, nobody is asked
//! about the objects that its rules match.
//!
//! # Decisions
//! - The objects are searched just before the DELETE, as a plan searches them. Since the plan was made, one may have begun to match
//!   because it was created, was given a finalizer or another label, or because somebody changed the rules.
//! - The Pods behind the configuration are not guarded by it, nor is what goes after them. An object that names another unit is, for
//!   which a plan would keep the configuration.
//! - A configuration that a person waived goes whatever it guards by then (`plan/waived.rs`).
//! - An object that the garbage collector deletes with a step's object holds the configuration for as long as it is there.

use std::sync::Arc;

use super::{ReconcileContext, Run};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, Uid},
    plan::{Step, goes_after},
    relation::guarding_rule,
    unit::{UnitId, named_unit},
    unknown_reason::UnknownReason,
};

impl Run {
    /// For a webhook configuration: checks that it guards no object outside the plan's steps.
    ///
    /// Another application has a ConfigMap since a minute ago, and the rules of the configuration match all ConfigMaps.
    pub(super) fn check_guards_no_other_object(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let guarded = self.guarded_outside(step, context.index, context.graph).into_iter();
        let first = guarded.map(|object| object.reference()).min();
        first.map_or(Ok(true), |it| Err(UnknownReason::StillGuards { it }))
    }

    /// The objects outside the plan's steps that the webhook configuration of a step guards.
    pub(super) fn guarded_outside<'a>(
        &self,
        step: &Step,
        index: &'a Index,
        graph: &Graph,
    ) -> Vec<&'a Arc<Object>> {
        let configuration = index.get(&step.uid);
        let is_guard = |it: &&Arc<Object>| {
            matches!(it.facts, Facts::Webhooks(_)) && !self.plan.waives_guard(&it.uid)
        };
        let Some(configuration) = configuration.filter(is_guard) else {
            return Vec::new();
        };
        let guarded = index.objects().filter(|it| {
            !self.is_planned(&it.uid)
                && guarding_rule(configuration, it, index).is_some()
                && !self.is_kept_unguarded(it)
        });
        let mut guarded: Vec<_> = guarded.collect();
        if !guarded.is_empty() {
            let after = goes_after(configuration, graph, |uid| self.is_of_unit(uid, index));
            guarded.retain(|it| !after.contains(&it.uid));
        }
        guarded
    }

    /// Whether the plan keeps an object for a reason that needs no guard: no call deletes it, or it goes with its namespace.
    fn is_kept_unguarded(&self, object: &Object) -> bool {
        self.plan.kept.iter().any(|kept| kept.uid == object.uid && !kept.reason.needs_guards())
    }

    /// Whether an object is a step's, or one in a namespace that names no other unit than those of the steps.
    fn is_of_unit(&self, uid: &Uid, index: &Index) -> bool {
        let is_own = |unit: UnitId| {
            let mut named = self.plan.steps.iter().filter_map(|step| step.named.as_ref());
            unit == self.plan.unit || named.any(|it| *it == unit)
        };
        let is_unplanned_one =
            |object: &Object| object.namespace.is_some() && named_unit(object).is_none_or(is_own);
        self.is_planned(uid) || index.get(uid).is_some_and(|it| is_unplanned_one(it))
    }
}
