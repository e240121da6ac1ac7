//! The changes of the last half hour that may be why a deletion waits: what was deleted, and nodes that became ready or
//! stopped being so.

use std::{collections::VecDeque, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::object::{Condition, Facts, Object, ObjectRef};

/// The most deleted objects, and the most changes of nodes, that are remembered.
const MAX: usize = 1_000;
/// The time for which they are remembered.
const KEPT: SignedDuration = SignedDuration::from_mins(30);

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

/// The changes of the last half hour, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    deleted: VecDeque<Departure>,
    transitions: VecDeque<Transition>,
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
        if !is_kept {
            return;
        }
        self.deleted.push_back(Departure { object: object.clone(), at });
        while self.deleted.len() > MAX || self.deleted.front().is_some_and(|it| is_old(it.at, at)) {
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
        while self.transitions.len() > MAX
            || self.transitions.front().is_some_and(|it| is_old(it.at, at))
        {
            self.transitions.pop_front();
        }
    }

    pub(super) fn deleted(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.deleted.iter()
    }

    pub(super) fn transitions(&self) -> impl DoubleEndedIterator<Item = &Transition> {
        self.transitions.iter()
    }
}

fn is_old(then: Timestamp, now: Timestamp) -> bool {
    now.duration_since(then) > KEPT
}

fn ready(object: &Object) -> Option<&Condition> {
    match &object.facts {
        Facts::Node(node) => node.ready.as_ref(),
        _ => None,
    }
}
