//! The facts that somebody needs first who is woken by a deletion that waits, beyond the diagnosis itself. They stay on the server,
//! which makes the sentences of the advice from them.

mod data;

use jiff::{SignedDuration, Timestamp};

pub(crate) use self::data::data_at_risk;
pub use self::data::{DataAtRisk, DataRisk, HeldVolume};
use crate::{
    diagnosis::{Diagnosis, Evidence, Upcoming},
    index::Index,
};

/// The time within which a deletion that joined the others says that it grows.
const LATELY: SignedDuration = SignedDuration::from_mins(10);

/// The facts about one diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Incident {
    /// Labels that say whose the root is and where it runs, as names and values.
    pub contact: Vec<(String, String)>,
    /// The changes just before, the likeliest first. Those of what the cause names may be later.
    pub before: Vec<Evidence>,
    /// The acts of the cluster itself while nobody acts.
    pub course: Vec<Upcoming>,
    /// The data behind what waits.
    pub data: Vec<DataAtRisk>,
    /// The number of deletions that joined the first ones within the last 10 minutes.
    pub joined: usize,
}

/// The number of deletions that joined the first ones lately; none while the first one is as young.
pub(crate) fn joined(index: &Index, diagnosis: &Diagnosis, now: Timestamp) -> usize {
    let from = now - LATELY;
    if diagnosis.since > from {
        return 0;
    }
    let is_late = |object: &crate::object::Object| {
        object.deletion.as_ref().is_some_and(|deletion| deletion.accepted() > from)
    };
    diagnosis.held.iter().filter_map(|uid| index.get(uid)).filter(|object| is_late(object)).count()
}
