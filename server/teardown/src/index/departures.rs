//! The workloads that were deleted lately, because a finalizer may be theirs to clear, and the APIServices, because the
//! controller of namespaces looks again some time after one is gone.

use std::{collections::VecDeque, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::object::{Facts, Object};

/// The most deleted workloads that are remembered.
const MAX: usize = 1_000;
/// The time for which they are remembered.
const KEPT: SignedDuration = SignedDuration::from_mins(30);

/// A workload or an APIService that is gone.
#[derive(Clone, Debug)]
pub struct Departure {
    /// The object as it was last seen.
    pub object: Arc<Object>,
    /// The time at which the index learned that it is gone.
    pub at: Timestamp,
}

/// The workloads and APIServices that were deleted lately, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures(VecDeque<Departure>);

impl Departures {
    pub(super) fn push(&mut self, object: &Arc<Object>, at: Timestamp) {
        if !matches!(object.facts, Facts::Workload(_) | Facts::ApiService(_)) {
            return;
        }
        self.0.push_back(Departure { object: object.clone(), at });
        while self.0.len() > MAX
            || self.0.front().is_some_and(|first| at.duration_since(first.at) > KEPT)
        {
            self.0.pop_front();
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.0.iter()
    }
}
