//! Advice about the diagnoses and the plan on the page, as the server gives it.

use std::collections::BTreeMap;

use leptos::prelude::*;
use teardown::advice::Advice;

/// Advice by the id of its diagnosis or plan.
#[derive(Clone, Copy)]
pub struct KnownAdvice(RwSignal<BTreeMap<String, Advice>>);

impl KnownAdvice {
    /// The advice that came with the page.
    pub fn new(advice: BTreeMap<String, Advice>) -> Self {
        Self(RwSignal::new(advice))
    }

    /// The advice about a diagnosis, once it is known.
    pub fn of(self, diagnosis: &str) -> Option<Advice> {
        self.0.with(|known| known.get(diagnosis).cloned())
    }

    /// Whether the advice about a diagnosis is known.
    pub fn has(self, diagnosis: &str) -> bool {
        self.0.with_untracked(|known| known.contains_key(diagnosis))
    }

    /// Replaces the advice about a diagnosis.
    pub fn put(self, diagnosis: String, advice: Advice) {
        if self.0.with_untracked(|known| known.get(&diagnosis) != Some(&advice)) {
            self.0.update(|known| drop(known.insert(diagnosis, advice)));
        }
    }
}
