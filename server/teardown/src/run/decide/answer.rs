//! Decides the events and actions that follow from the answer to a call.

use jiff::SignedDuration;

use super::{Decision, ReconcileContext};
use crate::{
    action::{Action, Outcome},
    api_problem::ProblemCode,
    index::Index,
    plan::Step,
    proof::Proof,
    run::{Call, Creator, Run, RunEvent, StepProblem},
    unknown_reason::UnknownReason,
};

/// The first and the longest delay after no answer; the delay doubles with each try.
const RETRY_BACKOFF: (SignedDuration, SignedDuration) =
    (SignedDuration::from_millis(250), SignedDuration::from_secs(30));
/// The longest `Retry-After` that is respected. A longer one is not a useful answer to a single request.
const MAX_RETRY_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// The same while the effect of a DELETE is unknown, because the run cannot be stopped before it is known.
const MAX_RETRY_AFTER_UNKNOWN: SignedDuration = SignedDuration::from_mins(2);

impl Run {
    pub(super) fn call_completed(
        &self,
        action: &Action,
        outcome: &Outcome,
        context: ReconcileContext<'_>,
    ) -> Decision {
        let ReconcileContext { index, now, .. } = context;
        let (Some(id), Some(call)) = (action.step(), Call::of(action)) else {
            return self.claim_read(action.target(), outcome, now);
        };
        let (Some(step), Some(progress)) = (self.plan.step(id), self.progress(id)) else {
            return Decision::default();
        };
        // The watch was faster than the answer, or the answer belongs to a call before a restart.
        if progress.call != Some(call) {
            return Decision::default();
        }
        let postpone = |after: SignedDuration, effect_unknown: bool, problem: StepProblem| {
            let until = now.checked_add(after).unwrap_or(now);
            Decision::event(RunEvent::Postponed { step: id, until, effect_unknown, problem })
        };
        let attempts = progress.hold.attempts + 1;
        match outcome {
            Outcome::Accepted | Outcome::Present { terminating: true, .. } => {
                Decision::event(RunEvent::Accepted { step: id })
            }
            Outcome::Present { terminating: false, .. }
            | Outcome::Claim { .. }
            | Outcome::Pods(_)
            | Outcome::Content { .. }
            | Outcome::Unlisted { .. } => {
                self.continue_sequence(step, progress, action, outcome, context)
            }
            Outcome::Suspended => Decision::event(RunEvent::Suspended { step: id }),
            Outcome::NotFound => Decision::event(gone(step, Proof::NotFound, index)),
            Outcome::Recalled => Decision::event(RunEvent::Recalled { step: id }),
            Outcome::OtherUid { uid: Some(uid) } if *uid != step.uid => {
                let seen = index.get(uid);
                let by = seen.and_then(|it| Creator::of(it, index));
                Decision::event(RunEvent::CameBack { step: id, uid: uid.clone(), by })
            }
            // The name belongs to another object, so this UID is gone; the watch will deliver the new object.
            Outcome::OtherUid { uid: None } => Decision::event(gone(step, Proof::OtherUid, index)),
            // It says that the object is another one, and names this one.
            Outcome::OtherUid { uid: Some(_) } => {
                let why = "it says that this is another object, and names its own UID".to_owned();
                let message = ProblemCode::Unreadable { why }.into();
                let reason = UnknownReason::Inconclusive { message };
                let problem = StepProblem::Unknown { reason };
                postpone(backoff(progress.hold.attempts), progress.effect_unknown, problem)
            }
            Outcome::Refused { code, message } => self.refused(step, progress, *code, message, now),
            Outcome::Throttled { after } => {
                let message = ProblemCode::Status { code: 429, said: String::new() }.into();
                let problem = StepProblem::Retrying { attempts, message };
                let effect_unknown = progress.effect_unknown;
                postpone(wait(*after, attempts, effect_unknown), effect_unknown, problem)
            }
            Outcome::Unanswered { message, after } => {
                let effect_unknown = progress.effect_unknown || call == Call::Delete;
                let problem = StepProblem::Retrying { attempts, message: message.clone() };
                postpone(wait(*after, attempts, effect_unknown), effect_unknown, problem)
            }
            Outcome::Changed { message } => postpone(
                backoff(progress.hold.attempts),
                progress.effect_unknown,
                StepProblem::Retrying { attempts, message: message.clone() },
            ),
            Outcome::Unknown { message } => postpone(
                backoff(progress.hold.attempts),
                progress.effect_unknown,
                StepProblem::Unknown {
                    reason: UnknownReason::Inconclusive { message: message.clone() },
                },
            ),
        }
    }
}

/// The event that a step's object is gone.
pub(super) fn gone(step: &Step, proof: Proof, index: &Index) -> RunEvent {
    let unconfirmed = index.is_unconfirmed(&step.uid, step.node.as_deref());
    RunEvent::Gone { step: step.id, proof, unconfirmed }
}

/// The delay after a number of tries: exponential backoff, raised to `Retry-After` up to a limit.
pub(super) fn wait(
    retry_after: Option<SignedDuration>,
    attempts: u32,
    effect_unknown: bool,
) -> SignedDuration {
    let own = backoff(attempts - 1);
    let most = if effect_unknown { MAX_RETRY_AFTER_UNKNOWN } else { MAX_RETRY_AFTER };
    retry_after.map_or(own, |retry_after| retry_after.min(most).max(own))
}

fn backoff(attempts: u32) -> SignedDuration {
    doubled(RETRY_BACKOFF, attempts)
}

pub(super) fn doubled(
    (first, last): (SignedDuration, SignedDuration),
    tries: u32,
) -> SignedDuration {
    (first * 2_i32.pow(tries.min(10))).min(last)
}
