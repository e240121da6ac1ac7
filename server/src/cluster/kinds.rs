//! Which kinds are watched: discovery again and again, and a watch for each kind it finds.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use teardown::{
    api_problem::ApiProblem, message::HiddenCause, object::Kind, observation::Observation,
};
use tokio::{
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

/// How often discovery runs unprompted.
const EVERY: Duration = Duration::from_secs(60);
/// How soon after a definition changed, and how soon again: the API server publishes a new kind a moment after its
/// definition is established, and an aggregated one at its next round.
const PROMPTED: [Duration; 3] =
    [Duration::from_millis(300), Duration::from_millis(1_500), Duration::from_secs(4)];
/// For asking whether a kind is really gone.
const CONFIRM: Duration = Duration::from_secs(10);
/// What discovery as a whole is called where it fails.
const DISCOVERY: &str = "discovery";

/// Watches whatever is served, until the hub is gone.
pub(super) async fn run(shared: Shared) -> Result<(), HubGone> {
    let mut kinds = KindWatches {
        shared,
        watches: JoinSet::new(),
        watched: BTreeMap::new(),
        hidden: BTreeMap::new(),
        failures: 0,
    };
    let mut rounds = VecDeque::new();
    loop {
        let connects = kinds.shared.health.reached().await;
        let next = match discover(&kinds.shared.client).await {
            Ok(found) => {
                kinds.failures = 0;
                kinds.update(found).await?;
                rounds.pop_front().unwrap_or_else(|| kinds.shared.chance.spread(EVERY))
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
                    rounds = PROMPTED[1..].iter().copied().collect();
                    due = due.min(Instant::now() + PROMPTED[0]);
                }
                Some(ended) = kinds.watches.join_next() => ended_well(ended)?,
            }
        }
    }
}

/// A watch ends when it is withdrawn or the hub is gone; a panic is passed on.
fn ended_well(ended: Result<Result<(), HubGone>, JoinError>) -> Result<(), HubGone> {
    match ended {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Ok(()),
    }
}

struct KindWatches {
    shared: Shared,
    watches: JoinSet<Result<(), HubGone>>,
    /// By group and plural.
    watched: BTreeMap<(String, String), (Arc<Kind>, AbortHandle)>,
    /// Group versions the hub was told of.
    hidden: BTreeMap<String, ApiProblem>,
    /// Failures of discovery as a whole, in a row.
    failures: u32,
}

impl KindWatches {
    /// Makes the watches those of what was found. All beginnings are told before the first watch begins, so that a
    /// reader who waits for every list knows what to wait for.
    async fn update(&mut self, found: Found) -> Result<(), HubGone> {
        self.update_hidden(&found).await?;
        let mut begin = Vec::new();
        for (key, versions) in &found.kinds {
            // A version that is no longer preferred but still served does as well: changing it would list anew.
            let served = |kind: &Kind| versions.iter().any(|version| version == kind);
            if self.watched.get(key).is_some_and(|(kind, _)| served(kind)) {
                continue;
            }
            if let Some(preferred) = versions.first() {
                begin.push((key.clone(), Arc::new(preferred.clone())));
            }
        }
        for (_, kind) in &begin {
            self.shared.report.tell(Observation::Watching(kind.clone())).await?;
        }
        for (key, kind) in begin {
            // A kind whose version is not served any more is watched in its new one; its objects are the same.
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
                !found.kinds.contains_key(*key) && !found.has_hidden_version(&kind.group)
            })
            .map(|(key, (kind, _))| (key.clone(), kind.clone()))
            .collect();
        for (key, kind) in missing {
            // To be withdrawn is to be gone with all objects, so discovery's word alone is not enough: behind a load
            // balancer it may be that of a replica that has not heard of a new definition yet.
            if self.is_unserved(&kind).await
                && let Some((kind, handle)) = self.watched.remove(&key)
            {
                self.stop(&handle).await?;
                tracing::info!(resource = %kind.resource(), "no longer served");
                self.shared.report.tell(Observation::Withdrawn(kind)).await?;
            }
        }
        Ok(())
    }

    /// Ends a watch and waits until it has: nothing it says may come after what is said next of its kind.
    async fn stop(&mut self, watch: &AbortHandle) -> Result<(), HubGone> {
        watch.abort();
        while let Some(ended) = self.watches.join_next_with_id().await {
            let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
            ended_well(ended.map(|(_, result)| result))?;
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
                tracing::warn!(version, "cannot be discovered");
                let (resource, cause, message) =
                    (version.clone(), HiddenCause::Discovery, message.clone());
                report.tell(Observation::Hidden { resource, cause, message }).await?;
            }
        }
        for version in self.hidden.keys().filter(|version| !found.hidden.contains_key(*version)) {
            report.tell(Observation::Visible { resource: version.clone() }).await?;
        }
        self.hidden.clone_from(&found.hidden);
        Ok(())
    }

    /// Discovery as a whole failed; what is watched stays watched. Gives the time to the next try.
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
        // A connection that fails is the pulse's to tell, unless everything else goes through.
        if (refused || self.failures > 2) && !self.hidden.contains_key(DISCOVERY) {
            tracing::warn!("discovery fails");
            self.hidden.insert(DISCOVERY.to_owned(), message.clone());
            let resource = DISCOVERY.to_owned();
            self.shared
                .report
                .tell(Observation::Hidden { resource, cause: HiddenCause::Discovery, message })
                .await?;
        }
        Ok(backoff(self.failures, &self.shared.chance))
    }

    /// Whether a list of this kind is answered with 404.
    async fn is_unserved(&self, kind: &Kind) -> bool {
        let Some(path) = request::path(kind, None) else { return false };
        let Ok(request) =
            request::get(&request::page(&path, 1, ""), convert::list_media_type(kind))
        else {
            return false;
        };
        request::ask(&self.shared.client, request, CONFIRM)
            .await
            .is_ok_and(|answer| answer.code == 404)
    }
}

#[cfg(test)]
mod tests;
