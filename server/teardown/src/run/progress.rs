//! How far one step of a run has got.

use std::ops::Range;

use jiff::Timestamp;

use super::{Call, RunEvent, Trouble};
use crate::patience::Overdue;

/// How far a step has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was asked for it, or what was asked did not bring it on.
    Waiting,
    /// A call is on its way.
    Asked(Call),
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
    pub put_off: Option<Range<Timestamp>>,
    /// The effect of its DELETE is open: a read comes first.
    pub unsure: bool,
    /// How overdue it is.
    pub overdue: Overdue,
    /// What needs a person's eye.
    pub trouble: Option<Trouble>,
    /// Set once a person left it out.
    pub left_out: Option<LeftOut>,
}

/// A step that a person left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
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
            put_off: None,
            unsure: false,
            overdue: Overdue::No,
            trouble: None,
            left_out: None,
        }
    }

    /// Whether nothing more will happen to it in this run.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Gone | Stage::Skipped)
    }

    /// How far it has got, or had when it was left out.
    pub(super) fn reached(&self) -> Stage {
        self.left_out.as_ref().map_or(self.stage, |left_out| left_out.at)
    }

    /// Takes in an event about this step.
    pub(super) fn take(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Asked { call, .. } => {
                self.stage = Stage::Asked(*call);
                self.put_off = None;
                if *call == Call::Delete {
                    self.requested.get_or_insert(at);
                }
            }
            RunEvent::Accepted { .. } => {
                self.stage = Stage::Requested;
                self.calm();
            }
            RunEvent::Postponed { until, unsure, trouble, .. } => {
                self.stage = Stage::Waiting;
                self.attempts += 1;
                self.put_off = Some(at..*until);
                self.unsure = *unsure;
                self.trouble = Some(trouble.clone());
            }
            RunEvent::Untouched { .. } => {
                self.stage = Stage::Waiting;
                self.unsure = false;
            }
            RunEvent::Recalled { .. } => {
                // What was never sent was not requested either.
                if self.attempts == 0 && self.stage == Stage::Asked(Call::Delete) {
                    self.requested = None;
                }
                self.stage = Stage::Waiting;
            }
            // Whatever was late is so again once it can be told.
            RunEvent::Doubted { doubt, .. } => {
                self.overdue = Overdue::No;
                self.trouble = Some(Trouble::CannotTell { doubt: doubt.clone() });
            }
            RunEvent::Certain { .. } => self.trouble = None,
            RunEvent::Terminating { since, grace, .. } => {
                self.stage = Stage::Terminating;
                self.terminating.get_or_insert(*since);
                self.grace = *grace;
                self.calm();
            }
            RunEvent::Overdue { since, stuck, finalizers, .. } => {
                self.overdue = if *stuck { Overdue::Stuck } else { Overdue::Slow };
                self.trouble =
                    Some(Trouble::Late { since: *since, finalizers: finalizers.clone() });
            }
            RunEvent::Gone { .. } => {
                self.stage = Stage::Gone;
                self.gone = Some(at);
                self.calm();
            }
            RunEvent::CameBack { uid, .. } => {
                self.stage = Stage::CameBack;
                self.trouble = Some(Trouble::CameBack { uid: uid.clone() });
            }
            RunEvent::Skipped { by, .. } => {
                self.left_out = Some(LeftOut { by: by.clone(), at: self.stage });
                self.stage = Stage::Skipped;
                let unsure = self.unsure;
                self.calm();
                self.unsure = unsure;
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
        self.put_off = None;
        self.unsure = false;
        self.overdue = Overdue::No;
        self.trouble = None;
    }
}
