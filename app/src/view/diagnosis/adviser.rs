//! The requests that the cards of diagnoses make; a page sends them.

use leptos::prelude::*;
use teardown::advice::{Advice, Way, WayOffer};

use crate::{
    state::{advice::KnownAdvice, command::Refusal},
    text,
};

/// The requests and what came of them.
#[derive(Clone, Copy)]
pub struct Adviser {
    /// The advice as far as it was read.
    pub known: KnownAdvice,
    /// Reads the advice about a diagnosis anew.
    pub load: fn(KnownAdvice, String),
    /// Has a remedy done, by the offer with the typed name, and the person's word for what the API does not show.
    pub act: fn(Adviser, WayOffer, String),
    /// Whether a remedy is being asked for.
    pub busy: RwSignal<bool>,
    /// The refusal of the last remedy.
    pub refusal: RwSignal<Option<Refusal>>,
    /// The question before a remedy.
    pub question: Question,
}

/// The question before a remedy. It follows the cluster while it is open.
#[derive(Clone, Copy, Default)]
pub struct Question {
    /// The way out, as it is now. One that cannot be chosen any more keeps the offer that was made.
    pub way: RwSignal<Option<Way>>,
    /// Whether the dialog is open.
    pub open: RwSignal<bool>,
    /// Whether the remedy has changed since the person was asked, so that they have to confirm it anew.
    pub is_asked_again: RwSignal<bool>,
}

impl Question {
    /// Asks.
    pub fn ask(self, way: Way) {
        self.is_asked_again.set(false);
        self.way.set(Some(way));
        self.open.set(true);
    }

    /// Shows the way out as it is in newer advice, or says that it is no longer there.
    pub fn follow(self, asked: &Way, advice: Option<&Advice>) {
        let Some(was_offered) = asked.offer.clone() else { return };
        let hash = |way: &Way| way.offer.as_ref().map(|offer| offer.hash.clone());
        let now = advice.and_then(|it| {
            let same = it.ways.iter().find(|way| hash(way) == hash(asked));
            same.or_else(|| it.ways.iter().find(|way| way.title == asked.title))
        });
        let mut now = now.cloned().unwrap_or_else(|| Way { offer: None, ..asked.clone() });
        if now.offer.is_none() {
            now.offer = Some(was_offered.clone());
            now.withheld.get_or_insert_with(|| text::REMEDY_IS_OVER.to_owned());
        }
        if now == *asked {
            return;
        }
        let is_another = now.offer.as_ref().is_some_and(|offer| offer.hash != was_offered.hash);
        self.way.set(Some(now));
        if is_another {
            self.is_asked_again.set(true);
            // The dialog empties its fields whenever it is opened.
            self.open.set(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use leptos::reactive::owner::Owner;
    use teardown::{
        advice::WayNeed,
        remedy::{Harm, Holds},
    };

    use super::*;

    /// A way out that is offered with this hash.
    fn way(hash: &str, holds: Holds) -> Way {
        Way {
            title: "Mark node n1 as out of service".to_owned(),
            harm: Harm::DataLoss,
            harms: String::new(),
            does: String::new(),
            reaches: vec![],
            loses: vec![],
            needs: vec![WayNeed { what: "It is off.".to_owned(), holds }],
            undo: None,
            withheld: None,
            commands: vec![],
            offer: Some(WayOffer {
                diagnosis: "nodeSilent".to_owned(),
                hash: hash.to_owned(),
                name: "n1".to_owned(),
                statement: None,
                machine: vec![],
            }),
        }
    }

    fn advice(ways: Vec<Way>) -> Advice {
        Advice { ways, ..Advice::default() }
    }

    /// The question after the advice has changed to this, and whether it is asked anew.
    fn after(advice: Option<&Advice>) -> (Way, bool) {
        Owner::new().with(|| {
            let question = Question::default();
            let asked = way("a", Holds::Yes);
            question.ask(asked.clone());
            question.follow(&asked, advice);
            (question.way.get_untracked().unwrap(), question.is_asked_again.get_untracked())
        })
    }

    #[test]
    fn remedy_that_stays_the_same_is_not_confirmed_anew() {
        let same = way("a", Holds::Yes);
        assert_eq!(after(Some(&advice(vec![same.clone()]))), (same, false));
    }

    #[test]
    fn remedy_whose_hash_changes_is_confirmed_anew_as_it_is_now() {
        let other = way("b", Holds::No);
        assert_eq!(after(Some(&advice(vec![other.clone()]))), (other, true));
    }

    #[test]
    fn remedy_that_is_withheld_says_why_and_keeps_what_was_typed() {
        let why = "Not now: 2 nodes are silent at once".to_owned();
        let withheld = Way { offer: None, withheld: Some(why), ..way("a", Holds::No) };
        let (now, is_asked_again) = after(Some(&advice(vec![withheld.clone()])));
        assert_eq!((&now.withheld, &now.needs), (&withheld.withheld, &withheld.needs));
        assert_eq!((now.offer, is_asked_again), (way("a", Holds::Yes).offer, false));
    }

    #[test]
    fn remedy_that_is_no_way_out_any_more_cannot_be_done() {
        for gone in [None, Some(advice(vec![]))] {
            let (now, _) = after(gone.as_ref());
            assert_eq!(now.withheld.as_deref(), Some(text::REMEDY_IS_OVER));
        }
    }
}
