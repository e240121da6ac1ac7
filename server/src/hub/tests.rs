//! Tests of the hub. The test sends the observations of the watches and the outcomes of the calls. Time is paused.

mod publication;

use std::sync::{Arc, Mutex};

use teardown::{
    action::{Action, Outcome},
    api_problem::ApiProblem,
    fixture,
    fold::View,
    message::{Key, Record, State},
    object::Object,
    run::{RunState, StepProblem},
    unknown_reason::UnknownReason,
};

use super::*;
use crate::journal::{Put, Shelf, Store, StoreError};

const SHOP: &str = "
    ns shop of=shop
    deploy shop/web of=shop selector=app:web template=app:web uses=claim:data
    pod shop/web-a owner=deploy/web labels=app:web uses=claim:data
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data
";

/// A disk that outlives the process.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<crate::journal::MemoryStore>>);

impl Store for Disk {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        self.0.lock().unwrap().write(puts)
    }
    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.lock().unwrap().read(shelf, name)
    }
    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.0.lock().unwrap().list(shelf)
    }
    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        self.0.lock().unwrap().records(run)
    }
}

impl Disk {
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
        let (mailbox, inbox) = mpsc::channel(MAILBOX);
        let (out, calls) = mpsc::channel(CALLS);
        let task = Hub::open(cluster.into(), inbox, out, Journal::over(disk.clone())).unwrap();
        let task = tokio::spawn(task.run(CancellationToken::new()));
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
        let plan = self.hub.make_plan(UnitId::new(unit)).await.unwrap().unwrap();
        self.hub.start(confirmation(&plan)).await.unwrap().unwrap()
    }

    /// The next call, as `DELETE name` or `LIST pods`.
    async fn call(&mut self) -> (String, CallRequest) {
        let call = self.calls.recv().await.unwrap();
        let text = match &call.action {
            Action::Delete { object, .. } => format!("DELETE {object}"),
            Action::Read { object, .. } => format!("GET {object}"),
            Action::ReadPods { namespace, .. } => format!("LIST pods in {namespace}"),
        };
        (text, call)
    }

    async fn answer(&self, call: CallRequest, outcome: Outcome) {
        let CallRequest { run, action, recall: _ } = call;
        self.mailbox.send(Incoming::CallCompleted { run, action, outcome }).await.unwrap();
    }

    async fn expect(&mut self, text: &str, outcome: Outcome) {
        let (actual, call) = self.call().await;
        assert_eq!(actual, text);
        self.answer(call, outcome).await;
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
    Start { plan: plan.id.clone(), hash: plan.hash.clone(), confirm, by: "Li".into() }
}

#[tokio::test(start_paused = true)]
async fn run_proceeds_step_by_step_and_journals_before_each_call() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;

    let (text, call) = process.call().await;
    assert_eq!(text, "DELETE Deployment shop/web");
    assert!(
        disk.journal(&run).contains(r#""event":"callStarted","step":0,"call":"delete""#),
        "the intent comes first"
    );
    process.answer(call, Outcome::Accepted).await;
    process.quiet().await;
    process.gone("deploy shop/web").await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    process.quiet().await;
    process.gone("pod shop/web-a owner=deploy/web").await;
    process.expect("LIST pods in shop", Outcome::Pods(vec![])).await;
    process.expect("DELETE PersistentVolumeClaim shop/data", Outcome::Accepted).await;
    process.gone("pvc shop/data").await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
    process.gone("ns shop").await;
    assert_eq!(process.run_state(&run).await, RunState::Finished);
}

#[tokio::test(start_paused = true)]
async fn unplanned_pod_orphaned_by_a_delete_is_reported() {
    const STATEFUL: &str = "
        ns shop
        sts shop/db of=shop selector=app:db template=app:db templates=data
        pod shop/db-0 owner=sts/db labels=app:db uses=claim:data-db-0
        pvc shop/data-db-0 owner=sts/db
    ";
    let mut process = Process::start(&Disk::default());
    process.list(STATEFUL).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE StatefulSet shop/db", Outcome::Accepted).await;
    // The workload was scaled up just before its deletion.
    let late = "pod shop/db-1 owner=sts/db labels=app:db uses=claim:data-db-1";
    process.see(vec![Observation::Applied(Box::new(fixture::object(late)))]).await;
    process.gone("sts shop/db").await;
    process.expect("DELETE Pod shop/db-0", Outcome::Accepted).await;
    process.gone("pod shop/db-0 owner=sts/db").await;
    process.quiet().await;
    let records = process.records(Topic::Run(run.clone())).await;
    let problems: Vec<String> = records
        .into_iter()
        .filter_map(|record| match record {
            Record::Step(step) => Some((step.object, step.problem?)),
            _ => None,
        })
        .map(|(object, problem)| match problem {
            StepProblem::Unknown { reason: UnknownReason::PodsLeft { pod, of } } => {
                format!("{object}: {pod} is left of {of}")
            }
            other => format!("{object}: {other:?}"),
        })
        .collect();
    let expected =
        "PersistentVolumeClaim shop/data-db-0: Pod shop/db-1 is left of StatefulSet shop/db";
    assert_eq!(problems, [expected]);

    // A person repairs the problem, and the run continues by itself.
    process.gone(late).await;
    process.expect("LIST pods in shop", Outcome::Pods(vec![])).await;
    process.expect("DELETE PersistentVolumeClaim shop/data-db-0", Outcome::Accepted).await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
}

#[tokio::test(start_paused = true)]
async fn clock_set_back_delays_no_step() {
    let mut process = Process::start(&Disk::default());
    process.see(vec![Observation::Time("2027-01-15T09:00:00Z".parse().unwrap())]).await;
    process.list(SHOP).await;
    process.start_run("shop").await;
    let refused = Outcome::Refused { code: 403, message: "no".into() };
    process.expect("DELETE Deployment shop/web", refused).await;
    process.quiet().await;
    process.see(vec![Observation::Time("2027-01-15T08:00:00Z".parse().unwrap())]).await;
    let begin = Instant::now();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn restarted_process_continues_once_the_cluster_is_listed() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let (text, _never_answered) = process.call().await;
    assert_eq!(text, "DELETE Deployment shop/web");
    process.task.abort();

    let mut process = Process::start(&disk);
    process.see(vec![Observation::Watching(fixture::kind("pod"))]).await;
    process.quiet().await;
    // The DELETE had arrived: the list after the restart shows it.
    process.list(&SHOP.replace("deploy shop/web of=shop", "cm shop/other")).await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    let records = process.records(Topic::Run(run)).await;
    assert!(
        records.iter().any(|record| matches!(record, Record::Run(card) if card.recovered == 1))
    );
}

#[tokio::test(start_paused = true)]
async fn run_of_another_cluster_is_neither_shown_steered_nor_continued() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(&format!("{SHOP}\n ns kube-system uid=one")).await;
    let run = process.start_run("shop").await;
    process.call().await;
    process.task.abort();
    let mut process = Process::before(&disk, "other");
    process.list(&format!("{SHOP}\n ns kube-system uid=two")).await;
    let unknown = Err(Refusal::UnknownRun(run.clone()));
    assert_eq!(process.hub.query(Topic::Run(run.clone())).await.unwrap().map(|_| ()), unknown);
    assert_eq!(process.hub.steer(run.clone(), Steer::Stop, "Li".into()).await.unwrap(), unknown);
    let records = process.records(Topic::Unit(UnitId::new("shop"))).await;
    assert!(!records.iter().any(|record| matches!(record, Record::Run(_))));
    assert!(process.calls.try_recv().is_err());
    process.task.abort();
    // The same cluster, where `kube-system` is hidden.
    let mut process = Process::before(&disk, "test");
    process.list(SHOP).await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
    assert!(process.calls.try_recv().is_ok());
}

#[tokio::test(start_paused = true)]
async fn queued_call_is_recalled_by_pause_and_stop() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list("ns shop of=shop\n cm shop/a of=shop").await;
    let run = process.start_run("shop").await;
    let (_, call) = process.call().await;
    assert!(!call.recall.is_cancelled());
    process.hub.steer(run.clone(), Steer::Pause, "Li".into()).await.unwrap().unwrap();
    assert!(call.recall.is_cancelled());
    process.answer(call, Outcome::Recalled).await;
    process.hub.steer(run.clone(), Steer::Resume, "Li".into()).await.unwrap().unwrap();
    let (text, call) = process.call().await;
    assert_eq!(text, "DELETE ConfigMap shop/a");
    assert!(!call.recall.is_cancelled());
    process.hub.steer(run.clone(), Steer::Stop, "Li".into()).await.unwrap().unwrap();
    assert!(call.recall.is_cancelled());
    process.answer(call, Outcome::Recalled).await;
    assert_eq!(process.run_state(&run).await, RunState::Stopped);
}

#[tokio::test(start_paused = true)]
async fn stale_plan_is_refused_with_the_differences() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let plan = process.hub.make_plan(UnitId::new("shop")).await.unwrap().unwrap();
    process.see(vec![Observation::Applied(Box::new(fixture::object("cm shop/new of=shop")))]).await;
    let refusal = process.hub.start(confirmation(&plan)).await.unwrap().unwrap_err();
    let Refusal::Stale(differences) = refusal else { panic!("{refusal:?}") };
    assert_eq!(
        differences.len(),
        2,
        "one object is new, and the namespace waits for it: {differences:?}"
    );

    let plan = process.hub.make_plan(UnitId::new("shop")).await.unwrap().unwrap();
    let wrong = Start { hash: "0".into(), ..confirmation(&plan) };
    assert_eq!(process.hub.start(wrong).await.unwrap(), Err(Refusal::WrongHash));
    let wrong = Start { confirm: "shopp".into(), ..confirmation(&plan) };
    assert_eq!(process.hub.start(wrong).await.unwrap(), Err(Refusal::WrongName));
    process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
    let again = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(again, Err(Refusal::Overlap { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn no_plan_is_made_before_the_cluster_is_listed() {
    let process = Process::start(&Disk::default());
    process.see(vec![Observation::Watching(fixture::kind("pod"))]).await;
    assert_eq!(process.hub.make_plan(UnitId::new("shop")).await.unwrap(), Err(Refusal::NotReady));
    process.list(SHOP).await;
    let unknown = process.hub.make_plan(UnitId::new("shopp")).await.unwrap();
    assert_eq!(unknown, Err(Refusal::UnknownUnit(UnitId::new("shopp"))));
}

#[tokio::test(start_paused = true)]
async fn missing_unit_is_not_refused_before_the_cluster_is_listed() {
    let process = Process::start(&Disk::default());
    process.see(vec![Observation::Watching(fixture::kind("pod"))]).await;
    let topic = Topic::Unit(UnitId::new("bank"));
    let early = process.hub.query(topic.clone()).await.unwrap();
    assert_eq!(early.err(), Some(Refusal::NotReady));
    // A reader who waits for the unit sees which kinds are missing.
    let cause = teardown::observation::AwayCause::Unauthorized;
    process.see(vec![Observation::Unreachable { cause, message: "Unauthorized".into() }]).await;
    let waiting = process.hub.subscribe(topic.clone(), None).await.unwrap().unwrap();
    let first = format!("{:?}", waiting.first);
    assert!(first.contains("Unauthorized"), "{first}");
    process.list(SHOP).await;
    let unknown = process.hub.subscribe(topic, None).await.unwrap();
    assert_eq!(unknown.err(), Some(Refusal::UnknownUnit(UnitId::new("bank"))));
}

#[tokio::test(start_paused = true)]
async fn no_run_starts_while_pods_are_hidden() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let plan = process.hub.make_plan(UnitId::new("shop")).await.unwrap().unwrap();
    let resource = "pods".to_owned();
    let (cause, message) = (teardown::observation::HiddenCause::Forbidden, ApiProblem::from("no"));
    let hidden =
        Observation::Hidden { resource: resource.clone(), cause, message: message.clone() };
    process.see(vec![hidden]).await;
    let refused = process.hub.start(confirmation(&plan)).await.unwrap();
    let reason = UnknownReason::Hidden { resource: resource.clone(), namespace: None, message };
    assert_eq!(refused, Err(Refusal::PodsHidden(reason)));
    process.see(vec![Observation::Visible { resource }]).await;
    process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn pause_holds_calls_and_stop_counts_requested_deletions() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    process.hub.steer(run.clone(), Steer::Pause, "Li".into()).await.unwrap().unwrap();
    process.gone("deploy shop/web").await;
    process.quiet().await;
    assert_eq!(process.run_state(&run).await, RunState::Paused);

    process.hub.steer(run.clone(), Steer::Resume, "Li".into()).await.unwrap().unwrap();
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    process.hub.steer(run.clone(), Steer::Stop, "Li".into()).await.unwrap().unwrap();
    assert_eq!(process.run_state(&run).await, RunState::Stopped);
    let records = process.records(Topic::Run(run.clone())).await;
    let stopped = records.iter().find_map(|record| match record {
        Record::Event(card) => match card.event {
            teardown::run::FeedEvent::Stopped { untouched, requested, gone, .. } => {
                Some((untouched, requested, gone))
            }
            _ => None,
        },
        _ => None,
    });
    assert_eq!(stopped, Some((2, 1, 1)));
    assert_eq!(
        process.hub.steer(run, Steer::Resume, "Li".into()).await.unwrap(),
        Err(Refusal::Ended)
    );
}

#[tokio::test(start_paused = true)]
async fn throttled_call_waits_for_retry_after() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let after = Some(jiff::SignedDuration::from_secs(7));
    process.expect("DELETE Deployment shop/web", Outcome::Throttled { after }).await;
    let throttled = Instant::now();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    assert_eq!(throttled.elapsed().as_secs(), 7);
    assert_eq!(process.run_state(&run).await, RunState::Running);
}

#[tokio::test(start_paused = true)]
async fn refused_step_is_retried_without_a_busy_loop() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    // Paused time passes only while every task is idle, so a busy loop would never finish this test.
    for _ in 0..10 {
        let refused = Outcome::Refused { code: 403, message: "no".into() };
        process.expect("DELETE Deployment shop/web", refused).await;
    }
    process.hub.steer(run.clone(), Steer::Pause, "Li".into()).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    process.quiet().await;
    process.hub.steer(run, Steer::Resume, "Li".into()).await.unwrap().unwrap();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn call_without_answer_is_read_before_it_is_repeated() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    process.start_run("shop").await;
    process
        .expect(
            "DELETE Deployment shop/web",
            Outcome::Unanswered { message: "reset".into(), after: None },
        )
        .await;
    process.expect("GET Deployment shop/web", Outcome::Present { terminating: false }).await;
    process
        .expect(
            "DELETE Deployment shop/web",
            Outcome::Unanswered { message: "reset".into(), after: None },
        )
        .await;
    process.expect("GET Deployment shop/web", Outcome::NotFound).await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn remaining_finalizer_is_slow_then_stuck_and_blocks_only_dependent_steps() {
    let mut process = Process::start(&Disk::default());
    process.list(&format!("{SHOP}\n svc shop/alone of=shop")).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE Service shop/alone", Outcome::Accepted).await;
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    process.gone("svc shop/alone").await;
    let mut held = fixture::object("deploy shop/web of=shop finalizers=example.com/hold");
    held.deletion = Some(Box::new(teardown::object::Deletion { at: Timestamp::now(), grace: 0 }));
    process.see(vec![Observation::Applied(Box::new(held))]).await;
    let mut states = Vec::new();
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let records = process.records(Topic::Run(run.clone())).await;
        let step = records.iter().find_map(|record| match record {
            Record::Step(card) if &*card.object.kind == "Deployment" => Some(card.state),
            _ => None,
        });
        states.push(step.unwrap());
    }
    states.dedup();
    assert_eq!(states, [State::Finalizing, State::Slow, State::Stuck]);
    process.quiet().await;
}

#[tokio::test(start_paused = true)]
async fn namespace_stays_while_its_content_is_hidden() {
    let mut process = Process::start(&Disk::default());
    process.list("ns shop of=shop").await;
    let hidden = |resource: &str| Observation::Hidden {
        resource: resource.into(),
        cause: teardown::message::HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    // A hidden kind without a namespace does not matter.
    process.see(vec![hidden("secrets"), hidden("nodes")]).await;
    let run = process.start_run("shop").await;
    process.quiet().await;
    let records = process.records(Topic::Run(run)).await;
    let is_unknown =
        |record: &Record| matches!(record, Record::Step(card) if card.state == State::Unknown);
    assert!(records.iter().any(is_unknown), "the page shows the step as unknown");
    process.see(vec![Observation::Visible { resource: "secrets".into() }]).await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_is_deleted_although_another_one_is_hidden() {
    let mut process = Process::start(&Disk::default());
    process.list("ns shop of=shop\n ns bank").await;
    let secrets = || fixture::kind("secret");
    let hidden_in = |namespace: &str| Observation::HiddenIn {
        kind: secrets(),
        namespace: namespace.into(),
        cause: teardown::message::HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    let (namespaces, message) = (vec!["bank".into(), "shop".into()], "forbidden".into());
    process.see(vec![Observation::PerNamespace { kind: secrets(), namespaces, message }]).await;
    let unread = process.hub.make_plan(UnitId::new("shop")).await.unwrap();
    assert!(matches!(unread, Err(Refusal::NotReady)), "no namespace is listed yet");

    process.see(vec![hidden_in("bank"), hidden_in("shop")]).await;
    process.start_run("shop").await;
    process.quiet().await;
    let (namespace, objects) = ("shop".into(), Vec::new());
    process.see(vec![Observation::ListedIn { kind: secrets(), namespace, objects }]).await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_waits_for_late_objects_in_it() {
    let mut process = Process::start(&Disk::default());
    process.list("ns shop of=shop\n cm shop/mine of=shop\n cm shop/kube-root-ca.crt").await;
    process.start_run("shop").await;
    let (_, call) = process.call().await;
    let theirs = fixture::object("cm shop/theirs");
    process.see(vec![Observation::Applied(Box::new(theirs))]).await;
    process.answer(call, Outcome::Accepted).await;
    process.gone("cm shop/mine of=shop").await;
    process.quiet().await;
    process.gone("cm shop/theirs").await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn readers_get_a_snapshot_then_deltas_and_resume_without_loss() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let topic = Topic::Unit(UnitId::new("shop"));
    let mut first = process.hub.subscribe(topic.clone(), None).await.unwrap().unwrap();
    assert_eq!(first.first.len(), 1);
    assert_eq!(first.first[0].kind, FrameKind::Snapshot);
    let mut view = View::new(first.first[0].revision, []);
    view.apply(serde_json::from_str(&first.first[0].json).unwrap()).unwrap();
    let seen = view.revision();

    // A burst becomes one delta with the last state of each record.
    for name in ["a", "b", "c"] {
        process
            .see(vec![Observation::Applied(Box::new(fixture::object(&format!(
                "cm shop/{name} of=shop"
            ))))])
            .await;
    }
    process.gone("cm shop/b").await;
    let frame = first.rest.recv().await.unwrap();
    assert_eq!(frame.kind, FrameKind::Delta);
    view.apply(serde_json::from_str(&frame.json).unwrap()).unwrap();
    assert!(view.records().contains_key(&Key::Object(fixture::uid("cm:shop/c"))));
    assert!(!view.records().contains_key(&Key::Object(fixture::uid("cm:shop/b"))));

    // A reader who was away receives the deltas they missed; a reader who missed none receives none.
    let missed = process.hub.subscribe(topic.clone(), Some(seen)).await.unwrap().unwrap();
    assert_eq!(missed.first, [frame]);
    let nothing =
        process.hub.subscribe(topic.clone(), Some(view.revision())).await.unwrap().unwrap();
    assert!(nothing.first.is_empty());
    // A revision of another boot, or of the future, is answered with a snapshot.
    for unusable in [Revision { boot: 1, ..seen }, Revision { count: seen.count + 1000, ..seen }] {
        let resumed = process.hub.subscribe(topic.clone(), Some(unusable)).await.unwrap().unwrap();
        assert_eq!(resumed.first[0].kind, FrameKind::Snapshot);
    }
    let unknown = process.hub.subscribe(Topic::Run(RunId::new("x")), None).await.unwrap();
    assert!(matches!(unknown, Err(Refusal::UnknownRun(_))));
}

#[tokio::test(start_paused = true)]
async fn no_call_is_made_if_the_journal_cannot_be_written() {
    struct Full;
    impl Store for Full {
        fn write(&mut self, _: &[Put]) -> Result<(), StoreError> {
            let (run, number, kept) = ("r".to_owned(), 1, 0);
            Err(StoreError::OutOfOrder { run, number, kept })
        }
        fn read(&self, _: Shelf, _: &str) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(None)
        }
        fn list(&self, _: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
            Ok(Vec::new())
        }
        fn records(&self, _: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
            Ok(Vec::new())
        }
    }
    let (mailbox, inbox) = mpsc::channel(MAILBOX);
    let (out, mut calls) = mpsc::channel(CALLS);
    let task = Hub::open("test".into(), inbox, out, Journal::over(Full)).unwrap();
    tokio::spawn(task.run(CancellationToken::new()));
    let hub = HubHandle::new(mailbox.clone());
    mailbox.send(Incoming::Observed(fixture::listing(&fixture::objects(SHOP)))).await.unwrap();
    let plan = hub.make_plan(UnitId::new("shop")).await.unwrap().unwrap();
    let refused = hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(refused, Err(Refusal::Journal(_))), "{refused:?}");
    assert!(calls.try_recv().is_err());
}
