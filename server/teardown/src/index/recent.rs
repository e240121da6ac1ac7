//! The latest changes of single objects. Every open run and the page of every run follow them at their own pace, so that a look
//! concerns only the steps that an event does, and a publication only their cards.
//!
//! # Decisions
//! - Everything may have changed after more changes than are kept, and after more than single objects changed: a list arrived, a
//!   kind was hidden, or what is known of objects that are gone is another.

use std::{collections::VecDeque, sync::Arc};

use super::Index;
use crate::{
    bookmark::{Bookmark, ChangeCount},
    object::Object,
};

/// The most changes that are kept. A run that finds more looks at all of its steps, which takes about as long.
const MOST: usize = 1_000;

/// The objects that came, changed or went last.
#[derive(Debug, Default)]
pub(super) struct Recent {
    changes: VecDeque<Change>,
    count: ChangeCount,
}

/// The change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    /// The object as it was then, or last.
    pub(crate) object: Arc<Object>,
    /// Whether nothing but its status changed (`object/shape.rs`).
    pub(crate) is_of_status: bool,
}

/// A copy has other readers, who know nothing of these changes.
impl Clone for Recent {
    fn clone(&self) -> Self {
        Self { changes: VecDeque::new(), count: self.count.clone() }
    }
}

impl Recent {
    fn note(&mut self, object: Arc<Object>, is_of_status: bool) {
        if self.changes.len() == MOST {
            self.changes.pop_front();
        }
        self.changes.push_back(Change { object, is_of_status });
        self.count.next();
    }

    /// Notes that everything may have changed.
    pub(super) fn note_everything(&mut self) {
        self.changes.clear();
        self.count.next();
    }
}

impl Index {
    /// Notes that an object changed from one state to another one, for everything that follows the objects; it has none before it
    /// came and after it went.
    pub(super) fn note_change(
        &mut self,
        before: Option<&Arc<Object>>,
        after: Option<&Arc<Object>>,
    ) {
        let is_of_status = before.zip(after).is_some_and(|(one, other)| one.has_shape_of(other));
        self.fresh.note(before.map(|it| &**it), after.map(|it| &**it), is_of_status);
        self.by_use.replace(before, after, is_of_status);
        let Some(object) = after.or(before) else { return };
        // Where a kind is watched namespace by namespace, the end of a namespace proves that its objects are gone.
        if self.hides && object.kind.is("", "Namespace") {
            self.recent.note_everything();
        } else {
            self.recent.note(object.clone(), is_of_status);
        }
    }

    /// The place after the latest change.
    pub(crate) fn bookmark(&self) -> Bookmark {
        self.recent.count.bookmark()
    }

    /// The changes since a bookmark, the earliest first; `None` if everything may have changed.
    pub(crate) fn changed_since<'a>(
        &'a self,
        bookmark: &Bookmark,
    ) -> Option<impl Iterator<Item = &'a Change> + use<'a>> {
        let Recent { changes, count } = &self.recent;
        let new = count.count().checked_sub(count.count_at(bookmark)?)?;
        let first = changes.len().checked_sub(usize::try_from(new).ok()?)?;
        Some(changes.range(first..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture::{self, now, object},
        observation::Observation,
    };

    fn see(index: &mut Index, line: &str) {
        index.apply([Observation::Applied(Box::new(object(line)))], now());
    }

    /// The names of the objects that changed, or `everything`.
    fn changed(index: &Index, bookmark: &Bookmark) -> String {
        let Some(changes) = index.changed_since(bookmark) else { return "everything".to_owned() };
        changes.map(|change| change.object.name.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_reader_gets_what_changed_since_its_own_bookmark() {
        let mut index = fixture::index("cm shop/a\ncm shop/b");
        let first = index.bookmark();
        assert_eq!(changed(&index, &first), "");
        see(&mut index, "cm shop/a of=shop");
        let second = index.bookmark();
        let b = object("cm shop/b");
        index.apply([Observation::Deleted { kind: b.kind, uid: b.uid }], now());
        assert_eq!(changed(&index, &first), "a b");
        assert_eq!(changed(&index, &second), "b");
    }

    #[test]
    fn everything_may_have_changed_after_a_list_and_after_too_many_changes() {
        let mut index = fixture::index("cm shop/a");
        assert_eq!(changed(&index, &Bookmark::default()), "everything");
        let bookmark = index.bookmark();
        let kind = object("cm shop/a").kind;
        index.apply([Observation::Listed { kind, objects: vec![object("cm shop/a")] }], now());
        assert_eq!(changed(&index, &bookmark), "everything");
        let bookmark = index.bookmark();
        (0..MOST).for_each(|_| see(&mut index, "cm shop/a"));
        assert_ne!(changed(&index, &bookmark), "everything");
        see(&mut index, "cm shop/a");
        assert_eq!(changed(&index, &bookmark), "everything");
    }

    #[test]
    fn bookmark_says_nothing_about_a_copy_of_the_index() {
        let mut index = fixture::index("cm shop/a");
        let (bookmark, copy) = (index.bookmark(), index.clone());
        see(&mut index, "cm shop/a");
        assert_eq!(changed(&index, &bookmark), "a");
        assert_eq!(changed(&copy, &bookmark), "everything");
    }

    #[test]
    fn pod_that_went_unconfirmed_changes_more_than_itself() {
        let mut index = fixture::index("node n1\npod shop/a node=n1 containers=c:running");
        let bookmark = index.bookmark();
        let pod = object("pod shop/a node=n1");
        index.apply([Observation::Deleted { kind: pod.kind, uid: pod.uid }], now());
        assert_eq!(changed(&index, &bookmark), "everything");
    }
}
