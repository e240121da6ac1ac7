//! The requests that the cards of diagnoses make; a page sends them.

use leptos::prelude::*;
use teardown::advice::{Way, WayOffer};

use crate::state::{advice::KnownAdvice, command::Refusal};

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

/// The question before a remedy.
#[derive(Clone, Copy, Default)]
pub struct Question {
    /// The way out, as it was when the question was asked.
    pub way: RwSignal<Option<Way>>,
    /// Whether the dialog is open.
    pub open: RwSignal<bool>,
}

impl Question {
    /// Asks.
    pub fn ask(self, way: Way) {
        self.way.set(Some(way));
        self.open.set(true);
    }
}
