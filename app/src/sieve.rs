//! What a page shows of all there is: what a search finds, in the states that were chosen.

use teardown::{
    message::{Counts, Membership, ObjectCard, State},
    object::ObjectRef,
    plan::KeptReason,
};

use crate::{mark, text};

/// What lets something through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sieve {
    words: String,
    states: String,
}

impl Sieve {
    /// A sieve for these words and these states, the latter as [`mark::name`] writes them, with commas between.
    pub fn new(words: Option<String>, states: Option<String>) -> Self {
        let words = words.unwrap_or_default().to_ascii_lowercase();
        Self { words, states: states.unwrap_or_default() }
    }

    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        self.words.is_empty() && self.states.is_empty()
    }

    /// Whether it shows what is in this state.
    pub fn takes(&self, state: State) -> bool {
        self.states.is_empty() || self.names(state)
    }

    /// Whether this state was chosen.
    pub fn names(&self, state: State) -> bool {
        self.states.split(',').any(|name| name == mark::name(state))
    }

    /// Whether it shows what has objects in these states.
    pub fn takes_any(&self, counts: &Counts) -> bool {
        self.states.is_empty()
            || counts.iter().any(|(state, count)| *count > 0 && self.names(*state))
    }

    /// Whether its words are in this text, in small or large letters.
    pub fn finds(&self, text: &str) -> bool {
        text.to_ascii_lowercase().contains(&self.words)
    }

    /// Whether it shows this object. A choice of states is one among the objects of the unit, so that a filter shows as
    /// many rows as it announces.
    pub fn shows_card(&self, card: &ObjectCard) -> bool {
        if self.states.is_empty() {
            return self.shows(&card.object, card.state);
        }
        let chosen = match &card.membership {
            Membership::Outside => false,
            Membership::Member => self.has("to-delete"),
            Membership::Kept(KeptReason::MadeByCluster) => self.has("to-leave"),
            Membership::Kept(_) => self.has("to-keep"),
        };
        let in_unit = card.membership != Membership::Outside;
        in_unit
            && (chosen || self.names(card.state))
            && self.matches_words(&card.object, card.state)
    }

    /// Whether this word is among the chosen states.
    pub fn has(&self, word: &str) -> bool {
        self.states.split(',').any(|name| name == word)
    }

    fn matches_words(&self, object: &ObjectRef, state: State) -> bool {
        self.finds(&object.name)
            || self.finds(&object.kind)
            || object.namespace.as_ref().is_some_and(|namespace| self.finds(namespace))
            || text::state(state).eq_ignore_ascii_case(&self.words)
    }

    /// Whether it shows an object in this state.
    pub fn shows(&self, object: &ObjectRef, state: State) -> bool {
        self.takes(state) && self.matches_words(object, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_words_are_asked_for_together() {
        let sieve =
            |words: &str, states: &str| Sieve::new(Some(words.to_owned()), Some(states.to_owned()));
        assert!(sieve("", "").is_open());
        assert!(sieve("", "").takes(State::Gone));
        assert!(sieve("", "stuck,cameback").takes(State::CameBack));
        assert!(!sieve("", "stuck,cameback").takes(State::Slow));
        assert!(sieve("WEB", "").finds("the-Web-1"));
        assert!(!sieve("web", "").finds("db"));
        let counts = Counts::from([(State::Stuck, 0), (State::Gone, 2)]);
        assert!(sieve("", "gone").takes_any(&counts));
        assert!(!sieve("", "stuck").takes_any(&counts), "none is in it any more");
    }
}
