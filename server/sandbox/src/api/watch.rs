//! The watch of one collection: where it is in the store's changes, and what it tells of them
//! (`apiserver/pkg/storage/cacher`).

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
    fault::{Action, Asked, Strike, Telling},
    kind::Kind,
    line::{Lines, Listener, Shape},
    object,
    status::Status,
    store::{Change, Event, Remembered},
};

/// How often a bookmark tells that nothing happened.
pub(crate) const BOOKMARKS: Duration = Duration::from_secs(60);
/// `--min-request-timeout`: a watch without a timeout of its own lives at least this long, at most twice.
const LIFETIME: u64 = 1_800;

/// A watch that goes on.
#[derive(Debug)]
pub(crate) struct Watch {
    view: View,
    selection: Selection,
    namespace: Option<String>,
    listener: Listener,
    /// Up to where it has told everything.
    cursor: u64,
    /// What is told before anything else.
    initial: Vec<Arc<Value>>,
    /// Whether the end of it is marked.
    marks_initial: bool,
    bookmarks: bool,
    refused: Option<Status>,
    first: bool,
    pub(crate) timeout: Duration,
    /// Who watches, as rules see them.
    user: String,
    /// What struck it when it was opened, and waits for what it strikes.
    fault: Option<Action>,
    /// Whether it was never asked: what it tells then belongs to the request that opened it.
    opening: bool,
}

/// What a watch has to tell at this moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Line by line, as all have them who watch in the same form.
    pub(crate) lines: Vec<Bytes>,
    /// How many events.
    events: usize,
    /// How much later it arrives.
    pub(crate) later: Duration,
    /// What comes after it; `None` for more.
    pub(crate) end: Option<End>,
}

/// How a watch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All is said.
    Whole,
    /// The connection is cut.
    Cut,
    /// Never, although nothing comes any more.
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
            listener: cluster.lines.listen(&kind.group, &kind.plural),
        };
        if sends_initial && cluster.may_all_be_read(kind, None).is_err() {
            // The cache is of the whole kind. It cannot be filled, and never is as new as what is asked for.
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

    /// Notes who opened it, and what struck the request that did.
    pub(super) fn meet(&mut self, fault: Option<&Action>, user: &str) {
        user.clone_into(&mut self.user);
        self.fault = fault.cloned();
    }

    /// What happened since it was asked last. `beat` asks for a bookmark as well.
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
        if cluster.is_damaged(&self.view.kind) {
            // The cache begins anew, and whoever watched it as well.
            return Batch::ending(End::Whole);
        }
        let inconvertible = self.first_inconvertible(cluster);
        let Cluster { store, kinds, lines, .. } = &mut *cluster;
        for object in std::mem::take(&mut self.initial) {
            self.tell(&mut batch, lines, Change::Added, &object);
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
                        self.pass(&mut batch, lines, &change.event());
                    }
                }
                // A watch from a version that has not come yet waits for it.
                self.cursor = self.cursor.max(store.revision());
                lines.pass(&self.listener, self.cursor);
            }
            Err(compacted) => {
                batch.lines.push(error_line(&Status::expired(compacted.to_string())).into());
                batch.end = Some(End::Whole);
            }
        }
        // What is not served any more has nobody to tell of it.
        if kinds.served(&kind.group, &kind.version, &kind.plural).is_none() {
            batch.end = Some(End::Whole);
        }
        let telling = Telling { events: batch.events > 0, bookmark: beat && self.bookmarks };
        let strike = self.strike(cluster, telling);
        batch.later = strike.latency;
        if telling.bookmark && strike.action != Some(Action::NoBookmarks) {
            batch.lines.push(self.view.bookmark(self.cursor, false).into());
        }
        match strike.action {
            Some(Action::Stall) => Batch::ending(End::Silence),
            Some(Action::Reset { after: false }) => Batch::ending(End::Cut),
            Some(Action::Reset { after: true }) => Batch { end: Some(End::Cut), ..batch },
            Some(Action::Code { .. }) => self.expire(cluster),
            Some(Action::Truncate) => batch.truncated(),
            _ => batch,
        }
    }

    /// The next change of something that cannot be shown in this version.
    fn first_inconvertible(&self, cluster: &Cluster) -> Option<u64> {
        let kind = &self.view.kind;
        if kind.converter.is_null() {
            return None;
        }
        let mut events = cluster.store.since(self.cursor).ok()?;
        let is_not = |change: &Remembered<'_>| {
            change.key().is_of(&kind.group, &kind.plural)
                && cluster.may_be_read(kind, &change.event().object).is_err()
        };
        events.find(is_not).map(|change| change.revision())
    }

    /// What strikes it now that it is about to tell something.
    fn strike(&mut self, cluster: &mut Cluster, telling: Telling) -> Strike {
        let opening = std::mem::take(&mut self.opening);
        let strikes_now = match self.fault {
            Some(Action::Truncate) => telling.events,
            Some(Action::Reset { after: true }) => true,
            _ => false,
        };
        if strikes_now {
            return Strike { action: self.fault.take(), ..Strike::default() };
        }
        if opening || !(telling.events || telling.bookmark) {
            return Strike::default();
        }
        let asked = Asked {
            verb: "watch",
            group: &self.view.kind.group,
            plural: &self.view.kind.plural,
            namespace: self.namespace.as_deref().unwrap_or_default(),
            user: &self.user,
            telling: Some(telling),
            ..Asked::default()
        };
        let now = cluster.steady();
        let Cluster { faults, rng, .. } = cluster;
        faults.strike(&asked, now, rng)
    }

    fn expire(&self, cluster: &Cluster) -> Batch {
        let oldest = cluster.store.revision();
        let why = format!("too old resource version: {} ({oldest})", self.cursor);
        Batch::refusing(&Status::expired(why))
    }

    /// An event as it looks through the selectors: what comes to be selected was added, what ceases was deleted.
    fn pass(&mut self, batch: &mut Batch, lines: &mut Lines, event: &Event) {
        let is = event.change != Change::Deleted && self.selection.matches(&event.object);
        let was = event.previous.as_ref().is_some_and(|previous| self.selection.matches(previous));
        match (was, is) {
            (false, false) => {}
            (false, true) => self.tell(batch, lines, Change::Added, &event.object),
            (true, true) => self.tell(batch, lines, Change::Modified, &event.object),
            (true, false) if event.change == Change::Deleted => {
                self.tell(batch, lines, Change::Deleted, &event.object)
            }
            (true, false) => {
                // As it was, at the version at which it left.
                let mut last = event.previous.as_deref().cloned().unwrap_or_default();
                let version = event.object["metadata"]["resourceVersion"].clone();
                object::set(&mut last, &["metadata", "resourceVersion"], version);
                self.tell(batch, lines, Change::Deleted, &last);
            }
        }
    }

    fn tell(&mut self, batch: &mut Batch, lines: &mut Lines, change: Change, object: &Value) {
        let revision = object::resource_version(object).parse().unwrap_or(self.cursor);
        let write = || self.view.event(change, object, revision, self.first);
        let line = match self.view.form {
            Form::Table { .. } => write().into(),
            Form::Whole | Form::Metadata { .. } => {
                let partial = self.view.form != Form::Whole;
                let version = &self.view.kind.version;
                lines.get(&self.listener, revision, Shape { change, partial, version }, write)
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

    /// The first half, and half of the line after it.
    fn truncated(mut self) -> Self {
        let half = self.lines.len() / 2;
        self.lines.truncate(half + 1);
        if let Some(cut) = self.lines.last_mut() {
            cut.truncate(cut.len() / 2);
        }
        Self { end: Some(End::Whole), ..self }
    }

    /// Whether there is nothing in it, and nothing ends.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.end.is_none()
    }
}
