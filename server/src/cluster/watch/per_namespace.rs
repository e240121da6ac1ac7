//! Watches a kind in each namespace, if it may not be listed in the whole cluster. A developer often has rights only in
//! their own namespaces.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture, abortable},
    stream::FuturesUnordered,
};
use teardown::{api_problem::ApiProblem, observation::Observation};
use tokio::time::sleep;

use super::{CALL, PACE, Watch, WatchError, WholeForbidden, segment};
use crate::cluster::{
    convert::{self, Page},
    report::HubGone,
    request,
};

/// The first delay before the list of the whole cluster is tried again; it doubles up to [`MAX_RETRY`]. An API server
/// that has just started refuses requests that it allows a moment later.
const RETRY: Duration = Duration::from_secs(15);
/// The longest delay. A person grants rights by hand, and a run that waits for them should continue within a minute.
const MAX_RETRY: Duration = Duration::from_secs(40);

/// Watches the kind in each namespace until it may be listed in the whole cluster. Afterwards, or if this future is
/// dropped, no namespace reports anything.
pub(super) async fn run(
    whole: &Watch,
    WholeForbidden(message): WholeForbidden,
) -> Result<(), HubGone> {
    let mut namespaces = whole.shared.namespaces.view();
    namespaces.listed_or_hidden().await;
    tracing::warn!(
        resource = %whole.kind.resource(),
        "may not be listed in the whole cluster, so it is watched in each namespace"
    );
    let mut per_namespace =
        PerNamespace { whole, message, watched: BTreeMap::new(), watches: FuturesUnordered::new() };
    per_namespace.update(namespaces.chosen(&BTreeSet::new())).await?;
    let mut permitted = pin!(permitted(whole));
    loop {
        tokio::select! {
            biased;
            () = &mut permitted => return Ok(()),
            () = namespaces.changed() => {
                let before = per_namespace.watched.keys().cloned().collect();
                let chosen = namespaces.chosen(&before);
                if chosen != before {
                    per_namespace.update(chosen).await?;
                }
            }
            // Any other end concerns a single namespace.
            Some(ended) = per_namespace.watches.next() => if let Ok(Err(HubGone)) = ended {
                return Err(HubGone);
            },
        }
    }
}

/// Waits until the kind may be listed in the whole cluster.
async fn permitted(whole: &Watch) {
    let mut wait = RETRY;
    loop {
        sleep(whole.shared.chance.spread(wait)).await;
        if whole.is_permitted().await {
            tracing::info!(resource = %whole.kind.resource(), "may be listed in the whole cluster again");
            return;
        }
        wait = (wait * 2).min(MAX_RETRY);
    }
}

impl Watch {
    /// Whether the kind may be listed and watched now.
    async fn is_permitted(&self) -> bool {
        let position = async {
            let page = request::page(&self.path()?, 1, "");
            let request = request::get(&page, convert::list_media_type(&self.kind));
            let answer = request::ask(&self.shared.client, request, CALL).await?;
            if !answer.is_success() {
                return Err(answer.into());
            }
            let Page { metadata, .. } = serde_json::from_slice(&answer.body)
                .map_err(|error| WatchError::unreadable(&error))?;
            let version = segment(&metadata.resource_version)?;
            let path = format!("{}&resourceVersion={version}", self.watch_path(PACE)?);
            Ok::<_, WatchError>(self.open(&path).await?)
        };
        position.await.is_ok()
    }
}

struct PerNamespace<'a> {
    whole: &'a Watch,
    /// The API server's answer to the list of the whole cluster.
    message: ApiProblem,
    watched: BTreeMap<Arc<str>, AbortHandle>,
    /// The watches all run in this task, so that an aborted one is never polled again and all end with it.
    watches: FuturesUnordered<Abortable<BoxFuture<'static, Result<WholeForbidden, HubGone>>>>,
}

impl PerNamespace<'_> {
    /// Starts and stops watches to match these namespaces. It reports the namespaces before their first observation.
    async fn update(&mut self, namespaces: BTreeSet<Arc<str>>) -> Result<(), HubGone> {
        self.watched.retain(|namespace, watch| {
            let stays = namespaces.contains(namespace);
            if !stays {
                watch.abort();
            }
            stays
        });
        let Watch { kind, shared, .. } = self.whole;
        let observation = Observation::PerNamespace {
            kind: kind.clone(),
            namespaces: namespaces.iter().cloned().collect(),
            message: self.message.clone(),
        };
        shared.report.send(observation).await?;
        for namespace in namespaces {
            if !self.watched.contains_key(&namespace) {
                let watch = Watch::new(kind.clone(), Some(namespace.clone()), shared.clone());
                let (watch, handle) = abortable(async move { watch.run().await }.boxed());
                self.watches.push(watch);
                self.watched.insert(namespace, handle);
            }
        }
        Ok(())
    }
}
