//! The filter of a page: the words of a search, and the states that were chosen.

use teardown::{
    message::{Counts, Membership, ObjectCard, State},
    object::ObjectRef,
    plan::KeptReason,
};

use super::mark;
use crate::text;

/// The words of a search and the chosen states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    words: String,
    states: String,
}

impl Filter {
    /// A filter for these words and these states, the latter as [`mark::name`] writes them, with commas between.
    pub fn new(words: Option<String>, states: Option<String>) -> Self {
        let words = words.unwrap_or_default().to_ascii_lowercase();
        Self { words, states: states.unwrap_or_default() }
    }

    /// Whether it shows everything.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.states.is_empty()
    }

    /// Whether it shows objects in this state.
    pub fn matches_state(&self, state: State) -> bool {
        self.states.is_empty() || self.selects_state(state)
    }

    /// Whether this state was chosen.
    pub fn selects_state(&self, state: State) -> bool {
        self.states.split(',').any(|name| name == mark::name(state))
    }

    /// Whether it shows a unit with these states.
    pub fn matches_any_state(&self, counts: &Counts) -> bool {
        self.states.is_empty()
            || counts.iter().any(|(state, count)| *count > 0 && self.selects_state(*state))
    }

    /// Whether its words are in this text, in small or large letters.
    pub fn matches_text(&self, text: &str) -> bool {
        text.to_ascii_lowercase().contains(&self.words)
    }

    /// Whether it shows an object in this state.
    pub fn matches(&self, object: &ObjectRef, state: State) -> bool {
        self.matches_state(state) && self.matches_words(object, state)
    }

    /// Whether it shows this object. A choice of states is one among the objects of the unit, so that a filter shows as
    /// many rows as it announces.
    pub fn shows_card(&self, card: &ObjectCard) -> bool {
        if self.states.is_empty() {
            return self.matches(&card.object, card.state);
        }
        let chosen = match &card.membership {
            Membership::Outside => return false,
            Membership::Member => self.selects("to-delete"),
            Membership::Kept(KeptReason::MadeByCluster) => self.selects("to-leave"),
            Membership::Kept(_) => self.selects("to-keep"),
        };
        (chosen || self.selects_state(card.state)) && self.matches_words(&card.object, card.state)
    }

    /// Whether this word is among the chosen states.
    pub fn selects(&self, word: &str) -> bool {
        self.states.split(',').any(|name| name == word)
    }

    fn matches_words(&self, object: &ObjectRef, state: State) -> bool {
        self.matches_text(&object.name)
            || self.matches_text(&object.kind)
            || object.namespace.as_ref().is_some_and(|namespace| self.matches_text(namespace))
            || text::state(state).eq_ignore_ascii_case(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_words_are_asked_for_together() {
        let filter = |words: &str, states: &str| {
            Filter::new(Some(words.to_owned()), Some(states.to_owned()))
        };
        assert!(filter("", "").is_empty());
        assert!(filter("", "").matches_state(State::Gone));
        assert!(filter("", "stuck,cameback").matches_state(State::CameBack));
        assert!(!filter("", "stuck,cameback").matches_state(State::Slow));
        assert!(filter("WEB", "").matches_text("the-Web-1"));
        assert!(!filter("web", "").matches_text("db"));
        let counts = Counts::from([(State::Stuck, 0), (State::Gone, 2)]);
        assert!(filter("", "gone").matches_any_state(&counts));
        assert!(!filter("", "stuck").matches_any_state(&counts), "none is in it any more");
    }
}
