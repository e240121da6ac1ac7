//! The requests that the cards of diagnoses make; a page sends them.

use leptos::prelude::*;

use crate::state::command::Refusal;

/// The requests that the cards make.
#[derive(Clone, Copy)]
pub struct Adviser {
    /// Reads the advice about a diagnosis anew.
    pub load: Callback<String>,
    /// Has a remedy done.
    pub act: Callback<RemedyOrder>,
    /// Whether a remedy is being asked for.
    pub busy: RwSignal<bool>,
    /// The refusal of the last remedy.
    pub refusal: RwSignal<Option<Refusal>>,
}

/// A remedy that a person has confirmed.
#[derive(Clone, Debug)]
pub struct RemedyOrder {
    /// The id of the diagnosis.
    pub diagnosis: String,
    /// The hash of the remedy.
    pub hash: String,
    /// The typed name.
    pub name: String,
    /// The person's word for what the API does not show.
    pub statement: String,
}
