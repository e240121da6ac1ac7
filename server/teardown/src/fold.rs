//! Publishes the records of a topic as messages, and folds messages into the records of a reader. A view is a set of records
//! by key.
//!
//! [`View::apply`] handles a delta that arrives twice (ignored), a delta that does not follow (refused, so that the
//! reader requests a snapshot), a reader who joins late (receives a snapshot), and many changes of one record in one
//! delta (only the last is sent). The tests below cover these cases.

mod publication;

use std::collections::BTreeMap;

pub use self::publication::Publication;
use crate::message::{Key, Message, Record, Revision};

/// A delta does not follow the revision of the view: a message was lost, and a snapshot is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the delta follows {expected}, the view is at {actual}")]
pub struct Gap {
    /// The revision that the delta follows.
    pub expected: Revision,
    /// The revision of the view.
    pub actual: Revision,
}

/// The records of a topic at a revision, as a reader has them.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    revision: Revision,
    records: BTreeMap<Key, Record>,
}

impl View {
    /// A view of these records.
    pub fn new(revision: Revision, records: impl IntoIterator<Item = Record>) -> Self {
        // The records are inserted one by one, because `collect` sorts, and sorting records adds four kilobytes to the
        // browser's half.
        let mut sorted = BTreeMap::new();
        for record in records {
            sorted.insert(record.key(), record);
        }
        Self { revision, records: sorted }
    }

    /// The revision of the view.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// All records by key.
    pub fn records(&self) -> &BTreeMap<Key, Record> {
        &self.records
    }

    /// Applies a message. `Ok(changed)` names the keys that were put or removed.
    ///
    /// # Errors
    /// [`Gap`] if a delta follows a revision that the view has not reached.
    pub fn apply(&mut self, message: Message) -> Result<Vec<Key>, Gap> {
        match message {
            Message::Snapshot { revision, records } => {
                let mut changed: Vec<Key> = self.records.keys().cloned().collect();
                *self = Self::new(revision, records);
                changed.retain(|key| !self.records.contains_key(key));
                changed.extend(self.records.keys().cloned());
                Ok(changed)
            }
            Message::Delta { previous, revision, put, remove } => {
                let same_boot = revision.boot == self.revision.boot;
                if same_boot && revision.count <= self.revision.count {
                    return Ok(Vec::new());
                }
                if previous != self.revision {
                    return Err(Gap { expected: previous, actual: self.revision });
                }
                let mut changed = remove;
                for key in &changed {
                    self.records.remove(key);
                }
                for record in put {
                    changed.push(record.key());
                    self.records.insert(record.key(), record);
                }
                self.revision = revision;
                Ok(changed)
            }
        }
    }
}

#[cfg(test)]
mod tests;
