//! The result of a run, for the oracle's tests and for reports.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use sandbox::{log::Entry, store::Event};

use crate::{oracle::Violation, revision_times::RevisionTimes, transcript::Transcript};

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) violations: Vec<Violation>,
    pub(crate) transcript: Transcript,
    pub(crate) script: String,
    pub(crate) events: Vec<Arc<Event>>,
    /// Every request that the API server answered.
    pub(crate) entries: Vec<Entry>,
    /// The number of writes of the journal.
    pub(crate) writes: u64,
    /// The number of DELETEs that were sent.
    pub(crate) deletes: usize,
    pub(crate) revision_times: RevisionTimes,
    pub(crate) objects: usize,
    /// Whether a run was started.
    pub(crate) ran: bool,
    /// The number of objects that controllers created between the plan and the start of its run.
    pub(crate) late_objects: usize,
    /// The generated faults and features that took effect.
    pub(crate) effects: BTreeSet<&'static str>,
    /// The time it took in the time of the sandbox.
    pub(crate) lasted: Duration,
}
