//! A whole server against the sandbox under paused time.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use sandbox::{
    cluster::Actor, control_plane::ControlPlane, controller::timing::Timing, service::Sandbox,
    store::Key,
};
use serde_json::json;
use server::{
    chance::Chance,
    cluster::Cluster,
    hub::{self, Hub, HubHandle, Refusal, Start},
    journal::Journal,
};
use teardown::{
    message::{Message, Record, Topic},
    plan::{Choices, Plan},
    run::{RunId, RunState},
    unit::UnitId,
    wanted::Wanted,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::transport::{Interruption, Transport};

/// A server that may do everything, and its simulated cluster.
pub(crate) struct Server {
    pub(crate) hub: HubHandle,
    pub(crate) sandbox: Sandbox,
    /// A change in the cluster that comes before the next change of the server.
    pub(crate) interruption: Interruption,
    tasks: JoinSet<()>,
    started: (Timestamp, Instant),
}

impl Server {
    /// A server that talks to this world as this actor.
    pub(crate) fn start(actor: Actor, set_up: impl FnOnce(&mut ControlPlane)) -> Self {
        let now: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let mut world = ControlPlane::new(now, 1, Timing::default());
        world.run_until_idle();
        set_up(&mut world);
        Self::over(Sandbox::of(world), actor, Journal::in_memory(), (now, Instant::now()))
    }

    /// Ends the server without a shutdown, and starts another one with this journal.
    pub(crate) async fn restart(mut self, actor: Actor, journal: impl FnOnce() -> Journal) -> Self {
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
        Self::over(self.sandbox, actor, journal(), self.started)
    }

    /// A server with this journal, in a world that began at that time.
    fn over(
        sandbox: Sandbox,
        actor: Actor,
        journal: Journal,
        started: (Timestamp, Instant),
    ) -> Self {
        let now = started.0 + started.1.elapsed();
        let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
        let (out, calls) = mpsc::channel(hub::CALLS);
        let (asked, requests) = mpsc::channel(hub::PREFLIGHTS);
        let (confirmed, remedies) = mpsc::channel(hub::REMEDIES);
        let chance = Chance::seeded(1 + started.1.elapsed().as_millis() as u64);
        let interruption = Interruption::default();
        let transport = Transport {
            sandbox: sandbox.speaking_as(Some(actor)),
            interruption: interruption.clone(),
        };
        let (wanted, asked_for) = watch::channel(Wanted::default());
        let cluster = Cluster::served_by(transport, "sandbox")
            .fetching(asked_for)
            .repeatable(chance.clone())
            .answering(requests)
            .with_remedies(remedies);
        let hub = Hub::open("sandbox".into(), inbox, out, journal).unwrap();
        let hub = hub.repeatable(now, chance).unwrap().asking(asked).allow_remedies(confirmed);
        let hub = hub.wanting(wanted);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { hub.run(CancellationToken::new()).await.unwrap() });
        let handle = HubHandle::new(mailbox.clone());
        tasks.spawn(async move {
            cluster.run(mailbox, calls, CancellationToken::new()).await.unwrap();
        });
        Self { hub: handle, sandbox, interruption, tasks, started }
    }

    /// The records of a run's page.
    pub(crate) async fn records(&self, run: &RunId) -> Vec<Record> {
        let message = self.hub.query(Topic::Run(run.clone())).await.unwrap().unwrap();
        let Message::Snapshot { records, .. } = message else { panic!("{message:?}") };
        records
    }

    /// The state of a run.
    pub(crate) async fn state(&self, run: &RunId) -> RunState {
        let of_run = |record: &Record| match record {
            Record::Run(card) if card.id == *run => Some(card.state),
            _ => None,
        };
        self.records(run).await.iter().find_map(of_run).unwrap()
    }

    /// Starts a run of a plan.
    pub(crate) async fn run(&self, plan: &Plan) -> RunId {
        let start = Start {
            plan: plan.id.clone(),
            hash: plan.hash.clone(),
            confirm: plan.unit.as_str().to_owned(),
            parts: plan.parts(),
            by: "Li".into(),
        };
        self.hub.start(start).await.unwrap().unwrap()
    }

    /// Lets time pass until something is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&ControlPlane) -> bool) {
        for _ in 0..3_000 {
            if self.sandbox.with(|world| is_so(world)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("never: {what}");
    }

    /// The changes that the server asked for, in order.
    pub(crate) fn changes(&self) -> Vec<String> {
        let relevant = |entry: &sandbox::log::Entry| {
            let key = entry.key.as_ref()?;
            let is_change =
                matches!(entry.verb.as_str(), "delete" | "patch") && entry.actor == "li";
            (is_change && entry.effect && !entry.dry_run)
                .then(|| format!("{} {}/{}", entry.verb, key.plural, key.name))
        };
        self.sandbox.with(|world| world.cluster.log.entries().iter().filter_map(relevant).collect())
    }

    /// The plan of a unit, once every kind is listed.
    pub(crate) async fn plan(&self, unit: &str, choices: Choices) -> Arc<Plan> {
        for _ in 0..600 {
            let made = self.hub.make_plan(UnitId::new(unit), choices.clone()).await.unwrap();
            match made {
                Ok(plan) => return plan,
                Err(Refusal::NotReady | Refusal::UnknownUnit(_)) => {}
                Err(refusal) => panic!("{refusal:?}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the cluster is never listed");
    }
}

/// Creates an object as an administrator.
pub(crate) fn create(
    world: &mut ControlPlane,
    group: &str,
    plural: &str,
    namespace: &str,
    object: serde_json::Value,
) {
    world.cluster.create(&Actor::admin(), group, plural, namespace, object).unwrap();
}

/// Makes a Pod with this address, so that somebody answers there.
pub(crate) fn answer_at(world: &mut ControlPlane, namespace: &str, address: &str) {
    let spec = json!({"containers": [{"name": "c", "image": "server"}]});
    create(world, "", "pods", namespace, json!({"metadata": {"name": "server"}, "spec": spec}));
    let key = Key::new("", "pods", namespace, "server");
    let addressed = world.cluster.modify(&Actor::admin(), &key, "status", |pod| {
        pod["status"]["podIP"] = json!(address);
    });
    addressed.map(drop).unwrap();
}

/// Defines a namespaced kind with any content, and waits until it is served.
pub(crate) fn define(world: &mut ControlPlane, group: &str, plural: &str, kind: &str) {
    let definition = json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    create(world, "apiextensions.k8s.io", "customresourcedefinitions", "", definition);
    world.run_until_idle();
    world.cluster.clock.advance(Duration::from_secs(5));
    world.run_until_idle();
}
