//! The watch of a collection: its position in the store's history, and what it sends (`apiserver/pkg/storage/cacher`).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::Value;

use super::{
    encode::{Form, View, error_line},
    list::{Selection, check_match},
    request::Request,
};
use crate::{
    cluster::Cluster,
    fault::{Action, Injection, RequestInfo, WatchDelivery},
    kind::Kind,
    object,
    status::Status,
    store::{Change, Event, HistoryEntry},
    watch_cache::{Shape, WatchCache, WatchCursor},
};

/// The period of bookmarks.
pub(crate) const BOOKMARKS: Duration = Duration::from_secs(60);
/// `--min-request-timeout`: a watch without a timeout of its own lives at least this long, and at most twice as long.
const LIFETIME: u64 = 1_800;

/// An open watch.
#[derive(Debug)]
pub(crate) struct Watch {
    view: View,
    selection: Selection,
    namespace: Option<String>,
    listener: WatchCursor,
    /// The revision up to which everything was sent.
    cursor: u64,
    /// The initial events.
    initial: Vec<Arc<Value>>,
    /// Whether a bookmark marks the end of the initial events.
    marks_initial: bool,
    bookmarks: bool,
    refused: Option<Status>,
    first: bool,
    pub(crate) timeout: Duration,
    /// The user, for rules.
    user: String,
    /// The fault that applied to the request, if it is one that applies while the watch is open.
    fault: Option<Action>,
    /// Whether the watch was never polled: its first batch belongs to the request that opened it.
    opening: bool,
}

/// The lines that a watch sends at one moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Encoded lines, shared between watches of the same form.
    pub(crate) lines: Vec<Bytes>,
    /// The number of events.
    events: usize,
    /// The delay of its arrival.
    pub(crate) later: Duration,
    /// The end of the watch, if it ends.
    pub(crate) end: Option<End>,
}

/// The end of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The watch ends regularly.
    Whole,
    /// The connection breaks off.
    Cut,
    /// The watch sends nothing any more and does not end.
    Silence,
}

impl Watch {
    pub(super) fn open(
        cluster: &mut Cluster,
        request: &Request,
        kind: &Arc<Kind>,
        namespace: &str,
    ) -> Result<Self, Status> {
        let view = View::negotiate(request, kind)?;
        let selection = Selection::read(request, kind)?;
        check_match(request, true)?;
        let query = &request.query;
        let asked = query.version("resourceVersion")?;
        let current = cluster.store.revision();
        let sends_initial = match query.get("sendInitialEvents") {
            "" => asked.is_none(),
            _ => query.is("sendInitialEvents"),
        };
        let explicit = !query.get("sendInitialEvents").is_empty();
        if explicit && let Some(asked) = asked.filter(|asked| *asked > current) {
            return Err(Status::too_large_version(asked, current));
        }
        let timeout = match query.number("timeoutSeconds")? {
            Some(seconds) if seconds > 0 => seconds.unsigned_abs(),
            _ => LIFETIME + cluster.rng.u64(..LIFETIME),
        };
        let within = (!namespace.is_empty()).then(|| namespace.to_owned());
        let mut watch = Self {
            cursor: if sends_initial { current } else { asked.unwrap_or(current) },
            initial: vec![],
            marks_initial: explicit && sends_initial,
            bookmarks: query.is("allowWatchBookmarks"),
            refused: None,
            first: true,
            timeout: Duration::from_secs(timeout),
            user: String::new(),
            fault: None,
            opening: true,
            view,
            selection,
            namespace: within,
            listener: cluster.watch_cache.listen(&kind.group, &kind.plural),
        };
        if sends_initial && cluster.check_all_readable(kind, None).is_err() {
            // The cache holds the whole kind. It cannot be filled, so it never reaches the requested revision.
            watch.refused = Some(Status::too_large_version(current, 0));
        } else if sends_initial {
            let all = cluster.list(&kind.group, &kind.plural, watch.namespace.as_deref());
            watch.initial = all.filter(|object| watch.selection.matches(object)).cloned().collect();
        } else if watch.cursor < kind.since {
            let too_old = format!("too old resource version: {} ({})", watch.cursor, kind.since);
            watch.refused = Some(Status::expired(too_old));
        } else if let Err(compacted) = cluster.store.since(watch.cursor) {
            watch.refused = Some(Status::expired(compacted.to_string()));
        }
        Ok(watch)
    }

    /// Records the user who opened the watch, and the fault that applied to the request.
    pub(super) fn meet(&mut self, fault: Option<&Action>, user: &str) {
        user.clone_into(&mut self.user);
        self.fault = fault.cloned();
    }

    /// Returns the changes since the last poll. `beat` asks for a bookmark as well.
    pub(crate) fn poll(&mut self, cluster: &mut Cluster, beat: bool) -> Batch {
        match &self.fault {
            Some(Action::Stall) => return Batch::ending(End::Silence),
            Some(Action::Reset { after: false }) => return Batch::ending(End::Cut),
            Some(Action::Code { code: 410, .. }) => return self.expire(cluster),
            _ => {}
        }
        if let Some(status) = self.refused.take() {
            return Batch::refusing(&status);
        }
        let mut batch = Batch::default();
        self.view.now = cluster.now();
        if cluster.has_corrupted(&self.view.kind) {
            // The cache restarts, which ends its watches.
            return Batch::ending(End::Whole);
        }
        let inconvertible = self.first_inconvertible(cluster);
        let Cluster { store, kinds, watch_cache, .. } = &mut *cluster;
        for object in std::mem::take(&mut self.initial) {
            self.send(&mut batch, watch_cache, Change::Added, &object);
        }
        if std::mem::take(&mut self.marks_initial) && self.bookmarks {
            batch.lines.push(self.view.bookmark(self.cursor, true).into());
        }
        let kind = self.view.kind.clone();
        match store.since(self.cursor) {
            Ok(events) => {
                for change in events {
                    if inconvertible == Some(change.revision()) {
                        batch.end = Some(End::Whole);
                        break;
                    }
                    let key = change.key();
                    if key.is_of(&kind.group, &kind.plural)
                        && self.namespace.as_ref().is_none_or(|one| **one == *key.namespace)
                    {
                        self.pass(&mut batch, watch_cache, &change.event());
                    }
                }
                // A watch from a future revision waits for it.
                self.cursor = self.cursor.max(store.revision());
                watch_cache.pass(&self.listener, self.cursor);
            }
            Err(compacted) => {
                batch.lines.push(error_line(&Status::expired(compacted.to_string())).into());
                batch.end = Some(End::Whole);
            }
        }
        // A watch ends when its kind is no longer served.
        if kinds.served(&kind.group, &kind.version, &kind.plural).is_none() {
            batch.end = Some(End::Whole);
        }
        let delivery = WatchDelivery { events: batch.events > 0, bookmark: beat && self.bookmarks };
        let injection = self.inject_faults(cluster, delivery);
        batch.later = injection.latency;
        if delivery.bookmark && injection.action != Some(Action::NoBookmarks) {
            batch.lines.push(self.view.bookmark(self.cursor, false).into());
        }
        match injection.action {
            Some(Action::Stall) => Batch::ending(End::Silence),
            Some(Action::Reset { after: false }) => Batch::ending(End::Cut),
            Some(Action::Reset { after: true }) => Batch { end: Some(End::Cut), ..batch },
            Some(Action::Code { .. }) => self.expire(cluster),
            Some(Action::Truncate) => batch.truncated(),
            _ => batch,
        }
    }

    /// The next change of an object that cannot be converted to this version.
    fn first_inconvertible(&self, cluster: &Cluster) -> Option<u64> {
        let kind = &self.view.kind;
        if kind.converter.is_null() {
            return None;
        }
        let mut events = cluster.store.since(self.cursor).ok()?;
        let is_not = |change: &HistoryEntry<'_>| {
            change.key().is_of(&kind.group, &kind.plural)
                && cluster.check_readable(kind, &change.event().object).is_err()
        };
        events.find(is_not).map(|change| change.revision())
    }

    /// Applies the fault rules to the watch, which is about to send something.
    fn inject_faults(&mut self, cluster: &mut Cluster, delivery: WatchDelivery) -> Injection {
        let opening = std::mem::take(&mut self.opening);
        let strikes_now = match self.fault {
            Some(Action::Truncate) => delivery.events,
            Some(Action::Reset { after: true }) => true,
            _ => false,
        };
        if strikes_now {
            return Injection { action: self.fault.take(), ..Injection::default() };
        }
        if opening || !(delivery.events || delivery.bookmark) {
            return Injection::default();
        }
        let info = RequestInfo {
            verb: "watch",
            group: &self.view.kind.group,
            plural: &self.view.kind.plural,
            namespace: self.namespace.as_deref().unwrap_or_default(),
            user: &self.user,
            delivery: Some(delivery),
            ..RequestInfo::default()
        };
        let now = cluster.steady();
        let Cluster { faults, rng, .. } = cluster;
        faults.inject(&info, now, rng)
    }

    fn expire(&self, cluster: &Cluster) -> Batch {
        let oldest = cluster.store.revision();
        let why = format!("too old resource version: {} ({oldest})", self.cursor);
        Batch::refusing(&Status::expired(why))
    }

    /// Adds an event as the selectors show it: an object that starts to match is added, one that stops matching is
    /// deleted.
    fn pass(&mut self, batch: &mut Batch, watch_cache: &mut WatchCache, event: &Event) {
        let is = event.change != Change::Deleted && self.selection.matches(&event.object);
        let was = event.previous.as_ref().is_some_and(|previous| self.selection.matches(previous));
        match (was, is) {
            (false, false) => {}
            (false, true) => self.send(batch, watch_cache, Change::Added, &event.object),
            (true, true) => self.send(batch, watch_cache, Change::Modified, &event.object),
            (true, false) if event.change == Change::Deleted => {
                self.send(batch, watch_cache, Change::Deleted, &event.object)
            }
            (true, false) => {
                // The object as it was, with the revision at which it stopped matching.
                let mut last = event.previous.as_deref().cloned().unwrap_or_default();
                let version = event.object["metadata"]["resourceVersion"].clone();
                object::set(&mut last, &["metadata", "resourceVersion"], version);
                self.send(batch, watch_cache, Change::Deleted, &last);
            }
        }
    }

    fn send(
        &mut self,
        batch: &mut Batch,
        watch_cache: &mut WatchCache,
        change: Change,
        object: &Value,
    ) {
        let revision = object::resource_version(object).parse().unwrap_or(self.cursor);
        let write = || self.view.event(change, object, revision, self.first);
        let line = match self.view.form {
            Form::Table { .. } => write().into(),
            Form::Whole | Form::Metadata { .. } => {
                let partial = self.view.form != Form::Whole;
                let version = &self.view.kind.version;
                watch_cache.get(&self.listener, revision, Shape { change, partial, version }, write)
            }
        };
        batch.lines.push(line);
        batch.events += 1;
        self.first = false;
    }
}

impl Batch {
    fn ending(end: End) -> Self {
        Self { end: Some(end), ..Self::default() }
    }

    fn refusing(status: &Status) -> Self {
        Self { lines: vec![error_line(status).into()], ..Self::ending(End::Whole) }
    }

    /// Cuts the batch to its first half and half of the next line.
    fn truncated(mut self) -> Self {
        let half = self.lines.len() / 2;
        self.lines.truncate(half + 1);
        if let Some(cut) = self.lines.last_mut() {
            cut.truncate(cut.len() / 2);
        }
        Self { end: Some(End::Whole), ..self }
    }

    /// Whether the batch has no lines and does not end the watch.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.end.is_none()
    }
}
