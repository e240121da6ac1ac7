//! A whole server against the sandbox under paused time.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use sandbox::{
    cluster::Actor, control_plane::ControlPlane, controller::timing::Timing, service::Sandbox,
};
use server::{
    chance::Chance,
    cluster::Cluster,
    hub::{self, Hub, HubHandle, Refusal},
    journal::Journal,
};
use teardown::{
    plan::{Choices, Plan},
    unit::UnitId,
};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// A server that may do everything, and its simulated cluster.
pub(crate) struct Server {
    pub(crate) hub: HubHandle,
    pub(crate) sandbox: Sandbox,
    _tasks: JoinSet<()>,
}

impl Server {
    /// A server that talks to this world as this actor.
    pub(crate) fn start(actor: Actor, set_up: impl FnOnce(&mut ControlPlane)) -> Self {
        let now: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let mut world = ControlPlane::new(now, 1, Timing::default());
        world.run_until_idle();
        set_up(&mut world);
        let sandbox = Sandbox::of(world);
        let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
        let (out, calls) = mpsc::channel(hub::CALLS);
        let (asked, requests) = mpsc::channel(hub::PREFLIGHTS);
        let (confirmed, remedies) = mpsc::channel(hub::REMEDIES);
        let chance = Chance::seeded(1);
        let cluster = Cluster::served_by(sandbox.speaking_as(Some(actor)), "sandbox")
            .repeatable(chance.clone())
            .answering(requests)
            .with_remedies(remedies);
        let hub = Hub::open("sandbox".into(), inbox, out, Journal::in_memory()).unwrap();
        let hub = hub.repeatable(now, chance).unwrap().asking(asked).allow_remedies(confirmed);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { hub.run(CancellationToken::new()).await.unwrap() });
        let handle = HubHandle::new(mailbox.clone());
        tasks.spawn(async move {
            cluster.run(mailbox, calls, CancellationToken::new()).await.unwrap();
        });
        Self { hub: handle, sandbox, _tasks: tasks }
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
