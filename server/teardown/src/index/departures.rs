//! The changes that may be why a deletion waits: what was deleted, and nodes that became ready or stopped being so.
//!
//! # Decisions
//! - A change is remembered for half an hour, and one from half an hour before a deletion, or later, for as long as that deletion
//!   waits: the program that would end it may have been deleted days ago. Past the half hour an object is remembered only if
//!   nothing owned it, because the Jobs of a CronJob would take the places of all others.

use std::{collections::VecDeque, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::object::{Condition, Facts, Object, ObjectRef};

/// The most deleted objects, and the most changes of nodes, that are remembered.
const MAX: usize = 1_000;
/// The time for which they are remembered, and the time before a deletion that counts as just before.
const KEPT: SignedDuration = SignedDuration::from_mins(30);
/// The least time between two looks for what can be forgotten.
const LOOKS: SignedDuration = SignedDuration::from_mins(1);

/// An object that is gone.
#[derive(Clone, Debug)]
pub struct Departure {
    /// The object as it was last seen.
    pub object: Arc<Object>,
    /// The time at which the index learned that it is gone.
    pub at: Timestamp,
}

/// A change of condition Ready of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The Node.
    pub node: ObjectRef,
    /// The condition since then, with the words that went with the change.
    pub ready: Condition,
    /// The time at which the index saw it.
    pub at: Timestamp,
}

impl Departure {
    /// Whether an object that is being deleted, or is to be, may wait because of it: it was not long before, or later.
    pub(crate) fn may_hold(&self, object: &Object, now: Timestamp) -> bool {
        let since = object.deletion.as_ref().map_or(now, |deletion| deletion.accepted());
        self.at >= before(since)
    }
}

/// The changes, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    deleted: VecDeque<Departure>,
    transitions: VecDeque<Transition>,
    /// The time of the last look for what can be forgotten.
    looked: Option<Timestamp>,
}

impl Departures {
    /// Notes that an object is gone: one without which others may not be able to go.
    pub(super) fn push(&mut self, object: &Arc<Object>, at: Timestamp) {
        let is_kept = matches!(
            object.facts,
            Facts::Workload(_)
                | Facts::Definition(_)
                | Facts::Service(_)
                | Facts::ApiService(_)
                | Facts::Webhooks(_)
                | Facts::Node(_)
                | Facts::Claim(_)
        );
        if !is_kept && !object.kind.is("storage.k8s.io", "CSIDriver") {
            return;
        }
        self.deleted.push_back(Departure { object: object.clone(), at });
        if self.deleted.len() > MAX {
            self.deleted.pop_front();
        }
    }

    /// Notes that an object was replaced by a newer state of itself.
    pub(super) fn compare(&mut self, before: &Object, after: &Object, at: Timestamp) {
        let (Some(old), Some(new)) = (ready(before), ready(after)) else { return };
        if old.status == new.status {
            return;
        }
        self.transitions.push_back(Transition { node: after.reference(), ready: new.clone(), at });
        if self.transitions.len() > MAX {
            self.transitions.pop_front();
        }
    }

    /// Whether it is time to look for what can be forgotten.
    pub(super) fn are_due(&self, now: Timestamp) -> bool {
        let first = self.deleted.front().map(|it| it.at);
        let first = first.into_iter().chain(self.transitions.front().map(|it| it.at)).min();
        first.is_some_and(|at| at < before(now))
            && self.looked.is_none_or(|at| now.duration_since(at) >= LOOKS)
    }

    /// Forgets what is old, and explains no deletion: the first of those that wait began at `waits`.
    pub(super) fn forget(&mut self, waits: Option<Timestamp>, now: Timestamp) {
        self.looked = Some(now);
        let (lately, from) = (before(now), before(waits.map_or(now, |waits| waits.min(now))));
        self.deleted.retain(|it| it.at >= lately || it.at >= from && it.object.owners.is_empty());
        self.transitions.retain(|it| it.at >= from);
    }

    pub(super) fn deleted(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.deleted.iter()
    }

    pub(super) fn transitions(&self) -> impl DoubleEndedIterator<Item = &Transition> {
        self.transitions.iter()
    }
}

/// The beginning of the time just before a moment.
fn before(moment: Timestamp) -> Timestamp {
    moment.checked_sub(KEPT).unwrap_or(Timestamp::MIN)
}

fn ready(object: &Object) -> Option<&Condition> {
    match &object.facts {
        Facts::Node(node) => node.ready.as_ref(),
        _ => None,
    }
}
