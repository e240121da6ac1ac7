//! The answers of the API server to the questions of a preflight, and the notes that they are.

use std::collections::{BTreeMap, HashSet};

use super::{
    note::{Asked, Note, NoteCode, Notes, Predicted, Severity},
    question::{Question, QuestionId, QuestionKind},
};
use crate::{api_problem::ApiProblem, object::ObjectRef};

/// An answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request would be accepted, or the right exists.
    Accepted,
    /// The caller does not have the right.
    Forbidden {
        /// The words of the API server; none if an access review said so without any.
        said: Option<ApiProblem>,
    },
    /// A webhook or a policy denies the request.
    Denied {
        /// The name of the webhook in its configuration; none for a policy.
        webhook: Option<String>,
        /// The words of the answer.
        said: ApiProblem,
    },
    /// A webhook could not be called, and its configuration refuses in that case.
    WebhookFails {
        /// The name of the webhook in its configuration.
        webhook: String,
        /// The words of the answer.
        said: ApiProblem,
    },
    /// A webhook does not support a dry run.
    NoDryRun {
        /// The words of the answer.
        said: ApiProblem,
    },
    /// The object is gone, or another one has its name.
    Old,
    /// The request would be refused for another reason.
    Refused {
        /// The words of the answer.
        said: ApiProblem,
    },
    /// There is no answer, or one that predicts nothing.
    Unknown {
        /// The problem.
        said: ApiProblem,
    },
}

/// The notes of the answers, together with those of the index.
pub(super) fn merged(
    of_index: &[Note],
    questions: &[Question],
    answers: &BTreeMap<QuestionId, Answer>,
) -> Notes {
    let is_dry_run = |it: &Question| matches!(it.id.asks, QuestionKind::DryRun { .. });
    let answered = || questions.iter().filter_map(|it| Some((it, answers.get(&it.id)?)));
    // A dry run that succeeds has asked every webhook about the DELETE. That of a namespace asks none about its contents.
    let accepted: HashSet<&ObjectRef> = answered()
        .filter(|(it, answer)| is_dry_run(it) && **answer == Answer::Accepted)
        .map(|(it, _)| &it.object)
        .collect();
    let has_failed = |webhook: &str, object: &ObjectRef| {
        answered().any(|(it, answer)| {
            let is_it =
                matches!(answer, Answer::WebhookFails { webhook: it, .. } if *it == *webhook);
            is_it && it.object == *object && it.id.asks.predicts() == Predicted::Deletion
        })
    };
    let mut notes = Notes::default();
    for note in of_index {
        let is_about_delete = matches!(
            note.code,
            NoteCode::WebhookDown { asked: Asked::Deletion, refuses: true, .. }
        );
        for object in &note.objects {
            if !(is_about_delete && accepted.contains(object)) {
                let (severity, code) = confirmed(note, |webhook| has_failed(webhook, object));
                notes.add(severity, code, object.clone());
            }
        }
    }
    let is_known_down = |webhook: &str, object: &ObjectRef| {
        of_index.iter().any(|note| {
            matches!(&note.code, NoteCode::WebhookDown { webhook: down, refuses: true, asked, certain, .. }
                if **down == *webhook && (*asked == Asked::Deletion || *certain && *asked == Asked::Finalizers))
                && note.objects.contains(object)
        })
    };
    // The words of two answers of one webhook may differ in the object's name. The first ones stand for all.
    let mut first: BTreeMap<(Predicted, &str, String), NoteCode> = BTreeMap::new();
    for (question, answer) in answered() {
        let request = question.id.asks.predicts();
        // The note about the index says that it refuses the DELETE. A suspension is another request.
        let is_noted = matches!(answer, Answer::WebhookFails { webhook, .. }
            if request == Predicted::Deletion && is_known_down(webhook, &question.object));
        if is_noted {
            continue;
        }
        if let Some((severity, group, name, code)) = finding(question, answer) {
            let code = first.entry((request, group, name)).or_insert(code).clone();
            notes.add_once(severity, code, question.object.clone());
        }
    }
    notes
}

/// A note about one of its objects: a webhook that was not certain to be asked about a deletion was, once it has failed in a dry run.
fn confirmed(note: &Note, has_failed: impl Fn(&str) -> bool) -> (Severity, NoteCode) {
    let mut code = note.code.clone();
    if let NoteCode::WebhookDown { webhook, asked: Asked::Deletion, refuses: true, certain, .. } =
        &mut code
        && !*certain
        && has_failed(webhook)
    {
        *certain = true;
        return (Severity::Refusal, code);
    }
    (note.severity, code)
}

/// The finding that an answer is, with the group and the name within it that one note stands for; `None` if nothing is in the way.
fn finding(
    question: &Question,
    answer: &Answer,
) -> Option<(Severity, &'static str, String, NoteCode)> {
    let request = question.id.asks.predicts();
    let is_review = matches!(question.id.asks, QuestionKind::MayDelete | QuestionKind::MaySuspend);
    let resource = question.kind.resource();
    Some(match answer {
        Answer::Accepted if is_review => {
            let code = NoteCode::OnlyReviewed { request, resource: resource.clone() };
            (Severity::Info, "reviewed", resource, code)
        }
        Answer::Accepted => return None,
        Answer::Forbidden { said } => {
            let (name, said) = (resource.clone(), said.clone());
            let code = match request {
                Predicted::Deletion => NoteCode::MayNotDelete { resource, said },
                Predicted::Suspension => NoteCode::MayNotSuspend { resource, said },
            };
            (Severity::Refusal, "forbidden", name, code)
        }
        Answer::Denied { webhook, said } => {
            let code = NoteCode::Denied { request, webhook: webhook.clone(), said: said.clone() };
            let name = webhook.clone().unwrap_or_else(|| format!("{said:?}"));
            (Severity::Refusal, "denied", name, code)
        }
        Answer::WebhookFails { webhook, said } => {
            let (webhook, said) = (webhook.clone(), said.clone());
            let name = webhook.clone();
            (Severity::Refusal, "fails", name, NoteCode::WebhookFails { request, webhook, said })
        }
        Answer::NoDryRun { said } => {
            let code = NoteCode::NoDryRun { request, said: said.clone() };
            (Severity::Info, "no dry run", format!("{said:?}"), code)
        }
        Answer::Old => (Severity::Warning, "old", String::new(), NoteCode::PlanIsOld),
        Answer::Refused { said } => {
            let code = NoteCode::Refused { request, said: said.clone() };
            (Severity::Refusal, "refused", resource, code)
        }
        Answer::Unknown { said } => {
            let code = NoteCode::NoAnswer { said: said.clone() };
            (Severity::Warning, "unknown", resource, code)
        }
    })
}
