//! Tests of the hub. The test sends the observations of the watches and the outcomes of the calls. Time is paused.

mod runs;
mod commands;
mod failing_disk;
mod kept_runs;
mod plans;
mod reading;
mod remedies;
mod recovery;
mod recorded;
mod set_aside;
mod standpoint;
mod topics;
mod unplanned;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use teardown::{
    action::{Action, Outcome},
    fixture,
    message::{Message, Record, Topic},
    object::Object,
    observation::Observation,
    plan::Choices,
    run::{RunCommand, RunState},
    unit::UnitId,
};

use super::*;
use crate::journal::{MemoryStore, Put, Shelf, Store, StoreError};

const SHOP: &str = "
    ns shop of=shop
    deploy shop/web of=shop selector=app:web template=app:web uses=claim:data
    pod shop/web-a owner=deploy/web labels=app:web uses=claim:data
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data
";

/// A disk that outlives the process, and whose writes may fail.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<DiskState>>);

#[derive(Default)]
struct DiskState {
    store: MemoryStore,
    failure: Option<WriteFailure>,
    /// The writes that succeed before it.
    good: usize,
    writes: usize,
    /// Whether the store says from its opening on that it cannot be written.
    is_read_only: bool,
}

/// The way in which writes fail.
#[derive(Clone, Copy, Debug)]
enum WriteFailure {
    /// Nothing is written.
    Lost,
    /// The next write is kept all the same; later ones are lost.
    FirstKept,
}

impl Store for Disk {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        let mut state = self.0.lock().unwrap();
        state.writes += 1;
        if state.good > 0 {
            state.good -= 1;
            return state.store.write(puts);
        }
        match state.failure {
            None => return state.store.write(puts),
            Some(WriteFailure::FirstKept) => state.store.write(puts)?,
            Some(WriteFailure::Lost) => {}
        }
        state.failure = Some(WriteFailure::Lost);
        Err(StoreError::File(std::io::Error::other("no space left on the disk").into()))
    }
    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.lock().unwrap().store.read(shelf, name)
    }
    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.0.lock().unwrap().store.list(shelf)
    }
    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        self.0.lock().unwrap().store.records(run)
    }
    fn is_writable(&self) -> bool {
        !self.0.lock().unwrap().is_read_only
    }
}

impl Disk {
    fn fail(&self, failure: WriteFailure) {
        self.fail_after(0, failure);
    }

    fn fail_after(&self, good: usize, failure: WriteFailure) {
        let mut state = self.0.lock().unwrap();
        (state.good, state.failure) = (good, Some(failure));
    }

    fn repair(&self) {
        let mut state = self.0.lock().unwrap();
        (state.failure, state.is_read_only) = (None, false);
    }

    /// The disk as a crash in this moment leaves it.
    fn copy(&self) -> Self {
        let store = self.0.lock().unwrap().store.clone();
        Self(Arc::new(Mutex::new(DiskState { store, ..DiskState::default() })))
    }

    /// The number of writes so far.
    fn writes(&self) -> usize {
        self.0.lock().unwrap().writes
    }

    /// The run's journal as text.
    fn journal(&self, run: &RunId) -> String {
        let records = self.records(run.as_str()).unwrap();
        records.into_iter().map(|(_, bytes)| String::from_utf8(bytes).unwrap() + "\n").collect()
    }
}

/// A process: its hub, and the channels at which the test takes the place of the cluster.
struct Process {
    hub: HubHandle,
    mailbox: mpsc::Sender<Incoming>,
    calls: mpsc::Receiver<CallRequest>,
    task: tokio::task::JoinHandle<Result<(), HubError>>,
}

impl Process {
    fn start(disk: &Disk) -> Self {
        Self::before(disk, "test")
    }

    fn before(disk: &Disk, cluster: &str) -> Self {
        Self::with(disk, cluster, |hub| hub)
    }

    fn with(disk: &Disk, cluster: &str, change: impl FnOnce(Hub) -> Hub) -> Self {
        Self::run(disk, cluster, change, CancellationToken::new())
    }

    /// A process that ends with the token.
    fn drained_by(disk: &Disk, drain: CancellationToken) -> Self {
        Self::run(disk, "test", |hub| hub, drain)
    }

    fn run(
        disk: &Disk,
        cluster: &str,
        change: impl FnOnce(Hub) -> Hub,
        drain: CancellationToken,
    ) -> Self {
        Self::on(Journal::over(disk.clone()), cluster, change, drain)
    }

    fn on(
        journal: Journal,
        cluster: &str,
        change: impl FnOnce(Hub) -> Hub,
        drain: CancellationToken,
    ) -> Self {
        let (mailbox, inbox) = mpsc::channel(MAILBOX);
        let (out, calls) = mpsc::channel(CALLS);
        let hub = Hub::open(cluster.into(), inbox, out, journal).unwrap();
        let task = tokio::spawn(change(hub).run(drain));
        Self { hub: HubHandle::new(mailbox.clone()), mailbox, calls, task }
    }

    async fn see(&self, observations: Vec<Observation>) {
        self.mailbox.send(Incoming::Observed(observations)).await.unwrap();
    }

    async fn list(&self, text: &str) {
        self.see(fixture::listing(&fixture::objects(text))).await;
    }

    async fn gone(&self, line: &str) {
        let Object { kind, uid, .. } = fixture::object(line);
        self.see(vec![Observation::Deleted { kind, uid }]).await;
    }

    async fn start_run(&self, unit: &str) -> RunId {
        let plan =
            self.hub.make_plan(UnitId::new(unit), Choices::default()).await.unwrap().unwrap();
        self.hub.start(confirmation(&plan)).await.unwrap().unwrap()
    }

    /// The next call, as `DELETE name` or `LIST pods`.
    async fn call(&mut self) -> (String, CallRequest) {
        let call = self.calls.recv().await.unwrap();
        let text = match &call.action {
            Action::Delete { target, .. } => format!("DELETE {}", target.object),
            Action::Suspend { target, .. } => format!("PATCH {}", target.object),
            Action::Read { target, .. } | Action::ReadClaim { target } => {
                format!("GET {}", target.object)
            }
            Action::ReadPods { target, .. } => {
                format!("LIST pods in {}", target.object.namespace.as_deref().unwrap_or_default())
            }
            Action::ReadContent { target, .. } => {
                format!("LIST everything in {}", target.object.name)
            }
        };
        (text, call)
    }

    async fn answer(&self, call: CallRequest, outcome: Outcome) {
        let CallRequest { run, action, steps_behind: _, recall: _ } = call;
        let answered = Instant::now();
        let completed = Incoming::CallCompleted { run, action, outcome, answered };
        self.mailbox.send(completed).await.unwrap();
    }

    /// Answers the next call. The reads just before a DELETE show the object as it was planned, and nothing in a namespace.
    async fn expect(&mut self, text: &str, outcome: Outcome) {
        let (mut actual, mut call) = self.call().await;
        if actual.starts_with("GET ") && !text.starts_with("GET ") {
            let unchanged = self.unchanged(&call).await;
            self.answer(call, unchanged).await;
            (actual, call) = self.call().await;
        }
        if actual.starts_with("LIST everything ") && !text.starts_with("LIST ") {
            self.answer(call, Outcome::Content { objects: vec![], unlisted: vec![] }).await;
            (actual, call) = self.call().await;
        }
        assert_eq!(actual, text);
        self.answer(call, outcome).await;
    }

    async fn unchanged(&self, call: &CallRequest) -> Outcome {
        let records = self.records(Topic::Run(call.run.clone())).await;
        let plan = records.iter().find_map(|record| match record {
            Record::Run(card) => Some(card.plan.clone()),
            _ => None,
        });
        let plan = self.hub.plan(plan.unwrap()).await.unwrap().unwrap();
        let named = plan.step(call.action.step().unwrap()).unwrap().named.clone();
        Outcome::Present { terminating: false, version: "1".into(), named, keep: None }
    }

    /// The records of a topic after the hub has processed every earlier message, because it replies in order.
    async fn records(&self, topic: Topic) -> Vec<Record> {
        match self.hub.query(topic).await.unwrap().unwrap() {
            Message::Snapshot { records, .. } => records,
            Message::Delta { .. } => panic!("a query returns a snapshot"),
        }
    }

    async fn run_state(&self, run: &RunId) -> RunState {
        let records = self.records(Topic::Run(run.clone())).await;
        records
            .iter()
            .find_map(|r| if let Record::Run(card) = r { Some(card.state) } else { None })
            .unwrap()
    }

    async fn quiet(&mut self) {
        self.records(Topic::Units).await;
        assert!(self.calls.try_recv().is_err(), "no call was expected");
    }
}

fn confirmation(plan: &Plan) -> Start {
    let confirm = plan.unit.to_string();
    Start {
        plan: plan.id.clone(),
        hash: plan.hash.clone(),
        confirm,
        parts: plan.parts(),
        by: "Li".into(),
    }
}
