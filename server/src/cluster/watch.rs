//! The watch of one kind: one for the whole process, whoever looks.
//!
//! ```text
//!            ┌────────── ──── 410, or unreadable ───────────────────┐
//!            ▼                                                       │
//!   ┌─► no position ──list──► position ──watch──► following ─────────┤
//!   │        │                   ▲                    │              │
//!   └─ wait ─┘ failed            └── ended, silent ───┘              │
//! ```
//!
//! What holds: a [`Observation::Listed`] is complete and no older than its request, and what comes after it is
//! everything that happened since, in order. A stream that ends, falls silent or breaks is resumed where it was, so
//! a lost connection loses no deletion; where that is not possible everything is listed anew.
//!
//! Where a namespaced kind may not be listed as a whole, the same is done in each namespace; see [`per_namespace`].
//!
//! This is not kube-runtime's watcher, for four reasons found in its source (5.0): it lists from resource version 0,
//! which may be older than what was already seen; it passes over an event that it cannot decode and goes on; it does
//! not say that a watch works again until something changes; and its requests wait for an answer without a limit.

mod per_namespace;
mod event;
mod refusals;
mod error;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kube::Client;
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
    request::{self, Lines},
};
use crate::chance::Chance;

/// For one page of a list, or the beginning of a watch.
const CALL: Duration = Duration::from_secs(30);
/// How long a watch lasts before the API server ends it. Together with [`MARGIN`] this bounds how long a connection
/// that died without a word can hide a change.
const WATCH: Duration = Duration::from_secs(45);
/// How long after that the end may take to arrive.
const MARGIN: Duration = Duration::from_secs(5);
/// The longest silence while a list is being streamed. A server that ignores `sendInitialEvents` never ends its list.
const STREAMED: Duration = Duration::from_secs(10);
/// A watch is not begun more often than this, whatever ends it.
const PACE: Duration = Duration::from_secs(1);
/// How soon what may not be seen is tried again: rights change by hand, and a run that stands still because of one goes on
/// within a minute.
const FORBIDDEN: Duration = Duration::from_secs(30);
/// Watches in a row that told nothing and did not last, before the wait for the next grows; one more, and the kind is
/// listed anew each time: it is seen as it is every half minute, if not as it changes.
const MAX_EMPTY_WATCHES: u32 = 2;
/// Refusals in a row before a kind is watched namespace by namespace: an API server that starts does not know its own
/// rules at first.
const PER_NAMESPACE_AFTER: u32 = 2;
/// Objects per page; what client-go's pager uses.
const PAGE: usize = 500;
/// Failures in a row before a kind is called hidden: one may be a restart.
const HIDDEN_AFTER: u32 = 2;

/// What all watches share.
#[derive(Clone)]
pub(super) struct Shared {
    /// The client.
    pub(super) client: Client,
    /// The way to the hub.
    pub(super) report: Report,
    /// For waits that are spread.
    pub(super) chance: Chance,
    /// Strings kept once.
    pub(super) names: Arc<Interner>,
    /// Whether the API server answers.
    pub(super) health: Health,
    /// Lists under way at once: each holds a page in memory and is the dearest thing to ask an API server for.
    pub(super) lists: Arc<Semaphore>,
    /// Watches of single namespaces that may be open: each is a connection.
    pub(super) namespace_watches: Arc<Semaphore>,
    /// Single namespaces that may not be seen, and wait to be tried again.
    pub(super) refused: Arc<Refusals>,
    /// Which namespaces there are.
    pub(super) namespaces: Arc<Namespaces>,
    /// Whether the API server streams lists, as far as is known. One refusal settles it for all kinds.
    pub(super) streams_lists: Arc<AtomicBool>,
    /// Raised when what is served may have changed.
    pub(super) served_changed: Arc<Notify>,
}

/// Watches a kind until the hub is gone. `successor` says that the kind was watched before in another version: the
/// hub may have been told that it is hidden, and is told that it is seen.
pub(super) async fn watch(kind: Arc<Kind>, shared: Shared, successor: bool) -> Result<(), HubGone> {
    let mut hidden = successor.then_some(HiddenCause::Discovery);
    loop {
        let whole =
            Watch { hidden: hidden.take(), ..Watch::new(kind.clone(), None, shared.clone()) };
        let refused = whole.run().await?;
        per_namespace::run(&Watch::new(kind.clone(), None, shared.clone()), refused).await?;
    }
}

/// The watch of a kind, or of the kind in one namespace.
struct Watch {
    kind: Arc<Kind>,
    /// None for all of them.
    namespace: Option<Arc<str>>,
    shared: Shared,
    /// Its objects decide what is served.
    defines_kinds: bool,
    /// Its server does not end streamed lists.
    pages_only: bool,
    /// Failures in a row.
    failures: u32,
    /// How often the whole of a namespaced kind was forbidden, in a row.
    refusals: u32,
    /// Watches in a row that told nothing and did not last.
    empty_watches: u32,
    /// What the hub was told, or may have been.
    hidden: Option<HiddenCause>,
    /// When a request was last begun.
    begun: Option<Instant>,
    /// The right to a connection of its own, for a single namespace.
    permit: Option<OwnedSemaphorePermit>,
}

/// The whole of a namespaced kind may not be seen, and what the API server said.
struct WholeForbidden(ApiProblem);

/// Where a watch goes on: after this resource version, on this stream if there is one open.
struct Position {
    version: String,
    stream: Option<Lines>,
}

impl Watch {
    fn new(kind: Arc<Kind>, namespace: Option<Arc<str>>, shared: Shared) -> Self {
        let defines_kinds = kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
            || kind.is("apiregistration.k8s.io", "APIService");
        Self {
            kind,
            namespace,
            shared,
            defines_kinds,
            pages_only: false,
            failures: 0,
            refusals: 0,
            empty_watches: 0,
            hidden: None,
            begun: None,
            permit: None,
        }
    }

    /// Goes on until nobody listens, or the whole of a namespaced kind turns out to be forbidden.
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
                    // What did not even begin has waits of its own.
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

    /// Waits until a second has passed since the last beginning. A first list and its watch count as one.
    async fn pace(&mut self) {
        if let Some(begun) = self.begun {
            sleep_until(begun + PACE).await;
        }
    }

    /// Lists everything; no position where the API server went away and came back meanwhile: what was asked of it
    /// before may never be answered.
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
        // The list was the beginning; its watch may follow at once.
        self.begun = None;
        Ok(Some(position))
    }

    /// A permit among the watches of single namespaces, if it needs one.
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

    /// Whether it may be listed and watched now.
    async fn is_permitted(&self) -> bool {
        let position = async {
            let page = request::page(&self.path()?, 1, "");
            let request = request::get(&page, convert::list_media_type(&self.kind))?;
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

    /// Streamed if possible.
    async fn list_by_stream_or_pages(&mut self) -> Result<(Vec<Object>, Position), WatchError> {
        if !self.pages_only && self.shared.streams_lists.load(Ordering::Relaxed) {
            match self.list_by_stream().await {
                // Where the cache of a kind cannot be filled, a stream says no more than that it is behind; why, a list does.
                Err(WatchError::NoStream) => {}
                Err(WatchError::Failing(_, why)) => {
                    tracing::debug!(resource = %self.kind.resource(), ?why, "cannot be streamed");
                }
                result => return result,
            }
        }
        self.list_by_pages().await
    }

    /// A list as the beginning of a watch (KEP-3157): without a resource version it is consistent, and its end is a
    /// bookmark that says so.
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

    /// A list page by page, without a resource version: all pages are of the moment of the first.
    async fn list_by_pages(&mut self) -> Result<(Vec<Object>, Position), WatchError> {
        let path = self.path()?;
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let page = request::page(&path, PAGE, &next);
            let request = request::get(&page, convert::list_media_type(&self.kind))?;
            let answer = request::ask(&self.shared.client, request, CALL).await?;
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
                return Ok((objects, Position { version, stream: None }));
            }
            next = page.metadata.next;
        }
    }

    /// Follows the watch to the end of its stream. `resume` is where to go on, also after an error, unless the
    /// position is lost.
    async fn follow(
        &mut self,
        Position { version, stream }: Position,
        connects: u64,
        resume: &mut Option<Position>,
    ) -> Result<(), WatchError> {
        *resume = Some(Position { version: version.clone(), stream: None });
        let mut health = self.shared.health.clone();
        let mut stream = match stream {
            Some(stream) => stream,
            None => {
                self.begun = Some(Instant::now());
                // Spread, so that all watches do not end and begin in the same second.
                let path = format!(
                    "{}&resourceVersion={}",
                    self.watch_path(self.shared.chance.spread(WATCH))?,
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
                // The API server was away meanwhile, so this connection may be to one that is gone.
                () = health.reconnected(connects) => return Ok(()),
                line = timeout(WATCH.mul_f64(1.25) + MARGIN, stream.next()) => match line {
                    Ok(line) => line?,
                    // The API server's own end of the watch did not arrive: nothing would.
                    Err(_) => return Ok(()),
                },
            };
            let Some(line) = line else { return Ok(()) };
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

    /// Tells the hub, and whoever has to know which namespaces there are.
    async fn report(&self, observation: Observation) -> Result<(), HubGone> {
        self.shared.namespaces.observe(&observation);
        self.shared.report.tell(observation).await
    }

    /// It is seen, whatever was said before.
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
                tracing::info!(%resource, "seen again");
                self.report(Observation::Visible { resource }).await
            }
            Some(namespace) => self.report(Observation::VisibleIn { kind, namespace }).await,
        }
    }

    /// Says what has to be said of a failure, and waits.
    async fn handle(
        &mut self,
        error: WatchError,
        position: &mut Option<Position>,
    ) -> Result<(), HubGone> {
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
                let wait = waiting.as_ref().map_or(FORBIDDEN, Waiting::share);
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

    /// One more failure in a row.
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
                tracing::warn!(%resource, ?cause, "cannot be seen");
                self.report(Observation::Hidden { resource, cause, message }).await
            }
            // Where rights are given by namespace these are many, and nothing is wrong.
            Some(namespace) => {
                tracing::debug!(%resource, %namespace, ?cause, "cannot be seen");
                self.report(Observation::HiddenIn { kind, namespace, cause, message }).await
            }
        }
    }
}

/// A resource version in a query; it is opaque, and today a number.
fn segment(version: &str) -> Result<String, WatchError> {
    request::segment(version)
        .ok_or_else(|| WatchError::Failing(None, ProblemCode::NoResourceVersion.into()))
}

#[cfg(test)]
mod tests;
