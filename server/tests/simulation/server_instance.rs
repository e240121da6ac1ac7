//! One instance of the server: cluster, hub and journal, connected as the process connects them, from its start to its
//! crash.

use std::{sync::Arc, time::Duration};

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
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{
    disk::Disk,
    kill_switch::KillSwitch,
    mutant::{Confirmed, Mutant, forge, forges_observations, relay},
    observed_versions::ObservedVersions,
    transcript::Transcript,
    transport::{Arrivals, Transport},
};

/// The environment that all server instances of a run share.
pub(crate) struct Environment {
    /// The wall clock at the start of the run.
    pub(crate) start: Timestamp,
    pub(crate) sandbox: sandbox::service::Sandbox,
    pub(crate) disk: Disk,
    pub(crate) arrivals: Arrivals,
    pub(crate) observed: ObservedVersions,
    pub(crate) transcript: Transcript,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) confirmed: Confirmed,
    /// Notified when an instance stops.
    pub(crate) stopped: Arc<Notify>,
    pub(crate) seed: u64,
    /// The only namespace in which the server has rights; `None` if it has all rights.
    pub(crate) visible: Option<String>,
}

/// A server that runs.
pub(crate) struct ServerInstance {
    pub(crate) hub: HubHandle,
    kill_switch: KillSwitch,
    tasks: JoinSet<()>,
}

impl ServerInstance {
    /// Starts the server with the content of the disk.
    ///
    /// # Errors
    /// The reason for which it does not start.
    pub(crate) fn start(environment: &Environment, number: u64) -> Result<Self, String> {
        let kill_switch =
            KillSwitch::new(environment.stopped.clone(), environment.transcript.clone());
        let chance = Chance::seeded(environment.seed.wrapping_mul(1_000).wrapping_add(number));
        let transport = Transport {
            sandbox: environment.sandbox.clone(),
            kill_switch: kill_switch.clone(),
            disk: environment.disk.clone(),
            arrivals: environment.arrivals.clone(),
            observed: environment.observed.clone(),
            transcript: environment.transcript.clone(),
            mutant: environment.mutant,
            instance: number,
        };
        let namespace = environment.visible.as_deref().unwrap_or("default");
        let cluster =
            Cluster::served_in(transport, "sandbox", namespace).repeatable(chance.clone());
        let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
        let (out, ordered) = mpsc::channel(hub::CALLS);
        let (relayed, orders) = mpsc::channel(hub::CALLS);
        let journal = Journal::over(environment.disk.store_for(number, kill_switch.clone()));
        let passed = SignedDuration::from_millis(environment.transcript.now().cast_signed());
        let hub = Hub::open("sandbox".to_owned(), inbox, out, journal)
            .and_then(|hub| hub.repeatable(environment.start + passed, chance))
            .map_err(|error| format!("the server does not start: {error}"))?;

        let mut tasks = JoinSet::new();
        tasks.spawn({
            let (kill_switch, transcript) = (kill_switch.clone(), environment.transcript.clone());
            async move {
                let ended = hub.run(CancellationToken::new()).await;
                transcript.log(format!("the hub ended: {ended:?}"));
                kill_switch.trip("the hub ended");
            }
        });
        let observed = match environment.mutant.filter(|it| forges_observations(*it)) {
            Some(mutant) => {
                let (forged, observations) = mpsc::channel(hub::MAILBOX);
                tasks.spawn(forge(mutant, observations, mailbox.clone()));
                forged
            }
            None => mailbox.clone(),
        };
        tasks.spawn({
            let (kill_switch, transcript) = (kill_switch.clone(), environment.transcript.clone());
            async move {
                let ended = cluster.run(observed, orders, CancellationToken::new()).await;
                if !kill_switch.is_tripped() {
                    transcript.log(format!("the cluster ended: {ended:?}"));
                    kill_switch.trip("the cluster ended");
                }
            }
        });
        tasks.spawn(relay(
            environment.mutant,
            ordered,
            relayed,
            mailbox.clone(),
            environment.confirmed.clone(),
        ));
        environment.transcript.log(format!("the server starts, instance {number}"));
        Ok(Self { hub: HubHandle::new(mailbox), kill_switch, tasks })
    }

    /// Crashes the instance after a time.
    pub(crate) fn crash_after(&mut self, time: Duration) {
        let kill_switch = self.kill_switch.clone();
        self.tasks.spawn(async move {
            sleep(time).await;
            kill_switch.trip("in its recovery");
        });
    }

    /// Kills the instance without a shutdown.
    pub(crate) async fn kill(mut self, why: &str) {
        self.kill_switch.trip(why);
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
    }
}
