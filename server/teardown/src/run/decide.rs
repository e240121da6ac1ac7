//! Decides the next events and actions of a run.

mod answer;
mod came_back;
mod guards;
mod kept_data;
mod late_objects;
mod namespace;
mod parent;
mod ready;
mod refusal;
mod sequence;
mod times;
mod unplanned;
mod waiting;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

pub(super) use self::late_objects::LateUids;
use self::{
    answer::gone,
    late_objects::LateObjects,
    namespace::is_content_changed,
    refusal::{BackendsChanged, earliest_try},
    times::is_postponed,
};
pub use self::{unplanned::Unplanned, waiting::PodsLeft};
use super::{
    Call, CommandError, Creator, Progress, Run, RunCommand, RunEvent, RunState, StepProblem,
    work_queue::Wait,
};
use crate::{
    action::{Action, Outcome},
    deadlines::Overdue,
    declaration::{APPLICATIONS, APPS},
    graph::Graph,
    index::{Index, Presence},
    object::{Deletion, Facts, Object, ObjectRef, Uid},
    plan::{Propagation, Step, StepAction, StepId},
    proof::Proof,
    relation::{DeletionPhase, EdgeKind},
    unknown_reason::UnknownReason,
};

/// The first and the longest delay between two consistent reads while an unplanned Pod uses a claim; the delay doubles
/// with each read. After the first delay, the claim is read at once when none of those Pods is left in the index. Each read is
/// kept in the journal, so they become rare: a Pod may stay for a weekend.
const REREAD_BACKOFF: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(1), SignedDuration::from_mins(10));
/// The most Pods that one problem names.
const NAMED: usize = 8;

/// The inputs of a run.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "an input is made, decided and dropped, and none is stored"
)]
pub enum Input {
    /// The index has changed, or time has passed.
    Reconcile,
    /// A call was completed.
    CallCompleted {
        /// The call.
        action: Action,
        /// Its outcome.
        outcome: Outcome,
    },
    /// The server was restarted, and the index is complete again.
    Recover,
    /// A person gives a command.
    Command {
        /// The command.
        command: RunCommand,
        /// The person's name.
        by: String,
    },
    /// A person takes it on that nothing is left of what stood in front of a step.
    TakeOn {
        /// The step.
        step: StepId,
        /// The objects that the person answers for, Pods or what lost a finalizer by hand: all that the step waits for.
        pods: Vec<Uid>,
        /// The person's name.
        by: String,
    },
    /// An object changed while a remedy for objects of the run was under way: neither the remedy nor the run knows the cluster that
    /// a person decided about.
    Changed {
        /// The object.
        object: ObjectRef,
        /// The name of the remedy's person.
        by: String,
    },
}

/// The result of a decision. The caller writes the events to the journal, applies them, and then executes the actions,
/// in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    /// The events, in order.
    pub events: Vec<RunEvent>,
    /// The actions, in no order.
    pub actions: Vec<Action>,
}

impl Decision {
    /// Whether there is nothing to journal and nothing to do.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.actions.is_empty()
    }

    fn event(event: RunEvent) -> Self {
        Self { events: vec![event], actions: Vec::new() }
    }
}

/// Values that all steps of one reconciliation share: the time, and for each workload whether Pods of it are left.
struct ReconcileContext<'a> {
    index: &'a Index,
    graph: &'a Graph,
    now: Timestamp,
    pods_gone: HashMap<StepId, Result<bool, UnknownReason>>,
    /// By namespace: its Pods that have not run to completion.
    users: HashMap<Arc<str>, Vec<&'a Object>>,
    late_objects: Option<LateObjects<'a>>,
    backends_changed: BackendsChanged,
    /// The step in front of the present one that holds it, once a check found one.
    held_by: Option<StepId>,
    /// Whether the checks of the present step read more of the index than its object.
    reads_more: bool,
    /// Whether there are parents that may declare objects by marks which others set too: Applications of Argo CD, Apps of
    /// kapp-controller.
    has_guessed_parents: bool,
    decision: Decision,
}

impl Run {
    /// Decides the events and actions that follow from an input. It changes nothing: the caller journals and applies
    /// the events. The graph is that of the index. Only the inputs that may lead to a DELETE read it: [`Input::Reconcile`]
    /// and [`Input::CallCompleted`].
    ///
    /// # Errors
    /// [`CommandError`] if a person's command comes too late; every other input succeeds.
    pub fn decide(
        &self,
        input: &Input,
        index: &Index,
        graph: &Graph,
        now: Timestamp,
    ) -> Result<Decision, CommandError> {
        if self.state.is_ended() {
            return match input {
                Input::Reconcile
                | Input::CallCompleted { .. }
                | Input::Recover
                | Input::Changed { .. } => Ok(Decision::default()),
                Input::Command { .. } | Input::TakeOn { .. } => Err(CommandError::Ended),
            };
        }
        match input {
            Input::Reconcile => Ok(self.reconcile(index, graph, now)),
            Input::CallCompleted { action, outcome } => {
                Ok(self.call_completed(action, outcome, ReconcileContext::new(index, graph, now)))
            }
            Input::Recover => Ok(Decision::event(RunEvent::Recovered)),
            Input::Command { command, by } => self.command(*command, by, index),
            Input::TakeOn { step, pods, by } => self.take_on(*step, pods, by.clone()),
            Input::Changed { object, by } if self.state == RunState::Running => {
                let (by, changed) = (by.clone(), Some(object.clone()));
                Ok(Decision::event(RunEvent::Paused { by, changed }))
            }
            Input::Changed { .. } => Ok(Decision::default()),
        }
    }

    fn command(
        &self,
        command: RunCommand,
        by: &str,
        index: &Index,
    ) -> Result<Decision, CommandError> {
        let by = by.to_owned();
        match command {
            RunCommand::Pause => {
                self.steer(RunState::Running, RunEvent::Paused { by, changed: None })
            }
            // Nothing else asks for the next try of what was refused, so a run need not be paused for it.
            RunCommand::Resume
                if self.state == RunState::Running
                    && (self.steps.iter().any(|it| earliest_try(it).is_some())
                        || self.kept_claims.next_reads().next().is_some()) =>
            {
                Ok(Decision::event(RunEvent::Resumed { by }))
            }
            RunCommand::Resume => self.steer(RunState::Paused, RunEvent::Resumed { by }),
            RunCommand::Stop if self.state == RunState::Stopping => Ok(Decision::default()),
            RunCommand::Stop => Ok(Decision::event(RunEvent::Stopping { by })),
            RunCommand::Skip(step) => self.skip(step, &by, index),
        }
    }

    /// A repeated command changes nothing; a command to a run that is stopping comes too late.
    fn steer(&self, from: RunState, event: RunEvent) -> Result<Decision, CommandError> {
        match self.state {
            RunState::Stopping => Err(CommandError::Ended),
            state if state == from => Ok(Decision::event(event)),
            _ => Ok(Decision::default()),
        }
    }

    /// Opens a step that waits for objects whose end nobody confirmed, if the person answers for exactly those: another may have
    /// joined them since the person looked.
    fn take_on(
        &self,
        step: StepId,
        answered: &[Uid],
        by: String,
    ) -> Result<Decision, CommandError> {
        let progress = self.progress(step).ok_or(CommandError::UnknownStep(step))?;
        let pods = match &progress.hold.problem {
            Some(problem @ StepProblem::Unknown { reason })
                if progress.is_waiting() && reason.can_be_taken_on() =>
            {
                problem.unconfirmed()
            }
            _ => return Err(CommandError::NothingToTakeOn(step)),
        };
        let of = |pods: &[Uid]| pods.iter().cloned().collect::<HashSet<Uid>>();
        if of(&pods) != of(answered) {
            return Err(CommandError::OtherPods(step));
        }
        Ok(Decision::event(RunEvent::TakenOn { step, by, pods }))
    }

    /// Skips a step and every step that waits for it, because those must not go while its object stays. A volume is
    /// skipped together with its claim, because the claim decides over the data.
    fn skip(&self, step: StepId, by: &str, index: &Index) -> Result<Decision, CommandError> {
        let progress = self.progress(step).ok_or(CommandError::UnknownStep(step))?;
        let is_late = progress.is_settled() || progress.call.is_some();
        let taken = self.taken();
        let is_collected = |id: StepId| {
            let (Some(step), Some(progress)) = (self.plan.step(id), self.progress(id)) else {
                return false;
            };
            // A step whose own request was refused can still be skipped.
            let was_never_requested = progress.is_waiting() && progress.requested.is_none();
            was_never_requested && step.action != StepAction::Await && taken.contains(&id)
        };
        if is_late || is_collected(step) {
            return Err(CommandError::TooLate(step));
        }
        let mut skip = vec![step];
        for claim in self.claims_of(step) {
            match self.progress(claim) {
                Some(progress) if progress.is_waiting() && !is_collected(claim) => skip.push(claim),
                Some(progress) if !progress.is_open() => {}
                _ => return Err(CommandError::TooLate(step)),
            }
        }
        for (behind, progress) in self.steps() {
            let waits = skip.iter().any(|step| self.depends_on(behind, *step, index));
            let is_new = !skip.contains(&behind.id);
            if waits && is_new && progress.is_waiting() {
                skip.push(behind.id);
            }
        }
        let events =
            skip.into_iter().map(|step| RunEvent::Skipped { step, by: by.to_owned() }).collect();
        Ok(Decision { events, actions: Vec::new() })
    }

    /// The claims in front of a volume.
    fn claims_of(&self, volume: StepId) -> impl Iterator<Item = StepId> {
        let step = self.plan.step(volume);
        let blockers = step.into_iter().flat_map(|step| &step.after);
        blockers.filter(|blocker| blocker.has(EdgeKind::Binds)).map(|blocker| blocker.step)
    }

    /// The propagation policy of a step's DELETE. It orphans the dependents if one of them was skipped, unless the
    /// deletion of that dependent has already begun.
    fn propagation(&self, step: &Step, index: &Index) -> Propagation {
        let stays = |uid: &Uid| index.get(uid).is_some_and(|object| object.deletion.is_none());
        let owns_skipped_object = || {
            self.skipped().any(|(it, _)| {
                it.id != step.id && stays(&it.uid) && index.descends(&it.uid, &step.uid)
            })
        };
        match step.action {
            StepAction::Delete { propagation: Propagation::Orphan } => Propagation::Orphan,
            StepAction::Delete { .. } if owns_skipped_object() => Propagation::Orphan,
            StepAction::Delete { .. } | StepAction::Await | StepAction::Suspend => {
                Propagation::Background
            }
        }
    }

    fn reconcile(&self, index: &Index, graph: &Graph, now: Timestamp) -> Decision {
        let context = || ReconcileContext::new(index, graph, now);
        let (decision, waits) = self.look_at(self.due_steps(index, now), context());
        debug_assert_eq!(
            decision,
            self.look_at(self.plan.steps.iter().map(|step| step.id), context()).0,
            "a step that is not in the queue has something to decide"
        );
        self.note_waits(waits, index, now);
        if decision.is_empty() {
            let is_awaited = || self.steps.iter().any(Progress::prevents_stop);
            let end = if self.settled == self.steps.len() {
                Some(RunEvent::Finished)
            } else {
                (self.state == RunState::Stopping && !is_awaited()).then_some(RunEvent::Stopped)
            };
            if let Some(end) = end {
                return self.end(end, now);
            }
        }
        decision
    }

    /// Decides about these steps, and says what each of them waits for.
    fn look_at(
        &self,
        steps: impl IntoIterator<Item = StepId>,
        mut context: ReconcileContext<'_>,
    ) -> (Decision, Vec<(StepId, Wait)>) {
        let steps =
            steps.into_iter().filter_map(|id| Some((self.plan.step(id)?, self.progress(id)?)));
        let look = |(step, progress): (&Step, &Progress)| {
            let before = context.decision.events.len();
            let wait = self.reconcile_step(step, progress, &mut context);
            let is_decided = context.decision.events.len() > before;
            (step.id, if is_decided { Wait::Anything } else { wait })
        };
        let waits = steps.map(look).collect();
        (context.decision, waits)
    }

    fn reconcile_step(
        &self,
        step: &Step,
        progress: &Progress,
        context: &mut ReconcileContext<'_>,
    ) -> Wait {
        let found = context.index.get(&step.uid);
        // A name belongs to one object, so that nothing else has it while this object is there.
        let again = match found {
            Some(_) => None,
            // A parent that stays need not go, so that it cannot come back.
            None if step.action == StepAction::Suspend => None,
            None => context.index.named(&step.object),
        };
        match again {
            _ if progress.end.is_some() => return Wait::Object,
            // The object stays as long as one that re-creates or needs it.
            Some(_) if progress.has_come_back() => {
                if let Some(by) = self.prerequisite_skipped_by(step, context.index) {
                    let by = by.to_owned();
                    context.decision.events.push(RunEvent::Skipped { step: step.id, by });
                }
                return Wait::Anything;
            }
            Some(object) => {
                let (uid, by) = (object.uid.clone(), Creator::of(object, context.index));
                context.decision.events.push(RunEvent::CameBack { step: step.id, uid, by });
                return Wait::Anything;
            }
            None if progress.has_come_back() => {
                let event = gone(step, Proof::OtherUid, context.index);
                context.decision.events.push(event);
                return Wait::Anything;
            }
            None if progress.is_gone_for_good() => return Wait::Object,
            None => {}
        }
        match context.index.presence_of(found, &step.kind, step.object.namespace.as_deref()) {
            Presence::Gone => {
                let proof = context.index.proof_of(&step.uid);
                context.decision.events.push(gone(step, proof, context.index));
                Wait::Anything
            }
            Presence::Unknown(reason) => {
                context.note_unknown(step, progress, reason);
                Wait::Anything
            }
            Presence::Present(object) => match object.deletion.as_deref() {
                Some(held) => context.reconcile_terminating(step, progress, object, held.deletion),
                None => self.reconcile_present(step, progress, context),
            },
        }
    }

    /// Decides about an object that exists and is not terminating.
    fn reconcile_present(
        &self,
        step: &Step,
        progress: &Progress,
        context: &mut ReconcileContext<'_>,
    ) -> Wait {
        if progress.phase == DeletionPhase::Accepted && progress.terminating.is_none() {
            context.note_visible_again(step, progress);
            // The DELETE was accepted, but the watch has not shown the object as terminating. Only the time limits
            // apply.
            let Some(since) = progress.requested else { return Wait::Object };
            return context.note_overdue(step, progress, since, &[]);
        }
        if !progress.is_waiting() {
            return Wait::Object;
        }
        // The step in front of it was skipped while its own call was in flight.
        if let Some(by) = self.prerequisite_skipped_by(step, context.index) {
            let by = by.to_owned();
            context.decision.events.push(RunEvent::Skipped { step: step.id, by });
            return Wait::Anything;
        }
        context.held_by = None;
        context.reads_more = self.may_wait_for_skipped_pod(step);
        if is_postponed(progress, context.index, context.now)
            && context.find_cause_change(step, progress).is_none()
            && !is_content_changed(step, progress, context.index, context.now)
        {
            let is_timed = matches!(progress.hold.problem, Some(StepProblem::Retrying { .. }));
            return context.wait_for(is_timed.then_some(Wait::Object));
        }
        if self.state == RunState::Stopping && progress.effect_unknown {
            self.call(step, Call::Read, sequence::target(step, context.index), context);
            return Wait::Anything;
        }
        if self.state != RunState::Running {
            // The journal has to have such an object before the process that saw it go may end.
            let confirmed = self.check_ends_confirmed(step, context);
            return match confirmed {
                // The end of what stands in front of it sets its times.
                Ok(_) => {
                    context.wait_for(Some(self.unfinished(step).map_or(Wait::Object, Wait::Step)))
                }
                Err(reason) => {
                    context.note_unknown(step, progress, reason);
                    Wait::Anything
                }
            };
        }
        if step.is_parent() && self.suspend_first(step, progress, context) {
            return Wait::Anything;
        }
        if step.action == StepAction::Suspend {
            context.decision.events.push(RunEvent::StaysSuspended { step: step.id });
            return Wait::Anything;
        }
        let free = self.check_ready(step, context);
        if free.is_ok() && progress.hold.attempts == 0 && progress.hold.is_unknown() {
            context.decision.events.push(RunEvent::BecameKnown { step: step.id });
        }
        match free {
            Err(reason) => context.note_unknown(step, progress, reason),
            Ok(false) => return context.wait_for(context.held_by.map(Wait::Step)),
            Ok(true) if step.action == StepAction::Await => {
                if let Some(since) = self.awaited_since(step) {
                    context.note_overdue(step, progress, since, &step.finalizers);
                }
            }
            Ok(true) => self.begin_sequence(step, progress, context),
        }
        Wait::Anything
    }

    /// Whether a step may wait for a Pod that a person skipped, by what the index says of the Pod and its owners.
    fn may_wait_for_skipped_pod(&self, step: &Step) -> bool {
        self.skipped().any(|(first, _)| first.kind.is("", "Pod"))
            && step.after.iter().any(|blocker| blocker.phase == DeletionPhase::PodsGone)
    }

    fn prerequisite_skipped_by(&self, step: &Step, index: &Index) -> Option<&str> {
        self.skipped().find_map(|(first, progress)| {
            let by = progress.skipped_by()?;
            self.depends_on(step, first.id, index).then_some(by)
        })
    }

    /// Whether a step waits for another one: as a blocker, as an owner that would re-create a blocker, or as a Pod of a
    /// workload that is a blocker.
    fn depends_on(&self, behind: &Step, first: StepId, index: &Index) -> bool {
        self.recreating_owners(behind.id).contains(&first)
            || behind.after.iter().any(|blocker| {
                let is_pod_of = |workload: &Step| {
                    let pod = self.plan.step(first).and_then(|first| index.get(&first.uid));
                    pod.filter(|pod| matches!(pod.facts, Facts::Pod(_))).is_some_and(|pod| {
                        pod.namespace == workload.object.namespace
                            && index.is_pod_of(
                                &pod.owners,
                                &pod.labels,
                                &workload.uid,
                                workload.pods.as_ref(),
                            )
                    })
                };
                blocker.step == first
                    || blocker.phase == DeletionPhase::PodsGone
                        && self.plan.step(blocker.step).is_some_and(is_pod_of)
            })
    }
}

impl<'a> ReconcileContext<'a> {
    fn new(index: &'a Index, graph: &'a Graph, now: Timestamp) -> Self {
        Self {
            index,
            graph,
            now,
            pods_gone: HashMap::new(),
            users: HashMap::new(),
            late_objects: None,
            backends_changed: HashMap::new(),
            held_by: None,
            reads_more: false,
            has_guessed_parents: [APPLICATIONS, APPS]
                .iter()
                .any(|resource| index.of_resource(resource).next().is_some()),
            decision: Decision::default(),
        }
    }
}

impl ReconcileContext<'_> {
    /// The narrow wait that was found for the present step, unless its checks read more than that.
    fn wait_for(&self, narrow: Option<Wait>) -> Wait {
        narrow.filter(|_| !self.reads_more).unwrap_or(Wait::Anything)
    }

    fn note_unknown(&mut self, step: &Step, progress: &Progress, reason: UnknownReason) {
        let known = matches!(&progress.hold.problem, Some(StepProblem::Unknown { reason: before }) if *before == reason);
        if !known {
            self.decision.events.push(RunEvent::BecameUnknown { step: step.id, reason });
        }
    }

    /// Records that the state of a requested deletion is known again.
    fn note_visible_again(&mut self, step: &Step, progress: &Progress) {
        if progress.hold.is_unknown() {
            self.decision.events.push(RunEvent::BecameKnown { step: step.id });
        }
    }

    fn reconcile_terminating(
        &mut self,
        step: &Step,
        progress: &Progress,
        object: &Object,
        deletion: Deletion,
    ) -> Wait {
        let since = deletion.accepted();
        let Some(known) = progress.terminating else {
            let (step, grace) = (step.id, deletion.grace);
            self.decision.events.push(RunEvent::Terminating { step, since, grace });
            return Wait::Anything;
        };
        self.note_visible_again(step, progress);
        let finalizers: Vec<String> = object.finalizers.iter().map(ToString::to_string).collect();
        let wait = self.note_overdue(step, progress, since, &finalizers);
        // Its times are those since it was first seen.
        if since == known { wait } else { Wait::Anything }
    }

    fn note_overdue(
        &mut self,
        step: &Step,
        progress: &Progress,
        since: Timestamp,
        finalizers: &[String],
    ) -> Wait {
        // While the API server is unreachable, the object may have gone unnoticed.
        if self.index.unreachable().is_some() {
            return Wait::Anything;
        }
        let deadlines = times::deadlines(self.index, step, progress.grace);
        let overdue = deadlines.overdue(self.now.duration_since(since));
        if overdue > progress.hold.overdue {
            let (step, stuck, finalizers) =
                (step.id, overdue == Overdue::Stuck, finalizers.to_vec());
            self.decision.events.push(RunEvent::Overdue { step, since, stuck, finalizers });
        }
        Wait::Object
    }
}
