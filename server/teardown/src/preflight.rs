//! Says before a teardown what would refuse a DELETE, and what would hold a deletion once it is accepted. A preflight has
//! two sources: checks over the index, which are made at once, and questions to the API server, whose answers come one by one.
//!
//! # Decisions
//! - A note does not forbid a run. A person may know better, and most of a plan goes although one object stays.
//! - A check uses the detectors of [`diagnosis`](crate::diagnosis), so that a prediction and a later diagnosis agree.
//! - An answer of the API server counts more than an inference: an object whose dry run succeeded is taken from the notes
//!   about webhooks that seemed to be down, because `matchConditions` may have excluded it. A webhook with `matchConditions` is
//!   expected to refuse only once a dry run has failed by it.
//! - A dry run is asked for only where the API server itself stores the objects: an API server behind an APIService may
//!   ignore `dryRun` and delete. For its kinds, only the rights are asked for (`question.rs`), and a note says that the rest
//!   cannot be predicted.
//! - The finisher of most finalizers of Kubernetes itself is the kube-controller-manager. Whether it runs shows only while somebody
//!   looks at its lease, so that note comes last (`manager.rs`).
//! - A check whose evidence is hidden finds nothing. One note says so, with the objects (`unseen.rs`).
//! - Disruption budgets are information: only an eviction asks them, never a DELETE.

mod admission;
mod answer;
mod card;
mod finalizer;
mod infrastructure;
mod manager;
mod note;
mod parent;
mod progress;
mod question;
mod read_failure;
mod subject;
mod unseen;
mod unusual;
mod visibility;
mod waiting;

use jiff::Timestamp;

pub use self::{
    answer::Answer,
    card::{CheckState, NoteCard, PreflightCard},
    note::{Asked, HiddenBy, Note, NoteCode, Predicted, Severity, Unasked},
    progress::{Preflight, PreflightView},
    question::{Question, QuestionId, QuestionKind},
    read_failure::is_read_failure,
};
use self::{manager::ManagerWatch, note::Notes, subject::Subject};
use crate::{diagnosis::Diagnosis, graph::Graph, index::Index, plan::Plan};

/// One check over the index.
type Check = for<'a> fn(&Subject<'a>, &mut Notes);

/// All checks over the index, in the order in which a deletion meets the obstacles.
const CHECKS: &[Check] = &[
    visibility::kinds_without_delete,
    admission::webhooks_down,
    admission::converters_down,
    waiting::already_deleted,
    finalizer::finishers,
    infrastructure::nodes,
    infrastructure::drivers,
    unusual::static_pods,
    unusual::managed_jobs,
    unusual::missing_claims,
    infrastructure::provisioners,
    visibility::apis_down,
    visibility::hidden_kinds,
    parent::declaring,
    infrastructure::budgets,
    unseen::evidence,
];

/// Begins the preflight of a plan: the checks over the index are made, its questions wait for answers, and it watches the
/// kube-controller-manager if the plan needs it.
pub fn preflight(
    plan: &Plan,
    index: &Index,
    graph: &Graph,
    diagnoses: &[Diagnosis],
    now: Timestamp,
) -> Preflight {
    let subject = Subject::new(plan, index, graph, diagnoses, now);
    let mut notes = Notes::default();
    for check in CHECKS {
        check(&subject, &mut notes);
    }
    Preflight::new(notes.into_list(), ManagerWatch::new(&subject), plan, index, now)
}

#[cfg(test)]
mod tests;
