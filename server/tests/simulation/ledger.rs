//! A journal's store that outlives crashes, crashes the server at a boundary of a write, and knows which intents are
//! durable.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use server::journal::{MemoryStore, Put, Shelf, Store, StoreError};

use crate::{
    gate::Gate,
    state::{list, text},
};

/// How long a write lies about before it is durable, with the saboteur that acknowledges it first.
const LATE: Duration = Duration::from_millis(40);

/// Where a write is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing is written.
    Before,
    /// It is written, and nobody hears of it.
    Written,
    /// The server hears of it, and ends before it sends anything.
    Acknowledged,
}

/// What is on the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    store: MemoryStore,
    /// Acknowledged, and not durable.
    loose: Option<MemoryStore>,
    is_late: bool,
    writes: u64,
    cut: Option<(u64, Cut)>,
    /// What is durable, as the oracle reads it.
    known: Known,
    /// What was acknowledged and is not yet durable.
    waiting: Vec<Put>,
}

/// What was durably written, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// UIDs by step, by plan.
    pub(crate) plans: BTreeMap<String, Value>,
    /// The plan by run, in the order in which runs began.
    pub(crate) runs: Vec<(String, String)>,
    /// The events by run.
    pub(crate) events: BTreeMap<String, Vec<Value>>,
    /// When each of them was durable.
    pub(crate) marks: BTreeMap<String, Vec<Mark>>,
    /// How many events of all runs are durable.
    pub(crate) count: u64,
    /// How often a DELETE of a UID was announced.
    pub(crate) intents: BTreeMap<String, u64>,
    /// All bytes, where they were asked for.
    pub(crate) bytes: Vec<u8>,
}

/// When an event was durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// How many events of all runs were durable before it.
    pub(crate) before: u64,
    /// The life of the server that wrote it.
    pub(crate) life: u64,
    /// In milliseconds since the beginning.
    pub(crate) at: u64,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acknowledges writes before they are durable.
    pub(crate) fn be_late(&self) {
        self.lock().is_late = true;
    }

    /// Cuts a write, counted from now: 0 is the next.
    pub(crate) fn cut(&self, after: u64, cut: Cut) {
        let mut book = self.lock();
        book.cut = Some((book.writes + after, cut));
    }

    /// The store of one life of the server.
    pub(crate) fn pages(&self, life: u64, gate: Gate) -> Pages {
        let mut book = self.lock();
        (book.loose, book.waiting) = (None, vec![]);
        Pages { ledger: self.clone(), life, gate }
    }

    /// How many DELETEs of this UID were announced durably, and how many events of all runs are durable.
    pub(crate) fn durable(&self, uid: &str) -> (u64, u64) {
        let known = &self.lock().known;
        (known.intents.get(uid).copied().unwrap_or_default(), known.count)
    }

    /// How often something was written.
    pub(crate) fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// The run of a plan that is written down.
    pub(crate) fn run_of(&self, plan: &str) -> Option<String> {
        let book = self.lock();
        let mut runs = book.known.runs.iter();
        runs.find(|(_, its)| its == plan).map(|(run, _)| run.clone())
    }

    /// How the runs stand: each with its last event.
    pub(crate) fn runs(&self) -> Vec<(String, bool)> {
        let book = self.lock();
        let ended = |run: &String| {
            let last = book.known.events.get(run).and_then(|events| events.last());
            last.is_some_and(|last| matches!(event_name(last), "finished" | "stopped"))
        };
        book.known.runs.iter().map(|(run, _)| (run.clone(), ended(run))).collect()
    }

    pub(crate) fn known(&self) -> Known {
        self.lock().known.clone()
    }

    fn settle(&self, life: u64, at: u64) {
        let mut book = self.lock();
        if let Some(store) = book.loose.take() {
            book.store = store;
        }
        for put in std::mem::take(&mut book.waiting) {
            book.known.absorb(&put, life, at);
        }
    }
}

/// The store as the server sees it in one life.
pub(crate) struct Pages {
    ledger: Ledger,
    life: u64,
    gate: Gate,
}

impl Store for Pages {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        let mut book = self.ledger.lock();
        let number = book.writes;
        book.writes += 1;
        let cut = book.cut.take_if(|(at, _)| *at <= number).map(|(_, cut)| cut);
        if cut == Some(Cut::Before) {
            drop(book);
            self.gate.crash("before a write");
        }
        if book.is_late {
            let mut store = book.loose.take().unwrap_or_else(|| book.store.clone());
            store.write(puts)?;
            book.loose = Some(store);
            book.waiting.extend_from_slice(puts);
            let (ledger, life, gate) = (self.ledger.clone(), self.life, self.gate.clone());
            tokio::spawn(async move {
                tokio::time::sleep(LATE).await;
                if !gate.is_shut() {
                    ledger.settle(life, gate.now());
                }
            });
        } else {
            book.store.write(puts)?;
            let at = self.gate.now();
            puts.iter().for_each(|put| book.known.absorb(put, self.life, at));
        }
        drop(book);
        match cut {
            Some(Cut::Written) => self.gate.crash("after a write, before its answer"),
            Some(Cut::Acknowledged) => self.gate.shut("after a write and its answer"),
            Some(Cut::Before) | None => {}
        }
        Ok(())
    }

    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let book = self.ledger.lock();
        book.loose.as_ref().unwrap_or(&book.store).read(shelf, name)
    }

    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let book = self.ledger.lock();
        book.loose.as_ref().unwrap_or(&book.store).list(shelf)
    }

    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let book = self.ledger.lock();
        book.loose.as_ref().unwrap_or(&book.store).records(run)
    }
}

impl Known {
    fn absorb(&mut self, put: &Put, life: u64, at: u64) {
        let bytes = match put {
            Put::Named { bytes, .. } | Put::Record { bytes, .. } => bytes,
        };
        self.bytes.extend_from_slice(bytes);
        // A version, a check sum, the JSON.
        let json = bytes.splitn(3, |byte| *byte == b' ').nth(2).unwrap_or_default();
        let Ok(value) = serde_json::from_slice::<Value>(json) else { return };
        match put {
            Put::Named { shelf: Shelf::Plans, name, .. } => {
                self.plans.insert(name.clone(), value);
            }
            Put::Named { shelf: Shelf::Runs, name, .. } => {
                self.runs.push((name.clone(), text(&value, "/plan").to_owned()));
            }
            Put::Named { .. } => {}
            Put::Record { run, .. } => {
                if event_name(&value) == "callStarted" && text(&value, "/event/call") == "delete" {
                    let uid = self.uid_of(run, &value["event"]["step"]);
                    *self.intents.entry(uid).or_default() += 1;
                }
                self.mark(run, value, life, at);
            }
        }
    }

    /// Takes in an event that is durable from now on.
    pub(crate) fn mark(&mut self, run: &str, event: Value, life: u64, at: u64) {
        let mark = Mark { before: self.count, life, at };
        self.count += 1;
        self.events.entry(run.to_owned()).or_default().push(event);
        self.marks.entry(run.to_owned()).or_default().push(mark);
    }

    /// The events of a run, each with when it was durable.
    pub(crate) fn told(&self, run: &str) -> impl Iterator<Item = (&Value, &Mark)> {
        let events = self.events.get(run).into_iter().flatten();
        events.zip(self.marks.get(run).into_iter().flatten())
    }

    /// Whether anything of this name happened in any run.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        self.events.values().flatten().any(|event| names.contains(&event_name(event)))
    }

    fn uid_of(&self, run: &str, step: &Value) -> String {
        let plan = self.runs.iter().find(|(id, _)| id == run);
        let plan = plan.and_then(|(_, plan)| self.plans.get(plan));
        let mut steps = plan.map_or(&[][..], |plan| list(plan, "/steps")).iter();
        steps.find(|it| it["id"] == *step).map_or("", |it| text(it, "/uid")).to_owned()
    }
}

/// What an entry of a run's journal says happened.
pub(crate) fn event_name(entry: &Value) -> &str {
    entry["event"]["event"].as_str().unwrap_or_default()
}
