//! A call of a run that was completed, as long as the run has not taken its outcome.

use std::time::Duration;

use teardown::{
    action::{Action, Outcome},
    run::{Input, RunId},
};
use tokio::time::Instant;

/// The longest time after which a call may be decided on what a read showed. The hub is late when the journal was failing or
/// its disk was slow.
const MAX_READ_AGE: Duration = Duration::from_secs(2);

/// A completed call.
#[derive(Debug)]
pub(super) struct CompletedCall {
    /// The run that requested it.
    pub(super) run: RunId,
    /// The call.
    pub(super) action: Action,
    /// Its outcome.
    pub(super) outcome: Outcome,
    /// The time of the answer.
    pub(super) answered: Instant,
}

impl CompletedCall {
    /// The run and its input. A read that has aged counts as never made: a Pod may have mounted the claim since.
    pub(super) fn input(&self) -> (RunId, Input) {
        let is_old = self.answered.elapsed() > MAX_READ_AGE && self.is_read();
        let outcome = if is_old { Outcome::Recalled } else { self.outcome.clone() };
        (self.run.clone(), Input::CallCompleted { action: self.action.clone(), outcome })
    }

    /// The same, as if it had not been made if a DELETE could follow it.
    pub(super) fn without_read(self) -> Self {
        let outcome = if self.is_read() { Outcome::Recalled } else { self.outcome };
        Self { outcome, ..self }
    }

    /// Whether it showed what a DELETE may follow.
    fn is_read(&self) -> bool {
        match &self.outcome {
            Outcome::Present { terminating, .. } => !terminating,
            Outcome::Pods(_) | Outcome::Content { .. } | Outcome::Unlisted { .. } => true,
            _ => false,
        }
    }
}
