//! Runs that are paused because an object changed while a person's remedy for their objects was under way.

use teardown::{
    object::ObjectRef,
    remedy::{Attempt, AttemptOutcome},
    run::{Input, RunId, RunState},
};

use super::{super::HubError, ClusterState, Runs};

/// A change that halts runs.
pub(super) struct Halt {
    attempt: Attempt,
    changed: ObjectRef,
}

impl Runs {
    /// Notes the change that ended an attempt, or came with it, for the next [`Runs::halt`].
    pub(in crate::hub) fn note_change(&mut self, attempt: &str, outcome: &AttemptOutcome) {
        if let Some(changed) = outcome.changed()
            && let Some(attempt) = self.attempts.get(attempt)
        {
            self.halts.push(Halt { attempt: attempt.clone(), changed: changed.clone() });
        }
    }

    /// Pauses the runs that noted changes concern, before they decide anything else. While the journal cannot be written, nothing is
    /// decided, and the changes are kept.
    pub(in crate::hub) fn halt(&mut self, cluster: &mut ClusterState) -> Result<(), HubError> {
        while self.writer.failing().is_none() && !self.halts.is_empty() {
            let Halt { attempt, changed } = &self.halts[0];
            let id = cluster.id();
            let is_one = |it: &&super::ActiveRun| {
                it.cluster.is(&id)
                    && it.run.state() == RunState::Running
                    && attempt.concerns(&it.run.plan, changed)
            };
            let input = Input::Changed { object: changed.clone(), by: attempt.by.clone() };
            let runs = self.by_id.values().filter(is_one).map(|it| it.run.id.clone());
            let inputs: Vec<(RunId, Input)> = runs.map(|run| (run, input.clone())).collect();
            if self.advance(&inputs, cluster)?.is_err() {
                break;
            }
            self.halts.remove(0);
        }
        Ok(())
    }
}
