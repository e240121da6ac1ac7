//! The errors of the journal and its stores.

use std::io;

use teardown::run::RunId;

use super::upcast::{OLDEST, VERSION};

/// The errors of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The record's number is not the next one: another process has written, or a record was lost.
    #[error("record {number} of run {run} does not follow the {kept} that are kept")]
    OutOfOrder {
        /// The run.
        run: String,
        /// The number of the record.
        number: u64,
        /// The number of existing records.
        kept: u64,
    },
    /// The file, or the disk below it, failed.
    #[error("the journal's file failed")]
    File(#[source] redb::Error),
    /// The file makes no sense where this value is kept. Other values may be whole.
    #[error("the journal's file is damaged there")]
    Damaged(#[source] redb::Error),
}

impl From<redb::Error> for StoreError {
    fn from(error: redb::Error) -> Self {
        if is_damage(&error) { Self::Damaged(error) } else { Self::File(error) }
    }
}

/// Whether an error of redb is about the content of the file, and not about the disk. redb also finds damage by the name or the type
/// of a table, and by the number of a page behind the end of the file.
pub(super) fn is_damage(error: &redb::Error) -> bool {
    use redb::Error as E;
    match error {
        E::Corrupted(_)
        | E::TableDoesNotExist(_)
        | E::TableTypeMismatch { .. }
        | E::TableIsMultimap(_)
        | E::TableIsNotMultimap(_)
        | E::TypeDefinitionChanged { .. } => true,
        E::Io(source) => {
            matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
        }
        _ => false,
    }
}

impl StoreError {
    /// Whether a value is damaged, and not the disk failing.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}

/// The errors of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value could not be converted to JSON.
    #[error("{what} cannot be written as JSON")]
    Unwritable {
        /// A description of the value.
        what: String,
        /// The JSON error.
        source: serde_json::Error,
    },
    /// A value differs from the one that was written.
    #[error("{what} is damaged")]
    Damaged {
        /// A description of the value.
        what: String,
    },
    /// A value is undamaged but cannot be parsed.
    #[error("{what} cannot be understood")]
    Unreadable {
        /// A description of the value.
        what: String,
        /// The JSON error.
        source: serde_json::Error,
    },
    /// A value was written by another version of this program.
    #[error(
        "{what} is written in version {version}; this program reads versions {OLDEST} to {VERSION}"
    )]
    Version {
        /// A description of the value.
        what: String,
        /// The version of the value.
        version: u32,
    },
    /// The last records are missing, or there are more than were written.
    #[error("run {run} has {kept} records, and {written} were written")]
    Lost {
        /// The run.
        run: RunId,
        /// The number of records that were written.
        written: u64,
        /// The number of records that exist.
        kept: u64,
    },
    /// The head is missing, so the cluster and the plan of the run are unknown.
    #[error("run {run} has no head")]
    Headless {
        /// The run.
        run: RunId,
    },
    /// A record is missing.
    #[error("record {expected} of run {run} is missing; the next one there is {found}")]
    Gap {
        /// The run.
        run: RunId,
        /// The expected number.
        expected: u64,
        /// The number that was found.
        found: u64,
    },
}
