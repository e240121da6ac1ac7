//! Reads the content of a namespace just before its DELETE, and before it is finished without its controller: every namespaced
//! kind that discovery names in that moment, each by a consistent list of metadata. And the objects of a definition just before
//! its DELETE, which deletes them too.
//!
//! # Decisions
//! - The kinds come from a discovery of its own. That of the watches may be a minute old, and the namespace's deletion takes the
//!   objects of a younger kind too.
//! - A kind is listed only if its objects can be deleted, whether or not a watch can show it: the namespace controller leaves the
//!   others alone. Events, measurements, projections and the like are
//!   left out, as they are of the watches (`discovery.rs`).
//! - A kind of which a person chose that the namespace need not be proven empty may answer 403. It is listed all the same, because
//!   the right may have been given meanwhile.
//! - A kind that answers 404 has gone, and its objects with it, if a second discovery does not name it either. Any other answer
//!   ends the read and names the kind, because one unknown kind keeps the namespace.
//! - Each namespace is listed by itself. One list of the whole cluster for several waiting namespaces would have to read whatever a
//!   kind has anywhere, and would need a right that a list in the namespace does not. With 60 kinds a namespace takes 62
//!   requests, whose lists are nearly empty: eight rounds of them, half a second at 60 ms each. Three namespaces at once take
//!   186, and 1.5 s.
//! - Eight lists at a time, over all namespaces: the limits on calls (`concurrency.rs`) count a read as one call.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use teardown::{
    action::{ContentSight, Outcome},
    api_problem::{ApiProblem, ProblemCode},
    object::Kind,
};
use tokio::{sync::Semaphore, time::timeout};

use super::outcome::{of_answer, of_failure};
use crate::cluster::{
    convert::{self, Page},
    discovery::{DiscoveryError, Found, discover},
    request::{self, ApiClient, Failure},
    text::chain,
};

/// The most lists at a time.
const LISTS: usize = 8;
/// The deadline for all pages of a list. A namespace that may go has next to nothing in it.
const LIST: Duration = Duration::from_secs(10);
/// Objects per page, as in client-go's pager.
const PAGE: usize = 500;

/// Reads the content of namespaces, few lists at a time.
#[derive(Clone)]
pub(in crate::cluster) struct ContentReader {
    lists: Arc<Semaphore>,
}

impl Default for ContentReader {
    fn default() -> Self {
        Self { lists: Arc::new(Semaphore::new(LISTS)) }
    }
}

/// The answer about one kind.
enum Listed {
    /// All its objects.
    Objects(Vec<ContentSight>),
    /// The problem for which the kind answers 404.
    NotServed(ApiProblem),
    /// It may not be listed, and need not be.
    Unproven,
}

impl ContentReader {
    /// All objects in a namespace, or the first kind that cannot be listed.
    pub(in crate::cluster) async fn read(
        &self,
        client: &ApiClient,
        namespace: &str,
        unproven: &[String],
    ) -> Outcome {
        self.try_read(client, namespace, unproven).await.unwrap_or_else(|outcome| outcome)
    }

    async fn try_read(
        &self,
        client: &ApiClient,
        namespace: &str,
        unproven: &[String],
    ) -> Result<Outcome, Outcome> {
        let kinds = discovered(client).await?.in_namespaces();
        let lists = kinds.iter().map(|kind| {
            let may_be_forbidden = unproven.contains(&kind.resource());
            self.list(client, kind, Some(namespace), may_be_forbidden)
        });
        let (mut objects, mut unlisted) = (Vec::new(), Vec::new());
        let mut missing = Vec::new();
        let lists = join_all(lists).await;
        // The same kind is named each time, whichever answers first.
        if let Some(unlisted) =
            lists.iter().filter_map(|it| it.as_ref().err()).min_by_key(|it| order(it))
        {
            return Err(unlisted.clone());
        }
        for (kind, listed) in kinds.iter().zip(lists.into_iter().flatten()) {
            match listed {
                Listed::Objects(found) => objects.extend(found),
                Listed::NotServed(message) => missing.push((kind, message)),
                Listed::Unproven => unlisted.push(kind.resource()),
            }
        }
        if !missing.is_empty() {
            let served = discovered(client).await?.in_namespaces();
            // In another version its objects are the same.
            let is_served = |(kind, _): &(&Arc<Kind>, ApiProblem)| {
                served.iter().any(|it| it.resource() == kind.resource())
            };
            if let Some((kind, message)) = missing.into_iter().find(is_served) {
                return Err(Outcome::Unlisted { resource: kind.resource(), message });
            }
        }
        Ok(Outcome::Content { objects, unlisted })
    }

    /// All objects of the kind that a definition of this name defines. What discovery does not name has none; another group
    /// that does not answer does not matter.
    pub(in crate::cluster) async fn read_kind(
        &self,
        client: &ApiClient,
        definition: &str,
    ) -> Outcome {
        self.try_read_kind(client, definition).await.unwrap_or_else(|outcome| outcome)
    }

    async fn try_read_kind(
        &self,
        client: &ApiClient,
        definition: &str,
    ) -> Result<Outcome, Outcome> {
        let content = |objects| Outcome::Content { objects, unlisted: Vec::new() };
        let Some(kind) = discovered_kind(client, definition).await? else {
            return Ok(content(Vec::new()));
        };
        match self.list(client, &kind, None, false).await? {
            Listed::Objects(found) => Ok(content(found)),
            Listed::NotServed(message) => match discovered_kind(client, definition).await? {
                Some(kind) => Err(unlisted(&kind, message)),
                None => Ok(content(Vec::new())),
            },
            Listed::Unproven => {
                Err(unlisted(&kind, ProblemCode::Status { code: 403, said: String::new() }))
            }
        }
    }

    /// Lists one kind when its turn has come.
    async fn list(
        &self,
        client: &ApiClient,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        may_be_forbidden: bool,
    ) -> Result<Listed, Outcome> {
        let _turn = self.lists.acquire().await;
        timeout(LIST, all_pages(client, kind, namespace, may_be_forbidden))
            .await
            .unwrap_or_else(|_| Err(unlisted(kind, &Failure::Silence(LIST))))
    }
}

/// The kinds as discovery names them now, if it knows all of them.
async fn discovered(client: &ApiClient) -> Result<Found, Outcome> {
    let found = discovered_in_part(client).await?;
    match found.hidden.first_key_value() {
        Some((version, message)) => Err(unlisted_version(version, message)),
        None => Ok(found),
    }
}

/// The kind of a definition as discovery names it now; `None` if the API server serves it in no version.
async fn discovered_kind(
    client: &ApiClient,
    definition: &str,
) -> Result<Option<Arc<Kind>>, Outcome> {
    let found = discovered_in_part(client).await?;
    if let Some(kind) = found.kind(definition) {
        return Ok(Some(Arc::new(kind.clone())));
    }
    let group = definition.split_once('.').map_or("", |(_, group)| group);
    match found.hidden_version(group) {
        Some((version, message)) => Err(unlisted_version(version, message)),
        None => Ok(None),
    }
}

async fn discovered_in_part(client: &ApiClient) -> Result<Found, Outcome> {
    discover(client).await.map_err(|error| match error {
        DiscoveryError::Failure(failure) => of_failure(&failure),
        DiscoveryError::Refused { message } => Outcome::Unknown { message },
    })
}

/// The kinds of a group version are unknown.
fn unlisted_version(version: &str, message: &ApiProblem) -> Outcome {
    Outcome::Unlisted { resource: version.to_owned(), message: message.clone() }
}

async fn all_pages(
    client: &ApiClient,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    may_be_forbidden: bool,
) -> Result<Listed, Outcome> {
    let path = request::path(kind, namespace);
    let path = path.ok_or_else(|| unlisted(kind, ProblemCode::NoPath))?;
    let unreadable =
        |error: serde_json::Error| unlisted(kind, ProblemCode::Unreadable { why: chain(&error) });
    let mut content = Vec::new();
    let mut next = String::new();
    loop {
        let path = request::page(&path, PAGE, &next);
        let answer = request::ask(
            client,
            request::get(&path, convert::metadata_list_media_type(kind)),
            LIST,
        )
        .await;
        let answer = answer.map_err(|failure| unlisted(kind, &failure))?;
        if answer.code == 404 {
            return Ok(Listed::NotServed(answer.message()));
        }
        if answer.code == 403 && may_be_forbidden {
            return Ok(Listed::Unproven);
        }
        if !answer.is_success() {
            return Err(match of_answer(&answer, None) {
                throttled @ Outcome::Throttled { .. } => throttled,
                _ => unlisted(kind, answer.message()),
            });
        }
        let page: Page<'_> = serde_json::from_slice(&answer.body).map_err(unreadable)?;
        for item in page.items.unwrap_or_default() {
            content.extend(convert::content_sight(kind, item.get()).map_err(unreadable)?);
        }
        if page.metadata.next.is_empty() {
            return Ok(Listed::Objects(content));
        }
        next = page.metadata.next;
    }
}

/// A server that asks for fewer requests comes first, then the kinds by name.
fn order(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Unlisted { resource, .. } => Some(resource),
        _ => None,
    }
}

fn unlisted(kind: &Kind, message: impl Into<ApiProblem>) -> Outcome {
    Outcome::Unlisted { resource: kind.resource(), message: message.into() }
}

#[cfg(test)]
mod tests;
