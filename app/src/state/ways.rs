//! The ways out of the diagnoses on the page, as the server tells them.

use std::collections::BTreeMap;

use leptos::prelude::*;
use teardown::way::Way;

/// The ways by the id of their diagnosis.
#[derive(Clone, Copy)]
pub struct Ways(RwSignal<BTreeMap<String, Vec<Way>>>);

impl Ways {
    /// The ways that came with the page.
    pub fn new(ways: BTreeMap<String, Vec<Way>>) -> Self {
        Self(RwSignal::new(ways))
    }

    /// The ways out of a diagnosis, once they are known.
    pub fn of(self, diagnosis: &str) -> Option<Vec<Way>> {
        self.0.with(|ways| ways.get(diagnosis).cloned())
    }

    /// Whether the ways out of a diagnosis are known.
    pub fn has(self, diagnosis: &str) -> bool {
        self.0.with_untracked(|ways| ways.contains_key(diagnosis))
    }

    /// Replaces the ways out of a diagnosis.
    pub fn put(self, diagnosis: String, ways: Vec<Way>) {
        if self.0.with_untracked(|known| known.get(&diagnosis) != Some(&ways)) {
            self.0.update(|known| drop(known.insert(diagnosis, ways)));
        }
    }
}
