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
mod tests {
    use proptest::prelude::*;
    use teardown::unit::UnitId;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(tag = "event")]
    enum Event {
        Began { by: String },
        Step { number: u32 },
    }

    fn run(id: &str) -> RunId {
        RunId::new(id)
    }

    fn head(id: &str) -> RunHead {
        RunHead {
            run: run(id),
            plan: PlanId::new("p"),
            started: Timestamp::UNIX_EPOCH,
            cluster: ClusterId::new("c", None),
        }
    }

    #[test]
    fn cluster_is_the_same_although_rights_come_and_go() {
        let (one, two) = (Uid::new("u-1"), Uid::new("u-2"));
        let seen = ClusterId::new("prod", Some(&one));
        assert!(seen.is(&ClusterId::new("renamed", Some(&one))));
        assert!(!seen.is(&ClusterId::new("prod", Some(&two))), "recreated under its name");
        for (one, two) in
            [(&seen, &ClusterId::new("prod", None)), (&ClusterId::new("prod", None), &seen)]
        {
            assert!(one.is(two));
        }
        assert!(!seen.is(&ClusterId::new("test", None)));
        let before: ClusterId = serde_json::from_str(r#"{"cluster":"u-1"}"#).unwrap();
        assert!(before.is(&seen) && !before.is(&ClusterId::new("prod", None)));
    }

    fn steps(numbers: std::ops::Range<u32>) -> Vec<Event> {
        numbers.map(|number| Event::Step { number }).collect()
    }

    fn plan() -> Plan {
        Plan {
            id: PlanId::new("p"),
            hash: "p".into(),
            unit: UnitId::new("shop"),
            made: Timestamp::UNIX_EPOCH,
            steps: vec![],
            kept: vec![],
            data: vec![],
            choices: teardown::plan::Choices::default(),
            by_name: Vec::new(),
            ephemeral: Vec::new(),
            left_to_cluster: vec![],
            given_up: vec![],
            hidden: vec![],
        }
    }

    /// Checks the properties that every store must have.
    fn check(mut journal: Journal) {
        let mut events = vec![Event::Began { by: "Li".into() }];
        journal.put_plan(&plan()).unwrap();
        journal.put_plan(&plan()).unwrap();
        journal.begin(&head("b"), &events).unwrap();
        journal.begin(&head("a"), &steps(7..8)).unwrap();
        journal.append(&run("b"), 1, &steps(0..3)).unwrap();
        journal.append(&run("b"), 4, &steps(0..0)).unwrap();

        // A gap, an overwrite and a refused batch all write nothing.
        for first in [0, 3, 5, u64::MAX] {
            let refused = journal.append(&run("b"), first, &steps(8..9));
            assert!(
                matches!(refused, Err(JournalError::Store(StoreError::OutOfOrder { .. }))),
                "{first}"
            );
        }
        assert!(journal.begin(&head("b"), &steps(0..1)).is_err());

        events.extend(steps(0..3));
        assert_eq!(journal.replay::<Event>(&run("b")).unwrap(), events);
        assert_eq!(journal.replay::<Event>(&run("a")).unwrap(), steps(7..8));
        assert_eq!(journal.replay::<Event>(&run("c")).unwrap(), vec![]);
        assert_eq!(journal.runs().unwrap(), [head("a"), head("b")]);
        assert_eq!(journal.plan(&PlanId::new("p")).unwrap(), Some(plan()));
        assert_eq!(journal.plan(&PlanId::new("q")).unwrap(), None);
    }

    #[test]
    fn memory_store_has_the_properties_of_every_store() {
        check(Journal::in_memory());
    }

    #[test]
    fn file_store_has_the_properties_of_every_store() {
        let dir = tempfile::tempdir().unwrap();
        check(Journal::open(&dir.path().join("journal")).unwrap());
    }

    #[test]
    fn another_process_reads_the_written_events() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        journal.begin(&head("r"), &steps(0..2)).unwrap();
        drop(journal);
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&run("r"), 2, &steps(2..4)).unwrap();
        assert_eq!(journal.replay::<Event>(&run("r")).unwrap(), steps(0..4));
    }

    /// After a change of bytes on the disk, reading either fails or returns the written values. It never panics and
    /// never returns others.
    #[test]
    fn damaged_file_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        for number in 0..40 {
            journal.append(&run("r"), u64::from(number), &steps(number..number + 1)).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let mut detected = 0;
        for at in (0..whole.len()).step_by(whole.len() / 150) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            match Journal::open(&path).map(|journal| journal.replay::<Event>(&run("r"))) {
                Ok(Ok(events)) => assert_eq!(events, steps(0..40), "byte {at}"),
                Ok(Err(_)) | Err(_) => detected += 1,
            }
        }
        assert!(detected > 0, "no change of a byte was detected");
    }

    /// A store with one record, as a damaged disk or another program would leave it.
    fn holding(bytes: &[u8]) -> Journal {
        let mut store = MemoryStore::default();
        store.write(&[Put::Record { run: "r".into(), number: 0, bytes: bytes.to_vec() }]).unwrap();
        let count = encode(&1, &count_of(&run("r"))).unwrap();
        store
            .write(&[Put::Named { shelf: Shelf::Counts, name: "r".into(), bytes: count }])
            .unwrap();
        for shelf in [Shelf::Plans, Shelf::Runs] {
            store.write(&[Put::Named { shelf, name: "r".into(), bytes: bytes.to_vec() }]).unwrap();
        }
        Journal::over(store)
    }

    #[test]
    fn damaged_record_is_an_error() {
        let whole = encode(&Event::Began { by: "Li".into() }, "record 0 of run r").unwrap();
        for end in 0..whole.len() {
            let read = holding(&whole[..end]).replay::<Event>(&run("r"));
            assert!(matches!(read, Err(JournalError::Damaged { .. })), "cut at {end}");
        }
        for at in 1..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let read = holding(&bytes).replay::<Event>(&run("r"));
            assert!(matches!(read, Err(JournalError::Damaged { .. })), "changed at {at}");
        }
        let moved = encode(&Event::Began { by: "Li".into() }, "record 1 of run r").unwrap();
        assert!(matches!(
            holding(&moved).replay::<Event>(&run("r")),
            Err(JournalError::Damaged { .. })
        ));
        assert_eq!(holding(&whole).replay::<Event>(&run("r")).unwrap().len(), 1);
    }

    #[test]
    fn record_of_another_version_is_an_error_with_that_version() {
        let read = holding(b"1 and something else").replay::<Event>(&run("r"));
        insta::assert_snapshot!(read.unwrap_err(), @"record 0 of run r is written in version 1; this program knows version 4");
    }

    /// A store that has lost some records.
    struct Losing {
        store: MemoryStore,
        lost: fn(u64) -> bool,
    }

    impl Store for Losing {
        fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
            self.store.write(puts)
        }

        fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
            self.store.read(shelf, name)
        }

        fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
            self.store.list(shelf)
        }

        fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
            let kept = self.store.records(run)?;
            Ok(kept.into_iter().filter(|(number, _)| !(self.lost)(*number)).collect())
        }
    }

    #[test]
    fn lost_records_are_an_error() {
        let replay = |lost| {
            let mut journal = Journal::over(Losing { store: MemoryStore::default(), lost });
            journal.begin(&head("r"), &steps(0..4)).unwrap();
            journal.replay::<Event>(&run("r")).map_err(|error| error.to_string())
        };
        assert_eq!(replay(|_| false), Ok(steps(0..4)));
        insta::assert_snapshot!(replay(|number| number == 1).unwrap_err(), @"run r has 3 records, and 4 were written");
        insta::assert_snapshot!(replay(|number| number == 3).unwrap_err(), @"run r has 3 records, and 4 were written");
        insta::assert_snapshot!(replay(|_| true).unwrap_err(), @"run r has 0 records, and 4 were written");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let journal = holding(&bytes);
            let _ = journal.replay::<Event>(&run("r"));
            let _ = journal.plan(&PlanId::new("r"));
            let _ = journal.runs();
        }

        #[test]
        fn any_json_is_read_without_a_panic(text in r#"\{"event":"(Began|Step|x)",[\[\]{}",:a-z0-9]{0,40}\}"#) {
            let _ = holding(&seal(text.as_bytes(), "record 0 of run r")).replay::<Event>(&run("r"));
        }

        #[test]
        fn any_batches_come_back_in_order(sizes in proptest::collection::vec(0u32..5, 0..8)) {
            let mut journal = Journal::in_memory();
            let mut count = 0;
            for size in sizes {
                journal.append(&run("r"), u64::from(count), &steps(count..count + size)).unwrap();
                count += size;
            }
            prop_assert_eq!(journal.replay::<Event>(&run("r")).unwrap(), steps(0..count));
        }
    }
}
