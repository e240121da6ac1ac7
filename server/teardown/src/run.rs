//! One performance of a plan: a fold over journaled events, and the decision what to do next.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    object::{ObjectRef, Uid},
    plan::StepId,
};

/// A run's name, chosen by the server when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// The id as it stands in a URL.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// It sends DELETEs as soon as what is in front of an object is proven gone.
    Running,
    /// It sends nothing until it is resumed; what was requested goes on.
    Paused,
    /// It sends nothing any more and waits for the answers of calls on their way.
    Stopping,
    /// Everything in the plan is proven gone, or was skipped by a person.
    Finished,
    /// A person stopped it; what it had requested cannot be taken back.
    Stopped,
}

impl RunState {
    /// Whether the run is over.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Stopped)
    }
}

/// Why a step needs a person's eye.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trouble", rename_all = "camelCase")]
pub enum Trouble {
    /// Longer than expected on its rung.
    Late {
        /// Since when it has been there.
        since: Timestamp,
        /// Finalizers that remain.
        finalizers: Vec<String>,
    },
    /// The API server refused.
    Refused {
        /// HTTP status code.
        code: u16,
        /// What it said, bounded and without line breaks.
        message: String,
    },
    /// The name is in use again by another object, which this run will not touch.
    CameBack {
        /// The new object's UID.
        uid: Uid,
    },
    /// It cannot be told whether what is in front of it is gone.
    CannotTell {
        /// Why.
        message: String,
    },
    /// A consistent read still shows Pods that use it.
    InUse {
        /// Those Pods, at most eight.
        pods: Vec<ObjectRef>,
    },
    /// The API server did not answer, or answered that it is overloaded; it is tried again.
    Retrying {
        /// Attempts so far.
        attempts: u32,
        /// What it said, bounded and without line breaks.
        message: String,
    },
}

/// What a run's feed tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "happening", rename_all = "camelCase")]
pub enum Happening {
    /// The run started.
    Started {
        /// Who started it.
        by: String,
    },
    /// The server was restarted and the run goes on.
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
    /// A step's DELETE was sent.
    Requested {
        /// Which.
        step: StepId,
        /// What a person calls the object.
        object: ObjectRef,
    },
    /// A step's object is being deleted.
    Terminating {
        /// Which.
        step: StepId,
        /// What a person calls the object.
        object: ObjectRef,
    },
    /// A step's object is proven gone.
    Gone {
        /// Which.
        step: StepId,
        /// What a person calls the object.
        object: ObjectRef,
    },
    /// A step got into trouble.
    Trouble {
        /// Which.
        step: StepId,
        /// What a person calls the object.
        object: ObjectRef,
        /// The trouble.
        trouble: Trouble,
    },
    /// A person left a step out.
    Skipped {
        /// Which.
        step: StepId,
        /// What a person calls the object.
        object: ObjectRef,
        /// Who.
        by: String,
    },
    /// Everything in the plan is gone.
    Finished,
    /// The run was stopped.
    Stopped {
        /// Steps never touched.
        untouched: usize,
        /// Steps requested and not gone yet: they cannot be taken back.
        irrevocable: usize,
        /// Steps gone.
        gone: usize,
    },
}
