//! The events of a run, as its journal stores them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Creator, StepProblem};
use crate::{
    action::Action,
    api_problem::ApiProblem,
    object::{ObjectRef, Uid},
    plan::StepId,
    proof::Proof,
    unknown_reason::UnknownReason,
};

/// An event of a run's journal. Replaying them in order restores the state of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum RunEvent {
    /// A person started the run.
    Started {
        /// The person's name.
        by: String,
    },
    /// The server was restarted: calls without an answer are followed by a read.
    Recovered,
    /// A person paused it, or a person's remedy during which an object changed.
    Paused {
        /// The person's name.
        by: String,
        /// The object that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<ObjectRef>,
    },
    /// A person resumed it.
    Resumed {
        /// The person's name.
        by: String,
    },
    /// A person stopped it.
    Stopping {
        /// The person's name.
        by: String,
    },
    /// The intent to make a call; journaled before the call is made.
    CallStarted {
        /// The step.
        step: StepId,
        /// The kind of call.
        call: Call,
    },
    /// The intent to suspend a parent; journaled before the call is made.
    SuspendStarted {
        /// The step.
        step: StepId,
        /// The value of the field that keeps the parent active, as JSON.
        was: String,
    },
    /// The parent was suspended.
    Suspended {
        /// The step.
        step: StepId,
    },
    /// A parent that stays was seen suspended.
    StaysSuspended {
        /// The step.
        step: StepId,
    },
    /// The DELETE was accepted.
    Accepted {
        /// The step.
        step: StepId,
    },
    /// The call did not advance the step; it is retried, but not before `until`.
    Postponed {
        /// The step.
        step: StepId,
        /// The earliest time of the next try.
        until: Timestamp,
        /// Whether the effect of a DELETE is unknown, so that a read comes first.
        effect_unknown: bool,
        /// The problem.
        problem: StepProblem,
    },
    /// The call was refused for the same cause as the call before it; it is retried, but not before `until`. A run that is
    /// refused for days writes little else, so the event is short.
    RefusedAgain {
        /// The step.
        step: StepId,
        /// The earliest time of the next try, unless the cause changes before.
        #[serde(with = "crate::millis::required")]
        until: Timestamp,
        /// The reason that the API server gave, if it gave another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<ApiProblem>,
    },
    /// A read showed the planned object still untouched: the DELETE had no effect.
    NoEffect {
        /// The step.
        step: StepId,
    },
    /// The call was not made, because the run was paused or stopped while it waited in the queue.
    Recalled {
        /// The step.
        step: StepId,
    },
    /// A namespace is deleted although kinds may not be listed in it, because a person chose so. It stands in front of the
    /// intent to make that call.
    Unproven {
        /// The step.
        step: StepId,
        /// The kinds.
        resources: Vec<String>,
    },
    /// It is unknown whether the step may start, or whether its object is gone.
    BecameUnknown {
        /// The step.
        step: StepId,
        /// The reason.
        reason: UnknownReason,
    },
    /// The step's state is known again.
    BecameKnown {
        /// The step.
        step: StepId,
    },
    /// `deletionTimestamp` was observed, whether or not the run requested the deletion.
    Terminating {
        /// The step.
        step: StepId,
        /// The time when the DELETE was accepted.
        since: Timestamp,
        /// `deletionGracePeriodSeconds`, in seconds.
        grace: i64,
    },
    /// The deletion phase takes longer than expected.
    Overdue {
        /// The step.
        step: StepId,
        /// The time since which it has been in that phase.
        since: Timestamp,
        /// Whether it counts as stuck rather than slow.
        stuck: bool,
        /// Finalizers that remain.
        finalizers: Vec<String>,
    },
    /// This UID is proven gone.
    Gone {
        /// The step.
        step: StepId,
        /// The proof.
        proof: Proof,
        /// It is gone from the API alone: nobody reported that the containers of a Pod have ended, or a finalizer was removed by
        /// hand.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unconfirmed: bool,
    },
    /// A person takes it on that nothing is left of what stood in front of the step.
    TakenOn {
        /// The objects that the person answers for, Pods or what lost a finalizer by hand. None where the kind that says what is
        /// attached is hidden.
        pods: Vec<Uid>,
        /// The step.
        step: StepId,
        /// The person's name.
        by: String,
    },
    /// The name belongs to another object now.
    CameBack {
        /// The step.
        step: StepId,
        /// The new object's UID.
        uid: Uid,
        /// The creator, if the object says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Creator>,
    },
    /// A person skipped the step.
    Skipped {
        /// The step.
        step: StepId,
        /// The person's name.
        by: String,
    },
    /// A claim whose data is kept is read at the end of the run.
    KeptClaim {
        /// The claim.
        claim: Uid,
        /// How far the read is.
        read: ClaimRead,
    },
    /// The claims whose data is kept were read once more.
    DataChecked {
        /// The number of those that are bound, as they were when the plan was made.
        bound: usize,
        /// Those that are not.
        lost: Vec<ObjectRef>,
        /// Those that could not be read.
        unknown: Vec<ObjectRef>,
    },
    /// Every step is gone or skipped.
    Finished,
    /// The run is stopped, and no call is in flight.
    Stopped,
}

/// The read of a claim whose data is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClaimRead {
    /// The intent to read it; journaled before the call is made.
    Started,
    /// The call was not made, because the run was paused or stopped while it waited in the queue.
    Recalled,
    /// The claim is Bound, and is not being deleted.
    Bound,
    /// The claim is gone, is being deleted, or is not Bound.
    Lost,
    /// The answer says nothing about the claim; it is read again, but not before `until`.
    Failed {
        /// The earliest time of the next try.
        #[serde(with = "crate::millis::required")]
        until: Timestamp,
        /// The problem.
        problem: StepProblem,
    },
}

/// The calls a step can be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// A consistent read of the object.
    Read,
    /// A consistent read of the namespace's Pods.
    ReadPods,
    /// Consistent reads of everything in the namespace.
    ReadContent,
    /// The DELETE.
    Delete,
    /// The PATCH that suspends a parent.
    Suspend,
}

impl Call {
    /// The kind of call that an action of a step is.
    pub(super) fn of(action: &Action) -> Option<Self> {
        match action {
            Action::Read { .. } => Some(Self::Read),
            Action::ReadPods { .. } => Some(Self::ReadPods),
            Action::ReadContent { .. } => Some(Self::ReadContent),
            Action::Delete { .. } => Some(Self::Delete),
            Action::Suspend { .. } => Some(Self::Suspend),
            Action::ReadClaim { .. } => None,
        }
    }
}

impl RunEvent {
    /// Its name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Recovered => "recovered",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::Stopping { .. } => "stopping",
            Self::CallStarted { .. } => "callStarted",
            Self::SuspendStarted { .. } => "suspendStarted",
            Self::Suspended { .. } => "suspended",
            Self::StaysSuspended { .. } => "staysSuspended",
            Self::Accepted { .. } => "accepted",
            Self::Postponed { .. } => "postponed",
            Self::RefusedAgain { .. } => "refusedAgain",
            Self::NoEffect { .. } => "noEffect",
            Self::Recalled { .. } => "recalled",
            Self::Unproven { .. } => "unproven",
            Self::BecameUnknown { .. } => "becameUnknown",
            Self::BecameKnown { .. } => "becameKnown",
            Self::Terminating { .. } => "terminating",
            Self::Overdue { .. } => "overdue",
            Self::Gone { .. } => "gone",
            Self::TakenOn { .. } => "takenOn",
            Self::CameBack { .. } => "cameBack",
            Self::Skipped { .. } => "skipped",
            Self::KeptClaim { .. } => "keptClaim",
            Self::DataChecked { .. } => "dataChecked",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
        }
    }

    /// The step the event is about, where it is about one.
    pub fn step(&self) -> Option<StepId> {
        match self {
            Self::CallStarted { step, .. }
            | Self::SuspendStarted { step, .. }
            | Self::Suspended { step }
            | Self::StaysSuspended { step }
            | Self::Accepted { step }
            | Self::Postponed { step, .. }
            | Self::RefusedAgain { step, .. }
            | Self::NoEffect { step }
            | Self::Recalled { step }
            | Self::Unproven { step, .. }
            | Self::BecameUnknown { step, .. }
            | Self::BecameKnown { step }
            | Self::Terminating { step, .. }
            | Self::Overdue { step, .. }
            | Self::Gone { step, .. }
            | Self::TakenOn { step, .. }
            | Self::CameBack { step, .. }
            | Self::Skipped { step, .. } => Some(*step),
            Self::Started { .. }
            | Self::Recovered
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Stopping { .. }
            | Self::KeptClaim { .. }
            | Self::DataChecked { .. }
            | Self::Finished
            | Self::Stopped => None,
        }
    }
}
