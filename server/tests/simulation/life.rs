//! One life of the server: cluster, hub and journal as the process connects them, from its start to a crash.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use server::{
    chance::Chance,
    cluster::Cluster,
    hub::{self, Hub, HubHandle},
    journal::Journal,
};
use tokio::{
    sync::{Notify, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    gate::Gate,
    ledger::Ledger,
    saboteur::{Confirmed, Saboteur, relay},
    story::Story,
    told::Told,
    wire::{Arrivals, Wire},
};

/// What all lives share.
pub(crate) struct Stage {
    /// The wall clock at the beginning of the story.
    pub(crate) start: Timestamp,
    pub(crate) sandbox: sandbox::service::Sandbox,
    pub(crate) ledger: Ledger,
    pub(crate) arrivals: Arrivals,
    pub(crate) told: Told,
    pub(crate) story: Story,
    pub(crate) saboteur: Option<Saboteur>,
    pub(crate) confirmed: Confirmed,
    /// Rings when a life ends.
    pub(crate) ending: Arc<Notify>,
    pub(crate) seed: u64,
}

/// A server that runs.
pub(crate) struct Life {
    pub(crate) hub: HubHandle,
    gate: Gate,
    tasks: JoinSet<()>,
}

impl Life {
    /// Starts the server with what the ledger has.
    ///
    /// # Errors
    /// What kept it from starting, in words.
    pub(crate) fn start(stage: &Stage, number: u64) -> Result<Self, String> {
        let gate = Gate::new(stage.ending.clone(), stage.story.clone());
        let chance = Chance::seeded(stage.seed.wrapping_mul(1_000).wrapping_add(number));
        let wire = Wire {
            sandbox: stage.sandbox.clone(),
            gate: gate.clone(),
            ledger: stage.ledger.clone(),
            arrivals: stage.arrivals.clone(),
            told: stage.told.clone(),
            story: stage.story.clone(),
            saboteur: stage.saboteur,
            life: number,
        };
        let cluster = Cluster::served_by(wire, "sandbox").repeatable(chance.clone());
        let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
        let (out, ordered) = mpsc::channel(hub::CALLS);
        let (relayed, orders) = mpsc::channel(hub::CALLS);
        let journal = Journal::over(stage.ledger.pages(number, gate.clone()));
        let passed = SignedDuration::from_millis(stage.story.now().cast_signed());
        let hub = Hub::open("sandbox".to_owned(), inbox, out, journal)
            .and_then(|hub| hub.repeatable(stage.start + passed, chance))
            .map_err(|error| format!("the server does not start: {error}"))?;

        let mut tasks = JoinSet::new();
        tasks.spawn({
            let (gate, story) = (gate.clone(), stage.story.clone());
            async move {
                let ended = hub.run(CancellationToken::new()).await;
                story.tell(format!("the hub ended: {ended:?}"));
                gate.shut("the hub ended");
            }
        });
        tasks.spawn({
            let (mailbox, gate, story) = (mailbox.clone(), gate.clone(), stage.story.clone());
            async move {
                let ended = cluster.run(mailbox, orders, CancellationToken::new()).await;
                if !gate.is_shut() {
                    story.tell(format!("the cluster ended: {ended:?}"));
                    gate.shut("the cluster ended");
                }
            }
        });
        tasks.spawn(relay(
            stage.saboteur,
            ordered,
            relayed,
            mailbox.clone(),
            stage.confirmed.clone(),
        ));
        stage.story.tell(format!("the server starts, life {number}"));
        Ok(Self { hub: HubHandle::new(mailbox), gate, tasks })
    }

    /// Ends it without a word.
    pub(crate) async fn kill(mut self, why: &str) {
        self.gate.shut(why);
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
    }
}
