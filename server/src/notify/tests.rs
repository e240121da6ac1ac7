//! Tests of the notifier with a hub and a receiver that the test simulates. Time is paused.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use teardown::{
    api_problem::ProblemCode,
    diagnosis::{
        AnswerOrigin, Cause, Confidence, Diagnosis, Evidence, Impact, KubeletProblem,
        KubeletSubject, NodeFailure, RestOfLog, RuntimeState, Source, diagnose,
        kubelet_log::{KubeletError, KubeletFact, KubeletStep},
    },
    fixture,
    graph::Graph,
    message::{ClusterCard, DiagnosisCard, Revision},
    object::{ObjectRef, Uid},
    observation::{AwayCause, Unreachable},
    remedy::Stamps,
    world::diagnosis_card,
};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use tower::BoxError;

use super::{webhook::AnswerBody, *};
use crate::hub::Incoming;

/// The cluster as the hub shows it.
#[derive(Clone, Default)]
struct Trouble {
    /// The nodes that are silent, and whether deletions are stuck behind them.
    nodes: Vec<(&'static str, bool)>,
    /// Other causes.
    others: Vec<DiagnosisCard>,
    is_unlisted: bool,
    is_away: bool,
}

impl Trouble {
    fn stuck(nodes: &[&'static str]) -> Self {
        Self { nodes: nodes.iter().map(|node| (*node, true)).collect(), ..Self::default() }
    }

    fn records(&self) -> Vec<Record> {
        let away = Unreachable {
            since: Timestamp::UNIX_EPOCH,
            cause: AwayCause::Silent,
            message: teardown::api_problem::ApiProblem::Quoted("refused".into()),
        };
        let cluster = ClusterCard {
            in_time: 0,
            switched_off: 0,
            journal: 0,
            notifications: 0,
            name: "test".into(),
            version: None,
            synced: !self.is_unlisted,
            kinds: 1,
            objects: 1,
            diagnoses: self.nodes.len(),
            unreachable: self.is_away.then_some(away),
            demo: None,
        };
        let cards = self.nodes.iter().map(|(node, stuck)| card(node, *stuck));
        let cards = cards.chain(self.others.iter().cloned()).map(Record::Diagnosis);
        std::iter::once(Record::Cluster(cluster)).chain(cards).collect()
    }
}

/// Three objects wait for a silent node.
fn card(node: &str, stuck: bool) -> DiagnosisCard {
    let root =
        ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: node.into() };
    let diagnosis = Diagnosis {
        id: format!("nodeSilent//Node//{node}/"),
        cause: Cause::NodeSilent {
            node: node.into(),
            provider: None,
            control_plane: false,
            silent: 1,
            renews: false,
        },
        root,
        confidence: Confidence::Confirmed,
        evidence: vec![],
        waiting: vec![],
        total: 3,
        held: vec![],
        since: Timestamp::UNIX_EPOCH,
        stuck,
        impact: Impact::default(),
    };
    DiagnosisCard {
        diagnosis: Arc::new(diagnosis),
        said: String::new(),
        explains: false,
        harms: false,
        namespaces: vec![],
        incident: Arc::default(),
        stamp: 0,
    }
}

/// A stuck card with another cause at an object of this kind.
fn card_of(cause: Cause, kind: &str, name: &str) -> DiagnosisCard {
    let mut card = card(name, true);
    let diagnosis = Arc::make_mut(&mut card.diagnosis);
    diagnosis.id = format!("{}//{kind}//{name}/", cause.name());
    diagnosis.root.kind = kind.into();
    diagnosis.held = vec![Uid::new("held")];
    diagnosis.cause = cause;
    card
}

/// A card in which everything that others may have written says `hunter2`.
fn card_with_words() -> DiagnosisCard {
    let secret = "postgres://app:hunter2@db/x";
    let mut card = card("n1", true);
    let of = card.diagnosis.root.clone();
    let fact = KubeletFact {
        pod: secret.into(),
        name: Some(secret.into()),
        step: KubeletStep::Unmount,
        volume: Some(secret.into()),
        node: Some(secret.into()),
        path: Some(secret.into()),
        error: KubeletError::Busy,
        said: secret.into(),
        retry: None,
    };
    let by = || AnswerOrigin::Pasted { by: secret.into() };
    let rest = RestOfLog { entries: 3, others: vec![secret.into()], is_cut: false };
    let sources = [
        (Source::Condition("Ready".into()), format!("Unknown NodeStatusUnknown: {secret}")),
        (Source::Condition("Odd".into()), secret.to_owned()),
        (Source::Became("Ready".into()), format!("False KubeletNotReady: {secret}")),
        (Source::Field("status.detachError.message".into()), secret.to_owned()),
        (Source::Field("spec.taints".into()), "example.com/taint:NoExecute".to_owned()),
        (Source::Event { by: "kubelet".into(), reason: "FailedKillPod".into() }, secret.to_owned()),
        (Source::Event { by: secret.into(), reason: secret.into() }, secret.to_owned()),
        (Source::Hidden(secret.into()), String::new()),
        (
            Source::Hidden(ProblemCode::Status { code: 500, said: secret.into() }.into()),
            String::new(),
        ),
        (Source::Unlistable(secret.into()), String::new()),
        (Source::Kubelet(by(), Box::new(fact)), secret.to_owned()),
        (Source::NotInLog(by(), Box::new(rest)), String::new()),
        (
            Source::Runtime { node: "n1".into(), state: RuntimeState::Nothing, origin: by() },
            String::new(),
        ),
        (
            Source::Failures {
                failure: NodeFailure::StopSandbox,
                count: 3,
                since: None,
                origin: by(),
            },
            String::new(),
        ),
        (
            Source::Unanswered(
                KubeletSubject::Log,
                Box::new(KubeletProblem::QueryRefused { said: secret.into() }),
            ),
            String::new(),
        ),
        (Source::DeletedByRun { by: secret.into() }, String::new()),
        (Source::RemovedByRemedy { by: secret.into() }, String::new()),
        (
            Source::Unanswered(KubeletSubject::Log, Box::new(KubeletProblem::Other(secret.into()))),
            String::new(),
        ),
    ];
    let evidence =
        sources.map(|(source, said)| Evidence { of: of.clone(), source, said, at: None });
    Arc::make_mut(&mut card.diagnosis).evidence = evidence.to_vec();
    Arc::make_mut(&mut card.incident).before = evidence.to_vec();
    card
}

#[test]
fn notification_leaves_without_the_words_of_the_cluster_and_of_persons() {
    let mut of_driver = card_with_words();
    Arc::make_mut(&mut of_driver.diagnosis).cause = Cause::DetachFailed {
        attacher: "disk.example".into(),
        node: "n1".into(),
        said: "hunter2".into(),
    };
    for card in [card_with_words(), of_driver] {
        let stuck = Notification::stuck(&card, "test", Timestamp::UNIX_EPOCH);
        for format in [Format::Json, Format::Slack, Format::Lark] {
            let body = String::from_utf8(format.body(&stuck)).unwrap();
            assert!(!body.contains("hunter2"), "{body}");
            // Codes and names are what a person needs to find the card.
            for kept in [
                "n1",
                "NodeStatusUnknown",
                "FailedKillPod",
                "example.com/taint",
                "cannot be unmounted",
            ] {
                assert!(body.contains(kept), "{kept}: {body}");
            }
        }
        let resolved = stuck.resolved(Timestamp::UNIX_EPOCH);
        let body = String::from_utf8(Format::Json.body(&resolved)).unwrap();
        assert!(!body.contains("hunter2"), "{body}");
    }
}

/// A receiver that answers with these statuses, and then with 200.
#[derive(Clone, Default)]
struct Receiver {
    answers: Arc<Mutex<VecDeque<u16>>>,
    /// The seconds at which a request came, and its body.
    received: Arc<Mutex<Vec<(u64, Value)>>>,
}

impl Receiver {
    fn answer(&self, statuses: impl IntoIterator<Item = u16>) {
        self.answers.lock().unwrap().extend(statuses);
    }

    /// The events that were received, as `stuck n1`.
    fn events(&self) -> Vec<String> {
        let name = |body: &Value| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            format!("{} {}", text(&body["event"]), text(&body["root"]["name"]))
        };
        self.received.lock().unwrap().iter().map(|(_, body)| name(body)).collect()
    }

    /// The seconds between the requests.
    fn waits(&self) -> Vec<u64> {
        let received = self.received.lock().unwrap();
        received.windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
    }
}

/// A process with a notifier.
struct Process {
    trouble: watch::Sender<Trouble>,
    metrics: NotifyMetrics,
    /// The state that the hub was told last.
    told: watch::Receiver<DeliveryStatus>,
    notifier: tokio::task::JoinHandle<()>,
}

impl Process {
    fn start(state: &TempDir, receiver: &Receiver, begin: Instant) -> Self {
        Self::with(state, receiver, begin, "test")
    }

    fn with(state: &TempDir, receiver: &Receiver, begin: Instant, cluster: &str) -> Self {
        let (trouble, shown) = watch::channel(Trouble { is_unlisted: true, ..Trouble::default() });
        let (mailbox, mut incoming) = mpsc::channel(4);
        let (tell, told) = watch::channel(DeliveryStatus::default());
        tokio::spawn(async move {
            while let Some(message) = incoming.recv().await {
                let reply = match message {
                    Incoming::Query { topic: Topic::Trouble, reply } => reply,
                    Incoming::Delivery(status) => {
                        tell.send_replace(status);
                        continue;
                    }
                    other => panic!("{other:?}"),
                };
                let records = shown.borrow().records();
                let revision = Revision { boot: 1, count: 1 };
                let _ = reply.send(Ok(Message::Snapshot { revision, records }));
            }
        });
        let Receiver { answers, received } = receiver.clone();
        let service = tower::service_fn(move |request: Request<Full<Bytes>>| {
            let (answers, received) = (answers.clone(), received.clone());
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let body = serde_json::from_slice(&body).unwrap();
                received.lock().unwrap().push((begin.elapsed().as_secs(), body));
                let status = answers.lock().unwrap().pop_front().unwrap_or(200);
                let body = Full::<Bytes>::default().map_err(std::io::Error::other).boxed_unsync();
                let mut answer: Response<AnswerBody> = Response::new(body);
                *answer.status_mut() = status.try_into().unwrap();
                Ok::<_, BoxError>(answer)
            }
        });
        let address = Address::parse("https://example.com/secret").unwrap();
        let webhook = Webhook::over(address, Format::Json, service);
        let passed = SignedDuration::try_from(begin.elapsed()).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap() + passed;
        let hub = HubHandle::new(mailbox);
        let notifier = Notifier::over(hub, cluster, webhook, state.path(), now);
        let metrics = notifier.metrics();
        let notifier = tokio::spawn(notifier.run(CancellationToken::new()));
        Self { trouble, metrics, told, notifier }
    }

    /// Shows this for a time.
    async fn show(&self, trouble: Trouble, seconds: u64) {
        self.trouble.send_replace(trouble);
        sleep(Duration::from_secs(seconds)).await;
    }

    /// The state for a person: the second since which deliveries fail, the reason, the number that wait, and those that are lost.
    fn told(&self) -> String {
        let status = self.told.borrow();
        let second = |at: Timestamp| at.as_second() - 1_800_000_000;
        let failing = status.failing.as_ref();
        let failing = failing.map(|it| format!("failing since {}: {}, ", second(it.since), it.why));
        let lost = status.lost.iter().map(|it| format!(", lost {}: {}", it.title, it.why));
        let lost: String = lost.collect();
        format!("{}{} wait{lost}", failing.unwrap_or_default(), status.waiting)
    }

    async fn kill(self) {
        self.notifier.abort();
        let _ = self.notifier.await;
    }
}

fn setup() -> (TempDir, Receiver, Instant) {
    (tempfile::tempdir().unwrap(), Receiver::default(), Instant::now())
}

#[tokio::test(start_paused = true)]
async fn root_is_reported_once_and_its_end_once_also_across_restarts() {
    let (state, receiver, begin) = setup();
    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble { nodes: vec![("n1", false)], ..Trouble::default() }, 60).await;
    assert!(receiver.events().is_empty(), "it waits and is not stuck");
    process.show(Trouble::stuck(&["n1"]), 60).await;
    assert_eq!(receiver.events(), ["stuck n1"]);
    process.kill().await;

    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble { is_unlisted: true, ..Trouble::default() }, 300).await;
    assert_eq!(receiver.events(), ["stuck n1"], "before the cluster is read, nothing is resolved");
    process.show(Trouble::stuck(&["n1", "n2"]), 300).await;
    assert_eq!(receiver.events(), ["stuck n1", "stuck n2"]);
    process.show(Trouble { is_away: true, ..Trouble::default() }, 300).await;
    assert_eq!(receiver.events().len(), 2, "while the API server is away, nothing is resolved");
    process.kill().await;

    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n2"]), 300).await;
    assert_eq!(receiver.events(), ["stuck n1", "stuck n2", "resolved n1"]);
    assert_eq!(process.metrics.counts(), (0, 0, 1, 0));
    let (_, body) = receiver.received.lock().unwrap()[0].clone();
    assert_eq!(body["title"].as_str().unwrap().split(':').next(), Some("Stuck in test"));
    assert!(body["text"].as_str().unwrap().contains("3 objects wait"), "{body}");
    let (_, end) = receiver.received.lock().unwrap()[2].clone();
    let title = end["title"].as_str().unwrap();
    assert!(
        title.starts_with("Resolved in test: ") && title.contains("Node n1 stopped"),
        "{title}"
    );
    assert_eq!(end["id"], body["id"]);
}

#[tokio::test(start_paused = true)]
async fn change_of_the_cause_at_a_root_wakes_nobody_again() {
    let (state, receiver, begin) = setup();
    let process = Process::start(&state, &receiver, begin);
    let show = async |others: Vec<DiagnosisCard>| {
        process.show(Trouble { others, ..Trouble::default() }, 300).await;
    };
    let (node, api) = (|| "n1".into(), || "metrics.k8s.io/v1beta1".into());
    show(vec![card_of(Cause::SandboxLeft { node: node() }, "Pod", "web")]).await;
    show(vec![card_of(Cause::PodDirectoryLeft { node: node() }, "Pod", "web")]).await;
    assert_eq!(receiver.events(), ["stuck web"]);
    // The same Pod waits for its node now.
    show(vec![card("n1", true), card_of(Cause::NodeMissing { node: node() }, "Node", "n1")]).await;
    show(vec![card_of(Cause::NodeMissing { node: node() }, "Node", "n1")]).await;
    assert_eq!(receiver.events(), ["stuck web", "stuck n1"], "the Pod still waits");
    show(vec![]).await;
    assert_eq!(receiver.events()[2..], ["resolved n1", "resolved web"]);
    // An API that was repaired before anybody was told.
    let again =
        Cause::LooksAgain { controller: "namespace-controller".into(), group_version: api() };
    show(vec![card_of(again, "APIService", "v1beta1.metrics.k8s.io")]).await;
    assert_eq!(receiver.events().len(), 4);
}

/// The cards of this cluster as of a time after that of the fixture.
fn cards_after(text: &str, seconds: i64) -> Vec<DiagnosisCard> {
    let now = fixture::now() + SignedDuration::from_secs(seconds);
    let index = fixture::index(text);
    let graph = Graph::of(&index);
    let stamps = &mut Stamps::new(&index, &graph);
    let found = diagnose(&index, &graph, now);
    found.iter().map(|it| diagnosis_card(stamps, it, now, &[], [])).collect()
}

#[tokio::test(start_paused = true)]
async fn pod_that_uses_its_grace_period_wakes_nobody_before_it_outlives_it() {
    let (state, receiver, begin) = setup();
    let process = Process::start(&state, &receiver, begin);
    let cluster = "
        node n1
        ns shop deleted=0
        pvc shop/data deleted=0 finalizers=kubernetes.io/pvc-protection
        pod shop/db node=n1 deleted=0 grace=3600 containers=db:running uses=claim:data
    ";
    for seconds in [400, 1_800, 3_590] {
        let others = cards_after(cluster, seconds);
        assert_eq!(others.len(), 1, "it is shown after {seconds} s");
        process.show(Trouble { others, ..Trouble::default() }, 300).await;
        assert!(receiver.events().is_empty(), "{seconds} s: {:?}", receiver.events());
    }
    let others = cards_after(cluster, 3_760);
    process.show(Trouble { others, ..Trouble::default() }, 300).await;
    assert_eq!(receiver.events(), ["stuck db"]);
}

#[tokio::test(start_paused = true)]
async fn failed_delivery_is_tried_again_after_growing_waits_and_survives_a_restart() {
    let (state, receiver, begin) = setup();
    receiver.answer([500; 12]);
    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n1"]), 900).await;
    assert_eq!(receiver.waits(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    assert_eq!(process.metrics.counts(), (1, 0, 0, 11));
    process.kill().await;

    let process = Process::start(&state, &receiver, begin);
    assert_eq!(process.metrics.counts().0, 1, "it is still to be delivered");
    process.show(Trouble::stuck(&["n1"]), 60).await;
    assert_eq!(receiver.events().len(), 13);
    assert_eq!(process.metrics.counts(), (0, 0, 1, 1));
    process.show(Trouble::stuck(&["n1"]), 3_600).await;
    assert_eq!(receiver.events().len(), 13, "taken once");
}

#[tokio::test(start_paused = true)]
async fn notification_is_given_up_after_a_day_and_the_next_root_is_reported() {
    let (state, receiver, begin) = setup();
    let process = Process::start(&state, &receiver, begin);
    receiver.answer([503; 400]);
    process.show(Trouble::stuck(&["n1"]), 24 * 3_600 - 60).await;
    let (pending, lost, taken, failed) = process.metrics.counts();
    assert_eq!((pending, lost, taken), (1, 0, 0));
    assert!((290..310).contains(&failed), "{failed}");
    process.show(Trouble::stuck(&["n1"]), 120).await;
    assert_eq!(process.metrics.counts().1, 1, "lost");
    assert_eq!(process.metrics.counts().0, 0);

    receiver.answers.lock().unwrap().clear();
    let before = receiver.events().len();
    process.show(Trouble::stuck(&["n1", "n2"]), 600).await;
    assert_eq!(receiver.events()[before..], ["stuck n2"]);
}

#[tokio::test(start_paused = true)]
async fn page_says_that_notifications_do_not_arrive_once_they_have_failed_for_a_minute() {
    let (state, receiver, begin) = setup();
    let process = Process::start(&state, &receiver, begin);
    receiver.answer([503; 8]);
    process.show(Trouble::stuck(&["n1"]), 50).await;
    assert_eq!(process.told(), "0 wait", "a receiver that restarts is no news");
    process.show(Trouble::stuck(&["n1"]), 30).await;
    assert_eq!(process.told(), "failing since 0: status 503, 1 wait");
    // It is taken again.
    process.show(Trouble::stuck(&["n1"]), 300).await;
    assert_eq!(process.told(), "0 wait");
}

#[tokio::test(start_paused = true)]
async fn page_names_what_was_given_up_for_a_day_also_after_a_restart() {
    let (state, receiver, begin) = setup();
    receiver.answer([400]);
    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n1", "n2"]), 60).await;
    let lost = "0 wait, lost Stuck in test: Node n1 stopped reporting, so nobody confirms that its Pod ended.: the receiver refuses it with status 400";
    assert_eq!(process.told(), lost);
    process.kill().await;

    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n1", "n2"]), 60).await;
    assert_eq!(process.told(), lost);
    process.show(Trouble::stuck(&["n1", "n2"]), 24 * 3_600).await;
    assert_eq!(process.told(), "0 wait");
}

#[tokio::test(start_paused = true)]
async fn refused_notification_does_not_hold_up_the_others() {
    let (state, receiver, begin) = setup();
    receiver.answer([400]);
    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n1", "n2", "n3"]), 60).await;
    assert_eq!(receiver.events(), ["stuck n1", "stuck n2", "stuck n3"]);
    assert_eq!(receiver.waits(), [1, 1], "a chat takes one in a second");
    assert_eq!(process.metrics.counts(), (0, 1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn other_cluster_has_a_file_of_its_own_and_a_damaged_file_counts_as_empty() {
    let (state, receiver, begin) = setup();
    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n1"]), 60).await;
    process.kill().await;
    let process = Process::with(&state, &receiver, begin, "other");
    process.show(Trouble::default(), 300).await;
    assert_eq!(receiver.events(), ["stuck n1"], "the root of the first cluster is not resolved");
    process.kill().await;

    for file in std::fs::read_dir(state.path()).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("secret") && !text.contains("example.com"), "{text}");
        std::fs::write(path, "{").unwrap();
    }
    let process = Process::start(&state, &receiver, begin);
    process.show(Trouble::stuck(&["n1"]), 60).await;
    assert_eq!(receiver.events(), ["stuck n1", "stuck n1"]);
}
