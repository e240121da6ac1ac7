//! Advice about the diagnoses and the plan on the page, as the server gives it.

use std::collections::BTreeMap;

use leptos::prelude::*;
use teardown::advice::Advice;

/// Advice by the id of its diagnosis or plan, or the reason why it could not be read.
#[derive(Clone, Copy)]
pub struct KnownAdvice {
    known: RwSignal<BTreeMap<String, Result<Advice, String>>>,
    /// The diagnoses whose advice came with the page and was not asked for yet.
    fresh: StoredValue<Vec<String>>,
}

impl KnownAdvice {
    /// The advice that came with the page.
    pub fn new(advice: BTreeMap<String, Advice>) -> Self {
        let fresh = StoredValue::new(advice.keys().cloned().collect());
        let advice = advice.into_iter().map(|(id, advice)| (id, Ok(advice)));
        let mut known = BTreeMap::new();
        known.extend(advice);
        Self { known: RwSignal::new(known), fresh }
    }

    /// The advice about a diagnosis, once it is known.
    pub fn of(self, diagnosis: &str) -> Option<Result<Advice, String>> {
        self.known.with(|known| known.get(diagnosis).cloned())
    }

    /// Whether the advice about a diagnosis came with this page. Later it may be older than the card.
    pub fn take_fresh(self, diagnosis: &str) -> bool {
        let place = self.fresh.with_value(|fresh| fresh.iter().position(|id| id == diagnosis));
        if let Some(place) = place {
            self.fresh.update_value(|fresh| drop(fresh.swap_remove(place)));
        }
        place.is_some()
    }

    /// Replaces the advice about a diagnosis.
    pub fn put(self, diagnosis: String, advice: Result<Advice, String>) {
        if self.known.with_untracked(|known| known.get(&diagnosis) != Some(&advice)) {
            self.known.update(|known| drop(known.insert(diagnosis, advice)));
        }
    }
}
