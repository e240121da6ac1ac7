//! What must outlive the process: plans, and runs event by event. An event is on disk before the action it announces
//! is performed, so a crash anywhere returns to a known state.
//!
//! A run's events are numbered from 0 without gaps. A batch is written as a whole or not at all, and only right behind
//! what is there: a second writer, or one with an old view, is refused. Every record says in which version it is
//! written and carries a check sum; what cannot be read is an error that names the run and the number, never a panic and never a shorter run.
//!
//! ```text
//! hub ── put_plan, begin, append ──► Journal (JSON, versions, sums) ──► Store: file (redb) | memory
//!     ◄─ plan, runs, replay ───────
//! ```
//!
//! Writing waits for the disk. The hub is the only caller, and nothing may happen before the disk has answered.

mod file;
mod memory;
mod seal;

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use teardown::{
    object::Uid,
    plan::{Plan, PlanId},
    run::RunId,
};

use self::seal::{VERSION, seal, unseal};
pub use self::{
    file::{FileStore, OpenError},
    memory::MemoryStore,
};

/// Where bytes are kept.
pub trait Store: Send {
    /// Writes all of `puts` or none of them, and returns once they would survive a power cut.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was written then.
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError>;

    /// What is kept under `name`.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be read.
    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// All names of a shelf with what is kept under them, by name.
    ///
    /// # Errors
    /// [`StoreError`] where they cannot be read.
    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// All records of a run with their numbers, in order.
    ///
    /// # Errors
    /// [`StoreError`] where they cannot be read.
    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError>;
}

/// What is kept by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shelf {
    /// Plans, by plan.
    Plans,
    /// What is known of a run from its start, by run.
    Runs,
    /// How many records there should be, by run.
    Counts,
}

/// One thing to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// Under a name, in place of what was there.
    Named {
        /// Where.
        shelf: Shelf,
        /// Under which name.
        name: String,
        /// What.
        bytes: Vec<u8>,
    },
    /// Behind a run's last record.
    Record {
        /// Which run.
        run: String,
        /// The number it must get: how many are there already.
        number: u64,
        /// What.
        bytes: Vec<u8>,
    },
}

/// Why a store did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The record's number is not the next one: somebody else has written, or something was lost.
    #[error("record {number} of run {run} does not follow the {kept} that are kept")]
    OutOfOrder {
        /// The run.
        run: String,
        /// The number it came with.
        number: u64,
        /// How many records there are.
        kept: u64,
    },
    /// The disk, or the file on it.
    #[error("the journal's file failed")]
    File(#[from] redb::Error),
}

/// Why the journal did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be put into JSON.
    #[error("{what} cannot be written as JSON")]
    Unwritable {
        /// What it was.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// It is not what was written there.
    #[error("{what} is damaged")]
    Damaged {
        /// What it was.
        what: String,
    },
    /// It is what was written there, and makes no sense to this program.
    #[error("{what} cannot be understood")]
    Unreadable {
        /// What it was.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// Another version of this program wrote it.
    #[error("{what} is written in version {version}; this program knows version {VERSION}")]
    Version {
        /// What it was.
        what: String,
        /// The version it says.
        version: u32,
    },
    /// The last records are missing, or there are some that nobody has written.
    #[error("run {run} has {kept} records, and {written} were written")]
    Lost {
        /// The run.
        run: RunId,
        /// How many were written.
        written: u64,
        /// How many are there.
        kept: u64,
    },
    /// A record is missing.
    #[error("record {expected} of run {run} is missing; the next one there is {found}")]
    Gap {
        /// The run.
        run: RunId,
        /// The number that should come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
}

/// What is known of a run from its start on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// The run.
    pub run: RunId,
    /// The plan it performs.
    pub plan: PlanId,
    /// When it started.
    pub started: Timestamp,
    /// The cluster it is about.
    #[serde(flatten)]
    pub cluster: ClusterId,
}

/// Which cluster something is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId {
    /// The UID of its namespace `kube-system`, which is as old as the cluster and which nobody can make anew; the name,
    /// where that could not be seen.
    pub cluster: String,
    /// Its name among the clusters this server is started for. Missing in what was written before it was kept.
    #[serde(default)]
    pub context: Option<String>,
}

impl ClusterId {
    /// The cluster of this name, and what it goes by if it can be seen.
    pub fn new(name: &str, system: Option<&Uid>) -> Self {
        let cluster = system.map_or_else(|| name.to_owned(), Uid::to_string);
        Self { cluster, context: Some(name.to_owned()) }
    }

    /// Whether the two are the same. Rights come and go: where one of the two has a name only, the names decide.
    pub fn is(&self, other: &Self) -> bool {
        let has_name_only = |it: &Self| it.context.as_ref() == Some(&it.cluster);
        self.cluster == other.cluster
            || self.context.is_some()
                && self.context == other.context
                && (has_name_only(self) || has_name_only(other))
    }
}

/// The journal over a store.
pub struct Journal {
    store: Box<dyn Store>,
}

impl Journal {
    /// A journal in a file, for this process alone.
    ///
    /// # Errors
    /// [`OpenError`], among them that another server uses the file.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Ok(Self::over(FileStore::open(path)?))
    }

    /// A journal that ends with the process.
    pub fn in_memory() -> Self {
        Self::over(MemoryStore::default())
    }

    /// A journal over another store.
    pub fn over(store: impl Store + 'static) -> Self {
        Self { store: Box::new(store) }
    }

    /// Keeps a plan. Writing the same plan twice changes nothing: its id is its hash.
    ///
    /// # Errors
    /// [`JournalError`]; nothing was written then.
    pub fn put_plan(&mut self, plan: &Plan) -> Result<(), JournalError> {
        let bytes = encode(plan, &format!("plan {}", plan.id))?;
        let name = plan.id.to_string();
        Ok(self.store.write(&[Put::Named { shelf: Shelf::Plans, name, bytes }])?)
    }

    /// A plan that was kept.
    ///
    /// # Errors
    /// [`JournalError`] where it is there and cannot be read.
    pub fn plan(&self, id: &PlanId) -> Result<Option<Plan>, JournalError> {
        let bytes = self.store.read(Shelf::Plans, &id.to_string())?;
        bytes.map(|bytes| decode(&bytes, &format!("plan {id}"))).transpose()
    }

    /// Begins a run: its head and its first events become one write, so that no run is there without its beginning.
    ///
    /// # Errors
    /// [`JournalError`]; nothing was written then, and the run may not start.
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

    /// Writes events behind the `first` ones of a run. They are on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`]; nothing was written then, and nothing the events announce may be done.
    pub fn append<E: Serialize>(
        &mut self,
        run: &RunId,
        first: u64,
        events: &[E],
    ) -> Result<(), JournalError> {
        Ok(self.store.write(&records(run, first, events)?)?)
    }

    /// All runs that were begun, by id.
    ///
    /// # Errors
    /// [`JournalError`] where a head cannot be read.
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
    /// [`JournalError`] where one is missing or cannot be read: half a history is none.
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

/// The records of `events`, and how many there are with them.
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
    fn a_cluster_is_the_same_although_rights_come_and_go() {
        let (one, two) = (Uid::new("u-1"), Uid::new("u-2"));
        let seen = ClusterId::new("prod", Some(&one));
        assert!(seen.is(&ClusterId::new("renamed", Some(&one))));
        assert!(!seen.is(&ClusterId::new("prod", Some(&two))), "made anew under its name");
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
            left_to_cluster: vec![],
            hidden: vec![],
        }
    }

    /// What holds over every store.
    fn check(mut journal: Journal) {
        let mut events = vec![Event::Began { by: "Li".into() }];
        journal.put_plan(&plan()).unwrap();
        journal.put_plan(&plan()).unwrap();
        journal.begin(&head("b"), &events).unwrap();
        journal.begin(&head("a"), &steps(7..8)).unwrap();
        journal.append(&run("b"), 1, &steps(0..3)).unwrap();
        journal.append(&run("b"), 4, &steps(0..0)).unwrap();

        // Neither a gap nor an overwrite, and nothing of a refused batch.
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
    fn memory_keeps_what_it_is_given() {
        check(Journal::in_memory());
    }

    #[test]
    fn a_file_keeps_what_it_is_given() {
        let dir = tempfile::tempdir().unwrap();
        check(Journal::open(&dir.path().join("journal")).unwrap());
    }

    #[test]
    fn another_process_reads_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        journal.begin(&head("r"), &steps(0..2)).unwrap();
        drop(journal);
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&run("r"), 2, &steps(2..4)).unwrap();
        assert_eq!(journal.replay::<Event>(&run("r")).unwrap(), steps(0..4));
    }

    /// A disk that changes bytes is found out, or what is read is what was written; never a panic, never something else.
    #[test]
    fn a_damaged_file_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        for number in 0..40 {
            journal.append(&run("r"), u64::from(number), &steps(number..number + 1)).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let mut found_out = 0;
        for at in (0..whole.len()).step_by(whole.len() / 150) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            match Journal::open(&path).map(|journal| journal.replay::<Event>(&run("r"))) {
                Ok(Ok(events)) => assert_eq!(events, steps(0..40), "byte {at}"),
                Ok(Err(_)) | Err(_) => found_out += 1,
            }
        }
        assert!(found_out > 0, "some of the bytes mattered");
    }

    /// A store with one record in it, as a damaged disk or another program would leave it.
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
    fn every_torn_record_is_an_error() {
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
    fn another_version_is_named() {
        let read = holding(b"1 and something else").replay::<Event>(&run("r"));
        insta::assert_snapshot!(read.unwrap_err(), @"record 0 of run r is written in version 1; this program knows version 3");
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
    fn lost_records_are_missed() {
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
