//! A journal that holds every kind of record, as each version of its format wrote it. The recordings stay for good: a
//! later version reads them and finds the same runs.
//!
//! A recording has a line for each value: the shelf or the run, the name or the number, and the sealed bytes, which are
//! text. Before the version is raised, this prints that of the present one, the last one, and fails until its file has it:
//!
//! ```sh
//! RECORD=1 cargo test -p server --lib recorded_versions -- --nocapture 2>&1 \
//!     | grep -E '^(plans|runs|counts|attempts|record-of-[a-z]+) ' > server/src/hub/tests/recorded/version-8.txt
//! ```

use jiff::{SignedDuration, Timestamp};
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    index::Index,
    object::{ObjectRef, Uid},
    observation::Observation,
    plan::{Choice, Plan, StepId},
    proof::Proof,
    remedy::{Attempt, AttemptOutcome, RemedyAct, Request, Verb},
    run::{Call, ClaimRead, RunEvent, StepProblem},
    unknown_reason::{UnconfirmedObject, UnknownReason},
};

use super::*;
use crate::{
    hub::{active_run::ActiveRun, plans::plan_of},
    journal::{AttemptRecord, ClusterId},
};

/// The recordings of all versions.
const RECORDINGS: [(u32, &str); 5] = [
    (4, include_str!("recorded/version-4.txt")),
    (5, include_str!("recorded/version-5.txt")),
    (6, include_str!("recorded/version-6.txt")),
    (7, include_str!("recorded/version-7.txt")),
    (8, include_str!("recorded/version-8.txt")),
];

fn at(seconds: i64) -> Timestamp {
    fixture::now() + SignedDuration::from_secs(seconds)
}

fn pod() -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: "web-a".into(),
    }
}

fn quoted(text: &str) -> ApiProblem {
    ApiProblem::Quoted(text.into())
}

/// The first version with parents that runs suspend.
const PARENTS: u32 = 5;

/// The first version with reads of a namespace's content.
const CONTENT: u32 = 6;

/// The first version with namespaces that go without proof that they are empty.
const UNPROVEN: u32 = 7;

/// The first version with attempts whose namespace has ended in order since.
const SETTLED: u32 = 7;

/// The first version with reads of claims whose data is kept, objects of kinds without the verb `delete`, and objects that
/// remedies sent away from the API alone.
const KEPT: u32 = 8;

/// The first version with objects that are asked to be kept after the start of their run, and with webhook configurations that
/// begin to guard others.
const ASKED_TO_KEEP: u32 = 9;

/// The first version with objects that changed around a request whose outcome is unknown.
const MEANWHILE: u32 = 9;

/// The names of the runs.
fn runs(version: u32) -> Vec<&'static str> {
    let kept = (version >= KEPT).then_some("kept");
    ["finished", "open", "stopped"].into_iter().chain(kept).collect()
}

/// Every reason for which a step's state is unknown.
fn reasons(version: u32) -> Vec<UnknownReason> {
    let of_it =
        || UnconfirmedObject { uid: Uid::new("u-9"), object: pod(), node: Some("n-1".into()) };
    let mut reasons = vec![
        UnknownReason::Hidden {
            resource: "pods".into(),
            namespace: Some("shop".into()),
            message: quoted("forbidden"),
        },
        UnknownReason::NotListed { resource: "pods".into() },
        UnknownReason::NotServed { resource: "topics.queue.example".into() },
        UnknownReason::PodsLeft { pod: pod(), of: Box::new(pod()) },
        UnknownReason::Unconfirmed { objects: vec![of_it()] },
        UnknownReason::StillAttached { volume: "pv-1".into(), node: "n-1".into() },
        UnknownReason::GivenAway { to: Some("other".into()) },
        UnknownReason::InUse { by: pod() },
        UnknownReason::WouldCollect { it: pod() },
        UnknownReason::WouldDestroyData { volume: pod() },
        UnknownReason::NamespaceNotEmpty { by: pod() },
        UnknownReason::Inconclusive { message: quoted("not said") },
    ];
    if version >= PARENTS {
        reasons.push(UnknownReason::ParentActive { parent: pod() });
    }
    if version >= ASKED_TO_KEEP {
        reasons.push(UnknownReason::AskedToKeep { mark: "helm.sh/resource-policy: keep".into() });
        reasons.push(UnknownReason::StillGuards { it: pod() });
    }
    reasons
}

/// Every problem of a step.
fn problems(version: u32) -> Vec<StepProblem> {
    let refused = StepProblem::Refused { code: 403, message: quoted("no"), refusals: None };
    let message = ProblemCode::Timeout { seconds: 10 }.into();
    let mut problems = vec![
        StepProblem::Late { since: at(1), finalizers: vec!["example.com/hold".into()] },
        refused,
        StepProblem::CameBack { uid: Uid::new("u-7"), by: None },
        StepProblem::InUse { pods: vec![pod()] },
        StepProblem::Retrying { attempts: 2, message },
    ];
    problems.extend(reasons(version).into_iter().map(|reason| StepProblem::Unknown { reason }));
    problems
}

/// Every event that a run can have before its end, about this step and these others.
fn events(version: u32, step: StepId, others: [StepId; 3]) -> Vec<RunEvent> {
    let by = || "Li".to_owned();
    let mut events =
        vec![RunEvent::Paused { by: by(), changed: None }, RunEvent::Resumed { by: by() }];
    let content = (version >= CONTENT).then_some(Call::ReadContent);
    for call in [Call::ReadPods, Call::Read, Call::Delete].into_iter().chain(content) {
        events.push(RunEvent::CallStarted { step, call });
        if call == Call::ReadContent && version >= UNPROVEN {
            let resources = vec!["secrets".to_owned()];
            events.push(RunEvent::Unproven { step, resources });
        }
        events.push(RunEvent::Recalled { step });
    }
    events.push(RunEvent::NoEffect { step });
    if version >= PARENTS {
        events.push(RunEvent::SuspendStarted { step, was: "false".into() });
        events.push(RunEvent::Suspended { step });
    }
    for problem in problems(version) {
        events.push(RunEvent::Postponed { step, until: at(5), effect_unknown: true, problem });
    }
    for message in [None, Some(quoted("another"))] {
        events.push(RunEvent::RefusedAgain { step, until: at(9), message });
    }
    for reason in reasons(version) {
        events.push(RunEvent::BecameUnknown { step, reason });
        events.push(RunEvent::BecameKnown { step });
    }
    let [came_back, skipped, unconfirmed] = others;
    events.extend([
        RunEvent::Recovered,
        RunEvent::CallStarted { step, call: Call::Delete },
        RunEvent::Accepted { step },
        RunEvent::Terminating { step, since: at(2), grace: 30 },
        RunEvent::Overdue { step, since: at(2), stuck: true, finalizers: vec!["a/b".into()] },
        RunEvent::TakenOn { pods: vec![Uid::new("u-9")], step, by: by() },
        RunEvent::CameBack { step: came_back, uid: Uid::new("u-8"), by: None },
        RunEvent::Skipped { step: skipped, by: by() },
    ]);
    let proofs = [
        Proof::DeletedEvent,
        Proof::List,
        Proof::NotFound,
        Proof::OtherUid,
        Proof::KindGone,
        Proof::NamespaceGone,
    ];
    events.extend(proofs.map(|proof| RunEvent::Gone { step, proof, unconfirmed: false }));
    events.extend([
        RunEvent::Gone { step: unconfirmed, proof: Proof::List, unconfirmed: true },
        RunEvent::DataChecked { bound: 1, lost: vec![pod()], unknown: vec![pod()] },
        RunEvent::Stopping { by: by() },
    ]);
    events
}

/// Every event about a claim whose data is kept.
fn events_of_kept_claim() -> Vec<RunEvent> {
    let message = ProblemCode::Timeout { seconds: 10 }.into();
    let problem = StepProblem::Retrying { attempts: 1, message };
    let ends = [
        ClaimRead::Recalled,
        ClaimRead::Failed { until: at(9), problem },
        ClaimRead::Bound,
        ClaimRead::Lost,
    ];
    let reads = ends.into_iter().flat_map(|end| [ClaimRead::Started, end]);
    reads.map(|read| RunEvent::KeptClaim { claim: fixture::uid("pvc:shop/data"), read }).collect()
}

/// An attempt at a remedy with each outcome.
fn attempts(version: u32, index: &Index) -> Vec<Attempt> {
    let mut outcomes = vec![
        AttemptOutcome::Changed { object: pod() },
        AttemptOutcome::NotSent { message: quoted("denied") },
        AttemptOutcome::Refused { message: quoted("conflict") },
        AttemptOutcome::Accepted { meanwhile: Some(pod()) },
        AttemptOutcome::Unknown { message: None, meanwhile: None },
    ];
    if version >= KEPT {
        outcomes.push(AttemptOutcome::Unfinished { message: quoted("conflict"), meanwhile: None });
        outcomes.push(AttemptOutcome::MadeOther { object: pod() });
    }
    if version >= MEANWHILE {
        let meanwhile = || Some(pod());
        outcomes.push(AttemptOutcome::Unknown { message: None, meanwhile: meanwhile() });
        let message = quoted("conflict");
        outcomes.push(AttemptOutcome::Unfinished { message, meanwhile: meanwhile() });
    }
    let gone = index.named(&pod()).filter(|_| version >= KEPT).map(|pod| index.end_of(pod));
    let request = |verb| Request {
        verb,
        path: "/apis/apiregistration.k8s.io/v1/apiservices/v1.m".into(),
        body: serde_json::json!({ "kind": "DeleteOptions" }),
        object: ObjectRef {
            group: "apiregistration.k8s.io".into(),
            kind: "APIService".into(),
            namespace: None,
            name: "v1.m".into(),
        },
        uid: Some(Uid::new("u-5")),
    };
    let attempts = (1..).zip(outcomes).map(|(number, outcome)| Attempt {
        id: format!("a{number}"),
        undoes: (number == 5).then(|| "a4".into()),
        diagnosis: "apiDown".into(),
        root: pod(),
        held: vec![],
        act: RemedyAct::DeleteWebhookConfiguration,
        request: request(if number == 5 { Verb::Create } else { Verb::Delete }),
        undo: (number == 4).then(|| request(Verb::Create)),
        by: "Li".into(),
        statement: "Li looked".into(),
        asked: at(number),
        ended: Some(at(number + 1)),
        outcome,
        settled: version >= SETTLED && number == 4,
        unconfirmed: gone.iter().filter(|_| number == 4).cloned().collect(),
    });
    attempts.collect()
}

/// A plan of the unit `shop` of these objects, Reports among them of a kind without the verb `delete`.
fn plan_with(objects: &str, choices: &Choices) -> (Arc<Plan>, ClusterState) {
    let mut cluster = ClusterState::new("test".into(), fixture::now());
    cluster.observe(fixture::listing(&fixture::objects(objects)));
    cluster.observe(vec![Observation::Undeletable(["reports.stats.example".into()].into())]);
    let plan = plan_of(&UnitId::new("shop"), choices, None, &mut cluster).unwrap();
    (Arc::new(plan), cluster)
}

/// Writes a run with these events.
fn record_run(journal: &mut Journal, name: &str, plan: &Arc<Plan>, events: Vec<RunEvent>) {
    let here = ClusterId::new("test", None);
    let begun =
        ActiveRun::begin(journal, RunId::new(name), plan.clone(), "Li", here, fixture::now());
    let mut active = begun.unwrap();
    for (seconds, event) in (1..).zip(events) {
        let entries = ActiveRun::entries(at(seconds), vec![event]);
        journal.append(&[active.batch(&entries)]).unwrap();
        active.apply(&entries).unwrap();
    }
}

/// Writes plans, runs and attempts, with every kind of record.
fn record_all(disk: &Disk, version: u32) {
    let mut journal = Journal::over(disk.clone());
    let (plan, cluster) = plan_with(SHOP, &Choices::default());
    let steps: Vec<StepId> = plan.steps.iter().map(|step| step.id).collect();
    let [one, two, three, four] = steps[..4] else { panic!("{steps:?}") };
    let finished = events(version, one, [two, three, four]).into_iter().chain([RunEvent::Finished]);
    record_run(&mut journal, "finished", &plan, finished.collect());
    record_run(&mut journal, "open", &plan, events(version, two, [one, four, three]));
    let stop = [RunEvent::Stopping { by: "Li".into() }, RunEvent::Stopped];
    record_run(&mut journal, "stopped", &plan, stop.to_vec());
    if version >= KEPT {
        let objects = format!("{SHOP}\n Report.stats.example shop/daily of=shop");
        let (plan, _) = plan_with(&objects, &Choices::from_iter([Choice::KeepData]));
        let mut events = events_of_kept_claim();
        events.insert(0, RunEvent::StaysSuspended { step: plan.steps[0].id });
        events.extend(stop);
        record_run(&mut journal, "kept", &plan, events);
    }
    let here = ClusterId::new("test", None);
    for attempt in attempts(version, cluster.index()) {
        journal.put_attempt(&AttemptRecord { attempt, cluster: here.clone() }).unwrap();
    }
}

const SHELVES: [(&str, Shelf); 4] = [
    ("plans", Shelf::Plans),
    ("runs", Shelf::Runs),
    ("counts", Shelf::Counts),
    ("attempts", Shelf::Attempts),
];

/// The content of the disk as a recording.
pub(super) fn written(disk: &Disk) -> String {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let mut lines = String::new();
    for (word, shelf) in SHELVES {
        for (name, bytes) in disk.list(shelf).unwrap() {
            lines += &format!("{word} {name} {}\n", text(bytes));
        }
    }
    for (run, _) in disk.list(Shelf::Runs).unwrap() {
        for (number, bytes) in disk.records(&run).unwrap() {
            lines += &format!("record-of-{run} {number} {}\n", text(bytes));
        }
    }
    lines
}

/// A disk with the content of a recording.
fn disk_of(recording: &str) -> Disk {
    let mut disk = Disk::default();
    for line in recording.lines() {
        disk.write(&[put_of(line)]).unwrap();
    }
    disk
}

/// The write of a line.
pub(super) fn put_of(line: &str) -> Put {
    let [of, name, bytes] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let bytes = bytes.as_bytes().to_vec();
    let shelf = SHELVES.iter().find(|(word, _)| *word == of).map(|(_, shelf)| *shelf);
    match (shelf, of.strip_prefix("record-of-")) {
        (Some(shelf), _) => Put::Named { shelf, name: name.into(), bytes },
        (None, Some(run)) => Put::Record { run: run.into(), number: name.parse().unwrap(), bytes },
        (None, None) => panic!("{line}"),
    }
}

/// Everything that a person sees of the runs and the attempts of a journal.
async fn shown(disk: &Disk, version: u32) -> String {
    let process = Process::start(disk);
    let mut shown = String::new();
    for run in runs(version).into_iter().map(RunId::new) {
        let event_log = process.hub.event_log(run.clone()).await.unwrap().unwrap();
        for entry in event_log {
            shown += &format!("{run} {}\n", serde_json::to_string(&entry).unwrap());
        }
        for record in process.records(Topic::Run(run)).await {
            if let Record::Run(_) | Record::Step(_) = record {
                shown += &format!("{}\n", serde_json::to_string(&record).unwrap());
            }
        }
    }
    for attempt in process.hub.attempts().await.unwrap() {
        shown += &format!("{}\n", serde_json::to_string(&attempt).unwrap());
    }
    shown
}

#[tokio::test(start_paused = true)]
async fn recorded_versions_are_read_as_the_present_one_is() {
    for (version, recording) in RECORDINGS {
        let disk = Disk::default();
        record_all(&disk, version);
        if std::env::var_os("RECORD").is_some()
            && RECORDINGS.last().is_some_and(|it| it.0 == version)
        {
            eprint!("{}", written(&disk));
        }
        let expected = shown(&disk, version).await;
        assert!(expected.lines().count() > 100, "{expected}");
        let found = shown(&disk_of(recording), version).await;
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "version {version}");
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "version {version}");
    }
}
