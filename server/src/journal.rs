//! Stores the state that must survive a restart: plans, and the events of runs. An event is on disk before the action
//! it announces is executed, so that a restart after a crash always finds a known state.
//!
//! A run's events are numbered from 0 without gaps. A batch is written as a whole or not at all, and only directly
//! after the existing events: a second writer, or one with an outdated state, is refused. Every record has the version
//! of its format and a checksum. A record that cannot be read is an error that names the run and the number; it never
//! causes a panic or a shortened run.
//!
//! ```text
//! hub ── put_plan, begin, append ──► Journal (JSON, versions, checksums) ──► Store: file (redb) | memory
//!     ◄─ plan, runs, replay ───────
//! ```
//!
//! Writing blocks until the disk has answered. The hub is the only caller, and it must not continue before that.

mod file;
mod memory;
mod seal;

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use teardown::{
    object::Uid,
    plan::{Plan, PlanId},
    remedy::Attempt,
    run::RunId,
};

use self::seal::{VERSION, seal, unseal};
pub use self::{
    file::{FileStore, OpenError},
    memory::MemoryStore,
};

/// A store of named values and records.
pub trait Store: Send {
    /// Writes all of `puts` or none of them, and returns once they would survive a power failure.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing was written.
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError>;

    /// The value under `name`.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// All names of a shelf with their values, by name.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be read.
    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// All records of a run with their numbers, in order.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be read.
    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError>;
}

/// The groups of named values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shelf {
    /// Plans, by the plan's id.
    Plans,
    /// The heads of runs, by the run's id.
    Runs,
    /// The number of records that a run should have, by the run's id.
    Counts,
    /// Remedies that persons had done, by the attempt's id.
    Attempts,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// Writes a named value in place of the earlier one.
    Named {
        /// The group of the value.
        shelf: Shelf,
        /// The name.
        name: String,
        /// The value.
        bytes: Vec<u8>,
    },
    /// Appends a record to a run.
    Record {
        /// The run.
        run: String,
        /// The number of the record, which must equal the number of existing ones.
        number: u64,
        /// The content of the record.
        bytes: Vec<u8>,
    },
}

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
    File(#[from] redb::Error),
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
    #[error("{what} is written in version {version}; this program knows version {VERSION}")]
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

/// The fields of a run that are known from its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// The run.
    pub run: RunId,
    /// The plan that it executes.
    pub plan: PlanId,
    /// The time when it started.
    pub started: Timestamp,
    /// The cluster of the run.
    #[serde(flatten)]
    pub cluster: ClusterId,
}

/// A remedy that a person had done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// The attempt.
    pub attempt: Attempt,
    /// The cluster that it changes.
    pub cluster: ClusterId,
}

/// The identity of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId {
    /// The UID of the namespace `kube-system`, which is as old as the cluster and cannot be re-created; the name of the
    /// cluster if that UID was hidden.
    pub cluster: String,
    /// The name of the cluster in this server's configuration. Records of earlier versions do not have it.
    #[serde(default)]
    pub context: Option<String>,
}

impl ClusterId {
    /// The identity of the cluster with this name, and with the UID of `kube-system` if it is visible.
    pub fn new(name: &str, system: Option<&Uid>) -> Self {
        let cluster = system.map_or_else(|| name.to_owned(), Uid::to_string);
        Self { cluster, context: Some(name.to_owned()) }
    }

    /// Whether both are the same cluster. If one of them has no UID, because the right to read it comes and goes, the
    /// names decide.
    pub fn is(&self, other: &Self) -> bool {
        let has_name_only = |it: &Self| it.context.as_ref() == Some(&it.cluster);
        self.cluster == other.cluster
            || self.context.is_some()
                && self.context == other.context
                && (has_name_only(self) || has_name_only(other))
    }
}

/// The journal on a store.
pub struct Journal {
    store: Box<dyn Store>,
}

impl Journal {
    /// Opens a journal in a file, exclusively for this process.
    ///
    /// # Errors
    /// [`OpenError`], for example if another server uses the file.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Ok(Self::over(FileStore::open(path)?))
    }

    /// A journal that is lost when the process ends.
    pub fn in_memory() -> Self {
        Self::over(MemoryStore::default())
    }

    /// A journal on another store.
    pub fn over(store: impl Store + 'static) -> Self {
        Self { store: Box::new(store) }
    }

    /// Stores a plan. Storing the same plan twice changes nothing, because its id is its hash.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing was written.
    pub fn put_plan(&mut self, plan: &Plan) -> Result<(), JournalError> {
        let bytes = encode(plan, &format!("plan {}", plan.id))?;
        let name = plan.id.to_string();
        Ok(self.store.write(&[Put::Named { shelf: Shelf::Plans, name, bytes }])?)
    }

    /// A stored plan.
    ///
    /// # Errors
    /// [`JournalError`] if it exists and cannot be read.
    pub fn plan(&self, id: &PlanId) -> Result<Option<Plan>, JournalError> {
        let bytes = self.store.read(Shelf::Plans, &id.to_string())?;
        bytes.map(|bytes| decode(&bytes, &format!("plan {id}"))).transpose()
    }

    /// Begins a run: its head and its first events are one write, so that no run exists without its beginning.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing was written, and the run must not start.
    pub fn begin<E: Serialize>(
        &mut self,
        head: &RunHead,
        events: &[E],
    ) -> Result<(), JournalError> {
        let bytes = encode(head, &format!("the head of run {}", head.run))?;
        let mut puts = vec![Put::Named { shelf: Shelf::Runs, name: head.run.to_string(), bytes }];
        puts.extend(records(&head.run, 0, events)?);
        Ok(self.store.write(&puts)?)
    }

    /// Appends events to a run that has `first` events already. They are on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing was written, and the actions that the events announce must not be executed.
    pub fn append<E: Serialize>(
        &mut self,
        run: &RunId,
        first: u64,
        events: &[E],
    ) -> Result<(), JournalError> {
        Ok(self.store.write(&records(run, first, events)?)?)
    }

    /// Stores an attempt in place of its earlier state. It is on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing was written, and the request of the attempt must not be sent.
    pub fn put_attempt(&mut self, record: &AttemptRecord) -> Result<(), JournalError> {
        let name = record.attempt.id.clone();
        let bytes = encode(record, &format!("remedy {name}"))?;
        Ok(self.store.write(&[Put::Named { shelf: Shelf::Attempts, name, bytes }])?)
    }

    /// All attempts, by id.
    ///
    /// # Errors
    /// [`JournalError`] if one cannot be read.
    pub fn attempts(&self) -> Result<Vec<AttemptRecord>, JournalError> {
        let kept = self.store.list(Shelf::Attempts)?;
        kept.iter().map(|(name, bytes)| decode(bytes, &format!("remedy {name}"))).collect()
    }

    /// All runs, by id.
    ///
    /// # Errors
    /// [`JournalError`] if a head cannot be read.
    pub fn runs(&self) -> Result<Vec<RunHead>, JournalError> {
        let heads = self.store.list(Shelf::Runs)?;
        heads
            .iter()
            .map(|(name, bytes)| decode(bytes, &format!("the head of run {name}")))
            .collect()
    }

    /// All events of a run, in order.
    ///
    /// # Errors
    /// [`JournalError`] if one is missing or cannot be read, because an incomplete history is useless.
    pub fn replay<E: DeserializeOwned>(&self, run: &RunId) -> Result<Vec<E>, JournalError> {
        let records = self.store.records(run.as_str())?;
        let count = self.store.read(Shelf::Counts, run.as_str())?;
        let written = count.map_or(Ok(0), |bytes| decode(&bytes, &count_of(run)))?;
        let kept = records.len() as u64;
        if written != kept {
            return Err(JournalError::Lost { run: run.clone(), written, kept });
        }
        (0..)
            .zip(&records)
            .map(|(expected, (found, bytes))| {
                if expected != *found {
                    return Err(JournalError::Gap { run: run.clone(), expected, found: *found });
                }
                decode(bytes, &format!("record {found} of run {run}"))
            })
            .collect()
    }
}

/// The records for `events`, and the number of records including them.
fn records<E: Serialize>(run: &RunId, first: u64, events: &[E]) -> Result<Vec<Put>, JournalError> {
    let mut number = first;
    let mut puts = vec![];
    for event in events {
        let bytes = encode(event, &format!("record {number} of run {run}"))?;
        puts.push(Put::Record { run: run.to_string(), number, bytes });
        number = number.saturating_add(1);
    }
    if !puts.is_empty() {
        let bytes = encode(&number, &count_of(run))?;
        puts.push(Put::Named { shelf: Shelf::Counts, name: run.to_string(), bytes });
    }
    Ok(puts)
}

fn count_of(run: &RunId) -> String {
    format!("the number of records of run {run}")
}

fn encode<T: Serialize>(it: &T, place: &str) -> Result<Vec<u8>, JournalError> {
    let json = serde_json::to_vec(it)
        .map_err(|source| JournalError::Unwritable { what: place.to_owned(), source })?;
    Ok(seal(&json, place))
}

fn decode<T: DeserializeOwned>(bytes: &[u8], place: &str) -> Result<T, JournalError> {
    serde_json::from_slice(unseal(bytes, place)?)
        .map_err(|source| JournalError::Unreadable { what: place.to_owned(), source })
}

#[cfg(test)]
mod tests;
