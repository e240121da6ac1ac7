//! Evidence that a whole server fetches from the sandbox while deletions are late, under paused time: how it changes the diagnosis and
//! the advice, and what is asked. The request log of the sandbox says what was asked.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use app::text::{self, Handling};
use jiff::Timestamp;
use sandbox::{
    cluster::{Actor, DeleteOptions},
    control_plane::ControlPlane,
    controller::timing::Timing,
    fault::NodeFault,
    service::Sandbox,
    store::Key,
};
use serde_json::json;
use server::{
    chance::Chance,
    cluster::Cluster,
    demo::DemoCluster,
    hub::{self, Hub, HubHandle, Remedies},
    journal::Journal,
};
use teardown::{
    advice::{Advice, Line},
    demo::{DemoCommand, DemoFault},
    diagnosis::{Confidence, KubeletSubject, Source},
    message::{DiagnosisCard, Message, Record, Topic},
    remedy::{Holds, NeedCode},
    wanted::Wanted,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// A server, and its simulated cluster.
struct Server {
    hub: HubHandle,
    sandbox: Sandbox,
    _tasks: JoinSet<()>,
}

/// A cluster that is set up.
struct Simulated {
    now: Timestamp,
    sandbox: Sandbox,
}

impl Simulated {
    fn serve(self, adjust: impl FnOnce(Cluster) -> Cluster) -> Server {
        let Self { now, sandbox } = self;
        let cluster = Cluster::served_by(sandbox.speaking_as(Some(Actor::admin())), "sandbox");
        let (hub, tasks) = serve(adjust(cluster), now);
        Server { hub, sandbox, _tasks: tasks }
    }
}

/// A hub whose clock begins at this time, with its cluster.
fn serve(cluster: Cluster, now: Timestamp) -> (HubHandle, JoinSet<()>) {
    let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
    let (out, calls) = mpsc::channel(hub::CALLS);
    let (want, wanted) = watch::channel(Wanted::default());
    let chance = Chance::seeded(1);
    let cluster = cluster.repeatable(chance.clone()).fetching(wanted);
    let hub = Hub::open("sandbox".into(), inbox, out, Journal::in_memory()).unwrap();
    let hub = hub.repeatable(now, chance).unwrap().wanting(want);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { hub.run(CancellationToken::new()).await.unwrap() });
    let handle = HubHandle::new(mailbox.clone());
    tasks.spawn(async move {
        cluster.run(mailbox, calls, CancellationToken::new()).await.unwrap();
    });
    (handle, tasks)
}

/// The cards of the page of trouble, which a reader looks at each second, once they are as awaited.
async fn cards_of(
    hub: &HubHandle,
    is_awaited: impl Fn(&[DiagnosisCard]) -> bool,
) -> Vec<DiagnosisCard> {
    let mut cards = Vec::new();
    for _ in 0..400 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let message = hub.query(Topic::Trouble).await.unwrap().unwrap();
        let Message::Snapshot { records, .. } = message else { panic!("{message:?}") };
        let card = |record: Record| match record {
            Record::Diagnosis(card) => Some(card),
            _ => None,
        };
        cards = records.into_iter().filter_map(card).collect();
        if is_awaited(&cards) {
            return cards;
        }
    }
    panic!("it never is: {cards:?}");
}

impl Server {
    /// A server whose cluster has one Pod, which runs on node-a.
    fn start() -> Self {
        Self::with(|world| {
            let admin = Actor::admin();
            let shop = json!({"metadata": {"name": "shop"}});
            world.cluster.create(&admin, "", "namespaces", "", shop).unwrap();
            world.run_until_idle();
            let pod = json!({
                "metadata": {"name": "a"},
                "spec": {"nodeName": "node-a", "terminationGracePeriodSeconds": 5,
                    "containers": [{"name": "web", "image": "registry.example/web:1"}]},
            });
            world.cluster.create(&admin, "", "pods", "shop", pod).unwrap();
        })
        .serve(|cluster| cluster)
    }

    /// A server whose cluster is this world with its faults.
    fn start_world(name: &str, adjust: impl FnOnce(Cluster) -> Cluster) -> Self {
        Self::with(|world| {
            let (objects, faults) = sandbox::world::text(name).unwrap();
            sandbox::world::load(world, objects, faults).unwrap();
        })
        .serve(adjust)
    }

    fn with(set_up: impl FnOnce(&mut ControlPlane)) -> Simulated {
        let now: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let mut world = ControlPlane::new(now, 1, Timing::default());
        world.run_until_idle();
        set_up(&mut world);
        world.run_until_idle();
        Simulated { now, sandbox: Sandbox::of(world) }
    }

    fn delete_pod(&self) {
        self.delete("pods", "shop", "a");
    }

    /// Has what a script says happen, from now on.
    fn play(&self, script: &str) {
        self.sandbox.with(|world| {
            let faults = world.parse_faults(script).unwrap();
            world.cluster.faults.extend(faults);
        });
    }

    fn delete(&self, plural: &str, namespace: &str, name: &str) {
        let (key, options) = (Key::new("", plural, namespace, name), DeleteOptions::default());
        self.sandbox
            .with(|world| world.cluster.delete(&Actor::admin(), &key, &options).map(drop))
            .unwrap();
    }

    fn has(&self, plural: &str, namespace: &str, name: &str) -> bool {
        let key = Key::new("", plural, namespace, name);
        self.sandbox.with(|world| world.cluster.get(&key).is_some())
    }

    fn set_node(&self, fault: Option<NodeFault>) {
        self.sandbox.with(|world| world.cluster.faults.set_node("node-a", fault));
    }

    async fn cards(&self, is_awaited: impl Fn(&[DiagnosisCard]) -> bool) -> Vec<DiagnosisCard> {
        cards_of(&self.hub, is_awaited).await
    }

    async fn remedies(&self, id: &str) -> Remedies {
        self.hub.remedies(id.to_owned()).await.unwrap().unwrap()
    }

    async fn advice(&self, id: &str) -> Advice {
        let Remedies { standpoint, card, remedies, attempts, switched_off, are_allowed } =
            self.remedies(id).await;
        let handling =
            Handling { remedies: &remedies, attempts: &attempts, switched_off: &switched_off };
        text::advice(&card, handling, &standpoint, are_allowed)
    }

    /// The times of the requests to kubelets, each with its node and status code.
    fn queries(&self) -> Vec<(Timestamp, String, u16)> {
        let is_query = |entry: &&sandbox::log::Entry| entry.subresource == "proxy";
        let query = |entry: &sandbox::log::Entry| {
            (entry.time, entry.key.as_ref().unwrap().name.to_string(), entry.code)
        };
        self.sandbox
            .with(|world| world.cluster.log.entries().iter().filter(is_query).map(query).collect())
    }

    /// The number of requests for this resource.
    fn asked(&self, plural: &str) -> usize {
        let is_of = |entry: &&sandbox::log::Entry| {
            entry.key.as_ref().is_some_and(|key| &*key.plural == plural)
                && matches!(&*entry.verb, "get" | "list")
                && !entry.actor.starts_with("system:")
        };
        self.sandbox.with(|world| world.cluster.log.entries().iter().filter(is_of).count())
    }
}

#[tokio::test(start_paused = true)]
async fn silent_node_is_confirmed_by_its_lease_and_described_with_its_standpoint() {
    let server = Server::start();
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.cards(<[_]>::is_empty).await;
    assert_eq!((server.asked("leases"), server.asked("events")), (0, 0), "nothing is late");
    server.set_node(Some(NodeFault::Silent));
    server.delete_pod();
    let is_silent = |card: &DiagnosisCard| card.diagnosis.cause.name() == "nodeSilent";
    let confirmed = |cards: &[DiagnosisCard]| {
        cards.iter().any(|it| is_silent(it) && it.diagnosis.confidence == Confidence::Confirmed)
    };
    let cards = server.cards(confirmed).await;
    let card = cards.into_iter().find(is_silent).unwrap();
    let advice = server.advice(&card.diagnosis.id).await;
    let lines: Vec<String> =
        advice.first.iter().map(|line| format!("{}: {}", line.name, line.text())).collect();
    assert!(lines[0].starts_with("Cluster: sandbox, seen as "), "{lines:?}");
    assert!(lines[0].contains("Live: "), "{lines:?}");
    // The Pod was deleted while its node still counted as ready.
    let became = lines.iter().find(|line| line.starts_with("Since then: ")).unwrap();
    assert!(became.contains("node-a") && became.contains("Unknown"), "{became}");
    let facts: Vec<&str> = advice.evidence.iter().map(|fact| &*fact.text).collect();
    assert!(
        facts.iter().any(|fact| fact.contains("has not been renewed while Unwind watched")),
        "{facts:?}"
    );
    let need = |remedies: &Remedies| {
        let needs = remedies.remedies.iter().flat_map(|remedy| remedy.needs.clone());
        needs.filter(|need| need.code == NeedCode::LeaseStill).map(|need| need.holds).next()
    };
    assert_eq!(need(&server.remedies(&card.diagnosis.id).await), Some(Holds::Yes));

    // The node is back, so the Pod goes, and nothing is asked any more.
    server.set_node(None);
    server.cards(<[_]>::is_empty).await;
    let (leases, events) = (server.asked("leases"), server.asked("events"));
    assert!(leases > 2 && events > 0, "{leases} {events}");
    for _ in 0..120 {
        server.cards(<[_]>::is_empty).await;
    }
    assert_eq!((server.asked("leases"), server.asked("events")), (leases, events));
}

#[tokio::test(start_paused = true)]
async fn leases_alone_are_read_while_a_deletion_is_late_and_nobody_looks() {
    let server = Server::start();
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.set_node(Some(NodeFault::Silent));
    server.delete_pod();
    server.cards(|cards| !cards.is_empty()).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let asked = || (server.asked("leases"), server.asked("events"));
    let (leases, events) = asked();
    assert!(leases > 0 && events > 0, "{leases} {events}");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(server.asked("events"), events);
    // One list of the nodes’ and one GET of the manager’s, every 20 s.
    let more = server.asked("leases") - leases;
    assert!((58..=62).contains(&more), "{more}");

    // The node is back, and nothing is late.
    server.set_node(None);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(!server.has("pods", "shop", "a"));
    let at_the_end = asked();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(asked(), at_the_end);
}

/// A lease has to be watched for 40 s before a silent node may be given up. At night somebody is woken, and must not wait for that.
#[tokio::test(start_paused = true)]
async fn first_reader_of_a_late_deletion_finds_the_lease_watched() {
    let server = Server::start();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let asked = || (server.asked("leases"), server.asked("events"));
    assert_eq!(asked(), (0, 0), "nothing is late");
    server.set_node(Some(NodeFault::Silent));
    server.delete_pod();
    tokio::time::sleep(Duration::from_secs(300)).await;
    let cards = server.cards(|_| true).await;
    let card = cards.iter().find(|card| card.diagnosis.cause.name() == "nodeSilent").unwrap();
    assert_eq!(card.diagnosis.confidence, Confidence::Confirmed);
    let remedies = server.remedies(&card.diagnosis.id).await.remedies;
    let mut needs = remedies.iter().flat_map(|remedy| &remedy.needs);
    let still = needs.find(|need| need.code == NeedCode::LeaseStill).unwrap();
    assert_eq!(still.holds, Holds::Yes);
}

fn is_mounted(card: &&DiagnosisCard) -> bool {
    card.diagnosis.cause.name() == "volumesMounted"
}

fn is_confirmed(cards: &[DiagnosisCard]) -> bool {
    let mut mounted = cards.iter().filter(is_mounted);
    mounted.any(|it| it.diagnosis.confidence == Confidence::Confirmed)
}

fn facts(advice: &Advice) -> Vec<&str> {
    advice.evidence.iter().map(|fact| &*fact.text).collect()
}

#[tokio::test(start_paused = true)]
async fn kubelet_that_is_asked_names_the_mount_and_the_next_try_without_anybody_pasting() {
    let server = Server::start_world("s2", Cluster::reading_kubelet_logs);
    let cards = server.cards(is_confirmed).await;
    let card = cards.iter().find(is_mounted).unwrap();
    let advice = server.advice(&card.diagnosis.id).await;
    let facts = facts(&advice);
    let read = facts.iter().find(|fact| fact.starts_with("From the node’s log: ")).unwrap();
    for part in ["cannot be unmounted", "still uses it", "/var/lib/kubelet/pods/", "busy"] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert_eq!(advice.confidence, "Confirmed: the kubelet’s log says so.");
    let first: Vec<String> = advice.first.iter().map(Line::text).collect();
    assert!(
        first.iter().any(|said| said.contains("By the log that was read, the kubelet of")),
        "{first:?}"
    );

    let ended = "runs nothing of Pod ";
    assert!(facts.iter().any(|fact| fact.contains(ended)), "{facts:?}");
    let counted = "failed unmounts of volumes of kubernetes.io/nfs";
    assert!(facts.iter().any(|fact| fact.contains(counted)), "{facts:?}");

    // A reader that looks each second causes three requests a minute, one for each subject, and one that leaves none.
    for _ in 0..300 {
        server.cards(|cards| !cards.is_empty()).await;
    }
    let queries = server.queries();
    assert!(queries.iter().all(|it| it.1 == queries[0].1 && it.2 == 200), "one node: {queries:?}");
    let subjects = KubeletSubject::ALL.len();
    assert!(queries.len() >= 5 * subjects, "{queries:?}");
    for (one, next) in queries.iter().zip(&queries[subjects..]) {
        assert!(next.0.duration_since(one.0).as_secs() >= 60, "{queries:?}");
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    let asked = server.queries().len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(server.queries().len(), asked, "nobody looks");
}

#[tokio::test(start_paused = true)]
async fn kubelet_is_asked_only_if_the_owner_of_the_cluster_chose_so() {
    let server = Server::start_world("s2", |cluster| cluster);
    let cards = server.cards(|cards| cards.iter().any(|it| is_mounted(&it))).await;
    for _ in 0..180 {
        server.cards(|cards| !cards.is_empty()).await;
    }
    assert_eq!(server.queries(), []);
    let advice = server.advice(&cards.iter().find(is_mounted).unwrap().diagnosis.id).await;
    assert!(advice.confidence.starts_with("Inferred"), "{}", advice.confidence);
    let facts = facts(&advice);
    assert!(!facts.iter().any(|fact| fact.contains("log")), "{facts:?}");
}

#[tokio::test(start_paused = true)]
async fn refused_query_is_reported_and_its_end_too() {
    let server = Server::start_world("s2", Cluster::reading_kubelet_logs);
    server.play("on get nodes/proxy until=300s -> 403");
    let unread = |cards: &[DiagnosisCard]| {
        let evidence = cards.iter().filter(is_mounted).flat_map(|it| &it.diagnosis.evidence);
        evidence.filter(|it| matches!(it.source, Source::Unanswered(..))).count()
    };
    let cards = server.cards(|cards| unread(cards) == 1).await;
    let id = cards.iter().find(is_mounted).unwrap().diagnosis.id.clone();
    let advice = server.advice(&id).await;
    let facts = facts(&advice);
    let fact = facts.iter().find(|fact| fact.contains("cannot be asked")).unwrap();
    assert!(
        fact.starts_with("The kubelet on node ")
            && fact.ends_with("Unwind’s credentials lack the right to get nodes/proxy."),
        "{fact}"
    );
    assert!(advice.confidence.starts_with("Inferred"), "{}", advice.confidence);
    let cards = server.cards(is_confirmed).await;
    assert_eq!(unread(&cards), 0);
}

#[tokio::test(start_paused = true)]
async fn demo_reads_the_logs_of_its_kubelets() {
    let demo = DemoCluster::open(Some("s2")).unwrap();
    let (hub, _tasks) = serve(demo.cluster(), Timestamp::now());
    let incident = DemoCommand::TurnOn { what: DemoFault::Incident, subject: "s2".into() };
    demo.run_command(&incident).unwrap();
    cards_of(&hub, is_confirmed).await;
}

fn is_confirmed_as(name: &str) -> impl Fn(&DiagnosisCard) -> bool {
    move |card| {
        card.diagnosis.cause.name() == name && card.diagnosis.confidence == Confidence::Confirmed
    }
}

fn create(world: &mut ControlPlane, plural: &str, namespace: &str, object: serde_json::Value) {
    world.cluster.create(&Actor::admin(), "", plural, namespace, object).unwrap();
}

#[tokio::test(start_paused = true)]
async fn runtime_that_still_runs_a_container_confirms_that_it_cannot_be_stopped() {
    let server = Server::with(|world| {
        create(world, "namespaces", "", json!({"metadata": {"name": "shop"}}));
        world.run_until_idle();
        let pod = json!({
            "metadata": {"name": "a", "annotations": {"unwind.test/hold": "silent"}},
            "spec": {"nodeName": "node-a", "terminationGracePeriodSeconds": 5,
                "containers": [{"name": "web", "image": "registry.example/web:1"}]},
        });
        create(world, "pods", "shop", pod);
    })
    .serve(Cluster::reading_kubelet_logs);
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.delete_pod();
    let is_confirmed = is_confirmed_as("containersRunning");
    let cards = server.cards(|cards| cards.iter().any(&is_confirmed)).await;
    let advice = server.advice(&cards[0].diagnosis.id).await;
    assert_eq!(advice.confidence, "Confirmed: the container runtime of the node says so.");
    let facts = facts(&advice);
    let fact = "The container runtime of node node-a still runs container web of Pod shop/a";
    assert!(facts.contains(&fact), "{facts:?}");
}

#[tokio::test(start_paused = true)]
async fn manager_that_is_off_is_a_cause_of_its_own_until_it_is_back() {
    let server = Server::with(|world| {
        world.controllers.add_leader_election();
        create(world, "namespaces", "", json!({"metadata": {"name": "shop"}}));
    })
    .serve(|cluster| cluster);
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.play("at 0s controller kube-controller-manager off");
    server.delete("namespaces", "", "shop");
    let is_manager = is_confirmed_as("managerSilent");
    let cards = server.cards(|cards| cards.iter().any(&is_manager)).await;
    assert!(is_manager(&cards[0]), "{cards:?}");
    assert_eq!(cards.len(), 1, "its controllers are part of its card: {cards:?}");
    let advice = server.advice(&cards[0].diagnosis.id).await;
    let facts = facts(&advice);
    let still = "has not been renewed while Unwind watched";
    assert!(
        facts.iter().any(|it| it.contains("kube-controller-manager") && it.contains(still)),
        "{facts:?}"
    );

    server.play("at 0s controller kube-controller-manager on");
    server.cards(<[_]>::is_empty).await;
    assert!(!server.has("namespaces", "", "shop"));
}

#[tokio::test(start_paused = true)]
async fn load_balancer_that_the_cloud_does_not_remove_holds_its_service_until_it_does() {
    let server = Server::with(|world| {
        world.controllers.add_cloud();
        create(world, "namespaces", "", json!({"metadata": {"name": "shop"}}));
        world.run_until_idle();
        let service = json!({
            "metadata": {"name": "front"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
        });
        create(world, "services", "shop", service);
    })
    .serve(|cluster| cluster);
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.play("at 0s cloud refuses the security group sg-1 is in use");
    server.delete("services", "shop", "front");
    let is_left = is_confirmed_as("loadBalancerLeft");
    let cards = server.cards(|cards| cards.iter().any(&is_left)).await;
    assert_eq!(cards.len(), 1, "{cards:?}");
    let advice = server.advice(&cards[0].diagnosis.id).await;
    let facts = facts(&advice);
    let said = "service-controller says SyncLoadBalancerFailed: Error syncing load balancer: failed to delete load balancer: \
                the security group sg-1 is in use";
    assert!(facts.iter().any(|fact| fact.contains(said)), "{facts:?}");

    server.play("at 0s cloud repaired");
    server.cards(<[_]>::is_empty).await;
    assert!(!server.has("services", "shop", "front"));
}
