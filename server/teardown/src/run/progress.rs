//! The progress of one step of a run.

use std::{collections::BTreeSet, ops::Range};

use jiff::Timestamp;

use super::{Call, Refusals, RunEvent, StepProblem};
use crate::{
    deadlines::Overdue,
    object::Uid,
    proof::Proof,
    unknown_reason::{UnconfirmedPod, UnknownReason},
};

/// The stages of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No call was made, or the last call did not advance the step.
    Waiting,
    /// A call is in flight.
    Calling(Call),
    /// The DELETE was accepted.
    Requested,
    /// `deletionTimestamp` was observed.
    Terminating,
    /// Proven gone.
    Gone,
    /// A parent that is suspended, and stays.
    Suspended,
    /// Gone, and the name belongs to another object now.
    CameBack,
    /// Skipped by a person.
    Skipped,
}

/// A step's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// The time when its DELETE was first sent.
    pub requested: Option<Timestamp>,
    /// The time since which its object has been terminating.
    pub terminating: Option<Timestamp>,
    /// The grace period of its object, in seconds.
    pub grace: i64,
    /// The time when it was proven gone.
    pub gone: Option<Timestamp>,
    /// The proof that it is gone.
    pub proof: Option<Proof>,
    /// It is a Pod, and gone from the API alone.
    pub unconfirmed: bool,
    /// For a claim: the Pods that mounted it and are gone from the API alone, as far as any process of this server saw.
    pub unconfirmed_users: Vec<UnconfirmedPod>,
    /// The person who last took it on that nothing writes to its storage any more.
    pub taken_on: Option<String>,
    /// The Pods that a person answered for.
    pub answered_for: BTreeSet<Uid>,
    /// A person answered for attachments that are hidden.
    pub detached: bool,
    /// For a parent that the run suspends: what kept it active before.
    pub suspension: Option<Suspension>,
    /// The number of consecutive tries that did not advance it.
    pub attempts: u32,
    /// The step is not retried within this span. If the clock is set back to a time before the span, the span no longer
    /// applies, so that no step waits longer than intended.
    pub retry_window: Option<Range<Timestamp>>,
    /// Retries after a refusal that came early, because the cause had changed, and changed nothing. Each one makes the next
    /// early retry wait twice as long, and each retry in time takes one back.
    pub hasty: u32,
    /// The effect of its DELETE is unknown: a read comes first.
    pub effect_unknown: bool,
    /// Whether it is overdue.
    pub overdue: Overdue,
    /// The problem that needs a person's attention.
    pub problem: Option<StepProblem>,
    /// Set when a person skipped it.
    pub skip: Option<Skip>,
}

/// A parent that the run suspends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspension {
    /// The value of the field that kept it active, as JSON.
    pub was: String,
    /// The time when it was asked for.
    pub asked: Timestamp,
    /// The time when the API server accepted it.
    pub since: Option<Timestamp>,
}

/// A step that a person skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The person's name.
    pub by: String,
    /// The stage that it had reached: a requested deletion cannot be undone.
    pub at: Stage,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Waiting,
            requested: None,
            terminating: None,
            grace: 0,
            gone: None,
            proof: None,
            unconfirmed: false,
            unconfirmed_users: Vec::new(),
            taken_on: None,
            answered_for: BTreeSet::new(),
            detached: false,
            suspension: None,
            attempts: 0,
            retry_window: None,
            hasty: 0,
            effect_unknown: false,
            overdue: Overdue::No,
            problem: None,
            skip: None,
        }
    }

    /// Whether the run is finished with this step.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Gone | Stage::Suspended | Stage::Skipped)
    }

    /// The time when the API server accepted the suspension of a parent.
    pub(super) fn suspended(&self) -> Option<Timestamp> {
        self.suspension.as_ref()?.since
    }

    /// The stage it has reached, or had reached when it was skipped.
    pub(super) fn furthest_stage(&self) -> Stage {
        self.skip.as_ref().map_or(self.stage, |skip| skip.at)
    }

    /// Applies a restart of the server. A DELETE in flight may have reached the API server, so a read comes first.
    pub(super) fn recover(&mut self) {
        if let Stage::Calling(call) = self.stage {
            self.stage = Stage::Waiting;
            self.effect_unknown |= call == Call::Delete;
        }
    }

    /// Whether the run has to wait for this step before it can stop: a call is in flight, or a DELETE may have had an
    /// effect. The run does not wait for an object that it may not read, because its state stays unknown.
    pub(super) fn is_open(&self) -> bool {
        match self.stage {
            Stage::Calling(_) => true,
            Stage::Waiting => self.effect_unknown && !self.cannot_be_read(),
            Stage::Requested
            | Stage::Terminating
            | Stage::Gone
            | Stage::Suspended
            | Stage::CameBack
            | Stage::Skipped => false,
        }
    }

    fn cannot_be_read(&self) -> bool {
        match &self.problem {
            Some(StepProblem::Refused { .. }) => true,
            Some(StepProblem::Unknown { reason }) => {
                matches!(reason, UnknownReason::Inconclusive { .. })
            }
            _ => false,
        }
    }

    /// Applies an event about this step.
    pub(super) fn take(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::CallStarted { call, .. } => {
                self.stage = Stage::Calling(*call);
                if let Some(window) = self.retry_window.take()
                    && self.refusals().is_some()
                {
                    let is_early = at < window.end;
                    self.hasty =
                        if is_early { self.hasty + 1 } else { self.hasty.saturating_sub(1) };
                }
                if *call == Call::Delete {
                    self.requested.get_or_insert(at);
                }
            }
            RunEvent::SuspendStarted { was, .. } => {
                self.stage = Stage::Calling(Call::Suspend);
                self.retry_window = None;
                self.suspension = Some(Suspension { was: was.clone(), asked: at, since: None });
            }
            RunEvent::Suspended { .. } => {
                self.stage = Stage::Waiting;
                if let Some(suspension) = &mut self.suspension {
                    suspension.since = Some(at);
                }
                self.calm();
            }
            RunEvent::Accepted { .. } => {
                self.stage = Stage::Requested;
                self.calm();
            }
            RunEvent::Postponed { until, effect_unknown, problem, .. } => {
                self.stage = Stage::Waiting;
                self.attempts += 1;
                self.retry_window = Some(at..*until);
                self.effect_unknown = *effect_unknown;
                self.remember(problem);
                self.meet(problem.clone(), at, *until);
            }
            RunEvent::RefusedAgain { until, message: said, .. } => {
                self.stage = Stage::Waiting;
                self.attempts += 1;
                self.retry_window = Some(at..*until);
                if let Some(StepProblem::Refused { code, message, .. }) = &self.problem {
                    let (code, message) = (*code, said.as_ref().unwrap_or(message).clone());
                    self.meet(StepProblem::Refused { code, message, refusals: None }, at, *until);
                }
            }
            RunEvent::NoEffect { .. } => {
                self.stage = Stage::Waiting;
                self.effect_unknown = false;
            }
            RunEvent::Recalled { .. } => {
                // A recalled DELETE was never sent, so it was not requested.
                if self.attempts == 0 && self.stage == Stage::Calling(Call::Delete) {
                    self.requested = None;
                }
                self.stage = Stage::Waiting;
            }
            // An overdue step is reported again once its state is known.
            RunEvent::BecameUnknown { reason, .. } => {
                self.overdue = Overdue::No;
                let problem = StepProblem::Unknown { reason: reason.clone() };
                self.remember(&problem);
                self.problem = Some(problem);
            }
            RunEvent::BecameKnown { .. } => self.problem = None,
            RunEvent::Terminating { since, grace, .. } => {
                self.stage = Stage::Terminating;
                self.terminating.get_or_insert(*since);
                self.grace = *grace;
                self.calm();
            }
            RunEvent::Overdue { since, stuck, finalizers, .. } => {
                self.overdue = if *stuck { Overdue::Stuck } else { Overdue::Slow };
                self.problem =
                    Some(StepProblem::Late { since: *since, finalizers: finalizers.clone() });
            }
            RunEvent::TakenOn { by, pods, .. } => {
                self.taken_on = Some(by.clone());
                self.detached |= pods.is_empty();
                self.answered_for.extend(pods.iter().cloned());
                self.calm();
            }
            RunEvent::Gone { proof, unconfirmed, .. } => {
                self.stage = Stage::Gone;
                self.gone = Some(at);
                self.proof = Some(*proof);
                self.unconfirmed = *unconfirmed;
                self.calm();
            }
            RunEvent::StaysSuspended { .. } => {
                self.stage = Stage::Suspended;
                self.calm();
            }
            RunEvent::CameBack { uid, .. } => {
                self.stage = Stage::CameBack;
                self.problem = Some(StepProblem::CameBack { uid: uid.clone() });
            }
            RunEvent::Skipped { by, .. } => {
                self.skip = Some(Skip { by: by.clone(), at: self.stage });
                self.stage = Stage::Skipped;
                let effect_unknown = self.effect_unknown;
                self.calm();
                self.effect_unknown = effect_unknown;
            }
            RunEvent::Started { .. }
            | RunEvent::Recovered
            | RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::DataChecked { .. }
            | RunEvent::Finished
            | RunEvent::Stopped => {}
        }
    }

    /// Keeps Pods that nobody confirmed, whatever the next problem is: a process that starts again has not seen them.
    fn remember(&mut self, problem: &StepProblem) {
        let StepProblem::Unknown { reason: UnknownReason::PodsUnconfirmed { pods } } = problem
        else {
            return;
        };
        for pod in pods {
            if self.unconfirmed_users.iter().all(|known| known.uid != pod.uid) {
                self.unconfirmed_users.push(pod.clone());
            }
        }
    }

    /// Whether it waits for the next try of a call that was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.stage == Stage::Waiting && self.refusals().is_some()
    }

    /// The consecutive refusals, if it was refused last.
    pub(super) fn refusals(&self) -> Option<&Refusals> {
        match &self.problem {
            Some(StepProblem::Refused { refusals, .. }) => refusals.as_ref(),
            _ => None,
        }
    }

    /// Takes the problem with a call. Refusals are counted, from one again if the cause is another one.
    fn meet(&mut self, problem: StepProblem, at: Timestamp, next: Timestamp) {
        let is_like = self.problem.as_ref().is_some_and(|before| before.is_like(&problem));
        let before = self.refusals().copied().filter(|_| is_like);
        self.problem = Some(match problem {
            StepProblem::Refused { code, message, refusals: _ } => {
                if before.is_none() {
                    self.hasty = 0;
                }
                let before = before.unwrap_or(Refusals { count: 0, since: at, next });
                let refusals = Some(Refusals { count: before.count + 1, next, ..before });
                StepProblem::Refused { code, message, refusals }
            }
            problem => problem,
        });
    }

    /// Ends every delay: a person wants the next try now, or the cause of a refusal is gone.
    pub(super) fn retry_at_once(&mut self) {
        self.retry_window = None;
        self.hasty = 0;
    }

    fn calm(&mut self) {
        self.attempts = 0;
        self.retry_window = None;
        self.hasty = 0;
        self.effect_unknown = false;
        self.overdue = Overdue::No;
        self.problem = None;
    }
}
