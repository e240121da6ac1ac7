//! Executes a plan: the state of one run and the events that change it.
//!
//! [`Run::decide`] compares the plan with the index and returns events and actions. The events are written to the
//! journal, then applied with [`Run::apply`], and only then are the actions executed. Only `apply` changes a run, both
//! live and in replay, so that a restart after a crash always finds a known state.
//!
//! ```text
//!  Present ── CallStarted ──► Present, a call in flight ── Accepted, Terminating ──► Accepted ── Gone ──► Gone
//!     ▲                          │
//!     └──────── Postponed ───────┘  if the object is in use, the call refused or throttled, or there is no answer
//!
//!  From any phase: CameBack if the name is used again; Skipped by a person, with every step that waits for it.
//! ```
//!
//! # Decisions
//! - A namespace waits until every namespaced kind is visible in it, because an empty namespace and one with hidden content
//!   look alike. It also waits while it contains an object that the plan does not know. Just before its DELETE all kinds are
//!   listed in it once more (`decide/namespace.rs`).
//! - Everything that waits for a Pod also waits for the Pod's owners: a custom resource has no template that names what its
//!   Pods use, and its operator would create another Pod.
//! - `Retry-After` is honoured for the step that it answered, up to an hour, or up to two minutes if a DELETE may have had
//!   its effect. Resuming a run retries at once. Refused calls have a delay of their own (`decide/refusal.rs`). Other steps are
//!   held back for at most 30 s, because a proxy may mean one request only.
//! - A skipped object stays: its owner is then deleted with `Orphan`, and a volume is skipped with its claim.
//! - After a restart the complete lists of the new index replace single reads, except for a DELETE that was on its way: it
//!   may have reached the API server, so its object is read first.
//! - Parents that declare planned objects are suspended, and some objects that came back go with their namespace
//!   (`decide/parent.rs`, `decide/came_back.rs`). Of other objects that hold the run and are not in its plan, a person may make a plan
//!   of their own, which runs beside it (`decide/unplanned.rs`).
//! - A run ends only after each claim whose data is kept was read once more (`decide/kept_data.rs`).
//! - A run that has ended decides nothing. Its page shows the objects that it left open as they are now.
//! - Pods, late objects, older objects that begin to need it, the unit that the object or its namespace names, and the marks that
//!   ask to keep it are checked again before every DELETE.
//! - A claim waits until its volume is attached to no node and its Pods have ended, as their kubelet reported. It, a volume and
//!   a namespace also wait for what stood in front of them and lost a finalizer by hand, because nobody reported that the work of
//!   the finalizer was done. A person may take either on. What stands in front of none of these is said to be gone from the API alone.

mod command;
mod compact;
mod creator;
mod decide;
mod event;
mod event_log;
mod feed;
mod kept_claims;
mod left_suspended;
mod progress;
mod recreating_owners;
mod step_changes;
mod suspensions;
mod transition;
mod work_queue;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::{
    decide::LateUids, kept_claims::KeptClaims, recreating_owners::recreating_owners,
    step_changes::StepChanges, work_queue::WorkQueue,
};
use crate::{
    deadlines::Overdue,
    object::{ObjectRef, Uid},
    plan::{Blocker, Plan, PlanId, Propagation, Step, StepAction, StepId},
    refusal::RefusalCause,
    relation::{DeletionPhase, EdgeKind},
    state::State,
};

pub use crate::run_id::RunId;

pub use self::{
    command::{CommandError, RunCommand},
    compact::{Recorded, compact},
    creator::Creator,
    decide::{Decision, Input, PodsLeft, Unplanned},
    event::{Call, ClaimRead, RunEvent},
    event_log::{FeedEntry, FeedEvent, Refusals, StepProblem},
    left_suspended::LeftSuspended,
    progress::{Hold, Progress, StepEnd, Suspension},
};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// It sends a DELETE as soon as every step in front of the object is finished.
    Running,
    /// It changes nothing until it is resumed; deletions that were requested continue.
    Paused,
    /// It changes nothing more and waits for the answers of calls in flight.
    Stopping,
    /// Everything in the plan is proven gone, or was skipped by a person.
    Finished,
    /// A person stopped it; the deletions that it had requested cannot be undone.
    Stopped,
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Paused, Self::Stopping, Self::Finished, Self::Stopped];

    /// Whether the run is over.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Stopped)
    }
}

/// An event that a run cannot take: its journal is damaged, or belongs to another plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// It names a step that the plan does not have.
    #[error("step {0} is not in the plan")]
    UnknownStep(StepId),
    /// It cannot follow in the state of the run, or of a claim whose data is kept.
    #[error("{event} cannot follow in a run that is {state:?}")]
    ImpossibleForRun {
        /// The state of the run.
        state: RunState,
        /// The name of the event.
        event: &'static str,
    },
    /// It cannot follow in the state of the step.
    #[error(
        "{event} cannot follow for step {step}, which is {phase:?} with the call {call:?} and the end {end:?}"
    )]
    ImpossibleForStep {
        /// The step.
        step: StepId,
        /// The deletion phase of its object.
        phase: DeletionPhase,
        /// The call in flight.
        call: Option<Call>,
        /// Set when the run was finished with it although its object was not gone.
        end: Option<StepEnd>,
        /// The name of the event.
        event: &'static str,
    },
    /// It ends the run, and a step is open.
    #[error("{event} cannot follow while step {step} is open")]
    OpenStep {
        /// The step.
        step: StepId,
        /// The name of the event.
        event: &'static str,
    },
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    /// The id.
    pub id: RunId,
    /// The plan that it executes.
    pub plan: Arc<Plan>,
    state: RunState,
    /// The object whose change during a remedy has paused the run, until a person resumes or stops it.
    halted_by: Option<ObjectRef>,
    by: String,
    started: Timestamp,
    ended: Option<Timestamp>,
    recovered: u32,
    steps: Vec<Progress>,
    event_log: Vec<FeedEntry>,
    recreating_owners: Arc<[Vec<StepId>]>,
    steps_behind: Arc<[u32]>,
    /// The step of each planned object.
    numbers: Arc<BTreeMap<Uid, StepId>>,
    /// The same by its name.
    names: Arc<BTreeMap<ObjectRef, StepId>>,
    /// The number of steps that the run is finished with.
    settled: usize,
    /// The steps that were skipped at some time.
    skipped: BTreeSet<StepId>,
    /// The objects that a person answered for, at whichever step: about one object a run asks once, after a restart too.
    answered_for: BTreeSet<Uid>,
    kept_claims: KeptClaims,
    step_changes: StepChanges,
    queue: WorkQueue,
    late: LateUids,
}

impl Run {
    /// A run of this plan before its first event.
    pub fn new(id: RunId, plan: Arc<Plan>) -> Self {
        let steps = plan.steps.iter().map(|_| Progress::new()).collect();
        let started = plan.made;
        let numbers = plan.steps.iter().map(|step| (step.uid.clone(), step.id)).collect();
        let names = plan.steps.iter().map(|step| (step.object.clone(), step.id)).collect();
        let kept_claims = KeptClaims::of(&plan);
        let (steps_behind, step_changes) = (plan.steps_behind().into(), StepChanges::of(&plan));
        let recreating_owners = recreating_owners(&plan).into();
        Self {
            id,
            plan,
            state: RunState::Running,
            halted_by: None,
            by: String::new(),
            started,
            ended: None,
            recovered: 0,
            steps,
            event_log: Vec::new(),
            recreating_owners,
            steps_behind,
            numbers: Arc::new(numbers),
            names: Arc::new(names),
            settled: 0,
            skipped: BTreeSet::new(),
            answered_for: BTreeSet::new(),
            kept_claims,
            step_changes,
            queue: WorkQueue::default(),
            late: LateUids::default(),
        }
    }

    /// The state of the run.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// The object that changed during a remedy and for which the run waits until a person has looked.
    pub fn halted_by(&self) -> Option<&ObjectRef> {
        self.halted_by.as_ref()
    }

    /// The person who started it.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The time when it started.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// The time when it ended, if it has.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// The number of times it continued after a restart.
    pub fn recovered(&self) -> u32 {
        self.recovered
    }

    /// The id of its plan.
    pub fn plan_id(&self) -> &PlanId {
        &self.plan.id
    }

    /// Every step with its progress.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &Progress)> {
        self.plan.steps.iter().zip(&self.steps)
    }

    /// The progress of that step.
    pub fn progress(&self, step: StepId) -> Option<&Progress> {
        self.steps.get(step.0 as usize)
    }

    /// The number of steps on the longest path behind a step ([`Plan::steps_behind`]).
    pub fn steps_behind(&self, step: StepId) -> u32 {
        self.steps_behind.get(step.0 as usize).copied().unwrap_or_default()
    }

    /// The step of a planned object.
    pub(crate) fn step_of(&self, object: &Uid) -> Option<StepId> {
        self.numbers.get(object).copied()
    }

    /// Whether the run has requested the deletion of this object, or of one with which it goes.
    pub(crate) fn deletes(&self, object: &Uid) -> bool {
        let has_requested =
            |step| self.progress(step).is_some_and(|it: &Progress| it.requested.is_some());
        let goes_with = |it: &Blocker| it.has(EdgeKind::Owns) || it.has(EdgeKind::Binds);
        let step = self.step_of(object).and_then(|step| self.plan.step(step));
        step.is_some_and(|step| match step.action {
            StepAction::Delete { .. } => has_requested(step.id),
            StepAction::Await => {
                step.after.iter().any(|it| goes_with(it) && has_requested(it.step))
            }
            StepAction::Suspend => false,
        })
    }

    /// The steps that were skipped at some time, with their progress.
    pub(super) fn skipped(&self) -> impl Iterator<Item = (&Step, &Progress)> {
        self.skipped.iter().filter_map(|id| Some((self.plan.step(*id)?, self.progress(*id)?)))
    }

    /// Every event of the run, in the form that a page shows.
    pub fn event_log(&self) -> &[FeedEntry] {
        &self.event_log
    }

    /// The owners, direct or indirect, that would re-create an object in front of a step, unless they are in front of
    /// the step themselves. They are needed for custom resources, which have no Pod template: from their objects alone
    /// it is not known what their Pods use.
    pub(crate) fn recreating_owners(&self, step: StepId) -> &[StepId] {
        self.recreating_owners.get(step.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The steps whose objects go without a call of their own: with an owner or a claim whose deletion was requested.
    /// This cannot be undone either.
    pub fn taken(&self) -> BTreeSet<StepId> {
        let orphaning = self.orphaning_owners();
        let mut taken = BTreeSet::new();
        // Steps are ordered so that an owner or a claim is before the objects that go with it.
        for step in &self.plan.steps {
            let goes_with = |blocker: &Blocker| {
                let first = blocker.step;
                let is_deleted = |it: &Step| {
                    it.action == StepAction::Delete { propagation: Propagation::Background }
                };
                let collects = || {
                    blocker.has(EdgeKind::Owns)
                        && self.plan.step(first).is_some_and(is_deleted)
                        && !orphaning.contains(&first)
                };
                let releases = || step.action == StepAction::Await && blocker.has(EdgeKind::Binds);
                (self.was_deletion_requested(first) || taken.contains(&first))
                    && (releases() || collects())
            };
            if step.after.iter().any(goes_with) {
                taken.insert(step.id);
            }
        }
        taken
    }

    fn was_deletion_requested(&self, step: StepId) -> bool {
        self.progress(step).is_some_and(Progress::was_deletion_requested)
    }

    /// The owners of steps that were skipped before their deletion was requested. The DELETE of such an owner orphans
    /// its dependents.
    fn orphaning_owners(&self) -> BTreeSet<StepId> {
        let mut orphaning = BTreeSet::new();
        // Steps are ordered so that an owner is before its dependents.
        for (step, progress) in self.plan.steps.iter().zip(&self.steps).rev() {
            let is_untouched =
                progress.requested.is_none() && progress.phase == DeletionPhase::Present;
            let was_skipped = progress.skipped_by().is_some();
            if was_skipped && is_untouched || orphaning.contains(&step.id) {
                let owns = step.after.iter().filter(|blocker| blocker.has(EdgeKind::Owns));
                orphaning.extend(owns.map(|blocker| blocker.step));
            }
        }
        orphaning
    }

    /// The state that a page shows for a step, as far as the run knows it.
    pub fn shown(&self, step: &Step) -> State {
        let Some(progress) = self.progress(step.id) else { return State::Unknown };
        match &progress.end {
            Some(StepEnd::Suspended) => return State::Kept,
            Some(StepEnd::Skipped { .. }) => return State::Skipped,
            None if progress.has_come_back() => return State::CameBack,
            None if progress.has_left() => return State::Gone,
            None => {}
        }
        match (&progress.hold.problem, progress.call) {
            (Some(StepProblem::Refused { .. }), None) => State::Refused,
            (Some(StepProblem::Unknown { .. }), None) => State::Unknown,
            (Some(StepProblem::Late { .. }), _) if progress.hold.overdue == Overdue::Stuck => {
                State::Stuck
            }
            (Some(StepProblem::Late { .. }), _) => State::Slow,
            _ if progress.terminating.is_some() => State::Terminating,
            (_, Some(Call::Delete)) => State::Requested,
            _ if progress.phase == DeletionPhase::Accepted => State::Requested,
            _ if self.state.is_ended() => State::Present,
            _ => State::Waiting,
        }
    }

    /// Applies an event; nothing else changes a run. A problem that is the same as before adds no entry to the event log, nor
    /// does another try at the same call: the entry of a refusal counts them.
    ///
    /// # Errors
    /// [`ReplayError`] if the event names a step that the plan does not have, or cannot follow in the state of the run or of
    /// the step. The run is then as before.
    pub fn apply(&mut self, at: Timestamp, event: &RunEvent) -> Result<(), ReplayError> {
        self.check_possible(event)?;
        let known = match event {
            RunEvent::KeptClaim { claim, .. } => self.kept_claims.problem(claim).cloned(),
            _ => event.step().and_then(|step| self.progress(step)?.hold.problem.clone()),
        };
        self.take(at, event);
        self.queue.follow(event, &self.plan);
        self.step_changes.note(event);
        if let (RunEvent::Accepted { .. }, Some(StepProblem::Refused { message, .. })) =
            (event, &known)
        {
            self.retry_refused_by(RefusalCause::of(message));
        }
        match (self.event(event), known) {
            (None, _) => {}
            (Some(FeedEvent::ClaimUnread { problem, .. }), Some(known))
                if problem.is_like(&known) => {}
            (Some(FeedEvent::Problem { step, problem, .. }), Some(known))
                if problem.is_like(&known) =>
            {
                self.count_in_event_log(step, problem);
            }
            (
                Some(FeedEvent::Requested { .. }),
                Some(StepProblem::Refused { .. } | StepProblem::Retrying { .. }),
            ) => {}
            (Some(event), _) => {
                let number = self.event_log.len() as u64;
                self.event_log.push(FeedEntry { number, at, event });
            }
        }
        Ok(())
    }

    fn check_possible(&self, event: &RunEvent) -> Result<(), ReplayError> {
        if !self.state.allows(event) || !self.kept_claims.allow(event) {
            let (state, event) = (self.state, event.name());
            return Err(ReplayError::ImpossibleForRun { state, event });
        }
        let Some(step) = event.step() else { return self.check_end(event) };
        let progress = self.progress(step).ok_or(ReplayError::UnknownStep(step))?;
        if !progress.allows(event) {
            let (phase, call, end) = (progress.phase, progress.call, progress.end.clone());
            let event = event.name();
            return Err(ReplayError::ImpossibleForStep { step, phase, call, end, event });
        }
        Ok(())
    }

    /// Checks that the run is not ended over a step that is open, or over a call in flight.
    fn check_end(&self, event: &RunEvent) -> Result<(), ReplayError> {
        let is_open = |progress: &Progress| match event {
            RunEvent::Finished => progress.is_open(),
            RunEvent::Stopped => progress.call.is_some(),
            _ => false,
        };
        match self.steps().find(|(_, progress)| is_open(progress)) {
            Some((step, _)) => Err(ReplayError::OpenStep { step: step.id, event: event.name() }),
            None => Ok(()),
        }
    }

    /// Brings the event log's entry of a step's refusal up to date.
    fn count_in_event_log(&mut self, step: StepId, refused: StepProblem) {
        let mut latest_first = self.event_log.iter_mut().rev().map(|entry| &mut entry.event);
        let entry = latest_first.find_map(|event| match event {
            FeedEvent::Problem { step: of, problem, .. } if *of == step => Some(problem),
            _ => None,
        });
        if let (Some(entry), StepProblem::Refused { .. }) = (entry, &refused) {
            *entry = refused;
        }
    }

    /// Lets every step that was refused for this cause be retried at once: a call that it refused was accepted.
    fn retry_refused_by(&mut self, cause: RefusalCause<'_>) {
        let is_refused_by_it = |progress: &&mut Progress| match &progress.hold.problem {
            Some(StepProblem::Refused { message, .. }) => RefusalCause::of(message) == cause,
            _ => false,
        };
        if cause.is_shared() {
            self.steps.iter_mut().filter(is_refused_by_it).for_each(Progress::retry_at_once);
            self.queue.add_all();
        }
    }

    fn take(&mut self, at: Timestamp, event: &RunEvent) {
        if let RunEvent::Skipped { step, .. } = event {
            self.skipped.insert(*step);
        }
        if let RunEvent::TakenOn { pods, .. } = event {
            self.answered_for.extend(pods.iter().cloned());
        }
        match event {
            RunEvent::Started { by } => {
                self.by.clone_from(by);
                self.started = at;
            }
            RunEvent::Recovered => {
                self.recovered += 1;
                self.steps.iter_mut().for_each(Progress::recover);
                self.kept_claims.recover();
            }
            RunEvent::Paused { changed, .. } => {
                self.state = RunState::Paused;
                self.halted_by.clone_from(changed);
            }
            RunEvent::Resumed { .. } => {
                self.state = RunState::Running;
                self.halted_by = None;
                // A person who resumes a run wants the next try now, even before `Retry-After` has passed.
                self.steps.iter_mut().for_each(Progress::retry_at_once);
                self.kept_claims.retry_at_once();
            }
            RunEvent::KeptClaim { claim, read } => self.kept_claims.take(claim, read, at),
            RunEvent::Stopping { .. } => {
                self.state = RunState::Stopping;
                self.halted_by = None;
            }
            RunEvent::DataChecked { .. } => {}
            RunEvent::Finished => {
                self.state = RunState::Finished;
                self.ended = Some(at);
            }
            RunEvent::Stopped => {
                self.state = RunState::Stopped;
                self.ended = Some(at);
            }
            RunEvent::CallStarted { step, .. }
            | RunEvent::SuspendStarted { step, .. }
            | RunEvent::Suspended { step }
            | RunEvent::StaysSuspended { step }
            | RunEvent::Accepted { step }
            | RunEvent::Postponed { step, .. }
            | RunEvent::RefusedAgain { step, .. }
            | RunEvent::NoEffect { step }
            | RunEvent::Recalled { step }
            | RunEvent::Unproven { step, .. }
            | RunEvent::BecameUnknown { step, .. }
            | RunEvent::BecameKnown { step }
            | RunEvent::Terminating { step, .. }
            | RunEvent::Overdue { step, .. }
            | RunEvent::Gone { step, .. }
            | RunEvent::TakenOn { step, .. }
            | RunEvent::CameBack { step, .. }
            | RunEvent::Skipped { step, .. } => {
                if let Some(progress) = self.steps.get_mut(step.0 as usize) {
                    self.settled -= usize::from(progress.is_settled());
                    progress.take(at, event);
                    self.settled += usize::from(progress.is_settled());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
