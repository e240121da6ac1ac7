//! What came of a game, for the oracle's tests and for who reads its story.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use sandbox::{log::Entry, store::Event};

use crate::{moments::Moments, oracle::Offence, story::Story};

/// What came of a game.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) offences: Vec<Offence>,
    pub(crate) story: Story,
    pub(crate) script: String,
    pub(crate) events: Vec<Arc<Event>>,
    /// Every request that the API server answered.
    pub(crate) entries: Vec<Entry>,
    /// How often the journal was written.
    pub(crate) writes: u64,
    /// How many DELETEs were sent.
    pub(crate) deletes: usize,
    pub(crate) moments: Moments,
    pub(crate) objects: usize,
    /// Whether a run was started.
    pub(crate) ran: bool,
    /// How many objects controllers had made between the plan and the start of its run.
    pub(crate) newcomers: usize,
    /// What took effect of what was drawn.
    pub(crate) traces: BTreeSet<&'static str>,
    /// How long it took in the sandbox.
    pub(crate) lasted: Duration,
}
