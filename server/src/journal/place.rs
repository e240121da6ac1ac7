//! The place of a value in the journal. It is part of the checksum, so that a value that a disk returns at another place is
//! noticed, and part of every error.

use std::fmt;

/// The place of a value, and with it the kind of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// A plan, by its id.
    Plan(&'a str),
    /// The head of a run.
    Head(&'a str),
    /// A record of a run, with its number.
    Record(&'a str, u64),
    /// The number of records of a run.
    Count(&'a str),
    /// A remedy, by the id of the attempt.
    Attempt(&'a str),
    /// The release of a run.
    Release(&'a str),
    /// The epoch.
    Epoch,
}

/// The words are part of the format.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(id) => write!(f, "plan {id}"),
            Self::Head(run) => write!(f, "the head of run {run}"),
            Self::Record(run, number) => write!(f, "record {number} of run {run}"),
            Self::Count(run) => write!(f, "the number of records of run {run}"),
            Self::Attempt(id) => write!(f, "remedy {id}"),
            Self::Release(run) => write!(f, "the release of run {run}"),
            Self::Epoch => write!(f, "the epoch"),
        }
    }
}
