//! The questions that a preflight asks the API server about the objects of a plan.
//!
//! # Decisions
//! - A dry run goes only to the API server that Unwind talks to: for a group version that has an APIService without a
//!   Service, in a group of which no APIService has one. API servers behind an APIService may ignore `dryRun` and delete for
//!   real. Where the APIServices are hidden, or none is found, nothing is known, so no dry run is asked for either.
//! - Everywhere else an access review asks for the right to delete.
//! - A parent that a run suspends is asked about twice, because the PATCH is another request than the DELETE: a policy may refuse the
//!   one and not the other. Its dry run is the very JSON patch that a run sends, with the same `test` of the UID.
//! - A question goes to the version in which its kind is watched now, as the calls of a run do.
//! - The first questions are about one object of each kind and namespace, because most refusals concern all of them.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::note::Predicted;
use crate::{
    index::Index,
    object::{Facts, Kind, ObjectRef, Uid},
    plan::{Plan, Propagation, Step, StepAction, StepId},
    suspension::suspend,
};

/// The most questions of a preflight.
pub(super) const MOST: usize = 500;

/// The name of a question in its preflight. There may be two about one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionId {
    /// The step.
    pub step: StepId,
    /// The form of the question.
    pub asks: QuestionKind,
}

/// A question about one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// The kind of the object, for the request's path.
    pub kind: Kind,
    /// The object.
    pub object: ObjectRef,
    /// The identity of the object.
    pub uid: Uid,
    /// The JSON patch (RFC 6902) of [`QuestionKind::DrySuspend`]; of no other question.
    pub patch: Option<Value>,
}

/// The form of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionKind {
    /// A DELETE with `dryRun=All`.
    DryRun {
        /// The propagation policy of the step.
        propagation: Propagation,
    },
    /// A SelfSubjectAccessReview for the verb `delete`.
    MayDelete,
    /// The PATCH by which a run suspends a parent, with `dryRun=All`.
    DrySuspend,
    /// A SelfSubjectAccessReview for the verb `patch`, by which a run suspends a parent.
    MaySuspend,
}

impl QuestionKind {
    /// The request of a run whose answer is predicted.
    pub(super) fn predicts(self) -> Predicted {
        match self {
            Self::DryRun { .. } | Self::MayDelete => Predicted::Deletion,
            Self::DrySuspend | Self::MaySuspend => Predicted::Suspension,
        }
    }
}

/// The questions about a plan, and the objects that are over the limit.
pub(super) fn questions(plan: &Plan, index: &Index) -> (Vec<Question>, Vec<ObjectRef>) {
    let mut counts: HashMap<(String, &Option<_>, Predicted), usize> = HashMap::new();
    let mut ranked: Vec<(usize, Question)> = Vec::new();
    for step in &plan.steps {
        let kind = index.as_watched(&step.kind);
        for (asks, patch) in asked_about(step, &kind, index) {
            let key = (kind.resource(), &step.object.namespace, asks.predicts());
            let rank = counts.entry(key).or_default();
            let question = Question {
                id: QuestionId { step: step.id, asks },
                kind: kind.clone(),
                object: step.object.clone(),
                uid: step.uid.clone(),
                patch,
            };
            ranked.push((*rank, question));
            *rank += 1;
        }
    }
    ranked.sort_by_key(|(rank, question)| (*rank, question.id));
    let mut questions: Vec<Question> = ranked.into_iter().map(|(_, question)| question).collect();
    let rest = questions.split_off(questions.len().min(MOST));
    let over: BTreeSet<ObjectRef> = rest.into_iter().map(|question| question.object).collect();
    (questions, over.into_iter().collect())
}

/// The forms of the questions about a step, each with its patch if it has one.
fn asked_about(
    step: &Step,
    kind: &Kind,
    index: &Index,
) -> impl Iterator<Item = (QuestionKind, Option<Value>)> {
    let suspension = suspension_of(step, kind, index).map(|patch| {
        if is_stored_here(kind, index) {
            (QuestionKind::DrySuspend, Some(patch))
        } else {
            (QuestionKind::MaySuspend, None)
        }
    });
    let delete = match step.action {
        // Without the verb the answer is 405.
        StepAction::Delete { propagation } if !index.is_undeletable(kind) => {
            Some(if is_stored_here(kind, index) {
                QuestionKind::DryRun { propagation }
            } else {
                QuestionKind::MayDelete
            })
        }
        _ => None,
    };
    suspension.into_iter().chain(delete.map(|asks| (asks, None)))
}

/// The patch by which a run suspends the object of a step; `None` if it suspends none, or the object is not active.
fn suspension_of(step: &Step, kind: &Kind, index: &Index) -> Option<Value> {
    if step.action == StepAction::Await {
        return None;
    }
    let Facts::Parent(parent) = &index.get(&step.uid)?.facts else { return None };
    Some(suspend(kind, &step.uid, parent.active.as_ref()?))
}

/// Whether the API server itself stores the objects of a kind, built in or defined by a CustomResourceDefinition.
fn is_stored_here(kind: &Kind, index: &Index) -> bool {
    const API_SERVICES: &str = "apiservices.apiregistration.k8s.io";
    if index.check_visible(API_SERVICES, None).is_err() {
        return false;
    }
    // The name of an APIService is its version, a dot and its group.
    let of_group = index
        .of_resource(API_SERVICES)
        .filter_map(|object| Some((object.name.split_once('.')?, &object.facts)))
        .filter(|((_, group), _)| **group == *kind.group);
    let mut is_served = false;
    for ((version, _), facts) in of_group {
        match facts {
            Facts::ApiService(api) if api.service.is_none() => {
                is_served |= *version == *kind.version;
            }
            _ => return false,
        }
    }
    is_served
}
