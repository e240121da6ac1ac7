//! The cards of a run and of its steps.

use std::collections::BTreeMap;

use super::World;
use crate::{
    message::{Counts, RunCard, State, StepCard},
    object::ObjectRef,
    plan::{DataFate, Fate, Step, StepId},
    run::{PodsLeft, Run},
};

/// The most unplanned objects that the page of a run names.
const UNPLANNED: usize = 100;

impl<'a> World<'a> {
    pub(super) fn run_card(&self, run: &Run) -> RunCard {
        let mut counts = Counts::new();
        for (step, _) in run.steps() {
            *counts.entry(self.step_state(run, step)).or_default() += 1;
        }
        self.run_card_with(run, counts)
    }

    /// The card of a run whose steps are in these states.
    pub(super) fn run_card_with(&self, run: &Run, counts: Counts) -> RunCard {
        RunCard {
            id: run.id.clone(),
            unit: run.plan.unit.clone(),
            plan: run.plan.id.clone(),
            state: run.state(),
            halted_by: run.halted_by().cloned(),
            by: run.by().to_owned(),
            started: run.started(),
            ended: run.ended(),
            counts,
            total: run.plan.deletions(),
            kept: run.plan.kept.len(),
            left_to_cluster: run.plan.left_to_cluster.len(),
            recovered: run.recovered(),
            beside: run.plan.choices.unplanned().cloned(),
        }
    }

    /// The objects outside the plan of a run that it waits for, by step.
    pub(super) fn unplanned_of(&self, run: &Run) -> BTreeMap<StepId, Vec<ObjectRef>> {
        let mut unplanned: BTreeMap<StepId, Vec<ObjectRef>> = BTreeMap::new();
        for it in run.unplanned(self.index, self.graph, self.runs).iter().take(UNPLANNED) {
            unplanned.entry(it.step).or_default().push(it.object.reference());
        }
        unplanned
    }

    /// The card of a step.
    pub(super) fn step_card(
        &self,
        run: &Run,
        step: &Step,
        is_taken: bool,
        unplanned: Vec<ObjectRef>,
        left: &mut PodsLeft<'a>,
    ) -> StepCard {
        let progress = run.progress(step.id);
        let state = self.step_state(run, step);
        let waits_for = if matches!(state, State::Waiting | State::Unknown) {
            run.waits_for(step, self.index, left)
        } else {
            Vec::new()
        };
        let problem = progress.and_then(|progress| progress.hold.problem.clone());
        StepCard {
            id: step.id,
            uid: step.uid.clone(),
            object: step.object.clone(),
            wave: step.wave,
            state,
            requested: progress.and_then(|progress| progress.requested),
            gone: progress.and_then(|progress| progress.gone),
            proof: progress.and_then(|progress| progress.proof),
            unconfirmed: progress.is_some_and(|progress| progress.unconfirmed),
            unproven: progress.map(|progress| progress.unproven.clone()).unwrap_or_default(),
            waits_for,
            left_suspended: progress.and_then(|it| run.left_suspended(step, it, self.index)),
            taken: is_taken && state != State::Skipped,
            fate: problem.as_ref().filter(|it| it.can_be_taken_on()).and_then(|_| fate(run, step)),
            problem,
            unplanned,
        }
    }
}

/// The fate of the data behind a claim or volume of the plan.
fn fate(run: &Run, step: &Step) -> Option<Fate> {
    let object = &step.object;
    let is_of_it = |data: &&DataFate| data.volume == *object || data.claim.as_ref() == Some(object);
    run.plan.data.iter().find(is_of_it).map(|data| data.fate)
}
