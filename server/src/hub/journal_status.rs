//! The state of the journal, as a person reads it.

use jiff::Timestamp;
use teardown::{object::ObjectRef, run::RunId, unit::UnitId};

use crate::journal::Release;

/// A journal that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The time of the first write that failed.
    pub since: Timestamp,
    /// The last error, with its causes.
    pub why: String,
}

/// The state of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalStatus {
    /// The problem, while it cannot be written.
    pub failing: Option<Failing>,
    /// The number of writes that failed since the start.
    pub failures: u64,
    /// The runs that cannot be read, by id.
    pub set_aside: Vec<SetAside>,
    /// The remedies that cannot be read, by id, each with the reason.
    pub remedies: Vec<(String, String)>,
}

/// A run that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its id.
    pub run: RunId,
    /// The reason.
    pub why: String,
    /// The time when this process found it.
    pub found: Timestamp,
    /// The time when it started, if its head can be read.
    pub started: Option<Timestamp>,
    /// The name of its cluster, if its head can be read.
    pub cluster: Option<String>,
    /// The things that nobody may plan with, until it is released.
    pub blocks: Blocks,
    /// The person who released it.
    pub released: Option<Release>,
}

/// The things that nobody may plan with because of a run that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Nothing: its end is recorded.
    Nothing,
    /// The objects of its plan.
    Objects {
        /// The unit of the plan.
        unit: UnitId,
        /// The objects.
        objects: Vec<ObjectRef>,
    },
    /// Everything in its cluster: its plan cannot be read.
    Cluster,
}
