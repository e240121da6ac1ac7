//! Evidence that a whole server fetches from the sandbox while deletions are late, under paused time: how it changes the diagnosis and
//! the advice, and what is asked. The request log of the sandbox says what was asked.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use app::text;
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
    hub::{self, Hub, HubHandle, Remedies},
    journal::Journal,
};
use teardown::{
    advice::Advice,
    diagnosis::Confidence,
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

impl Server {
    /// A server whose cluster has one Pod, which runs on node-a.
    fn start() -> Self {
        let now: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let mut world = ControlPlane::new(now, 1, Timing::default());
        let admin = Actor::admin();
        world.run_until_idle();
        let shop = json!({"metadata": {"name": "shop"}});
        world.cluster.create(&admin, "", "namespaces", "", shop).unwrap();
        world.run_until_idle();
        let pod = json!({
            "metadata": {"name": "a"},
            "spec": {"nodeName": "node-a", "terminationGracePeriodSeconds": 5,
                "containers": [{"name": "web", "image": "registry.example/web:1"}]},
        });
        world.cluster.create(&admin, "", "pods", "shop", pod).unwrap();
        world.run_until_idle();
        let sandbox = Sandbox::of(world);
        let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
        let (out, calls) = mpsc::channel(hub::CALLS);
        let (want, wanted) = watch::channel(Wanted::default());
        let chance = Chance::seeded(1);
        let cluster = Cluster::served_by(sandbox.speaking_as(Some(admin)), "sandbox")
            .repeatable(chance.clone())
            .fetching(wanted);
        let hub = Hub::open("sandbox".into(), inbox, out, Journal::in_memory()).unwrap();
        let hub = hub.repeatable(now, chance).unwrap().wanting(want);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { hub.run(CancellationToken::new()).await.unwrap() });
        let handle = HubHandle::new(mailbox.clone());
        tasks.spawn(async move {
            cluster.run(mailbox, calls, CancellationToken::new()).await.unwrap();
        });
        Self { hub: handle, sandbox, _tasks: tasks }
    }

    fn delete_pod(&self) {
        let (key, options) = (Key::new("", "pods", "shop", "a"), DeleteOptions::default());
        self.sandbox
            .with(|world| world.cluster.delete(&Actor::admin(), &key, &options).map(drop))
            .unwrap();
    }

    fn set_node(&self, fault: Option<NodeFault>) {
        self.sandbox.with(|world| world.cluster.faults.set_node("node-a", fault));
    }

    /// The cards of the page of trouble, which a reader looks at each second, once they are as awaited.
    async fn cards(&self, is_awaited: impl Fn(&[DiagnosisCard]) -> bool) -> Vec<DiagnosisCard> {
        let mut cards = Vec::new();
        for _ in 0..400 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let message = self.hub.query(Topic::Trouble).await.unwrap().unwrap();
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

    async fn remedies(&self, id: &str) -> Remedies {
        self.hub.remedies(id.to_owned()).await.unwrap().unwrap()
    }

    async fn advice(&self, id: &str) -> Advice {
        let Remedies { standpoint, card, remedies, attempts, are_allowed } =
            self.remedies(id).await;
        text::advice(&card, &remedies, &attempts, &standpoint, are_allowed)
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
async fn silent_node_is_confirmed_by_its_lease_and_told_with_its_standpoint() {
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
        advice.first.iter().map(|line| format!("{}: {}", line.name, line.said.join(" "))).collect();
    assert!(lines[0].starts_with("Cluster: sandbox, seen as "), "{lines:?}");
    assert!(lines[0].contains("Live: "), "{lines:?}");
    let became = lines.iter().find(|line| line.starts_with("Just before: ")).unwrap();
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
async fn nobody_asks_while_nobody_looks() {
    let server = Server::start();
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.set_node(Some(NodeFault::Silent));
    server.delete_pod();
    server.cards(|cards| !cards.is_empty()).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let leases = server.asked("leases");
    assert!(leases > 0);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(server.asked("leases"), leases);
}
