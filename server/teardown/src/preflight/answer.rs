//! The answers of the API server to the questions of a preflight, and the notes that they are.

use std::collections::{BTreeMap, HashSet};

use super::{
    note::{Asked, Note, NoteCode, Notes, Severity},
    question::{Question, QuestionId, QuestionKind},
};
use crate::{api_problem::ApiProblem, object::ObjectRef};

/// An answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The DELETE would be accepted, or the right exists.
    Accepted,
    /// The caller does not have the right.
    Forbidden {
        /// The words of the API server; none if an access review said so without any.
        said: Option<ApiProblem>,
    },
    /// A webhook or a policy denies the DELETE.
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
    /// The DELETE would be refused for another reason.
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
            is_it && it.object == *object
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
    let mut first: BTreeMap<(&str, String), NoteCode> = BTreeMap::new();
    for (question, answer) in answered() {
        let resource = question.kind.resource();
        let (severity, group, code) = match answer {
            Answer::Accepted if question.id.asks == QuestionKind::MayDelete => {
                let code = NoteCode::OnlyReviewed { resource: resource.clone() };
                (Severity::Info, ("reviewed", resource), code)
            }
            Answer::Accepted => continue,
            Answer::Forbidden { said } if question.id.asks == QuestionKind::MaySuspend => {
                let code =
                    NoteCode::MayNotSuspend { resource: resource.clone(), said: said.clone() };
                (Severity::Refusal, ("may not suspend", resource), code)
            }
            Answer::Forbidden { said } => {
                let code =
                    NoteCode::MayNotDelete { resource: resource.clone(), said: said.clone() };
                (Severity::Refusal, ("forbidden", resource), code)
            }
            Answer::Denied { webhook, said } => {
                let code = NoteCode::Denied { webhook: webhook.clone(), said: said.clone() };
                let group = webhook.clone().unwrap_or_else(|| format!("{said:?}"));
                (Severity::Refusal, ("denied", group), code)
            }
            Answer::WebhookFails { webhook, .. } if is_known_down(webhook, &question.object) => {
                continue;
            }
            Answer::WebhookFails { webhook, said } => {
                let code = NoteCode::WebhookFails { webhook: webhook.clone(), said: said.clone() };
                (Severity::Refusal, ("fails", webhook.clone()), code)
            }
            Answer::NoDryRun { said } => {
                let code = NoteCode::NoDryRun { said: said.clone() };
                (Severity::Info, ("no dry run", format!("{said:?}")), code)
            }
            Answer::Old => (Severity::Warning, ("old", String::new()), NoteCode::PlanIsOld),
            Answer::Refused { said } => {
                let code = NoteCode::Refused { said: said.clone() };
                (Severity::Refusal, ("refused", resource), code)
            }
            Answer::Unknown { said } => {
                let code = NoteCode::NoAnswer { said: said.clone() };
                (Severity::Warning, ("unknown", resource), code)
            }
        };
        let code = first.entry(group).or_insert(code).clone();
        notes.add(severity, code, question.object.clone());
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
