//! Says which steps a waiting step waits for.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    index::{Index, PodsByOwner},
    plan::{Step, StepId},
    relation::DeletionPhase,
    run::{Progress, Run},
};

/// The Pods that are left of workloads. Many steps wait for one workload, and many workloads are in one namespace, so each is looked
/// up once.
#[derive(Clone, Debug, Default)]
pub struct PodsLeft<'a> {
    namespaces: HashMap<Option<Arc<str>>, PodsByOwner<'a>>,
    workloads: HashMap<StepId, PodsOf>,
}

/// The Pods that are left of one workload.
#[derive(Clone, Debug)]
struct PodsOf {
    is_any: bool,
    planned: Vec<StepId>,
}

impl<'a> PodsLeft<'a> {
    fn of(&mut self, workload: &Step, run: &Run, index: &'a Index) -> &PodsOf {
        let Self { namespaces, workloads } = self;
        workloads.entry(workload.id).or_insert_with(|| {
            let namespace = &workload.object.namespace;
            let pods = namespaces
                .entry(namespace.clone())
                .or_insert_with(|| index.pods_by_owner(namespace.as_deref().unwrap_or_default()));
            let mut pods = pods.of(&workload.uid, workload.pods.as_ref()).peekable();
            let is_any = pods.peek().is_some();
            PodsOf { is_any, planned: pods.filter_map(|pod| run.step_of(&pod.uid)).collect() }
        })
    }

    /// Whether no Pod of a workload is left.
    pub(crate) fn is_none_of(&mut self, workload: &Step, run: &Run, index: &'a Index) -> bool {
        !self.of(workload, run, index).is_any
    }
}

impl Run {
    /// The steps that a waiting step waits for, in the plan's order: blockers that have not reached their deletion
    /// phase, Pods of workloads that must have none, and owners that would re-create a blocker.
    pub fn waits_for<'a>(
        &self,
        step: &Step,
        index: &'a Index,
        left: &mut PodsLeft<'a>,
    ) -> Vec<StepId> {
        let is_gone_for_good =
            |step: StepId| self.progress(step).is_some_and(Progress::is_gone_for_good);
        let mut found = BTreeSet::new();
        for blocker in &step.after {
            let workload =
                self.plan.step(blocker.step).filter(|_| blocker.phase == DeletionPhase::PodsGone);
            let pods = workload.map(|workload| left.of(workload, self, index));
            let before = found.len();
            found.extend(pods.iter().flat_map(|pods| &pods.planned).copied());
            // If the workload is gone, the page names its remaining Pods instead, provided that they are in the plan.
            let are_unplanned = pods.is_some_and(|pods| pods.is_any) && found.len() == before;
            if !is_gone_for_good(blocker.step) || are_unplanned {
                found.insert(blocker.step);
            }
        }
        found.extend(
            self.recreating_owners(step.id).iter().filter(|step| !is_gone_for_good(**step)),
        );
        found.into_iter().collect()
    }
}
