//! Stores the state that must survive a restart: plans, and the events of runs. An event is on disk before the action
//! it announces is executed, so that a restart after a crash always finds a known state.
//!
//! A run's events are numbered from 0 without gaps. A batch is written as a whole or not at all, and only directly
//! after the existing events: a second writer, or one with an outdated state, is refused. Every record has the version
//! of its format and a checksum. A record that cannot be read is an error that names the run and the number; it never
//! causes a panic or a shortened run. A file that makes no sense as a whole is kept under another name (`journal/aside.rs`).
//!
//! ```text
//! hub ── begin, append, put_… ────► Journal (JSON, versions, checksums) ──► Store: file (redb) | memory
//!     ◄─ plan, runs, replay ───────
//! ```
//!
//! Writing blocks until the disk has answered. The hub is the only caller, and it must not continue before that.

mod aside;
mod epoch;
mod error;
mod file;
mod memory;
mod note;
mod overlay;
mod place;
mod seal;
mod tables;
mod upcast;

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use teardown::{
    object::Uid,
    plan::{Plan, PlanId},
    remedy::Attempt,
    run::RunId,
};

pub use self::{
    error::{JournalError, StoreError},
    file::{FileStore, OpenError},
    memory::MemoryStore,
};
use self::{
    place::Place,
    seal::{Unsealed, seal, unseal},
    upcast::{VERSION, upcast},
};

/// A store of named values and records. After an error it can be used again: the next call finds the present state of the
/// disk.
pub trait Store: Send {
    /// Writes all of `puts` or none of them, and returns once they would survive a power failure.
    ///
    /// # Errors
    /// [`StoreError`]. With [`StoreError::OutOfOrder`] nothing was written; otherwise either all or nothing was, because a
    /// disk may fail after it has kept the bytes.
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

    /// Whether a write can reach the disk, as far as that is known without one.
    fn is_writable(&self) -> bool {
        true
    }
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
    /// The persons who released runs that cannot be read, by the run's id.
    Releases,
    /// The number of the last process that has written, as the only value.
    Epoch,
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
    /// Removes a named value, if it exists.
    Remove {
        /// The group of the value.
        shelf: Shelf,
        /// The name.
        name: String,
    },
    /// Removes all records of a run.
    RemoveRecords {
        /// The run.
        run: String,
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

/// Events that are appended to one run.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, E> {
    /// The run.
    pub run: &'a RunId,
    /// The number of events that the run has already.
    pub first: u64,
    /// The events.
    pub events: &'a [E],
}

/// Things of the journal that nobody needs any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Old {
    /// Runs that have ended.
    pub runs: Vec<RunId>,
    /// Plans that no other run has.
    pub plans: Vec<PlanId>,
    /// Attempts that have ended, by id.
    pub attempts: Vec<String>,
}

/// A value of the journal, or the reason why it cannot be read.
pub type Readable<T> = Result<T, JournalError>;

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

/// A person's word that a run which cannot be read holds nothing up any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The person's name.
    pub by: String,
    /// The time.
    pub at: Timestamp,
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
    /// The number of this process, once it was asked for.
    epoch: Option<u64>,
    /// Whether that number is on disk.
    is_claimed: bool,
    /// The files of earlier journals that make no sense, by name.
    damaged: Vec<String>,
}

impl Journal {
    /// Opens a journal in a file, exclusively for this process. If the file makes no sense, it is kept under another name, and the
    /// journal is empty.
    ///
    /// # Errors
    /// [`OpenError`], for example if another server uses the file.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let store = match FileStore::open(path).and_then(FileStore::with_lists) {
            Err(OpenError::Damaged { source, .. }) if error::is_damage(&source) => {
                let kept = aside::rename(path)?;
                tracing::error!(error = %source, kept, "the journal cannot be read, and is set aside");
                FileStore::open(path)?
            }
            opened => opened?,
        };
        let unusable = |source| OpenError::Unusable { path: path.to_owned(), source };
        let damaged = aside::kept(path).map_err(unusable)?;
        Ok(Self { damaged, ..Self::over(store) })
    }

    /// A journal that is lost when the process ends.
    pub fn in_memory() -> Self {
        Self::over(MemoryStore::default())
    }

    /// A journal on another store.
    pub fn over(store: impl Store + 'static) -> Self {
        Self { store: Box::new(store), epoch: None, is_claimed: false, damaged: vec![] }
    }

    /// The names of the files in which earlier journals are that cannot be read at all. They are beside the file of this one.
    pub fn damaged_files(&self) -> &[String] {
        &self.damaged
    }

    /// Whether a write can reach the disk, as far as that is known without one.
    pub fn is_writable(&self) -> bool {
        self.store.is_writable()
    }

    /// Writes the epoch again, which changes nothing, to see whether the disk takes it.
    ///
    /// # Errors
    /// [`JournalError`] if it does not.
    pub fn check(&mut self) -> Result<(), JournalError> {
        self.is_claimed = false;
        self.write(vec![])
    }

    /// The number of this process: one more than that of the last one that has written.
    fn epoch(&mut self) -> Result<u64, JournalError> {
        if let Some(epoch) = self.epoch {
            return Ok(epoch);
        }
        let last = epoch::last(&*self.store)?;
        Ok(*self.epoch.insert(last.saturating_add(1)))
    }

    /// Writes all of `puts` or none, and with the first write of this process its epoch.
    fn write(&mut self, mut puts: Vec<Put>) -> Result<(), JournalError> {
        if !self.is_claimed {
            let epoch = self.epoch()?;
            puts.push(epoch::put(epoch)?);
        }
        self.store.write(&puts)?;
        self.is_claimed = true;
        Ok(())
    }

    /// A stored plan.
    ///
    /// # Errors
    /// [`JournalError`] if it exists and cannot be read.
    pub fn plan(&self, id: &PlanId) -> Result<Option<Plan>, JournalError> {
        let name = id.to_string();
        let bytes = self.store.read(Shelf::Plans, &name)?;
        bytes.map(|bytes| decode(&bytes, &Place::Plan(&name))).transpose()
    }

    /// Begins a run: its plan, its head and its first events are one write, so that no run exists without its beginning.
    /// Storing a plan again changes nothing, because its id is its hash.
    ///
    /// # Errors
    /// [`JournalError`]; then the run must not start.
    pub fn begin<E: Serialize>(
        &mut self,
        head: &RunHead,
        plan: &Plan,
        events: &[E],
    ) -> Result<(), JournalError> {
        let (epoch, run, id) = (self.epoch()?, head.run.to_string(), plan.id.to_string());
        let bytes = encode(epoch, plan, &Place::Plan(&id))?;
        let mut puts = vec![Put::Named { shelf: Shelf::Plans, name: id, bytes }];
        let bytes = encode(epoch, head, &Place::Head(&run))?;
        puts.push(Put::Named { shelf: Shelf::Runs, name: run, bytes });
        puts.extend(records(epoch, &head.run, 0, events)?);
        self.write(puts)
    }

    /// Appends the events of several runs in one write. They are on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`]; then the actions that the events announce must not be executed. [`Journal::count`] says whether the
    /// events were written nevertheless.
    pub fn append<E: Serialize>(&mut self, batches: &[Batch<'_, E>]) -> Result<(), JournalError> {
        let (epoch, mut puts) = (self.epoch()?, vec![]);
        for Batch { run, first, events } in batches {
            puts.extend(records(epoch, run, *first, events)?);
        }
        self.write(puts)
    }

    /// Stores an attempt in place of its earlier state. It is on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`]; then the request of the attempt must not be sent.
    pub fn put_attempt(&mut self, record: &AttemptRecord) -> Result<(), JournalError> {
        let name = record.attempt.id.clone();
        let bytes = encode(self.epoch()?, record, &Place::Attempt(&name))?;
        self.write(vec![Put::Named { shelf: Shelf::Attempts, name, bytes }])
    }

    /// All attempts by id, each as far as it can be read.
    ///
    /// # Errors
    /// [`JournalError`] if they cannot be listed.
    pub fn attempts(&self) -> Result<Vec<(String, Readable<AttemptRecord>)>, JournalError> {
        self.all(Shelf::Attempts, |name| Place::Attempt(name))
    }

    /// All runs by id, each with its head as far as that can be read. A run with a number of records and without a head is
    /// one of them.
    ///
    /// # Errors
    /// [`JournalError`] if they cannot be listed.
    pub fn runs(&self) -> Result<Vec<(RunId, Readable<RunHead>)>, JournalError> {
        let heads = self.all(Shelf::Runs, |name| Place::Head(name))?;
        let mut runs: BTreeMap<String, Readable<RunHead>> = heads.into_iter().collect();
        for (name, _) in self.store.list(Shelf::Counts)? {
            let run = RunId::new(&*name);
            runs.entry(name).or_insert(Err(JournalError::Headless { run }));
        }
        let runs = runs.into_iter().map(|(name, head)| (RunId::new(name), head));
        Ok(runs.map(|(run, head)| head_of(&run, head)).collect())
    }

    /// The head of a run, if there is one.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be read.
    pub fn head(&self, run: &RunId) -> Result<Option<RunHead>, JournalError> {
        let bytes = self.store.read(Shelf::Runs, run.as_str())?;
        bytes.map(|bytes| decode(&bytes, &Place::Head(run.as_str()))).transpose()
    }

    /// All releases by run, each as far as it can be read.
    ///
    /// # Errors
    /// [`JournalError`] if they cannot be listed.
    pub fn releases(&self) -> Result<Vec<(String, Readable<Release>)>, JournalError> {
        self.all(Shelf::Releases, |name| Place::Release(name))
    }

    /// Stores that a person has released a run. It is on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be written.
    pub fn put_release(&mut self, run: &RunId, release: &Release) -> Result<(), JournalError> {
        let bytes = encode(self.epoch()?, release, &Place::Release(run.as_str()))?;
        self.write(vec![Put::Named { shelf: Shelf::Releases, name: run.to_string(), bytes }])
    }

    /// Replaces all events of a run by these, in one write.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be written; then the run has its old events or these.
    pub fn replace<E: Serialize>(&mut self, run: &RunId, events: &[E]) -> Result<(), JournalError> {
        let mut puts = vec![Put::RemoveRecords { run: run.to_string() }];
        puts.extend(records(self.epoch()?, run, 0, events)?);
        self.write(puts)
    }

    /// Removes runs, plans and attempts that nobody needs any more, in one write.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be written.
    pub fn remove(&mut self, old: &Old) -> Result<(), JournalError> {
        let mut puts = vec![];
        for run in old.runs.iter().map(RunId::to_string) {
            for shelf in [Shelf::Runs, Shelf::Counts] {
                puts.push(Put::Remove { shelf, name: run.clone() });
            }
            puts.push(Put::RemoveRecords { run });
        }
        let plans = old.plans.iter().map(|id| (Shelf::Plans, id.to_string()));
        let attempts = old.attempts.iter().map(|id| (Shelf::Attempts, id.clone()));
        puts.extend(plans.chain(attempts).map(|(shelf, name)| Put::Remove { shelf, name }));
        self.write(puts)
    }

    fn all<T: DeserializeOwned>(
        &self,
        shelf: Shelf,
        place: impl Fn(&str) -> Place<'_>,
    ) -> Result<Vec<(String, Readable<T>)>, JournalError> {
        let kept = self.store.list(shelf)?.into_iter();
        let read = |(name, bytes): (String, Vec<u8>)| {
            let value = decode(&bytes, &place(&name));
            (name, value)
        };
        Ok(kept.map(read).collect())
    }

    /// The number of events that were written of a run.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be read.
    pub fn count(&self, run: &RunId) -> Result<u64, JournalError> {
        let count = self.store.read(Shelf::Counts, run.as_str())?;
        count.map_or(Ok(0), |bytes| decode(&bytes, &Place::Count(run.as_str())))
    }

    /// The last event of a run, if it can be read. It may be there although others are damaged.
    pub fn last<E: DeserializeOwned>(&self, run: &RunId) -> Option<E> {
        let records = self.store.records(run.as_str()).ok()?;
        let (number, bytes) = records.last()?;
        decode(bytes, &Place::Record(run.as_str(), *number)).ok()
    }

    /// All events of a run, in order.
    ///
    /// # Errors
    /// [`JournalError`] if one is missing or cannot be read, because an incomplete history is useless.
    pub fn replay<E: DeserializeOwned>(&self, run: &RunId) -> Result<Vec<E>, JournalError> {
        let records = self.store.records(run.as_str())?;
        let written = self.count(run)?;
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
                decode(bytes, &Place::Record(run.as_str(), *found))
            })
            .collect()
    }
}

/// The records for `events`, and the number of records including them.
fn records<E: Serialize>(
    epoch: u64,
    run: &RunId,
    first: u64,
    events: &[E],
) -> Result<Vec<Put>, JournalError> {
    let mut number = first;
    let mut puts = vec![];
    for event in events {
        let bytes = encode(epoch, event, &Place::Record(run.as_str(), number))?;
        puts.push(Put::Record { run: run.to_string(), number, bytes });
        number = number.saturating_add(1);
    }
    if !puts.is_empty() {
        let bytes = encode(epoch, &number, &Place::Count(run.as_str()))?;
        puts.push(Put::Named { shelf: Shelf::Counts, name: run.to_string(), bytes });
    }
    Ok(puts)
}

/// A head is of no use under the id of another run.
fn head_of(run: &RunId, head: Readable<RunHead>) -> (RunId, Readable<RunHead>) {
    let head = head.and_then(|head| {
        if head.run == *run {
            Ok(head)
        } else {
            Err(JournalError::Damaged { what: Place::Head(run.as_str()).to_string() })
        }
    });
    (run.clone(), head)
}

fn encode<T: Serialize>(epoch: u64, it: &T, place: &Place<'_>) -> Result<Vec<u8>, JournalError> {
    let json = serde_json::to_vec(it)
        .map_err(|source| JournalError::Unwritable { what: place.to_string(), source })?;
    Ok(seal(epoch, &json, place))
}

fn decode<T: DeserializeOwned>(bytes: &[u8], place: &Place<'_>) -> Result<T, JournalError> {
    let Unsealed { version, content, .. } = unseal(bytes, place)?;
    let read = if version == VERSION {
        serde_json::from_slice(content)
    } else {
        let old = serde_json::from_slice(content);
        old.and_then(|value| serde_json::from_value(upcast(version, place, value)))
    };
    read.map_err(|source| JournalError::Unreadable { what: place.to_string(), source })
}

#[cfg(test)]
mod tests;
