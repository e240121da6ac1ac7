//! Runs discovery periodically, and when something says that the served kinds have changed, and keeps one watch for each kind that
//! it finds.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use teardown::{
    api_problem::ApiProblem, message::HiddenCause, object::Kind, observation::Observation,
};
use tokio::{
    sync::Notify,
    task::{AbortHandle, JoinError, JoinSet},
    time::{Instant, sleep_until},
};

use super::{
    backoff::backoff,
    convert,
    discovery::{DiscoveryError, Found, discover},
    report::HubGone,
    request,
    watch::{Shared, watch},
};

/// The time between two rounds of discovery.
const INTERVAL: Duration = Duration::from_secs(60);
/// The delays of the rounds after a CustomResourceDefinition or APIService changed. The API server publishes a new kind
/// a moment after its definition is established, and an aggregated kind only with its next refresh.
const AFTER_CHANGE: [Duration; 3] =
    [Duration::from_millis(300), Duration::from_millis(1_500), Duration::from_secs(4)];
/// The deadline of the request that confirms that a kind is no longer served.
const CONFIRM: Duration = Duration::from_secs(10);
/// The name of the hidden resource while discovery as a whole fails.
const DISCOVERY: &str = "discovery";

/// The shortest time between two rounds of discovery that calls ask for. A run may send hundreds of calls to a version that is
/// served no longer.
const BETWEEN_CALLS: Duration = Duration::from_secs(10);

/// Watches all served kinds until the hub is gone. `unserved` is notified when a call was answered as if its kind were served no
/// longer, or not with its verb.
pub(super) async fn run(shared: Shared, unserved: Arc<Notify>) -> Result<(), HubGone> {
    let mut kinds = KindWatches {
        shared,
        watches: JoinSet::new(),
        watched: BTreeMap::new(),
        hidden: BTreeMap::new(),
        undeletable: BTreeSet::new(),
        failures: 0,
    };
    let mut rounds = VecDeque::new();
    let mut for_call: Option<Instant> = None;
    loop {
        let connects = kinds.shared.health.reached().await;
        let next = match discover(&kinds.shared.client).await {
            Ok(found) => {
                kinds.failures = 0;
                kinds.update(found).await?;
                rounds.pop_front().unwrap_or_else(|| kinds.shared.chance.spread(INTERVAL))
            }
            Err(error) => kinds.failed(&error).await?,
        };
        let mut due = Instant::now() + next;
        let mut health = kinds.shared.health.clone();
        loop {
            tokio::select! {
                biased;
                () = sleep_until(due) => break,
                () = health.reconnected(connects) => break,
                () = kinds.shared.served_changed.notified() => {
                    rounds = AFTER_CHANGE[1..].iter().copied().collect();
                    due = due.min(Instant::now() + AFTER_CHANGE[0]);
                }
                () = unserved.notified() => {
                    let now = Instant::now();
                    let earliest = for_call.map_or(now, |last| now.max(last + BETWEEN_CALLS));
                    due = due.min(earliest);
                    for_call = Some(due);
                }
                Some(ended) = kinds.watches.join_next() => check_end(ended)?,
            }
        }
    }
}

/// A watch ends if its kind is withdrawn or the hub is gone. A panic is propagated.
fn check_end(ended: Result<Result<(), HubGone>, JoinError>) -> Result<(), HubGone> {
    match ended {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Ok(()),
    }
}

struct KindWatches {
    shared: Shared,
    watches: JoinSet<Result<(), HubGone>>,
    /// The kinds by group and plural.
    watched: BTreeMap<(String, String), (Arc<Kind>, AbortHandle)>,
    /// The hidden group versions that were reported to the hub.
    hidden: BTreeMap<String, ApiProblem>,
    /// The resources without the verb `delete` that were reported to the hub.
    undeletable: BTreeSet<String>,
    /// Failures of discovery as a whole in a row.
    failures: u32,
}

impl KindWatches {
    /// Starts and stops watches to match the kinds found. Every new kind is reported before the first watch starts,
    /// so that a reader who waits for all lists knows their kinds.
    async fn update(&mut self, found: Found) -> Result<(), HubGone> {
        self.update_hidden(&found).await?;
        let undeletable = found.undeletable();
        if self.undeletable != undeletable {
            self.undeletable.clone_from(&undeletable);
            self.shared.report.send(Observation::Undeletable(undeletable)).await?;
        }
        let mut begin = Vec::new();
        for (key, versions) in &found.kinds {
            // A version that gives no answer for a while may still be the best one.
            let stays = |kind: &Kind| versions.keep(kind) || found.is_hidden(kind);
            if self.watched.get(key).is_some_and(|(kind, _)| stays(kind)) {
                continue;
            }
            if let Some(preferred) = versions.preferred() {
                begin.push((key.clone(), Arc::new(preferred.clone())));
            }
        }
        for (_, kind) in &begin {
            self.shared.report.send(Observation::Watching(kind.clone())).await?;
        }
        for (key, kind) in begin {
            // If the watched version is not kept, the watch continues in another; the objects are the same.
            let before = self.watched.remove(&key);
            if let Some((_, before)) = &before {
                self.stop(before).await?;
            }
            let handle =
                self.watches.spawn(watch(kind.clone(), self.shared.clone(), before.is_some()));
            self.watched.insert(key, (kind, handle));
        }
        let missing: Vec<_> = self
            .watched
            .iter()
            .filter(|(key, (kind, _))| {
                !found.kinds.contains_key(*key) && found.hidden_version(&kind.group).is_none()
            })
            .map(|(key, (kind, _))| (key.clone(), kind.clone()))
            .collect();
        for (key, kind) in missing {
            // Withdrawing a kind removes all its objects, so discovery alone is not enough: behind a load balancer it
            // may come from a replica that does not know a new definition yet.
            if self.is_unserved(&kind).await
                && let Some((kind, handle)) = self.watched.remove(&key)
            {
                self.stop(&handle).await?;
                tracing::info!(resource = %kind.resource(), "no longer served");
                self.shared.report.send(Observation::Withdrawn(kind)).await?;
            }
        }
        Ok(())
    }

    /// Ends a watch and waits for its end, so that none of its observations arrives after the next one of its kind.
    async fn stop(&mut self, watch: &AbortHandle) -> Result<(), HubGone> {
        watch.abort();
        while let Some(ended) = self.watches.join_next_with_id().await {
            let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
            check_end(ended.map(|(_, result)| result))?;
            if id == watch.id() {
                break;
            }
        }
        Ok(())
    }

    async fn update_hidden(&mut self, found: &Found) -> Result<(), HubGone> {
        let report = &self.shared.report;
        for (version, message) in &found.hidden {
            if !self.hidden.contains_key(version) {
                tracing::warn!(version, "cannot discover the kinds of this group version");
                let (resource, cause, message) =
                    (version.clone(), HiddenCause::Discovery, message.clone());
                report.send(Observation::Hidden { resource, cause, message }).await?;
            }
        }
        for version in self.hidden.keys().filter(|version| !found.hidden.contains_key(*version)) {
            report.send(Observation::Visible { resource: version.clone() }).await?;
        }
        self.hidden.clone_from(&found.hidden);
        Ok(())
    }

    /// Handles a failure of discovery as a whole and returns the retry delay. Existing watches continue.
    async fn failed(&mut self, error: &DiscoveryError) -> Result<Duration, HubGone> {
        self.failures = self.failures.saturating_add(1);
        let message = ApiProblem::from(error);
        let refused = match error {
            DiscoveryError::Failure(_) => {
                self.shared.health.check();
                false
            }
            DiscoveryError::Refused { .. } => true,
        };
        // The health check reports a failed connection, unless all other requests succeed.
        if (refused || self.failures > 2) && !self.hidden.contains_key(DISCOVERY) {
            tracing::warn!("discovery fails; new kinds are not seen until it succeeds");
            self.hidden.insert(DISCOVERY.to_owned(), message.clone());
            let resource = DISCOVERY.to_owned();
            self.shared
                .report
                .send(Observation::Hidden { resource, cause: HiddenCause::Discovery, message })
                .await?;
        }
        Ok(backoff(self.failures, &self.shared.chance))
    }

    /// Whether the API server answers a list of this kind with 404.
    async fn is_unserved(&self, kind: &Kind) -> bool {
        let Some(path) = request::path(kind, None) else { return false };
        let request = request::get(&request::page(&path, 1, ""), convert::list_media_type(kind));
        request::ask(&self.shared.client, request, CONFIRM)
            .await
            .is_ok_and(|answer| answer.code == 404)
    }
}

#[cfg(test)]
mod tests;
