//! When an object last came into each namespace, or went from it.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

use super::Index;
use crate::object::Object;

/// By namespace: the time of the last object that came or went. A change of an object that stays is none.
#[derive(Clone, Debug, Default)]
pub(super) struct ContentChanges(HashMap<Arc<str>, Timestamp>);

impl ContentChanges {
    /// Notes that an object came or went. A namespace that is gone is forgotten.
    pub(super) fn note(&mut self, object: &Object, is_gone: bool, now: Timestamp) {
        if let Some(namespace) = &object.namespace {
            self.0.insert(namespace.clone(), now);
        } else if is_gone && object.kind.is("", "Namespace") {
            self.0.remove(&*object.name);
        }
    }
}

impl Index {
    /// The time at which an object last came into a namespace, or went from it.
    pub(crate) fn content_changed_at(&self, namespace: &str) -> Option<Timestamp> {
        self.content_changes.0.get(namespace).copied()
    }
}
