//! Decides the events and actions that follow from the answer to a call.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Decision, REREAD_BACKOFF, ReconcileContext};
use crate::{
    action::{Action, Outcome},
    api_problem::ProblemCode,
    index::Index,
    object::{Facts, Object, ObjectRef, Uid},
    plan::Step,
    proof::Proof,
    relation::{EdgeKind, EdgeLookup, edges_of},
    run::{Call, Progress, Run, RunEvent, RunState, Stage, StepProblem},
    unit::UnitId,
    unknown_reason::UnknownReason,
};

/// The first and the longest delay after an object was found to be given away or in use, just before its DELETE; the delay
/// doubles each time.
const RECHECK: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(20), SignedDuration::from_mins(10));
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
        index: &Index,
        now: Timestamp,
    ) -> Decision {
        let id = action.step();
        let (Some(step), Some(progress)) = (self.plan.step(id), self.progress(id)) else {
            return Decision::default();
        };
        let call = call_of(action);
        // The watch was faster than the answer, or the answer belongs to a call before a restart.
        if progress.stage != Stage::Calling(call) {
            return Decision::default();
        }
        let postpone = |after: SignedDuration, effect_unknown: bool, problem: StepProblem| {
            let until = now.checked_add(after).unwrap_or(now);
            Decision::event(RunEvent::Postponed { step: id, until, effect_unknown, problem })
        };
        let attempts = progress.attempts + 1;
        match outcome {
            Outcome::Accepted | Outcome::Present { terminating: true, .. } => {
                Decision::event(RunEvent::Accepted { step: id })
            }
            Outcome::Present { terminating: false, .. }
                if progress.effect_unknown || self.state != RunState::Running =>
            {
                Decision::event(RunEvent::NoEffect { step: id })
            }
            Outcome::Present { terminating: false, version, named } => {
                self.check_again(step, progress, named.as_ref(), version, index, now)
            }
            Outcome::Suspended => Decision::event(RunEvent::Suspended { step: id }),
            Outcome::NotFound => Decision::event(gone(step, Proof::NotFound, index)),
            Outcome::Recalled => Decision::event(RunEvent::Recalled { step: id }),
            Outcome::OtherUid { uid: Some(uid) } if *uid != step.uid => {
                Decision::event(RunEvent::CameBack { step: id, uid: uid.clone() })
            }
            // The name belongs to another object, so this UID is gone; the watch will deliver the new object.
            Outcome::OtherUid { .. } => Decision::event(gone(step, Proof::OtherUid, index)),
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
                backoff(progress.attempts),
                progress.effect_unknown,
                StepProblem::Retrying { attempts, message: message.clone() },
            ),
            Outcome::Unknown { message } => postpone(
                backoff(progress.attempts),
                progress.effect_unknown,
                StepProblem::Unknown {
                    reason: UnknownReason::Inconclusive { message: message.clone() },
                },
            ),
            Outcome::Pods(pods) => {
                let using = self.blocking_pods(step, pods, index);
                if !using.is_empty() {
                    let tries = match &progress.problem {
                        Some(StepProblem::InUse { .. }) => progress.attempts,
                        _ => 0,
                    };
                    let problem = StepProblem::InUse { pods: using };
                    return postpone(
                        doubled(REREAD_BACKOFF, tries),
                        progress.effect_unknown,
                        problem,
                    );
                }
                let mut decision = Decision::default();
                if self.state == RunState::Running {
                    let version = match action {
                        Action::ReadPods { version, .. } => version.clone(),
                        Action::Delete { .. } | Action::Suspend { .. } | Action::Read { .. } => {
                            None
                        }
                    };
                    let propagation = self.propagation(step, index);
                    decision.add_versioned_call(step, Call::Delete, propagation, version);
                } else {
                    decision.events.push(RunEvent::NoEffect { step: id });
                }
                decision
            }
        }
    }

    /// Checks an object that was just read once more, and goes on to its DELETE: it may have been given to another unit, or
    /// others may have begun to use it, since the plan was made.
    fn check_again(
        &self,
        step: &Step,
        progress: &Progress,
        named: Option<&UnitId>,
        version: &Arc<str>,
        index: &Index,
        now: Timestamp,
    ) -> Decision {
        let mut context = ReconcileContext::new(index, now);
        let checked = if named == step.named.as_ref() {
            match self.user_outside(step, index) {
                Some(by) => Err(UnknownReason::InUse { by }),
                None => self.check_ready(step, &mut context),
            }
        } else {
            Err(UnknownReason::GivenAway { to: named.map(ToString::to_string) })
        };
        let mut decision = Decision::default();
        match checked {
            Ok(true) => {
                let call = if step.holds_storage { Call::ReadPods } else { Call::Delete };
                let propagation = self.propagation(step, index);
                decision.add_versioned_call(step, call, propagation, Some(version.clone()));
            }
            Ok(false) => decision.events.push(RunEvent::NoEffect { step: step.id }),
            Err(reason) => {
                let is_others =
                    matches!(reason, UnknownReason::InUse { .. } | UnknownReason::GivenAway { .. });
                let problem = StepProblem::Unknown { reason };
                let is_same = is_others && progress.problem.as_ref() == Some(&problem);
                let tries = if is_same { progress.attempts } else { 0 };
                decision.events.push(RunEvent::Postponed {
                    step: step.id,
                    until: now.checked_add(doubled(RECHECK, tries)).unwrap_or(now),
                    effect_unknown: false,
                    problem,
                });
            }
        }
        decision
    }

    /// An object outside the plan's steps that has to go before a step's object, as it is now: of the same namespace, or one of
    /// any namespace whose spec names it, such as the HTTPRoute of a Gateway. The content of a namespace and the Pods that mount
    /// a claim are checked elsewhere.
    fn user_outside(&self, step: &Step, index: &Index) -> Option<ObjectRef> {
        let is_outside = |uid: &Uid| self.step_of(uid).is_none();
        let lookup = EdgeLookup::of(index);
        let ObjectRef { kind, namespace, name, .. } = &step.object;
        let near = namespace.iter().flat_map(|namespace| index.in_namespace(namespace));
        let is_far = |it: &&Arc<Object>| namespace.is_none() || it.namespace != *namespace;
        let names_it = |it: &&Arc<Object>| {
            it.references().iter().any(|named| named.kind == *kind && named.name == *name)
        };
        // Only a Pod names a claim, and only a claim a volume.
        let may_be_named = !step.holds_storage;
        let far = index.objects().filter(|_| may_be_named).filter(is_far).filter(names_it);
        let objects = near.chain(far).filter(|it| {
            is_outside(&it.uid) && !it.is_made_by_cluster() && !matches!(it.facts, Facts::Pod(_))
        });
        let own = index.get(&step.uid);
        let edges = objects.chain(own).flat_map(|it| edges_of(it, index, &lookup));
        let users = edges.filter_map(|edge| {
            let (first, then, _) = edge.ordered()?;
            let is_user = *then == step.uid && is_outside(first) && edge.keeps();
            let user = index.get(first).filter(|_| is_user && edge.kind != EdgeKind::Contains)?;
            let goes_along = user.is_made_by_cluster()
                || matches!(user.facts, Facts::Pod(_))
                || user.owners.iter().any(|owner| !is_outside(&owner.uid));
            (!goes_along).then(|| user.reference())
        });
        users.min()
    }
}

/// The kind of call that an action is.
fn call_of(action: &Action) -> Call {
    match action {
        Action::Delete { .. } => Call::Delete,
        Action::Suspend { .. } => Call::Suspend,
        Action::ReadPods { .. } => Call::ReadPods,
        Action::Read { .. } => Call::Read,
    }
}

/// The event that a step's object is gone.
pub(super) fn gone(step: &Step, proof: Proof, index: &Index) -> RunEvent {
    let is_pod = step.kind.is("", "Pod");
    let unconfirmed = is_pod && index.is_unconfirmed(&step.uid, step.node.as_deref());
    RunEvent::Gone { step: step.id, proof, unconfirmed }
}

/// The delay after a number of tries: exponential backoff, raised to `Retry-After` up to a limit.
fn wait(
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
