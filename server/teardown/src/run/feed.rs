//! The events of a run as its event log has them.

use super::{Call, ClaimRead, FeedEvent, Run, RunEvent, StepProblem};
use crate::{plan::StepId, relation::DeletionPhase};

impl Run {
    /// The event as the event log has it; none if a page says nothing of it.
    pub(super) fn event(&self, event: &RunEvent) -> Option<FeedEvent> {
        let object = |step: &StepId| self.plan.step(*step).map(|step| step.object.clone());
        let problem = |step: &StepId, problem: StepProblem| {
            object(step).map(|object| FeedEvent::Problem { step: *step, object, problem })
        };
        match event {
            RunEvent::Started { by } => Some(FeedEvent::Started { by: by.clone() }),
            RunEvent::Recovered => Some(FeedEvent::Recovered),
            RunEvent::Paused { by, changed } => {
                Some(FeedEvent::Paused { by: by.clone(), changed: changed.clone() })
            }
            RunEvent::Resumed { by } => Some(FeedEvent::Resumed { by: by.clone() }),
            RunEvent::Stopping { by } => Some(FeedEvent::Stopping { by: by.clone() }),
            RunEvent::CallStarted { step, call: Call::Delete } => {
                object(step).map(|object| FeedEvent::Requested { step: *step, object })
            }
            RunEvent::Suspended { step } => {
                object(step).map(|object| FeedEvent::Suspended { step: *step, object })
            }
            RunEvent::CallStarted { .. }
            | RunEvent::SuspendStarted { .. }
            | RunEvent::StaysSuspended { .. }
            | RunEvent::Accepted { .. }
            | RunEvent::NoEffect { .. }
            | RunEvent::Recalled { .. }
            | RunEvent::Unproven { .. }
            | RunEvent::BecameKnown { .. } => None,
            RunEvent::Postponed { step, .. } | RunEvent::RefusedAgain { step, .. } => {
                problem(step, self.progress(*step)?.hold.problem.clone()?)
            }
            RunEvent::BecameUnknown { step, reason } => {
                problem(step, StepProblem::Unknown { reason: reason.clone() })
            }
            RunEvent::Terminating { step, .. } => {
                object(step).map(|object| FeedEvent::Terminating { step: *step, object })
            }
            RunEvent::Overdue { step, since, finalizers, .. } => {
                problem(step, StepProblem::Late { since: *since, finalizers: finalizers.clone() })
            }
            RunEvent::Gone { step, unconfirmed, .. } => object(step)
                .map(|object| FeedEvent::Gone { step: *step, object, unconfirmed: *unconfirmed }),
            RunEvent::TakenOn { step, by, .. } => object(step).map(|object| FeedEvent::TakenOn {
                step: *step,
                object,
                by: by.clone(),
            }),
            RunEvent::CameBack { step, uid, by } => {
                problem(step, StepProblem::CameBack { uid: uid.clone(), by: by.clone() })
            }
            RunEvent::Skipped { step, by } => object(step).map(|object| FeedEvent::Skipped {
                step: *step,
                object,
                by: by.clone(),
            }),
            RunEvent::KeptClaim { claim, read: ClaimRead::Failed { problem, .. } } => {
                let (object, problem) = (self.kept_claims.object(claim)?.clone(), problem.clone());
                Some(FeedEvent::ClaimUnread { object, problem })
            }
            RunEvent::KeptClaim { .. } => None,
            RunEvent::DataChecked { bound, lost, unknown } => Some(FeedEvent::DataChecked {
                bound: *bound,
                lost: lost.clone(),
                unknown: unknown.clone(),
            }),
            RunEvent::Finished => Some(FeedEvent::Finished),
            RunEvent::Stopped => Some(self.stopped()),
        }
    }

    fn stopped(&self) -> FeedEvent {
        let taken = self.taken();
        let [mut untouched, mut requested, mut already_terminating, mut effect_unknown, mut gone] =
            [0; 5];
        for (step, progress) in self.steps() {
            let was_requested = progress.requested.is_some() || taken.contains(&step.id);
            if !step.disposition().is_going() {
                continue;
            }
            *match progress.phase {
                DeletionPhase::Gone | DeletionPhase::PodsGone => &mut gone,
                DeletionPhase::Accepted if was_requested || progress.terminating.is_none() => {
                    &mut requested
                }
                DeletionPhase::Accepted => &mut already_terminating,
                DeletionPhase::Present if progress.effect_unknown => &mut effect_unknown,
                DeletionPhase::Present if taken.contains(&step.id) => &mut requested,
                DeletionPhase::Present => &mut untouched,
            } += 1;
        }
        FeedEvent::Stopped { untouched, requested, already_terminating, effect_unknown, gone }
    }
}
