//! A preflight as a page and the API show it, in sentences.
//!
//! # Decisions
//! - The server makes the sentences, as for [`advice`](crate::advice): thirty findings with their meaning and advice would cost
//!   each first load several KB of Brotli.

use jiff::Timestamp;
use serde::Serialize;

use super::note::Severity;
use crate::{advice::Advice, object::ObjectRef};

/// The state of a preflight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    /// Nobody has asked for it since the server started.
    #[default]
    NotRun,
    /// Answers of the API server are still coming.
    Running,
    /// It is complete, as far as it goes.
    Done,
}

/// The preflight of a plan, for programs and for the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreflightCard {
    /// Its state.
    pub state: CheckState,
    /// The number of objects about which the API server has answered.
    pub checked: usize,
    /// The number of objects about which it is asked.
    pub total: usize,
    /// The time of the last answer.
    #[serde(with = "crate::millis::optional")]
    pub at: Option<Timestamp>,
    /// The findings, the worst first.
    pub notes: Vec<NoteCard>,
    /// The same in the form that a page reads for a diagnosis as well, so that its first load needs no code for another one.
    #[serde(flatten)]
    pub advice: Advice,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteCard {
    /// Its weight, as a code for its look.
    pub severity: Severity,
    /// The finding, in one sentence.
    pub title: String,
    /// The consequence.
    pub meaning: String,
    /// The advice.
    pub what_to_do: String,
    /// The first objects that it concerns.
    pub objects: Vec<ObjectRef>,
    /// The number of its other objects.
    pub more: usize,
}
