//! The event log of a run, as pages show it, and the problems of its steps.

mod wire;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::wire::FlatEvent;
use super::Creator;
use crate::{
    api_problem::ApiProblem,
    object::{ObjectRef, Uid},
    plan::StepId,
    refusal::RefusalCause,
    unknown_reason::UnknownReason,
};

/// An entry of a run's event log: codes and parameters, from which the page makes a sentence in the reader's language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// Its place in the event log, from 0.
    pub number: u64,
    /// The time of the event.
    #[serde(with = "crate::millis::required")]
    pub at: Timestamp,
    /// The event.
    pub event: FeedEvent,
}

/// The problems of a step that need a person's attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepProblem {
    /// Its deletion phase takes longer than expected.
    Late {
        /// The time since which it has been in that phase.
        #[serde(with = "crate::millis::required")]
        since: Timestamp,
        /// Finalizers that remain.
        finalizers: Vec<String>,
    },
    /// The API server refused the request.
    Refused {
        /// HTTP status code.
        code: u16,
        /// The reason that the API server gave.
        message: ApiProblem,
        /// How often, and until when. A run counts them; the events in its journal have none, but for those of a journal that
        /// was shortened (`run/compact.rs`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusals: Option<Refusals>,
    },
    /// The name belongs to another object now, which this run will not delete.
    CameBack {
        /// The new object's UID.
        uid: Uid,
        /// The creator, if the object says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Creator>,
    },
    /// It is unknown whether the object may be deleted, or whether it is gone.
    Unknown {
        /// The reason.
        reason: UnknownReason,
    },
    /// A consistent read still returns Pods that use it.
    InUse {
        /// Those Pods, at most eight.
        pods: Vec<ObjectRef>,
    },
    /// The API server did not answer, or is overloaded; the call is retried.
    Retrying {
        /// Attempts so far.
        attempts: u32,
        /// The problem with the last attempt.
        message: ApiProblem,
    },
}

/// The consecutive refusals of a call for the same cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Their number.
    pub count: u32,
    /// The time of the first one.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
    /// The time of the next try, unless the cause changes before.
    #[serde(with = "crate::millis::required")]
    pub next: Timestamp,
}

impl StepProblem {
    /// The objects whose end nobody confirmed, if the step waits for those.
    pub fn unconfirmed(&self) -> Vec<Uid> {
        match self {
            Self::Unknown { reason: UnknownReason::Unconfirmed { objects } } => {
                objects.iter().map(|it| it.uid.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a person may take it on that the object is deleted all the same.
    pub fn can_be_taken_on(&self) -> bool {
        matches!(self, Self::Unknown { reason } if reason.can_be_taken_on())
    }

    /// Whether both are the same for a person: another attempt at the same call is not worth an entry. Refusals are the
    /// same if the API server names the same webhook, policy or missing right, whatever else it says.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Refused { code, message, refusals: _ },
                Self::Refused { code: other_code, message: other, refusals: _ },
            ) => {
                let cause = RefusalCause::of(message);
                let is_named = cause != RefusalCause::Other && cause == RefusalCause::of(other);
                code == other_code && (is_named || message == other)
            }
            (
                Self::Retrying { attempts: _, message },
                Self::Retrying { attempts: _, message: other },
            ) => message == other,
            _ => self == other,
        }
    }
}

/// The events that a run's event log shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "FlatEvent", into = "FlatEvent")]
pub enum FeedEvent {
    /// The run started.
    Started {
        /// The person who started it.
        by: String,
    },
    /// The server was restarted and the run continues.
    Recovered,
    /// A person paused it, or a person's remedy during which an object changed.
    Paused {
        /// The person's name.
        by: String,
        /// The object that changed.
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
    /// A parent was suspended, so that it makes no object of the plan again.
    Suspended {
        /// The step.
        step: StepId,
        /// The parent.
        object: ObjectRef,
    },
    /// A step's DELETE was sent.
    Requested {
        /// The step.
        step: StepId,
        /// The object's kind, namespace and name.
        object: ObjectRef,
    },
    /// A step's object is being deleted.
    Terminating {
        /// The step.
        step: StepId,
        /// The object's kind, namespace and name.
        object: ObjectRef,
    },
    /// A step's object is proven gone.
    Gone {
        /// The step.
        step: StepId,
        /// The object's kind, namespace and name.
        object: ObjectRef,
        /// It is gone from the API alone: it is a Pod whose end nobody reported, or lost a finalizer by hand.
        unconfirmed: bool,
    },
    /// A person takes it on that nothing is left of what stood in front of a step.
    TakenOn {
        /// The step.
        step: StepId,
        /// The claim, the volume or the namespace.
        object: ObjectRef,
        /// The person's name.
        by: String,
    },
    /// A step has a problem.
    Problem {
        /// The step.
        step: StepId,
        /// The object's kind, namespace and name.
        object: ObjectRef,
        /// The problem.
        problem: StepProblem,
    },
    /// A person skipped a step.
    Skipped {
        /// The step.
        step: StepId,
        /// The object's kind, namespace and name.
        object: ObjectRef,
        /// The person's name.
        by: String,
    },
    /// A claim whose data is kept could not be read at the end; it is read again.
    ClaimUnread {
        /// The claim.
        object: ObjectRef,
        /// The problem.
        problem: StepProblem,
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
    /// Everything to delete is gone.
    Finished,
    /// The run was stopped.
    Stopped {
        /// Objects that no DELETE was sent for and that are not terminating.
        untouched: usize,
        /// Objects whose deletion the run requested and that are not gone yet, those skipped later among them. It cannot be
        /// taken back.
        requested: usize,
        /// Objects whose deletion somebody else requested and that are not gone yet.
        already_terminating: usize,
        /// Objects whose DELETE was sent, but of which it is unknown whether it had an effect.
        effect_unknown: usize,
        /// Objects proven gone.
        gone: usize,
    },
}
