//! The guarded sequence of a deletion: read, check, act. Each read is followed at once by the check of its answer and then by
//! the next call, and the DELETE is bound to the version that was read.
//!
//! ```text
//!  a claim            GET, check ──► LIST Pods, check ──► DELETE at the version of the GET
//!  a namespace        GET, check ──► LIST everything, check ► DELETE at the version of the GET
//!  a definition       GET, check ──► LIST its kind, check ──► DELETE at the version of the GET
//!  a custom resource  GET, check ───────────────────────► DELETE at the version of the GET
//!  a ConfigMap        ──────────────────────────────────► DELETE
//! ```
//!
//! # Decisions
//! - Nothing of a sequence is kept between its calls but the [`ActionTarget`], which goes from call to call. A sequence that is
//!   interrupted, by a pause, a crash or a failed check, begins again with its first read.
//! - A read that is made because the effect of a DELETE is unknown is no part of a sequence: it only says whether the object is
//!   still there.
//! - A remedy is a sequence of another form, which the server has for itself. It is sent as a whole within a second, has
//!   premises about several objects and a dry run, and is read again afterwards; of a run each call is journaled, queued and
//!   limited by itself.

use std::sync::Arc;

use jiff::SignedDuration;

use super::{
    Call, Decision, NAMED, Progress, REREAD_BACKOFF, ReconcileContext, Run, RunEvent, RunState,
    StepProblem, answer::doubled,
};
use crate::{
    action::{Action, ActionTarget, Outcome, PodSight},
    index::Index,
    object::{Facts, Object, ObjectRef},
    plan::Step,
    relation::{DeletionPhase, Edge, EdgeKind},
    unit::UnitId,
    unknown_reason::UnknownReason,
};

/// The first and the longest delay after an object was found to be given away, asked to be kept or in use, just before its DELETE;
/// the delay doubles each time.
const RECHECK: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(20), SignedDuration::from_mins(10));

/// One read before a DELETE, and the check of its answer.
struct Guard {
    read: Call,
    is_needed: fn(&Step) -> bool,
    check: AnswerCheck,
}

/// Returns the object for the next call, or the decision that ends the sequence.
type AnswerCheck =
    fn(&Run, &Step, &Action, &Outcome, &mut ReconcileContext<'_>) -> Result<ActionTarget, Decision>;

/// All guards, in the order in which they are asked.
const GUARDS: [Guard; 3] = [
    Guard { read: Call::Read, is_needed: Step::is_read_first, check: Run::check_object },
    Guard { read: Call::ReadPods, is_needed: |step| step.holds_storage, check: Run::check_pods },
    Guard {
        read: Call::ReadContent,
        is_needed: |step| step.kind.is("", "Namespace") || step.kind.is_definition(),
        check: Run::check_listed_content,
    },
];

/// The call of a step's sequence after this read, or the first one.
fn next_call(step: &Step, after: Option<Call>) -> Call {
    let done = GUARDS.iter().position(|guard| Some(guard.read) == after).map_or(0, |at| at + 1);
    let next = GUARDS.iter().skip(done).find(|guard| (guard.is_needed)(step));
    next.map_or(Call::Delete, |guard| guard.read)
}

/// The object of a step, in the version in which its kind is watched now. The version of the plan may be served no longer, or may have
/// lost the verb `delete`, while another one has it.
pub(super) fn target(step: &Step, index: &Index) -> ActionTarget {
    ActionTarget { kind: index.as_watched(&step.kind), ..ActionTarget::of(step) }
}

fn postpone(
    step: &Step,
    delay: SignedDuration,
    problem: StepProblem,
    context: &ReconcileContext<'_>,
) -> Decision {
    let until = context.now.checked_add(delay).unwrap_or(context.now);
    Decision::event(RunEvent::Postponed { step: step.id, until, effect_unknown: false, problem })
}

impl Run {
    /// Begins the sequence of a step whose checks have all passed.
    pub(super) fn begin_sequence(
        &self,
        step: &Step,
        progress: &Progress,
        context: &mut ReconcileContext<'_>,
    ) {
        let call = if progress.effect_unknown { Call::Read } else { next_call(step, None) };
        self.call(step, call, target(step, context.index), context);
    }

    /// Goes on after a read that showed the object, its Pods or its content.
    pub(super) fn continue_sequence(
        &self,
        step: &Step,
        progress: &Progress,
        action: &Action,
        outcome: &Outcome,
        mut context: ReconcileContext<'_>,
    ) -> Decision {
        let read = Call::of(action);
        let is_over = progress.effect_unknown || self.state != RunState::Running;
        let Some(guard) = GUARDS.iter().find(|guard| Some(guard.read) == read && !is_over) else {
            return Decision::event(RunEvent::NoEffect { step: step.id });
        };
        match (guard.check)(self, step, action, outcome, &mut context) {
            Ok(target) => {
                self.call(step, next_call(step, read), target, &mut context);
                context.decision
            }
            Err(decision) => decision,
        }
    }

    /// Makes a call of a step's sequence.
    pub(super) fn call(
        &self,
        step: &Step,
        call: Call,
        target: ActionTarget,
        context: &mut ReconcileContext<'_>,
    ) {
        let id = step.id;
        let action = match call {
            Call::Read => Action::Read { step: id, target },
            Call::ReadPods => Action::ReadPods { step: id, target },
            Call::ReadContent => {
                Action::ReadContent { step: id, target, unproven: step.unproven.clone() }
            }
            Call::Delete => {
                let propagation = self.propagation(step, context.index);
                Action::Delete { step: id, target, propagation }
            }
            // It has a patch of its own (`parent.rs`).
            Call::Suspend => return,
        };
        context.decision.events.push(RunEvent::CallStarted { step: id, call });
        context.decision.actions.push(action);
    }

    /// Checks an object that was just read once more: since the plan was made, it may have been given to another unit, somebody
    /// may have asked to keep it, or others may have begun to use it.
    ///
    /// A custom resource whose label `app.kubernetes.io/part-of` was changed in the last second, which no watch has shown yet,
    /// is not deleted.
    fn check_object(
        &self,
        step: &Step,
        action: &Action,
        outcome: &Outcome,
        context: &mut ReconcileContext<'_>,
    ) -> Result<ActionTarget, Decision> {
        let no_effect = Decision::event(RunEvent::NoEffect { step: step.id });
        let Outcome::Present { version, named, keep, .. } = outcome else { return Err(no_effect) };
        let is_overridden = self.plan.choices.overrides(&step.object);
        let keep = keep.as_ref().filter(|_| !is_overridden);
        match self.check_unchanged(step, named.as_ref(), keep, context) {
            Ok(true) => Ok(action.target().clone().at(version.clone())),
            Ok(false) => Err(no_effect),
            Err(reason) => {
                let is_others = matches!(
                    reason,
                    UnknownReason::InUse { .. }
                        | UnknownReason::GivenAway { .. }
                        | UnknownReason::AskedToKeep { .. }
                );
                let problem = StepProblem::Unknown { reason };
                let tries = match self.progress(step.id).map(|progress| &progress.hold) {
                    Some(hold) if is_others && hold.problem.as_ref() == Some(&problem) => {
                        hold.attempts
                    }
                    _ => 0,
                };
                Err(postpone(step, doubled(RECHECK, tries), problem, context))
            }
        }
    }

    fn check_unchanged(
        &self,
        step: &Step,
        named: Option<&UnitId>,
        keep: Option<&Arc<str>>,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        if named != step.named.as_ref() {
            return Err(UnknownReason::GivenAway { to: named.map(ToString::to_string) });
        }
        if let Some(mark) = keep {
            return Err(UnknownReason::AskedToKeep { mark: mark.clone() });
        }
        match self.user_outside(step, context) {
            Some(by) => Err(UnknownReason::InUse { by }),
            None => self.check_ready(step, context),
        }
    }

    /// Checks that a consistent read shows no Pod that needs a claim.
    ///
    /// A Pod that was created a moment ago mounts the claim, and no watch has shown it yet: the claim is read again later.
    fn check_pods(
        &self,
        step: &Step,
        action: &Action,
        outcome: &Outcome,
        context: &mut ReconcileContext<'_>,
    ) -> Result<ActionTarget, Decision> {
        let Outcome::Pods(pods) = outcome else {
            return Err(Decision::event(RunEvent::NoEffect { step: step.id }));
        };
        let pods = self.blocking_pods(step, pods, context.index);
        if pods.is_empty() {
            return Ok(action.target().clone());
        }
        let tries = match self.progress(step.id).map(|progress| &progress.hold) {
            Some(hold) if matches!(hold.problem, Some(StepProblem::InUse { .. })) => hold.attempts,
            _ => 0,
        };
        Err(postpone(step, doubled(REREAD_BACKOFF, tries), StepProblem::InUse { pods }, context))
    }

    /// The Pods of a consistent read that block the deletion of a claim: those that mount it, and those of a workload
    /// that must have no Pods first.
    fn blocking_pods(&self, step: &Step, pods: &[PodSight], index: &Index) -> Vec<ObjectRef> {
        let blockers = step.after.iter().filter(|it| it.phase == DeletionPhase::PodsGone);
        let workloads: Vec<&Step> = blockers.filter_map(|it| self.plan.step(it.step)).collect();
        let blocks = |pod: &&PodSight| {
            let is_of = |workload: &&Step| {
                let (uid, selector) = (&workload.uid, workload.pods.as_ref());
                index.is_pod_of(&pod.owners, &pod.labels, uid, selector)
            };
            pod.claims.contains(&step.object.name) || workloads.iter().any(is_of)
        };
        pods.iter().filter(blocks).take(NAMED).map(|pod| pod.object.clone()).collect()
    }

    /// An object outside the plan's steps that has to go before a step's object, as it is now: an Ingress that routes to a
    /// Service, or an HTTPRoute of another namespace whose spec names a Gateway. A plan that is made now would keep the object. One that
    /// used a waived object when the plan was made does not count. The content of a namespace and the Pods are checked elsewhere.
    pub(super) fn user_outside(
        &self,
        step: &Step,
        context: &ReconcileContext<'_>,
    ) -> Option<ObjectRef> {
        let ReconcileContext { index, graph, .. } = *context;
        let users = graph.around(&step.uid).filter_map(|edge| {
            let (first, then, _) = edge.ordered()?;
            let is_before = *then == step.uid && edge.keeps() && !self.is_planned(first);
            let user = index.get(first).filter(|_| is_before)?;
            let is_checked_elsewhere = match edge.kind {
                EdgeKind::Contains => true,
                // Whether the parent would prune it (`check_nothing_pruned`).
                EdgeKind::Declares if user.namespace != step.object.namespace => true,
                _ => self.goes_along(user, index),
            };
            let holds = !is_checked_elsewhere && self.needs(user, edge);
            let is_waived = || self.plan.is_waived(then, first, Some(edge.kind), index);
            (holds && !is_waived()).then(|| user.reference())
        });
        users.min()
    }

    /// Whether an object outside the plan's steps goes with one of them, or is checked as a Pod.
    fn goes_along(&self, user: &Object, index: &Index) -> bool {
        user.is_made_by_cluster()
            || matches!(user.facts, Facts::Pod(_))
            || index.descends_from(&user.uid, |owner| self.is_planned(owner))
    }

    /// Whether an object outside the plan's steps keeps what is behind it on this edge, by the rules of a plan.
    fn needs(&self, user: &Object, edge: Edge<'_>) -> bool {
        let mut kept = self.plan.kept.iter().chain(&self.plan.left_to_cluster);
        match kept.find(|kept| kept.uid == user.uid) {
            Some(kept) => kept.reason.needs(edge),
            None => !edge.is_aggregation(),
        }
    }
}
