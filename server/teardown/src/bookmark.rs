//! Places in the changes of a value, so that a reader finds what changed since it last looked. There may be any number of readers:
//! each keeps a bookmark, and the value knows none of them.

use std::sync::Arc;

/// Counts the changes of a value. A copy of the value changes on its own, so it is another value to every reader.
#[derive(Debug, Default)]
pub(crate) struct ChangeCount {
    of: Arc<()>,
    count: u64,
}

impl Clone for ChangeCount {
    fn clone(&self) -> Self {
        Self { of: Arc::default(), count: self.count }
    }
}

/// A reader's place in the changes of one value. The default is before all changes of every value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bookmark(Option<(Arc<()>, u64)>);

impl ChangeCount {
    /// Counts a change.
    pub(crate) fn next(&mut self) {
        self.count += 1;
    }

    /// The number of changes so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The place after the latest change.
    pub(crate) fn bookmark(&self) -> Bookmark {
        Bookmark(Some((self.of.clone(), self.count)))
    }

    /// The number of changes at a bookmark; `None` if it is one in another value.
    pub(crate) fn count_at(&self, bookmark: &Bookmark) -> Option<u64> {
        let (of, count) = bookmark.0.as_ref()?;
        Arc::ptr_eq(of, &self.of).then_some(*count)
    }
}
