//! Why a step is held, and until when.

use std::ops::Range;

use jiff::Timestamp;

use crate::{
    api_problem::ApiProblem,
    deadlines::Overdue,
    run::{Refusals, StepProblem},
    unknown_reason::UnknownReason,
};

/// The reason why a step does not advance. The default is that of a step that nothing holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// The problem that needs a person's attention.
    pub problem: Option<StepProblem>,
    /// Whether the step is overdue.
    pub overdue: Overdue,
    /// The number of consecutive tries that did not advance it.
    pub attempts: u32,
    /// The step is not retried within this span. If the clock is set back to a time before the span, the span no longer
    /// applies, so that no step waits longer than intended.
    pub retry_window: Option<Range<Timestamp>>,
    /// Retries that came early, because the cause of a refusal or of an unknown state had changed, and changed nothing. Each
    /// one makes the next early retry wait twice as long, and each retry in time takes one back.
    pub hasty: u32,
}

impl Hold {
    /// The consecutive refusals, if the step was refused last.
    pub(in crate::run) fn refusals(&self) -> Option<&Refusals> {
        match &self.problem {
            Some(StepProblem::Refused { refusals, .. }) => refusals.as_ref(),
            _ => None,
        }
    }

    /// Whether it is unknown how the step is.
    pub(in crate::run) fn is_unknown(&self) -> bool {
        matches!(self.problem, Some(StepProblem::Unknown { .. }))
    }

    /// Whether the object may not be read, or no read of it says anything.
    pub(super) fn cannot_be_read(&self) -> bool {
        match &self.problem {
            Some(StepProblem::Refused { .. }) => true,
            Some(StepProblem::Unknown { reason }) => {
                matches!(reason, UnknownReason::Inconclusive { .. })
            }
            _ => false,
        }
    }

    /// Ends every delay: a person wants the next try now, or the cause of a refusal is gone.
    pub(super) fn retry_at_once(&mut self) {
        self.retry_window = None;
        self.hasty = 0;
    }

    /// Takes the next try at a call.
    pub(super) fn try_again(&mut self, at: Timestamp) {
        if let Some(window) = self.retry_window.take()
            && (self.refusals().is_some() || self.is_unknown())
        {
            let is_early = at < window.end;
            self.hasty = if is_early { self.hasty + 1 } else { self.hasty.saturating_sub(1) };
        }
    }

    /// Takes a call that did not advance the step. Refusals are counted, from one again if the cause is another one.
    pub(super) fn postpone(&mut self, problem: StepProblem, at: Timestamp, until: Timestamp) {
        self.wait(at, until);
        let is_like = self.problem.as_ref().is_some_and(|before| before.is_like(&problem));
        let before = self.refusals().copied().filter(|_| is_like);
        self.problem = Some(match problem {
            StepProblem::Refused { code, message, refusals: Some(counted) } => {
                StepProblem::Refused { code, message, refusals: Some(counted) }
            }
            StepProblem::Refused { code, message, refusals: None } => {
                if before.is_none() {
                    self.hasty = 0;
                }
                let before = before.unwrap_or(Refusals { count: 0, since: at, next: until });
                let refusals = Some(Refusals { count: before.count + 1, next: until, ..before });
                StepProblem::Refused { code, message, refusals }
            }
            problem => problem,
        });
    }

    /// Takes another refusal for the same cause, with the text of the answer if it was another one.
    pub(super) fn refuse_again(
        &mut self,
        text: Option<&ApiProblem>,
        at: Timestamp,
        until: Timestamp,
    ) {
        match &self.problem {
            Some(StepProblem::Refused { code, message, .. }) => {
                let (code, message) = (*code, text.unwrap_or(message).clone());
                self.postpone(StepProblem::Refused { code, message, refusals: None }, at, until);
            }
            _ => self.wait(at, until),
        }
    }

    fn wait(&mut self, at: Timestamp, until: Timestamp) {
        self.attempts += 1;
        self.retry_window = Some(at..until);
    }
}
