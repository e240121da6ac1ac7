//! The records of a topic as the server publishes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::message::{Key, Message, Record, Revision};

/// The records of a topic at a revision, in the order in which the world builds them.
///
/// Most publications differ from the one before in a few records and hardly ever in their order. So two of them are compared
/// side by side, and only the part between their common beginning and their common end by key. A record that was not made again
/// is the same value, and need not be read. Records that never change are kept apart.
#[derive(Clone, Debug)]
pub struct Publication {
    revision: Revision,
    records: Vec<Arc<Record>>,
    lasting: Vec<Record>,
}

impl Publication {
    /// A publication without records.
    pub fn new(revision: Revision) -> Self {
        Self::with_lasting(revision, Vec::new())
    }

    /// A publication of records that never change. No other record may have the key of one of them.
    pub fn with_lasting(revision: Revision, lasting: Vec<Record>) -> Self {
        Self { revision, records: Vec::new(), lasting }
    }

    /// Its revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// A message with all records, for a reader who has none.
    pub fn snapshot(&self) -> Message {
        let records = self.records.iter().map(|record| &**record);
        let records = records.chain(&self.lasting).cloned().collect();
        Message::Snapshot { revision: self.revision, records }
    }

    /// Replaces the records that may change and returns the changes; `None` if nothing changed, and then the revision stays.
    pub fn advance(&mut self, records: Vec<impl Into<Arc<Record>>>) -> Option<Message> {
        let records: Vec<Arc<Record>> = records.into_iter().map(Into::into).collect();
        let (put, remove) = changes(&self.records, &records);
        self.records = records;
        if put.is_empty() && remove.is_empty() {
            return None;
        }
        let previous = self.revision;
        self.revision = previous.next();
        Some(Message::Delta { previous, revision: self.revision, put, remove })
    }
}

/// The records that are new or changed, and the keys of those that are gone.
fn changes(before: &[Arc<Record>], now: &[Arc<Record>]) -> (Vec<Record>, Vec<Key>) {
    let mut put = Vec::new();
    let mut is_same = |(old, new): (&Arc<Record>, &Arc<Record>)| {
        if Arc::ptr_eq(old, new) || old == new {
            return true;
        }
        let is_changed = old.key() == new.key();
        if is_changed {
            put.push(Record::clone(new));
        }
        is_changed
    };
    let start = before.iter().zip(now).take_while(|pair| is_same(*pair)).count();
    let (before, rest) = (&before[start..], &now[start..]);
    let end = before.iter().rev().zip(rest.iter().rev()).take_while(|pair| is_same(*pair)).count();
    let (before, rest) = (&before[..before.len() - end], &rest[..rest.len() - end]);
    let mut left: BTreeMap<Key, &Arc<Record>> = before.iter().map(|it| (it.key(), it)).collect();
    let changed = rest.iter().filter(|it| left.remove(&it.key()) != Some(it));
    put.extend(changed.map(|record| Record::clone(record)));
    let mut remove: Vec<Key> = left.into_keys().collect();
    if !remove.is_empty() {
        // Two edges of a plan may have one key, of which only one went.
        let there: BTreeSet<Key> = now.iter().map(|record| record.key()).collect();
        remove.retain(|key| !there.contains(key));
    }
    (put, remove)
}
