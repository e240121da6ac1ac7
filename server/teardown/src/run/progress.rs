//! How far one step of a run has got.

use std::ops::Range;

use jiff::Timestamp;

use super::{Call, RunEvent, StepProblem};
use crate::{deadlines::Overdue, unknown_reason::UnknownReason};

/// How far a step has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was asked for it, or what was asked did not bring it on.
    Waiting,
    /// A call is on its way.
    Calling(Call),
    /// The DELETE was accepted.
    Requested,
    /// `deletionTimestamp` was seen.
    Terminating,
    /// Proven gone.
    Gone,
    /// Gone, and the name is in use again.
    CameBack,
    /// Left out.
    Skipped,
}

/// A step's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How far it has got.
    pub stage: Stage,
    /// When its DELETE was first sent.
    pub requested: Option<Timestamp>,
    /// Since when its object has been going.
    pub terminating: Option<Timestamp>,
    /// The grace its object was given, in seconds.
    pub grace: i64,
    /// When it was proven gone.
    pub gone: Option<Timestamp>,
    /// Tries that did not bring it on, in a row.
    pub attempts: u32,
    /// It is not tried again within this span. A clock that is set back before its beginning ends it: nothing waits
    /// longer than was meant.
    pub retry_window: Option<Range<Timestamp>>,
    /// The effect of its DELETE is open: a read comes first.
    pub effect_unknown: bool,
    /// How overdue it is.
    pub overdue: Overdue,
    /// What needs a person's eye.
    pub problem: Option<StepProblem>,
    /// Set once a person left it out.
    pub skip: Option<Skip>,
}

/// A step that a person left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Who.
    pub by: String,
    /// How far it had got: what was requested cannot be taken back.
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
            attempts: 0,
            retry_window: None,
            effect_unknown: false,
            overdue: Overdue::No,
            problem: None,
            skip: None,
        }
    }

    /// Whether nothing more will happen to it in this run.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Gone | Stage::Skipped)
    }

    /// How far it has got, or had when it was left out.
    pub(super) fn furthest_stage(&self) -> Stage {
        self.skip.as_ref().map_or(self.stage, |skip| skip.at)
    }

    /// The server was restarted. A DELETE that was on its way may have reached the API server, so the object is read
    /// before anything else is said about it.
    pub(super) fn recover(&mut self) {
        if let Stage::Calling(call) = self.stage {
            self.stage = Stage::Waiting;
            self.effect_unknown |= call == Call::Delete;
        }
    }

    /// Whether the run has to learn more before it can say that it has stopped: a call is on its way, or a DELETE may have
    /// had its effect. An object that may not even be read stays unknown, so nothing is waited for.
    pub(super) fn is_open(&self) -> bool {
        match self.stage {
            Stage::Calling(_) => true,
            Stage::Waiting => self.effect_unknown && !self.cannot_be_read(),
            Stage::Requested
            | Stage::Terminating
            | Stage::Gone
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

    /// Takes in an event about this step.
    pub(super) fn take(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::CallStarted { call, .. } => {
                self.stage = Stage::Calling(*call);
                self.retry_window = None;
                if *call == Call::Delete {
                    self.requested.get_or_insert(at);
                }
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
                self.problem = Some(problem.clone());
            }
            RunEvent::NoEffect { .. } => {
                self.stage = Stage::Waiting;
                self.effect_unknown = false;
            }
            RunEvent::Recalled { .. } => {
                // What was never sent was not requested either.
                if self.attempts == 0 && self.stage == Stage::Calling(Call::Delete) {
                    self.requested = None;
                }
                self.stage = Stage::Waiting;
            }
            // Whatever was late is so again once it can be told.
            RunEvent::BecameUnknown { reason, .. } => {
                self.overdue = Overdue::No;
                self.problem = Some(StepProblem::Unknown { reason: reason.clone() });
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
            RunEvent::Gone { .. } => {
                self.stage = Stage::Gone;
                self.gone = Some(at);
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
            | RunEvent::Finished
            | RunEvent::Stopped => {}
        }
    }

    fn calm(&mut self) {
        self.attempts = 0;
        self.retry_window = None;
        self.effect_unknown = false;
        self.overdue = Overdue::No;
        self.problem = None;
    }
}
