//! A kind that may not be listed as a whole, watched namespace by namespace: a developer often has rights in their own
//! namespaces alone.

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

use super::{Watch, WholeForbidden};
use crate::cluster::report::HubGone;

/// How soon the whole is asked for again, doubled for each time up to [`LONGEST`]: an API server that has just started
/// refuses what it allows a moment later.
const FIRST: Duration = Duration::from_secs(15);
/// Rights change by hand, and a run that stands still because of one goes on within a minute.
const LONGEST: Duration = Duration::from_secs(40);

/// Watches the namespace_watches until the whole may be seen. Nothing is said of a part after that, or after this is dropped.
pub(super) async fn run(
    whole: &Watch,
    WholeForbidden(message): WholeForbidden,
) -> Result<(), HubGone> {
    let mut namespaces = whole.shared.namespaces.view();
    namespaces.answered().await;
    tracing::warn!(
        resource = %whole.kind.resource(),
        "may not be listed as a whole, so it is watched in each namespace"
    );
    let mut per_namespace = PerNamespace {
        whole,
        message,
        watched: BTreeMap::new(),
        namespace_watches: FuturesUnordered::new(),
    };
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
            // Any other end is that of a namespace.
            Some(ended) = per_namespace.namespace_watches.next() => if let Ok(Err(HubGone)) = ended {
                return Err(HubGone);
            },
        }
    }
}

/// Waits until the whole may be seen.
async fn permitted(whole: &Watch) {
    let mut wait = FIRST;
    loop {
        sleep(whole.shared.chance.spread(wait)).await;
        if whole.is_permitted().await {
            tracing::info!(resource = %whole.kind.resource(), "may be listed as a whole");
            return;
        }
        wait = (wait * 2).min(LONGEST);
    }
}

struct PerNamespace<'a> {
    whole: &'a Watch,
    /// What was said of the whole.
    message: ApiProblem,
    watched: BTreeMap<Arc<str>, AbortHandle>,
    /// All in the task of the whole, so that what is aborted is never polled again, and ends with it.
    namespace_watches:
        FuturesUnordered<Abortable<BoxFuture<'static, Result<WholeForbidden, HubGone>>>>,
}

impl PerNamespace<'_> {
    /// Makes the namespace_watches those of these namespaces; what they are is told before the first of them says something.
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
        shared.report.tell(observation).await?;
        for namespace in namespaces {
            if !self.watched.contains_key(&namespace) {
                let part = Watch::new(kind.clone(), Some(namespace.clone()), shared.clone());
                let (part, handle) = abortable(async move { part.run().await }.boxed());
                self.namespace_watches.push(part);
                self.watched.insert(namespace, handle);
            }
        }
        Ok(())
    }
}
