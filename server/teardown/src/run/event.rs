//! What happens in a run, as its journal keeps it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::StepProblem;
use crate::{object::Uid, plan::StepId, unknown_reason::UnknownReason};

/// What a run's journal keeps, in order. Whoever replays it is where the run was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum RunEvent {
    /// A person started the run.
    Started {
        /// Who.
        by: String,
    },
    /// The server was restarted: what was asked and not answered is observed anew.
    Recovered,
    /// A person paused it.
    Paused {
        /// Who.
        by: String,
    },
    /// A person resumed it.
    Resumed {
        /// Who.
        by: String,
    },
    /// A person stopped it.
    Stopping {
        /// Who.
        by: String,
    },
    /// The intent to make a call; journaled before the call is made.
    CallStarted {
        /// For which step.
        step: StepId,
        /// Which call.
        call: Call,
    },
    /// The DELETE was accepted.
    Accepted {
        /// Which step's.
        step: StepId,
    },
    /// The call did not bring the step on; it is tried again, not before `until`.
    Postponed {
        /// Which step's.
        step: StepId,
        /// The earliest time of the next try.
        until: Timestamp,
        /// Whether the effect of a DELETE is open, so that a read comes first.
        effect_unknown: bool,
        /// What was in the way.
        problem: StepProblem,
    },
    /// A read showed the planned object still untouched: the DELETE had no effect.
    NoEffect {
        /// Which step's.
        step: StepId,
    },
    /// The call was not made, as the run was paused or stopped before its turn came.
    Recalled {
        /// Which step's.
        step: StepId,
    },
    /// Nobody can say whether the step may start.
    BecameUnknown {
        /// Which step.
        step: StepId,
        /// Why.
        reason: UnknownReason,
    },
    /// What could not be told can be told again.
    BecameKnown {
        /// Which step.
        step: StepId,
    },
    /// `deletionTimestamp` was seen, whoever asked for it.
    Terminating {
        /// Which step's.
        step: StepId,
        /// When the DELETE was accepted.
        since: Timestamp,
        /// `deletionGracePeriodSeconds`, in seconds.
        grace: i64,
    },
    /// It takes longer than expected on this rung.
    Overdue {
        /// Which step.
        step: StepId,
        /// Since when it has been on the rung.
        since: Timestamp,
        /// Past the deadline, not merely slow.
        stuck: bool,
        /// Finalizers that remain.
        finalizers: Vec<String>,
    },
    /// This UID is proven gone.
    Gone {
        /// Which step's.
        step: StepId,
    },
    /// The name is in use again by another object.
    CameBack {
        /// Which step's.
        step: StepId,
        /// The new object's UID.
        uid: Uid,
    },
    /// A person left it out.
    Skipped {
        /// Which step.
        step: StepId,
        /// Who.
        by: String,
    },
    /// Every step is gone or left out.
    Finished,
    /// Stopped, and nothing is on its way any more.
    Stopped,
}

/// The calls a step can be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// A consistent read of the namespace's Pods.
    ReadPods,
    /// A consistent read of the object.
    Read,
    /// The DELETE.
    Delete,
}

impl RunEvent {
    /// The step the event is about, where it is about one.
    pub fn step(&self) -> Option<StepId> {
        match self {
            Self::CallStarted { step, .. }
            | Self::Accepted { step }
            | Self::Postponed { step, .. }
            | Self::NoEffect { step }
            | Self::Recalled { step }
            | Self::BecameUnknown { step, .. }
            | Self::BecameKnown { step }
            | Self::Terminating { step, .. }
            | Self::Overdue { step, .. }
            | Self::Gone { step }
            | Self::CameBack { step, .. }
            | Self::Skipped { step, .. } => Some(*step),
            Self::Started { .. }
            | Self::Recovered
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Stopping { .. }
            | Self::Finished
            | Self::Stopped => None,
        }
    }
}
