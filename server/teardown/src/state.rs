//! The states an object is shown in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The states of an object on a page. All but [`State::Present`] concern its deletion; front ends give each a shape, a
/// glyph and a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// It is there, and no run concerns it.
    Present,
    /// Protected, shared or out of scope: the run leaves it alone.
    Kept,
    /// In the plan of a run that has not reached it.
    Planned,
    /// Something in front of it is not proven gone.
    Waiting,
    /// DELETE was sent or accepted, and the watch has not shown it yet.
    Requested,
    /// `deletionTimestamp` is set, within the expected time.
    Terminating,
    /// `deletionTimestamp` is set and finalizers remain.
    Finalizing,
    /// Longer than expected for its rung.
    Slow,
    /// Past the deadline of its rung.
    Stuck,
    /// The API server said no.
    Refused,
    /// This UID is proven gone.
    Gone,
    /// Gone, and the name is in use again by another UID.
    CameBack,
    /// A person decided to leave it out.
    Skipped,
    /// It cannot be told: no permission, no discovery, no answer.
    Unknown,
}

impl State {
    /// All states, mildest first; a group is shown in the worst of its members' states.
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

    /// How much attention it asks for; higher is more.
    pub fn severity(self) -> usize {
        Self::ALL.iter().position(|state| *state == self).unwrap_or_default()
    }
}

/// How many objects are in each state.
pub type Counts = BTreeMap<State, usize>;
