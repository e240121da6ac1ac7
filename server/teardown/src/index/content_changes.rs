//! When an object last came into each namespace, or went from it, and when the last one of each kind went.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

use super::Index;
use crate::object::Object;

/// A change of an object that stays is none.
#[derive(Clone, Debug, Default)]
pub(super) struct ContentChanges {
    /// By namespace: the time of the last object that came or went.
    of_namespaces: HashMap<Arc<str>, Timestamp>,
    /// By group and kind: the time at which the last object went.
    of_kinds: HashMap<(Arc<str>, Arc<str>), Timestamp>,
}

impl ContentChanges {
    /// Notes that an object came or went. A namespace that is gone is forgotten.
    pub(super) fn note(&mut self, object: &Object, is_gone: bool, now: Timestamp) {
        if let Some(namespace) = &object.namespace {
            self.of_namespaces.insert(namespace.clone(), now);
        } else if is_gone && object.kind.is("", "Namespace") {
            self.of_namespaces.remove(&*object.name);
        }
        if is_gone {
            let kind = (object.kind.group.clone(), object.kind.kind.clone());
            self.of_kinds.insert(kind, now);
        }
    }
}

impl Index {
    /// The time at which an object last came into a namespace, or went from it.
    pub(crate) fn content_changed_at(&self, namespace: &str) -> Option<Timestamp> {
        self.content_changes.of_namespaces.get(namespace).copied()
    }

    /// The time at which the last object of a kind went, while this process watched.
    pub(crate) fn last_went_at(&self, group: &Arc<str>, kind: &Arc<str>) -> Option<Timestamp> {
        self.content_changes.of_kinds.get(&(group.clone(), kind.clone())).copied()
    }
}
