//! The lines that watches send: an event is encoded once for all watches that want it in the same form. Tables are not
//! kept, because they contain ages, and column definitions in the first table only.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use crate::store::Change;

/// The number of bytes that are kept. The lines of the oldest revisions are dropped first; a watch that needs one
/// encodes it again.
const KEPT: usize = 16 << 20;

/// The position of one watch of a resource. It is dropped with the watch.
#[derive(Debug)]
pub(crate) struct WatchCursor {
    resource: (String, String),
    cursor: Arc<AtomicU64>,
}

/// The form in which an object is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape<'a> {
    pub(crate) change: Change,
    /// Whether only its metadata is sent.
    pub(crate) partial: bool,
    /// The version of its group.
    pub(crate) version: &'a str,
}

#[derive(Debug)]
struct Line {
    change: Change,
    partial: bool,
    version: String,
    bytes: Bytes,
}

/// The lines that a watch may still need.
#[derive(Debug, Default)]
pub(crate) struct WatchCache {
    by_resource: BTreeMap<(String, String), ResourceLines>,
    size: usize,
}

/// The lines of one resource.
#[derive(Debug, Default)]
struct ResourceLines {
    /// The revision up to which each watch has sent everything.
    cursors: Vec<Weak<AtomicU64>>,
    /// The lines by the revision of the object in them; no other object has this revision.
    by_revision: BTreeMap<u64, Vec<Line>>,
}

impl WatchCache {
    /// Adds a watch of a resource.
    pub(crate) fn listen(&mut self, group: &str, plural: &str) -> WatchCursor {
        let resource = (group.to_owned(), plural.to_owned());
        let cursor = Arc::new(AtomicU64::new(0));
        let kept = self.by_resource.entry(resource.clone()).or_default();
        kept.cursors.retain(|cursor| cursor.strong_count() > 0);
        kept.cursors.push(Arc::downgrade(&cursor));
        WatchCursor { resource, cursor }
    }

    /// The line of an object in a form. It is encoded if it is not kept, and kept if there are other watches.
    pub(crate) fn get(
        &mut self,
        listener: &WatchCursor,
        revision: u64,
        shape: Shape<'_>,
        write: impl FnOnce() -> Vec<u8>,
    ) -> Bytes {
        let written = || Bytes::from(write().into_boxed_slice());
        let kept = self.by_resource.get_mut(&listener.resource);
        let Some(kept) = kept.filter(|kept| kept.cursors.len() > 1) else { return written() };
        let Shape { change, partial, version } = shape;
        let lines = kept.by_revision.entry(revision).or_default();
        let known = lines.iter().find(|line| {
            line.change == change && line.partial == partial && line.version == version
        });
        if let Some(line) = known {
            return line.bytes.clone();
        }
        let bytes = written();
        lines.push(Line { change, partial, version: version.into(), bytes: bytes.clone() });
        self.size += bytes.len();
        while self.size > KEPT
            && let Some((_, lines)) = kept.by_revision.pop_first()
        {
            self.size -= length(&lines);
        }
        bytes
    }

    /// Notes that a watch has sent everything up to a revision. Lines that every watch has sent are dropped.
    pub(crate) fn pass(&mut self, listener: &WatchCursor, revision: u64) {
        listener.cursor.store(revision, Ordering::Relaxed);
        let Some(kept) = self.by_resource.get_mut(&listener.resource) else { return };
        if kept.by_revision.is_empty() {
            return;
        }
        kept.cursors.retain(|cursor| cursor.strong_count() > 0);
        let cursors = kept.cursors.iter().filter_map(Weak::upgrade);
        let all = cursors.map(|cursor| cursor.load(Ordering::Relaxed)).min();
        while let Some(line) = kept.by_revision.first_entry()
            && all.is_none_or(|all| *line.key() <= all)
        {
            self.size -= length(&line.remove());
        }
    }
}

fn length(lines: &[Line]) -> usize {
    lines.iter().map(|line| line.bytes.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Shape<'_> = Shape { change: Change::Added, partial: false, version: "v1" };

    #[test]
    fn line_is_encoded_once_in_each_form() {
        let mut lines = WatchCache::default();
        let two = [(); 2].map(|()| lines.listen("", "pods"));
        let mut get = |shape, text: &[u8]| lines.get(&two[0], 7, shape, || text.into());
        assert_eq!(get(WHOLE, b"whole"), "whole");
        assert_eq!(get(Shape { partial: true, ..WHOLE }, b"part"), "part");
        assert_eq!(get(Shape { version: "v2", ..WHOLE }, b"new"), "new");
        assert_eq!(get(Shape { change: Change::Deleted, ..WHOLE }, b"gone"), "gone");
        assert_eq!(get(WHOLE, b"again"), "whole");
        assert_eq!(lines.size, "wholepartnewgone".len());
    }

    #[test]
    fn line_is_dropped_once_all_watches_are_past_it() {
        let mut lines = WatchCache::default();
        let (one, two) = (lines.listen("", "pods"), lines.listen("", "pods"));
        lines.listen("", "secrets");
        lines.get(&one, 7, WHOLE, || b"seven".into());
        lines.get(&one, 8, WHOLE, || b"eight".into());
        lines.pass(&one, 8);
        assert_eq!(lines.get(&two, 7, WHOLE, || b"other".into()), "seven");
        lines.pass(&two, 7);
        assert_eq!(lines.size, "eight".len());
        drop(two);
        lines.pass(&one, 8);
        assert_eq!(lines.size, 0);
        assert_eq!(lines.get(&one, 9, WHOLE, || b"alone".into()), "alone");
        assert_eq!(lines.size, 0);
    }

    #[test]
    fn oldest_lines_are_dropped_at_the_limit() {
        let mut lines = WatchCache::default();
        let two = [(); 2].map(|()| lines.listen("", "pods"));
        let mut get = |revision, text: &[u8]| lines.get(&two[0], revision, WHOLE, || text.into());
        get(1, b"first");
        let long = vec![b'x'; KEPT - 5];
        assert_eq!(get(2, &long).len(), KEPT - 5);
        assert_eq!(get(1, b"second"), "first");
        get(3, b"third");
        assert_eq!(get(1, b"second"), "second");
        assert!(lines.size <= KEPT);
    }
}
