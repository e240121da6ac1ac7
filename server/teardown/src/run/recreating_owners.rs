//! The owners that would make an object again which a step waits for.

use std::collections::BTreeSet;

use crate::{
    plan::{Plan, Step, StepId},
    relation::EdgeKind,
};

/// For each step, the owners of its blockers, direct or indirect, that are not blockers themselves.
pub(super) fn recreating_owners(plan: &Plan) -> Vec<Vec<StepId>> {
    // Steps are ordered so that an owner is before its dependents.
    let mut owners: Vec<BTreeSet<StepId>> = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let own = step.after.iter().filter(|blocker| blocker.has(EdgeKind::Owns));
        let with_theirs = own.flat_map(|blocker| {
            let theirs = owners.get(blocker.step.0 as usize);
            theirs.into_iter().flatten().copied().chain([blocker.step])
        });
        owners.push(with_theirs.collect());
    }
    let of = |step: &Step| {
        let in_front: BTreeSet<StepId> = step.after.iter().map(|blocker| blocker.step).collect();
        let owners = in_front.iter().filter_map(|first| owners.get(first.0 as usize));
        let recreating_owners: BTreeSet<StepId> = owners.flatten().copied().collect();
        recreating_owners.difference(&in_front).copied().collect()
    };
    plan.steps.iter().map(of).collect()
}
