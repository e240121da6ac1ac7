//! The questions that a preflight asks the API server about the objects of a plan.
//!
//! # Decisions
//! - A dry run goes only to the API server that Unwind talks to: for a group version that has an APIService without a
//!   Service, in a group of which no APIService has one. API servers behind an APIService may ignore `dryRun` and delete for
//!   real. Where the APIServices are hidden, or none is found, nothing is known, so no dry run is asked for either.
//! - Everywhere else an access review asks for the right to delete.
//! - The first questions are about one object of each kind and namespace, because most refusals concern all of them.

use std::collections::HashMap;

use crate::{
    index::Index,
    object::{Facts, Kind, ObjectRef, Uid},
    plan::{Plan, Propagation, StepAction, StepId},
};

/// The most objects about which a preflight asks.
pub(super) const MOST: usize = 500;

/// A question about one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The step.
    pub step: StepId,
    /// The kind of the object, for the request's path.
    pub kind: Kind,
    /// The object.
    pub object: ObjectRef,
    /// The identity of the object.
    pub uid: Uid,
    /// The propagation policy of the step.
    pub propagation: Propagation,
    /// The form of the question.
    pub asks: QuestionKind,
}

/// The form of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// A DELETE with `dryRun=All`.
    DryRun,
    /// A SelfSubjectAccessReview for the verb `delete`.
    Review,
}

/// The questions about a plan, and the objects that are over the limit.
pub(super) fn questions(plan: &Plan, index: &Index) -> (Vec<Question>, Vec<ObjectRef>) {
    let mut counts: HashMap<(String, &Option<_>), usize> = HashMap::new();
    let mut questions: Vec<(usize, Question)> = plan
        .steps
        .iter()
        .filter_map(|step| {
            let StepAction::Delete { propagation } = step.action else { return None };
            let resource = step.kind.resource();
            // Without the verb the answer is 405.
            if index.is_undeletable(&resource) {
                return None;
            }
            let count = counts.entry((resource, &step.object.namespace)).or_default();
            let rank = *count;
            *count += 1;
            let asks = if is_stored_here(&step.kind, index) {
                QuestionKind::DryRun
            } else {
                QuestionKind::Review
            };
            let (kind, object, uid) = (step.kind.clone(), step.object.clone(), step.uid.clone());
            Some((rank, Question { step: step.id, kind, object, uid, propagation, asks }))
        })
        .collect();
    questions.sort_by_key(|(rank, question)| (*rank, question.step));
    let mut questions: Vec<Question> =
        questions.into_iter().map(|(_, question)| question).collect();
    let rest = questions.split_off(questions.len().min(MOST));
    (questions, rest.into_iter().map(|question| question.object).collect())
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
