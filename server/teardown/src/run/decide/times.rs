//! The times at which the passing of time alone lets a run continue, and whether a step still waits for its time.

use jiff::Timestamp;

use super::{REREAD_BACKOFF, namespace::earliest_reread, refusal::earliest_try};
use crate::{
    deadlines::{Deadlines, Overdue, Work},
    index::Index,
    plan::{Step, StepAction, StepId},
    run::{Progress, Run, StepProblem},
    unknown_reason::UnknownReason,
};

impl Run {
    /// The next time, after now, at which the passing of time alone may lead to an event.
    pub fn wake(&self, index: &Index, now: Timestamp) -> Option<Timestamp> {
        if self.state.is_ended() {
            return None;
        }
        let reads = self.kept_claims.next_reads().filter(|at| *at > now);
        reads.chain(self.next_time(index, now)).min()
    }

    /// The times at which the passing of time alone may lead to an event of a step.
    pub(in crate::run) fn times_of(
        &self,
        index: &Index,
        step: StepId,
    ) -> impl Iterator<Item = Timestamp> {
        let open = self.plan.step(step).zip(self.progress(step));
        let open = open.filter(|(_, progress)| !progress.is_settled());
        let times = open.map(|(step, progress)| {
            let window = progress.hold.retry_window.as_ref();
            let again = window.map(|span| span.end);
            // A step whose object nobody uses any more is looked at this early (`is_postponed`).
            let unused = window.and_then(|span| span.start.checked_add(REREAD_BACKOFF.0).ok());
            let [lag, applied] = self.parent_deadlines(step, progress);
            let late = self.overdue_at(index, step, progress);
            let early = earliest_try(progress).or_else(|| earliest_reread(step, progress));
            [again, unused, early, late, lag, applied]
        });
        times.into_iter().flatten().flatten()
    }

    fn overdue_at(&self, index: &Index, step: &Step, progress: &Progress) -> Option<Timestamp> {
        let since =
            progress.terminating.or(progress.requested).or_else(|| self.awaited_since(step))?;
        let deadlines = deadlines(index, step, progress.grace);
        match progress.hold.overdue {
            Overdue::No => since.checked_add(deadlines.slow).ok(),
            Overdue::Slow => since.checked_add(deadlines.stuck).ok(),
            Overdue::Stuck => None,
        }
    }

    /// For a step that only waits for its controller: the time at which the last step in front of it was finished.
    pub(super) fn awaited_since(&self, step: &Step) -> Option<Timestamp> {
        if step.action != StepAction::Await || self.unfinished(step).is_some() {
            return None;
        }
        let gone = step.after.iter().filter_map(|blocker| self.progress(blocker.step)?.gone);
        Some(gone.max().unwrap_or(self.started))
    }

    /// The first step in front of another one that was never gone.
    pub(super) fn unfinished(&self, step: &Step) -> Option<StepId> {
        let mut first = step.after.iter().map(|blocker| blocker.step);
        first.find(|first| self.progress(*first).is_none_or(|progress| progress.gone.is_none()))
    }
}

/// The limits for the end of a step whose object is deleted with this grace period in seconds: those of the work that its finalizers
/// told of when the plan was made.
pub(super) fn deadlines(index: &Index, step: &Step, grace: i64) -> Deadlines {
    let work = Work::of(&step.kind, step.finalizers.iter().map(String::as_str));
    index.deadlines(&step.kind, work, grace)
}

/// Whether the step is postponed. It no longer is once the index shows that the cause is over: none of the Pods that it waits
/// for is left, nor the object that uses it.
pub(super) fn is_postponed(progress: &Progress, index: &Index, now: Timestamp) -> bool {
    let Some(span) = progress.hold.retry_window.as_ref().filter(|span| span.contains(&now)) else {
        return false;
    };
    let is_over = match &progress.hold.problem {
        Some(StepProblem::InUse { pods }) => pods.iter().all(|pod| index.named(pod).is_none()),
        Some(StepProblem::Unknown { reason: UnknownReason::InUse { by } }) => {
            index.named(by).is_none()
        }
        _ => false,
    };
    !is_over || now.duration_since(span.start) < REREAD_BACKOFF.0
}
