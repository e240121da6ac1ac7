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
    kind::Kind,
    line::{Lines, Listener, Shape},
    object,
    status::Status,
    store::{Change, Event},
};

/// How often a bookmark tells that nothing happened.
pub(crate) const BOOKMARKS: Duration = Duration::from_secs(60);
/// `--min-request-timeout`: a watch without a timeout of its own lives at least this long, at most twice.
const LIFETIME: u64 = 1_800;

/// What is wrong with a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchFault {
    /// Nothing comes any more, and it does not end.
    Stall,
    /// The next event is cut in the middle, and the connection with it.
    Truncate,
    /// The connection is cut without a word.
    Reset,
    /// It ends with 410.
    Expire,
    /// It tells no bookmarks.
    NoBookmarks,
}

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
    pub(crate) fault: Option<WatchFault>,
}

/// What a watch has to tell at this moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Line by line, as all have them who watch in the same form.
    pub(crate) lines: Vec<Bytes>,
    /// How many events.
    pub(crate) events: usize,
    pub(crate) ends: bool,
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
            fault: None,
            view,
            selection,
            namespace: within,
            listener: cluster.lines.listen(&kind.group, &kind.plural),
        };
        if sends_initial {
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

    /// What happened since it was asked last. `beat` asks for a bookmark as well.
    pub(crate) fn poll(&mut self, cluster: &mut Cluster, beat: bool) -> Batch {
        let mut batch = Batch::default();
        if self.fault == Some(WatchFault::Expire) {
            let oldest = cluster.store.revision();
            self.refused = Some(Status::expired(format!(
                "too old resource version: {} ({oldest})",
                self.cursor
            )));
        }
        if let Some(status) = self.refused.take() {
            batch.lines = vec![error_line(&status).into()];
            batch.ends = true;
            return batch;
        }
        self.view.now = cluster.now();
        let Cluster { store, kinds, lines, .. } = cluster;
        for object in std::mem::take(&mut self.initial) {
            self.tell(&mut batch, lines, Change::Added, &object);
        }
        if std::mem::take(&mut self.marks_initial) && self.bookmarks {
            batch.lines.push(self.view.bookmark(self.cursor, true).into());
        }
        let kind = self.view.kind.clone();
        match store.since(self.cursor) {
            Ok(events) => {
                for event in events {
                    if event.key.is_of(&kind.group, &kind.plural)
                        && self.namespace.as_ref().is_none_or(|one| **one == *event.key.namespace)
                    {
                        self.pass(&mut batch, lines, event);
                    }
                }
                // A watch from a version that has not come yet waits for it.
                self.cursor = self.cursor.max(store.revision());
                lines.pass(&self.listener, self.cursor);
            }
            Err(compacted) => {
                batch.lines.push(error_line(&Status::expired(compacted.to_string())).into());
                batch.ends = true;
            }
        }
        if beat && self.bookmarks && self.fault != Some(WatchFault::NoBookmarks) {
            batch.lines.push(self.view.bookmark(self.cursor, false).into());
        }
        // What is not served any more has nobody to tell of it.
        batch.ends |= kinds.served(&kind.group, &kind.version, &kind.plural).is_none();
        if self.fault == Some(WatchFault::Truncate) && batch.events > 0 {
            let mut whole = batch.lines.concat();
            whole.truncate(whole.len() / 2);
            batch.lines = vec![whole.into()];
            batch.ends = true;
        }
        batch
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
