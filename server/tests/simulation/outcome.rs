//! What came of a game, for the oracle's tests and for who reads its story.

use std::{sync::Arc, time::Duration};

use sandbox::store::Event;

use crate::{oracle::Offence, story::Story};

/// What came of a game.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) offences: Vec<Offence>,
    pub(crate) story: Story,
    pub(crate) script: String,
    pub(crate) events: Vec<Arc<Event>>,
    /// The revision that was reached, by milliseconds.
    pub(crate) moments: Vec<(u64, u64)>,
    pub(crate) objects: usize,
    /// Whether a run was started.
    pub(crate) ran: bool,
    /// How many objects controllers had made between the plan and the start of its run.
    pub(crate) newcomers: usize,
    /// How long it took in the sandbox.
    pub(crate) lasted: Duration,
}

impl Outcome {
    /// When the store reached a revision, in milliseconds since the beginning, to the second.
    pub(crate) fn moment(&self, revision: u64) -> u64 {
        let at = self.moments.partition_point(|(_, reached)| *reached < revision);
        self.moments.get(at).map_or(u64::MAX, |(at, _)| *at)
    }
}
