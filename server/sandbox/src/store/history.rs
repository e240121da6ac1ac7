//! The latest changes. The newest are kept as they are; the older ones as JSON text, which takes a tenth of the memory.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

use super::{Change, Event, Key};
use crate::object;

/// The number of changes that are kept at least. Watches and lists from before them are answered with 410.
const REMEMBERED: usize = 20_000;
/// The number of changes that are not kept as text. A watch is rarely further behind.
const FRESH: usize = 256;

/// The latest changes, ordered by their revisions, which have no gaps.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The revision of the first change.
    first: u64,
    slots: VecDeque<Slot>,
}

#[derive(Debug)]
enum Slot {
    Fresh(Arc<Event>),
    Stale { key: Key, change: Change, object: Version, previous: Option<Version> },
}

/// A version of an object.
#[derive(Debug, Clone)]
enum Version {
    /// A version that may still be the latest, whose memory it shares.
    Whole(Arc<Value>),
    Text(Arc<[u8]>),
}

/// A change in the history.
#[derive(Debug, Clone, Copy)]
pub struct HistoryEntry<'a> {
    revision: u64,
    slot: &'a Slot,
}

impl History {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Appends the next change.
    pub(super) fn push(&mut self, event: Event) {
        if self.slots.is_empty() {
            self.first = event.revision;
        }
        self.slots.push_back(Slot::Fresh(Arc::new(event)));
        if let Some(stale) = self.slots.len().checked_sub(FRESH + 1) {
            self.put_away(stale);
        }
        if self.slots.len() > REMEMBERED {
            self.forget(1);
        }
    }

    /// Drops the oldest changes.
    pub(super) fn forget(&mut self, count: usize) {
        let count = count.min(self.slots.len());
        self.slots.drain(..count);
        self.first += count as u64;
    }

    /// All changes but the oldest.
    pub(super) fn after(&self, oldest: usize) -> impl ExactSizeIterator<Item = HistoryEntry<'_>> {
        let oldest = oldest.min(self.slots.len());
        let first = self.first + oldest as u64;
        let slots = self.slots.range(oldest..).enumerate();
        slots.map(move |(at, slot)| HistoryEntry { revision: first + at as u64, slot })
    }

    /// Turns the versions of a change into text, except for one that may still be the latest.
    fn put_away(&mut self, at: usize) {
        let Some(Slot::Fresh(event)) = self.slots.get(at) else { return };
        let event = event.clone();
        let previous = event.previous.as_ref().map(|previous| self.superseded(previous));
        let object = match event.change {
            Change::Added | Change::Modified => Version::Whole(event.object.clone()),
            Change::Deleted => Version::text(&event.object),
        };
        let (key, change) = (event.key.clone(), event.change);
        self.slots[at] = Slot::Stale { key, change, object, previous };
    }

    /// The text of a version that is no longer the latest, shared with the change that brought it.
    fn superseded(&mut self, version: &Arc<Value>) -> Version {
        let revision = object::resource_version(version).parse::<u64>().ok();
        let at = revision.and_then(|revision| revision.checked_sub(self.first));
        let slot = at.and_then(|at| self.slots.get_mut(usize::try_from(at).ok()?));
        let Some(Slot::Stale { object, .. }) = slot else { return Version::text(version) };
        if matches!(object, Version::Whole(_)) {
            *object = Version::text(version);
        }
        object.clone()
    }
}

impl Version {
    fn text(value: &Value) -> Self {
        Self::Text(value.to_string().into_bytes().into())
    }

    fn value(&self) -> Arc<Value> {
        match self {
            Self::Whole(value) => value.clone(),
            // This module wrote the text, and no stored object nests deeper than the reader allows.
            Self::Text(text) => {
                let read = serde_json::from_slice(text);
                debug_assert!(read.is_ok(), "{read:?}");
                Arc::new(read.unwrap_or_default())
            }
        }
    }
}

impl HistoryEntry<'_> {
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    #[must_use]
    pub fn key(&self) -> &Key {
        match self.slot {
            Slot::Fresh(event) => &event.key,
            Slot::Stale { key, .. } => key,
        }
    }

    /// The object before the change.
    #[must_use]
    pub fn previous(&self) -> Option<Arc<Value>> {
        match self.slot {
            Slot::Fresh(event) => event.previous.clone(),
            Slot::Stale { previous, .. } => previous.as_ref().map(Version::value),
        }
    }

    /// The whole change.
    #[must_use]
    pub fn event(&self) -> Arc<Event> {
        match self.slot {
            Slot::Fresh(event) => event.clone(),
            Slot::Stale { key, change, object, .. } => Arc::new(Event {
                revision: self.revision,
                key: key.clone(),
                change: *change,
                object: object.value(),
                previous: self.previous(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use serde_json::json;

    use super::*;
    use crate::store::Store;

    fn object(at: usize, key: &Key) -> Value {
        let numbers = json!([at, -0.0, 0.1 + 0.2, f64::MAX, i64::MIN, u64::MAX]);
        json!({
            "metadata": {"name": *key.name, "uid": at.to_string()},
            "spec": {"numbers": numbers, "text": "\u{0}\"\u{1f4a5}", "none": null, "empty": [{}, []]},
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// The history returns the same events and states, whatever changes, and however long ago.
        #[test]
        fn history_does_not_change(steps in vec((0..20_u8, 0..60_u8), 1..1_200)) {
            let mut store = Store::new();
            let mut events = vec![];
            let mut states = vec![vec![]];
            let mut forgotten = 0;
            for (name, action) in steps {
                let key = Key::new("", "pods", "shop", &format!("web-{name}"));
                let object = object(events.len(), &key);
                match store.get(&key) {
                    _ if action == 0 => {
                        forgotten = forgotten.max(events.len() / 3);
                        store.compact(1 + forgotten as u64);
                        continue;
                    }
                    None => store.create(&key, object),
                    Some(_) if action < 10 => store.remove(&key).unwrap_or_default(),
                    Some(_) => store.replace(&key, object),
                };
                events.extend(store.since(store.revision() - 1).unwrap().map(|one| one.event()));
                states.push(store.list("", "pods", None).cloned().collect());
            }
            for from in [forgotten, usize::midpoint(forgotten, events.len()), events.len()] {
                let revision = 1 + from as u64;
                let remembered: Vec<_> = store.since(revision).unwrap().map(|one| one.event()).collect();
                prop_assert_eq!(format!("{remembered:?}"), format!("{:?}", &events[from..]));
                prop_assert_eq!(&store.list_at("", "pods", Some("shop"), revision).unwrap(), &states[from]);
            }
            prop_assert!(forgotten == 0 || store.since(forgotten as u64).is_err());
        }
    }
}
