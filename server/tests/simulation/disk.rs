//! The store of the journal, which outlives crashes. It can crash the server at a write, and it records which intents
//! are durable.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use server::journal::{MemoryStore, Put, Shelf, Store, StoreError};

use crate::{
    kill_switch::KillSwitch,
    state::{list, text},
};

/// The time between acknowledgement and durability, with the mutant that acknowledges early.
const SYNC_DELAY: Duration = Duration::from_millis(40);

/// The moment of a write at which the server crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    /// Nothing is written.
    Before,
    /// It is written, and the server gets no acknowledgement.
    Written,
    /// The server gets the acknowledgement, and crashes before it sends a request.
    Acknowledged,
}

/// The way in which a write fails. The server gets an error each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteFailure {
    /// Nothing is written.
    Lost,
    /// The next write is kept all the same, unless it is about a person's command; later ones are lost.
    FirstKept,
}

/// The content of the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<DiskState>>);

#[derive(Debug, Default)]
struct DiskState {
    store: MemoryStore,
    /// Acknowledged, but not yet durable.
    unsynced: Option<MemoryStore>,
    acknowledges_early: bool,
    ignores_failures: bool,
    writes: u64,
    crash_point: Option<(u64, CrashPoint)>,
    /// Set while writes fail.
    failure: Option<WriteFailure>,
    /// The durable content, as the oracle reads it.
    journal: JournalRecords,
    /// Acknowledged, but not yet durable.
    unsynced_puts: Vec<Put>,
}

/// The durable records of the journal, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalRecords {
    /// The plans, by identifier.
    pub(crate) plans: BTreeMap<String, Value>,
    /// Each run with its plan, in the order in which the runs started.
    pub(crate) runs: Vec<(String, String)>,
    /// The events of each run.
    pub(crate) events: BTreeMap<String, Vec<Value>>,
    /// The commit of each of these events.
    pub(crate) commits: BTreeMap<String, Vec<Commit>>,
    /// The number of durable events of all runs.
    pub(crate) count: u64,
    /// The number of durable intents to delete, by UID.
    pub(crate) intents: BTreeMap<String, u64>,
    /// All bytes that were written.
    pub(crate) bytes: Vec<u8>,
    /// The number of failed writes of events that were lost, and of those that were kept.
    pub(crate) lost: u64,
    pub(crate) kept: u64,
}

/// The moment at which an event became durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// How many events of all runs were durable before it.
    pub(crate) before: u64,
    /// The server instance that wrote it.
    pub(crate) instance: u64,
    /// In milliseconds since the start of the run.
    pub(crate) at: u64,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acknowledges writes before they are durable.
    pub(crate) fn acknowledge_early(&self) {
        self.lock().acknowledges_early = true;
    }

    /// Acknowledges writes that fail.
    pub(crate) fn ignore_failures(&self) {
        self.lock().ignores_failures = true;
    }

    /// Crashes the server at a later write: 0 is the next one.
    pub(crate) fn crash_at_write(&self, after: u64, crash_point: CrashPoint) {
        let mut state = self.lock();
        state.crash_point = Some((state.writes + after, crash_point));
    }

    /// Fails all writes until the repair.
    pub(crate) fn fail(&self, failure: WriteFailure) {
        self.lock().failure = Some(failure);
    }

    /// Lets writes succeed again.
    pub(crate) fn repair(&self) {
        self.lock().failure = None;
    }

    /// The store for one server instance.
    pub(crate) fn store_for(&self, instance: u64, kill_switch: KillSwitch) -> InstanceStore {
        let mut state = self.lock();
        (state.unsynced, state.unsynced_puts) = (None, vec![]);
        InstanceStore { disk: self.clone(), instance, kill_switch }
    }

    /// The number of durable intents to delete this UID, and the number of durable events of all runs.
    pub(crate) fn durable(&self, uid: &str) -> (u64, u64) {
        let journal = &self.lock().journal;
        (journal.intents.get(uid).copied().unwrap_or_default(), journal.count)
    }

    /// The number of writes.
    pub(crate) fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// The run of a plan, if the journal has one.
    pub(crate) fn run_of(&self, plan: &str) -> Option<String> {
        let state = self.lock();
        let mut runs = state.journal.runs.iter();
        runs.find(|(_, its)| its == plan).map(|(run, _)| run.clone())
    }

    /// Every run, and whether it has ended.
    pub(crate) fn runs(&self) -> Vec<(String, bool)> {
        let state = self.lock();
        let ended = |run: &String| {
            let last = state.journal.events.get(run).and_then(|events| events.last());
            last.is_some_and(|last| matches!(event_name(last), "finished" | "stopped"))
        };
        state.journal.runs.iter().map(|(run, _)| (run.clone(), ended(run))).collect()
    }

    pub(crate) fn journal(&self) -> JournalRecords {
        self.lock().journal.clone()
    }

    fn sync(&self, instance: u64, at: u64) {
        let mut state = self.lock();
        if let Some(store) = state.unsynced.take() {
            state.store = store;
        }
        for put in std::mem::take(&mut state.unsynced_puts) {
            state.journal.add(&put, instance, at);
        }
    }
}

impl DiskState {
    /// Keeps the records of a write that fails, or loses them.
    fn fail_write(
        &mut self,
        failure: WriteFailure,
        puts: &[Put],
        instance: u64,
        at: u64,
    ) -> Result<(), StoreError> {
        let has_events = puts.iter().any(|put| matches!(put, Put::Record { .. }));
        let is_command = puts.iter().any(|put| {
            let Put::Record { bytes, .. } = put else { return false };
            let event = content(bytes);
            let commands = ["started", "paused", "resumed", "stopping", "skipped", "takenOn"];
            event.is_some_and(|event| commands.contains(&event_name(&event)))
        });
        if failure == WriteFailure::FirstKept && has_events && !is_command {
            self.store.write(puts)?;
            puts.iter().for_each(|put| self.journal.add(put, instance, at));
            self.journal.kept += 1;
            self.failure = Some(WriteFailure::Lost);
        } else {
            self.journal.lost += u64::from(has_events);
        }
        Ok(())
    }
}

/// The JSON of a record, which is behind a version and a checksum.
fn content(bytes: &[u8]) -> Option<Value> {
    let json = bytes.splitn(3, |byte| *byte == b' ').nth(2)?;
    serde_json::from_slice(json).ok()
}

/// The store as one server instance sees it.
pub(crate) struct InstanceStore {
    disk: Disk,
    instance: u64,
    kill_switch: KillSwitch,
}

impl Store for InstanceStore {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        let mut state = self.disk.lock();
        let number = state.writes;
        state.writes += 1;
        let crash_point =
            state.crash_point.take_if(|(at, _)| *at <= number).map(|(_, crash_point)| crash_point);
        if crash_point == Some(CrashPoint::Before) {
            drop(state);
            self.kill_switch.crash("before a write");
        }
        if let Some(failure) = state.failure {
            let at = self.kill_switch.now();
            state.fail_write(failure, puts, self.instance, at)?;
            if state.ignores_failures {
                return Ok(());
            }
            return Err(StoreError::File(io::Error::from(io::ErrorKind::StorageFull).into()));
        }
        if state.acknowledges_early {
            let mut store = state.unsynced.take().unwrap_or_else(|| state.store.clone());
            store.write(puts)?;
            state.unsynced = Some(store);
            state.unsynced_puts.extend_from_slice(puts);
            let (disk, instance, kill_switch) =
                (self.disk.clone(), self.instance, self.kill_switch.clone());
            tokio::spawn(async move {
                tokio::time::sleep(SYNC_DELAY).await;
                if !kill_switch.is_tripped() {
                    disk.sync(instance, kill_switch.now());
                }
            });
        } else {
            state.store.write(puts)?;
            let at = self.kill_switch.now();
            puts.iter().for_each(|put| state.journal.add(put, self.instance, at));
        }
        drop(state);
        match crash_point {
            Some(CrashPoint::Written) => self.kill_switch.crash("after a write, before its answer"),
            Some(CrashPoint::Acknowledged) => self.kill_switch.trip("after a write and its answer"),
            Some(CrashPoint::Before) | None => {}
        }
        Ok(())
    }

    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.disk.lock();
        state.unsynced.as_ref().unwrap_or(&state.store).read(shelf, name)
    }

    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let state = self.disk.lock();
        state.unsynced.as_ref().unwrap_or(&state.store).list(shelf)
    }

    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let state = self.disk.lock();
        state.unsynced.as_ref().unwrap_or(&state.store).records(run)
    }
}

impl JournalRecords {
    fn add(&mut self, put: &Put, instance: u64, at: u64) {
        let (Put::Named { bytes, .. } | Put::Record { bytes, .. }) = put else { return };
        self.bytes.extend_from_slice(bytes);
        let Some(value) = content(bytes) else { return };
        match put {
            Put::Named { shelf: Shelf::Plans, name, .. } => {
                self.plans.insert(name.clone(), value);
            }
            Put::Named { shelf: Shelf::Runs, name, .. } => {
                self.runs.push((name.clone(), text(&value, "/plan").to_owned()));
            }
            Put::Named { .. } | Put::Remove { .. } | Put::RemoveRecords { .. } => {}
            Put::Record { run, .. } => {
                if event_name(&value) == "callStarted" && text(&value, "/event/call") == "delete" {
                    let uid = self.uid_of(run, &value["event"]["step"]);
                    *self.intents.entry(uid).or_default() += 1;
                }
                self.commit(run, value, instance, at);
            }
        }
    }

    /// Adds an event that has become durable.
    pub(crate) fn commit(&mut self, run: &str, event: Value, instance: u64, at: u64) {
        let commit = Commit { before: self.count, instance, at };
        self.count += 1;
        self.events.entry(run.to_owned()).or_default().push(event);
        self.commits.entry(run.to_owned()).or_default().push(commit);
    }

    /// The events of a run with their commits.
    pub(crate) fn events_of(&self, run: &str) -> impl Iterator<Item = (&Value, &Commit)> {
        let events = self.events.get(run).into_iter().flatten();
        events.zip(self.commits.get(run).into_iter().flatten())
    }

    /// Whether any run has an event with one of these names.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        self.events.values().flatten().any(|event| names.contains(&event_name(event)))
    }

    /// Whether any run has an event of this name for the object with this UID.
    pub(crate) fn has_for(&self, name: &str, uid: &str) -> bool {
        let is_about_it = |run: &str, event: &Value| {
            event_name(event) == name && self.uid_of(run, &event["event"]["step"]) == uid
        };
        self.events.iter().any(|(run, events)| events.iter().any(|event| is_about_it(run, event)))
    }

    fn uid_of(&self, run: &str, step: &Value) -> String {
        let plan = self.runs.iter().find(|(id, _)| id == run);
        let plan = plan.and_then(|(_, plan)| self.plans.get(plan));
        let mut steps = plan.map_or(&[][..], |plan| list(plan, "/steps")).iter();
        steps.find(|it| it["id"] == *step).map_or("", |it| text(it, "/uid")).to_owned()
    }
}

/// The name of the event in a journal entry.
pub(crate) fn event_name(entry: &Value) -> &str {
    entry["event"]["event"].as_str().unwrap_or_default()
}
