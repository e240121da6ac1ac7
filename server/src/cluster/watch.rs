//! The watch of one kind. The process has one for each kind, however many browsers look.
//!
//! ```text
//!            ┌─────────────── 410, or unreadable ────────────────────┐
//!            ▼                                                       │
//!   ┌─► no position ──list──► position ──watch──► following ─────────┤
//!   │        │                   ▲                    │              │
//!   └─ wait ─┘ failed            └── ended, silent ───┘              │
//! ```
//!
//! Invariants: an [`Observation::Listed`] is complete and no older than its request. The observations after it are all
//! later changes, in order. A stream that ends, falls silent or breaks is resumed at its last position, so that a lost
//! connection loses no deletion. If that is not possible, or the resumed stream is silent too, everything is listed
//! again.
//!
//! A namespaced kind that may not be listed in the whole cluster is watched in each namespace; see [`per_namespace`].
//!
//! This module does not use kube-runtime's watcher, for four reasons found in its source (5.0). It lists from resource
//! version 0, which may be older than an object that was already seen. It skips an event that it cannot decode. It does
//! not say that a watch works again until something changes. Its requests wait for an answer without a limit.

mod error;
mod event;
mod per_namespace;
mod refusals;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    message::HiddenCause,
    object::{Kind, Object, Uid},
    observation::Observation,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, sleep_until, timeout},
};

use self::{
    error::{OpenError, WatchError},
    event::Event,
    refusals::{Refusals, Waiting},
};
use super::{
    backoff::backoff,
    convert::{self, Page},
    health::Health,
    interner::Interner,
    namespaces::Namespaces,
    report::{HubGone, Report},
    request::{self, ApiClient, Failure, Lines},
};
use crate::{chance::Chance, metrics::RestartReason};

/// The deadline of one page of a list, or of the start of a watch.
const CALL: Duration = Duration::from_secs(30);
/// The duration after which the API server ends a watch. Together with [`MARGIN`] it bounds the time for which a dead
/// connection can hide a change.
const WATCH: Duration = Duration::from_secs(45);
/// The same for a watch that resumes a silent one. If it is silent too, new connections are dead as well, or the API
/// server's cache of the kind is stuck, and only a list shows what changed.
const WATCH_AFTER_SILENCE: Duration = Duration::from_secs(5);
/// The time that the end of a watch may take to arrive.
const MARGIN: Duration = Duration::from_secs(5);
/// The longest silence of a streamed list. A server that ignores `sendInitialEvents` never ends its list.
const STREAMED: Duration = Duration::from_secs(10);
/// The least time between two starts of a watch, whatever ended it.
const PACE: Duration = Duration::from_secs(1);
/// The delay before a forbidden kind is tried again. A person grants rights by hand, and a run that waits for them
/// should continue within a minute.
const FORBIDDEN: Duration = Duration::from_secs(30);
/// The number of short watches without an event in a row from which on the delay grows. After one more, the kind is
/// listed again each time, so that it is at most half a minute out of date.
const MAX_EMPTY_WATCHES: u32 = 2;
/// Refusals in a row before a kind is watched per namespace. An API server that starts refuses requests until it has
/// loaded its RBAC rules.
const PER_NAMESPACE_AFTER: u32 = 2;
/// Objects per page, as in client-go's pager.
const PAGE: usize = 500;
/// The fewest objects per page. Where pages do not arrive in time, because the objects are large or the line is slow, the next
/// list has smaller ones.
const SMALLEST_PAGE: usize = 20;
/// Failures in a row before a kind is reported as hidden. A single one may be a restart.
const HIDDEN_AFTER: u32 = 2;

/// The resources that all watches share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) client: ApiClient,
    pub(super) report: Report,
    /// The jitter of waits.
    pub(super) chance: Chance,
    /// The strings that objects share.
    pub(super) names: Arc<Interner>,
    /// The health check of the API server.
    pub(super) health: Health,
    /// Limits concurrent lists. Each holds a page in memory and is the most expensive request for an API server.
    pub(super) lists: Arc<Semaphore>,
    /// Limits open watches of single namespaces. Each is a connection.
    pub(super) namespace_watches: Arc<Semaphore>,
    /// Counts the forbidden watches of single namespaces.
    pub(super) refused: Arc<Refusals>,
    /// The known namespaces.
    pub(super) namespaces: Arc<Namespaces>,
    /// Whether the API server may stream lists. One refusal counts for all kinds.
    pub(super) streams_lists: Arc<AtomicBool>,
    /// Asks for discovery, because the served kinds may have changed.
    pub(super) served_changed: Arc<Notify>,
}

/// Watches a kind until the hub is gone. `successor` says that the kind was watched in another version before. The hub
/// may regard the kind as hidden then, so the first success reports it as visible.
pub(super) async fn watch(kind: Arc<Kind>, shared: Shared, successor: bool) -> Result<(), HubGone> {
    let mut hidden = successor.then_some(HiddenCause::Discovery);
    loop {
        let whole =
            Watch { hidden: hidden.take(), ..Watch::new(kind.clone(), None, shared.clone()) };
        let refused = whole.run().await?;
        per_namespace::run(&Watch::new(kind.clone(), None, shared.clone()), refused).await?;
    }
}

/// The watch of a kind in the whole cluster or in one namespace.
struct Watch {
    kind: Arc<Kind>,
    /// The namespace; `None` for the whole cluster.
    namespace: Option<Arc<str>>,
    shared: Shared,
    /// Whether its objects define the served kinds.
    defines_kinds: bool,
    /// Whether to list by pages only, because its server does not end streamed lists.
    pages_only: bool,
    /// Objects per page.
    page: usize,
    /// Failures in a row.
    failures: u32,
    /// Refusals in a row to list a namespaced kind in the whole cluster.
    refusals: u32,
    /// Short watches without an event in a row.
    empty_watches: u32,
    /// Whether the last watch fell silent.
    fell_silent: bool,
    /// The cause that was reported to the hub, or may have been.
    hidden: Option<HiddenCause>,
    /// The start of the last request.
    begun: Option<Instant>,
    /// The permit for the connection, if this watches a single namespace.
    permit: Option<OwnedSemaphorePermit>,
}

/// A namespaced kind may not be listed in the whole cluster; holds the API server's message.
struct WholeForbidden(ApiProblem);

/// The point where a watch continues: after this resource version, on this stream if one is open.
struct Position {
    version: String,
    stream: Option<Lines>,
}

impl Watch {
    fn new(kind: Arc<Kind>, namespace: Option<Arc<str>>, shared: Shared) -> Self {
        let defines_kinds = kind.is_definition() || kind.is("apiregistration.k8s.io", "APIService");
        Self {
            kind,
            namespace,
            shared,
            defines_kinds,
            pages_only: false,
            page: PAGE,
            failures: 0,
            refusals: 0,
            empty_watches: 0,
            fell_silent: false,
            hidden: None,
            begun: None,
            permit: None,
        }
    }

    /// Watches until the hub is gone, or until listing a namespaced kind in the whole cluster is forbidden.
    async fn run(mut self) -> Result<WholeForbidden, HubGone> {
        let mut position = None;
        loop {
            let connects = self.shared.health.reached().await;
            self.pace().await;
            let result = match position.take() {
                None => self.list(connects).await,
                Some(at) => {
                    let (begun, empty_watches) = (Instant::now(), self.empty_watches);
                    let end = self.follow(at, connects, &mut position).await;
                    if end.is_ok() && begun.elapsed() >= PACE {
                        self.empty_watches = 0;
                    }
                    if self.empty_watches > MAX_EMPTY_WATCHES {
                        position = None;
                    }
                    // A watch that did not start has retry delays of its own.
                    if self.empty_watches > empty_watches && self.empty_watches >= MAX_EMPTY_WATCHES
                    {
                        sleep(backoff(self.empty_watches, &self.shared.chance)).await;
                    }
                    end.map(|()| position.take())
                }
            };
            match result {
                Ok(next) => position = next,
                Err(WatchError::HubGone) => return Err(HubGone),
                Err(WatchError::Forbidden(message)) if self.can_watch_per_namespace() => {
                    self.refusals += 1;
                    if self.refusals == PER_NAMESPACE_AFTER {
                        return Ok(WholeForbidden(message));
                    }
                }
                Err(error) => self.handle(error, &mut position).await?,
            }
        }
    }

    fn can_watch_per_namespace(&self) -> bool {
        self.kind.namespaced && self.namespace.is_none()
    }

    /// Waits until [`PACE`] has passed since the last start. A list and the watch after it count as one start.
    async fn pace(&mut self) {
        if let Some(begun) = self.begun {
            sleep_until(begun + PACE).await;
        }
    }

    /// Lists all objects. Returns no position if an outage of the API server passed meanwhile, because a request from
    /// before it may never be answered.
    async fn list(&mut self, connects: u64) -> Result<Option<Position>, WatchError> {
        let lists = self.shared.lists.clone();
        let _permit = lists.acquire_owned().await;
        let permit = self.acquire_permit()?;
        self.begun = Some(Instant::now());
        let mut health = self.shared.health.clone();
        let (objects, position) = tokio::select! {
            biased;
            () = health.reconnected(connects) => return Ok(None),
            listed = self.list_by_stream_or_pages() => listed?,
        };
        self.permit = permit;
        self.report_visible().await?;
        let (kind, namespace) = (self.kind.clone(), self.namespace.as_deref());
        tracing::debug!(resource = %kind.resource(), namespace, objects = objects.len(), "listed");
        self.report(match self.namespace.clone() {
            None => Observation::Listed { kind, objects },
            Some(namespace) => Observation::ListedIn { kind, namespace, objects },
        })
        .await?;
        if self.defines_kinds {
            self.shared.served_changed.notify_one();
        }
        // The list counted as the start, so its watch may follow at once.
        self.begun = None;
        Ok(Some(position))
    }

    /// The permit for a watch of a single namespace; `None` for the whole cluster.
    fn acquire_permit(&mut self) -> Result<Option<OwnedSemaphorePermit>, WatchError> {
        if self.namespace.is_none() {
            return Ok(None);
        }
        if let Some(permit) = self.permit.take() {
            return Ok(Some(permit));
        }
        self.shared
            .namespace_watches
            .clone()
            .try_acquire_owned()
            .map(Some)
            .map_err(|_| WatchError::Failing(None, ProblemCode::TooManyNamespaces.into()))
    }

    /// Lists by a stream if possible, else by pages.
    async fn list_by_stream_or_pages(&mut self) -> Result<(Vec<Object>, Position), WatchError> {
        if !self.pages_only && self.shared.streams_lists.load(Ordering::Relaxed) {
            match self.list_by_stream().await {
                // If the API server's cache of a kind cannot be filled, a stream only fails with a timeout; a list names
                // the cause.
                Err(WatchError::NoStream) => {}
                Err(WatchError::Failing(_, why)) => {
                    tracing::debug!(resource = %self.kind.resource(), ?why, "cannot list by a stream; listing by pages");
                }
                result => return result,
            }
        }
        self.list_by_pages().await
    }

    /// Lists by the start of a watch (KEP-3157). Without a resource version the list is consistent, and a bookmark marks
    /// its end.
    async fn list_by_stream(&mut self) -> Result<(Vec<Object>, Position), WatchError> {
        let path = format!(
            "{}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            self.watch_path(WATCH)?
        );
        let mut stream = match self.open(&path).await {
            Ok(stream) => stream,
            Err(OpenError::Refused(answer)) if matches!(answer.code, 400 | 422) => {
                // "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
                self.shared.streams_lists.store(false, Ordering::Relaxed);
                return Err(WatchError::NoStream);
            }
            Err(opening) => return Err(opening.into()),
        };
        let mut objects: BTreeMap<Uid, Object> = BTreeMap::new();
        loop {
            let Ok(line) = timeout(STREAMED, stream.next()).await else {
                self.pages_only = true;
                return Err(WatchError::NoStream);
            };
            let Some(line) = line? else {
                self.pages_only = true;
                return Err(WatchError::NoStream);
            };
            match Event::read(&line, &self.kind, &self.shared.names)? {
                Event::Applied(object, _) => {
                    objects.insert(object.uid.clone(), *object);
                }
                Event::Deleted(uid, _) => {
                    objects.remove(&uid);
                }
                Event::Bookmark { version, ends_list: true } => {
                    let position = Position { version, stream: Some(stream) };
                    return Ok((objects.into_values().collect(), position));
                }
                Event::Bookmark { .. } | Event::Nothing => {}
            }
        }
    }

    /// Lists page by page, without a resource version, so that all pages show the moment of the first.
    async fn list_by_pages(&mut self) -> Result<(Vec<Object>, Position), WatchError> {
        let path = self.path()?;
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let page = request::page(&path, self.page, &next);
            let request = request::get(&page, convert::list_media_type(&self.kind));
            let answer = request::ask(&self.shared.client, request, CALL).await;
            if let Err(Failure::Silence(_) | Failure::TooLarge) = answer {
                self.page = (self.page / 5).max(SMALLEST_PAGE);
            }
            let answer = answer?;
            if !answer.is_success() {
                return Err(answer.into());
            }
            let page: Page<'_> = serde_json::from_slice(&answer.body)
                .map_err(|error| WatchError::unreadable(&error))?;
            for item in page.items.unwrap_or_default() {
                objects.extend(
                    convert::object(&self.kind, item.get(), &self.shared.names)
                        .map_err(|error| WatchError::unreadable(&error))?,
                );
            }
            if page.metadata.next.is_empty() {
                let version = page.metadata.resource_version;
                if version.is_empty() {
                    return Err(WatchError::Failing(None, ProblemCode::NoResourceVersion.into()));
                }
                // A silence may have been an outage and not the size of the page.
                self.page = (self.page * 2).min(PAGE);
                return Ok((objects, Position { version, stream: None }));
            }
            next = page.metadata.next;
        }
    }

    /// Follows the watch to the end of its stream. `resume` becomes the position to continue from, also after an error;
    /// it becomes `None` if the position is lost.
    async fn follow(
        &mut self,
        Position { version, stream }: Position,
        connects: u64,
        resume: &mut Option<Position>,
    ) -> Result<(), WatchError> {
        *resume = Some(Position { version: version.clone(), stream: None });
        let mut health = self.shared.health.clone();
        let lasting = if self.fell_silent { WATCH_AFTER_SILENCE } else { WATCH };
        let mut stream = match stream {
            Some(stream) => stream,
            None => {
                self.begun = Some(Instant::now());
                // The jitter keeps all watches from ending and starting in the same second.
                let path = format!(
                    "{}&resourceVersion={}",
                    self.watch_path(self.shared.chance.spread(lasting))?,
                    segment(&version)?
                );
                tokio::select! {
                    biased;
                    () = health.reconnected(connects) => return Ok(()),
                    stream = self.open(&path) => stream?,
                }
            }
        };
        self.report_visible().await?;
        self.empty_watches = self.empty_watches.saturating_add(1);
        loop {
            let line = tokio::select! {
                biased;
                // An outage passed meanwhile, so this connection may lead to an API server that is gone.
                () = health.reconnected(connects) => return Ok(()),
                line = timeout(lasting.mul_f64(1.25) + MARGIN, stream.next()) => match line {
                    Ok(line) => line?,
                    // The end of the watch did not arrive in time, so the connection is dead.
                    Err(_) => {
                        if self.fell_silent {
                            *resume = None;
                        }
                        self.fell_silent = !self.fell_silent;
                        self.shared.client.metrics().watch_restarted(RestartReason::Silent);
                        return Ok(());
                    }
                },
            };
            self.fell_silent = false;
            let Some(line) = line else { return Ok(()) };
            self.shared.client.metrics().watch_line();
            let event =
                Event::read(&line, &self.kind, &self.shared.names).inspect_err(|error| {
                    if !matches!(error, WatchError::Connection(_)) {
                        *resume = None;
                    }
                })?;
            let (version, observation) = match event {
                Event::Applied(object, version) => (version, Some(Observation::Applied(object))),
                Event::Deleted(uid, version) => {
                    (version, Some(Observation::Deleted { kind: self.kind.clone(), uid }))
                }
                Event::Bookmark { version, .. } => (version, None),
                Event::Nothing => continue,
            };
            if version.is_empty() {
                *resume = None;
                return Err(WatchError::Failing(None, ProblemCode::NoResourceVersion.into()));
            }
            if let Some(observation) = observation {
                self.report(observation).await?;
                if self.defines_kinds {
                    self.shared.served_changed.notify_one();
                }
            }
            self.empty_watches = 0;
            *resume = Some(Position { version, stream: None });
        }
    }

    async fn open(&self, path: &str) -> Result<Lines, OpenError> {
        let request = request::get(path, convert::media_type(&self.kind))?;
        request::open(&self.shared.client, request, CALL).await?.map_err(OpenError::Refused)
    }

    fn path(&self) -> Result<String, WatchError> {
        request::path(&self.kind, self.namespace.as_deref())
            .ok_or_else(|| WatchError::Failing(None, ProblemCode::NoPath.into()))
    }

    fn watch_path(&self, lasting: Duration) -> Result<String, WatchError> {
        let path = self.path()?;
        Ok(format!(
            "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}",
            lasting.as_secs()
        ))
    }

    /// Reports an observation to the hub and to the known namespaces.
    async fn report(&self, observation: Observation) -> Result<(), HubGone> {
        self.shared.namespaces.observe(&observation);
        self.shared.report.send(observation).await
    }

    /// Resets the failures, and reports that the kind is visible if it was reported as hidden.
    async fn report_visible(&mut self) -> Result<(), HubGone> {
        self.failures = 0;
        self.refusals = 0;
        if self.hidden.take().is_none() {
            return Ok(());
        }
        let kind = self.kind.clone();
        match self.namespace.clone() {
            None => {
                let resource = kind.resource();
                tracing::info!(%resource, "can be listed and watched again");
                self.report(Observation::Visible { resource }).await
            }
            Some(namespace) => self.report(Observation::VisibleIn { kind, namespace }).await,
        }
    }

    /// Reports an error if necessary, and waits before the next try.
    async fn handle(
        &mut self,
        error: WatchError,
        position: &mut Option<Position>,
    ) -> Result<(), HubGone> {
        if let Some(reason) = error.reason() {
            self.shared.client.metrics().watch_restarted(reason);
        }
        let (message, wait) = match error {
            WatchError::HubGone => return Err(HubGone),
            WatchError::TooOld | WatchError::NoStream => {
                *position = None;
                return Ok(());
            }
            WatchError::Forbidden(message) => {
                self.failures = 0;
                self.report_hidden(HiddenCause::Forbidden, message).await?;
                self.permit = None;
                let waiting = self.namespace.is_some().then(|| self.shared.refused.wait());
                let wait = waiting.as_ref().map_or(FORBIDDEN, Waiting::delay);
                sleep(self.shared.chance.spread(wait)).await;
                return Ok(());
            }
            WatchError::Connection(message) => {
                self.shared.health.check();
                let wait = backoff(self.failures + 1, &self.shared.chance);
                sleep(wait).await;
                if self.shared.health.is_reached() {
                    self.count_failure(message).await?;
                }
                return Ok(());
            }
            WatchError::NotServed(message) => {
                self.shared.served_changed.notify_one();
                (message, backoff(self.failures + 1, &self.shared.chance))
            }
            WatchError::Throttled(after, message) | WatchError::Failing(after, message) => {
                let wait = backoff(self.failures + 1, &self.shared.chance);
                let asked = after.map(|after| self.shared.chance.spread(after.min(FORBIDDEN)));
                (message, asked.map_or(wait, |asked| asked.max(wait)))
            }
        };
        self.count_failure(message).await?;
        sleep(wait).await;
        Ok(())
    }

    /// Counts a failure, and reports the kind as hidden from [`HIDDEN_AFTER`] failures in a row on.
    async fn count_failure(&mut self, message: ApiProblem) -> Result<(), HubGone> {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= HIDDEN_AFTER {
            self.report_hidden(HiddenCause::Failing, message).await
        } else {
            Ok(())
        }
    }

    async fn report_hidden(
        &mut self,
        cause: HiddenCause,
        message: ApiProblem,
    ) -> Result<(), HubGone> {
        if self.hidden.replace(cause) == Some(cause) {
            return Ok(());
        }
        let kind = self.kind.clone();
        let resource = kind.resource();
        match self.namespace.clone() {
            None => {
                tracing::warn!(%resource, ?cause, "cannot be listed or watched; its objects are unknown until it can");
                self.report(Observation::Hidden { resource, cause, message }).await
            }
            // This is normal and frequent for users with rights in a few namespaces.
            Some(namespace) => {
                tracing::debug!(%resource, %namespace, ?cause, "cannot be listed or watched in this namespace");
                self.report(Observation::HiddenIn { kind, namespace, cause, message }).await
            }
        }
    }
}

/// A resource version, escaped for a query. It is opaque, although it is a number today.
fn segment(version: &str) -> Result<String, WatchError> {
    request::segment(version)
        .ok_or_else(|| WatchError::Failing(None, ProblemCode::NoResourceVersion.into()))
}

#[cfg(test)]
mod tests;
