//! The questions that a preflight asks the API server about the objects of a plan.
//!
//! # Decisions
//! - A dry run goes only to the API server that Unwind talks to: for a group version that has an APIService without a
//!   Service, in a group of which no APIService has one. API servers behind an APIService may ignore `dryRun` and delete for
//!   real. Where the APIServices are hidden, or none is found, nothing is known, so no dry run is asked for either.
//! - Everywhere else an access review asks for the right to delete. One more asks for the right to suspend a parent.
//! - The first questions are about one object of each kind and namespace, because most refusals concern all of them.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    index::Index,
    object::{Facts, Kind, Object, ObjectRef, Uid},
    plan::{Plan, Propagation, Step, StepAction, StepId},
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
    /// A SelfSubjectAccessReview for the verb `patch`, by which a run suspends a parent.
    MaySuspend,
}

/// The questions about a plan, and the objects that are over the limit.
pub(super) fn questions(plan: &Plan, index: &Index) -> (Vec<Question>, Vec<ObjectRef>) {
    let mut counts: HashMap<(String, &Option<_>, bool), usize> = HashMap::new();
    let mut ranked: Vec<(usize, Question)> = Vec::new();
    for step in &plan.steps {
        for asks in asked_about(step, index) {
            let suspends = asks == QuestionKind::MaySuspend;
            let key = (step.kind.resource(), &step.object.namespace, suspends);
            let rank = counts.entry(key).or_default();
            let question = Question {
                id: QuestionId { step: step.id, asks },
                kind: step.kind.clone(),
                object: step.object.clone(),
                uid: step.uid.clone(),
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

/// The forms of the questions about a step.
fn asked_about(step: &Step, index: &Index) -> impl Iterator<Item = QuestionKind> {
    let is_active = |object: &Arc<Object>| matches!(&object.facts, Facts::Parent(parent) if parent.active.is_some());
    let suspends = step.action != StepAction::Await && index.get(&step.uid).is_some_and(is_active);
    let delete = match step.action {
        // Without the verb the answer is 405.
        StepAction::Delete { propagation } if !index.is_undeletable(&step.kind) => {
            Some(if is_stored_here(&step.kind, index) {
                QuestionKind::DryRun { propagation }
            } else {
                QuestionKind::MayDelete
            })
        }
        _ => None,
    };
    suspends.then_some(QuestionKind::MaySuspend).into_iter().chain(delete)
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
