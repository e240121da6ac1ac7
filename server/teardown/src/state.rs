//! The states in which an object is shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The states of an object on a page. All but [`State::Present`] concern its deletion; front ends give each its own
/// shape, glyph and word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// It is there, and no run concerns it.
    Present,
    /// Protected, shared or out of scope: the run does not delete it.
    Kept,
    /// In the plan of a run that has not started.
    Planned,
    /// A step in front of it is not finished.
    Waiting,
    /// The DELETE was sent or accepted, and the watch has not shown it yet.
    Requested,
    /// `deletionTimestamp` is set, within the expected time.
    Terminating,
    /// `deletionTimestamp` is set and finalizers remain.
    Finalizing,
    /// Its deletion phase takes longer than expected.
    Slow,
    /// Its deletion phase has exceeded the deadline.
    Stuck,
    /// The API server refused the request.
    Refused,
    /// This UID is proven gone.
    Gone,
    /// Gone, and the name belongs to an object with another UID.
    CameBack,
    /// A person decided to skip it.
    Skipped,
    /// Unknown: no permission, no discovery, or no answer.
    Unknown,
}

impl State {
    /// All states, mildest first; a group is shown in the worst state of its members.
    pub const ALL: [Self; 14] = [
        Self::Present,
        Self::Kept,
        Self::Planned,
        Self::Skipped,
        Self::Gone,
        Self::Waiting,
        Self::Requested,
        Self::Terminating,
        Self::Finalizing,
        Self::Unknown,
        Self::Slow,
        Self::CameBack,
        Self::Refused,
        Self::Stuck,
    ];

    /// The urgency of the state: a higher value needs attention sooner.
    pub fn severity(self) -> usize {
        Self::ALL.iter().position(|state| *state == self).unwrap_or_default()
    }
}

/// The number of objects in each state.
pub type Counts = BTreeMap<State, usize>;
