//! Advice about the diagnoses and the plan on the page, as the server gives it.

use leptos::prelude::*;
use teardown::advice::Advice;

use super::subscription;

/// Advice by the id of its diagnosis or plan.
#[derive(Clone, Copy)]
pub struct KnownAdvice {
    known: RwSignal<Vec<(String, Advice)>>,
    /// The diagnoses whose advice came with the page and was not asked for yet.
    fresh: StoredValue<Vec<String>>,
    /// The diagnoses whose advice is being read.
    reading: StoredValue<Vec<String>>,
    /// Those of them that have changed meanwhile.
    again: StoredValue<Vec<String>>,
    /// The diagnoses whose advice was asked for and is not forgotten.
    wanted: StoredValue<Vec<String>>,
    /// The diagnoses for which a remedy was begun, until its line is known.
    attempted: StoredValue<Vec<String>>,
}

impl KnownAdvice {
    /// The advice that came with the page.
    pub fn new(advice: Vec<(String, Advice)>) -> Self {
        let empty = || StoredValue::new(Vec::new());
        let fresh = StoredValue::new(advice.iter().map(|(id, _)| id.clone()).collect());
        Self {
            known: RwSignal::new(advice),
            fresh,
            reading: empty(),
            again: empty(),
            wanted: empty(),
            attempted: empty(),
        }
    }

    /// The advice about a diagnosis, once it is known.
    pub fn of(self, diagnosis: &str) -> Option<Advice> {
        subscription::end_with_owner();
        self.known.with(|known| find(known, diagnosis).cloned())
    }

    /// Whether the advice about a diagnosis came with this page. Later it may be older than the card.
    pub fn take_fresh(self, diagnosis: &str) -> bool {
        take(self.fresh, diagnosis)
    }

    /// Replaces the advice about a diagnosis.
    pub fn put(self, diagnosis: String, advice: Advice) {
        if self.known.with_untracked(|known| find(known, &diagnosis) == Some(&advice)) {
            return;
        }
        self.known.update(|known| {
            known.retain(|(id, _)| *id != diagnosis);
            known.push((diagnosis, advice));
        });
    }

    /// Says in the advice that is known, or in place of it, why it could not be read.
    pub fn fail(self, diagnosis: &str, why: String) {
        let mut advice = self.known.with_untracked(|known| find(known, diagnosis).cloned());
        let advice = advice.get_or_insert_default();
        if advice.attempts.first() != Some(&why) {
            advice.attempts.insert(0, why);
        }
        self.put(diagnosis.to_owned(), advice.clone());
    }

    /// Begins to read. `false` if it is being read already: then it is read once more, because a card may change faster than
    /// it can be read.
    pub fn begin(self, diagnosis: &str) -> bool {
        take(self.wanted, diagnosis);
        self.wanted.update_value(|wanted| wanted.push(diagnosis.to_owned()));
        let is_read = self.reading.with_value(|reading| reading.iter().any(|id| id == diagnosis));
        let list = if is_read { self.again } else { self.reading };
        take(list, diagnosis);
        list.update_value(|list| list.push(diagnosis.to_owned()));
        !is_read
    }

    /// Whether an answer still has a reader.
    pub fn is_wanted(self, diagnosis: &str) -> bool {
        self.wanted.with_value(|wanted| wanted.iter().any(|id| id == diagnosis))
    }

    /// Forgets the advice about a diagnosis that is no longer shown. There are new ones for as long as the page is open.
    pub fn forget(self, diagnosis: &str) {
        take(self.wanted, diagnosis);
        if self.known.with_untracked(|known| find(known, diagnosis).is_some()) {
            self.known.update(|known| known.retain(|(id, _)| id != diagnosis));
        }
    }

    /// Expects the line of an attempt in the next advice about a diagnosis.
    pub fn expect_attempt(self, diagnosis: String) {
        self.attempted.update_value(|attempted| attempted.push(diagnosis));
    }

    /// Whether the line of an attempt was expected.
    pub fn take_expected(self, diagnosis: &str) -> bool {
        take(self.attempted, diagnosis)
    }

    /// Ends the reading. `true` if it is to be read once more.
    pub fn end(self, diagnosis: &str) -> bool {
        let again = take(self.again, diagnosis);
        if !again {
            take(self.reading, diagnosis);
        }
        again
    }
}

fn find<'a>(known: &'a [(String, Advice)], id: &str) -> Option<&'a Advice> {
    known.iter().find(|(it, _)| it == id).map(|(_, advice)| advice)
}

/// Takes an id out of a list. `false` if it is not in there.
fn take(list: StoredValue<Vec<String>>, id: &str) -> bool {
    let place = list.with_value(|list| list.iter().position(|it| it == id));
    if let Some(place) = place {
        list.update_value(|list| drop(list.swap_remove(place)));
    }
    place.is_some()
}
