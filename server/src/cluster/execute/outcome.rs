//! Translates answers of the API server to outcomes. An answer that proves nothing becomes `Unknown` or `Unanswered`; a
//! code alone never means that an object is gone.

use std::time::Duration;

use teardown::{
    action::Outcome,
    api_problem::ProblemCode,
    object::{Kind, ObjectRef, Uid},
};

use super::to_signed;
use crate::cluster::{
    request::{Answer, Failure},
    status::Status,
    text::chain,
};

/// The outcome of a failed request. `about` is the object of the request, unless it was for a list.
///
/// Reasons and codes as in `k8s.io/apimachinery/pkg/api/errors`.
pub(in crate::cluster) fn of_answer(
    answer: &Answer,
    about: Option<(&Kind, &ObjectRef)>,
) -> Outcome {
    let message = answer.message();
    let status = Status::read(&answer.body);
    if status.as_ref().is_some_and(|status| status.is_denial() || status.is_webhook_failure()) {
        // A webhook chooses its code freely. Even 404 or 409 only means that it denied the request. One that cannot be asked
        // refuses with 500, until it is repaired.
        return Outcome::Refused { code: answer.code, message };
    }
    let after = || {
        let said = status.as_ref()?.details.as_ref()?.retry_after_seconds;
        (said > 0).then(|| Duration::from_secs(said.into()))
    };
    let after = answer.retry_after.or_else(after).and_then(to_signed);
    match answer.code {
        404 => match (status, about) {
            (Some(status), Some((kind, object))) if is_about(&status, kind, object) => {
                Outcome::NotFound
            }
            _ => Outcome::Unknown { message },
        },
        409 => match status.as_ref().and_then(|status| other_uid(&status.message)) {
            Some(uid) => Outcome::OtherUid { uid },
            None => match status {
                Some(status) if is_about_version(&status.message) => Outcome::Changed { message },
                Some(status) if !status.is_passing_conflict() => {
                    Outcome::Refused { code: answer.code, message }
                }
                _ => Outcome::Unanswered { message, after: None },
            },
        },
        429 => Outcome::Throttled { after },
        // 410 means that a page of a list has expired; a new list succeeds.
        408 | 410 | 500.. => Outcome::Unanswered { message, after },
        400 | 402 | 403 | 405..=499 => Outcome::Refused { code: answer.code, message },
        // 401, and answers that are not from an API server, such as a proxy's redirect.
        _ => Outcome::Unknown { message },
    }
}

/// The outcome of a JSON patch that failed. A failed `test` says that the object is another one or has changed, so that the next
/// look decides anew. A policy may refuse with the same code.
pub(in crate::cluster) fn of_patch_answer(
    answer: &Answer,
    kind: &Kind,
    object: &ObjectRef,
) -> Outcome {
    if Status::read(&answer.body).is_some_and(|status| status.is_unfit_patch()) {
        return Outcome::Changed { message: answer.message() };
    }
    of_answer(answer, Some((kind, object)))
}

/// The outcome of a request without an answer.
pub(in crate::cluster) fn of_failure(failure: &Failure) -> Outcome {
    let message = failure.into();
    match failure {
        // The request was never sent.
        Failure::Credentials => Outcome::Unknown { message },
        Failure::Silence(_) | Failure::Connection(_) | Failure::TooLarge => {
            Outcome::Unanswered { message, after: None }
        }
    }
}

/// The outcome of an answer that is not JSON, or not of the requested shape.
pub(super) fn unreadable(error: &serde_json::Error) -> Outcome {
    Outcome::Unknown { message: ProblemCode::Unreadable { why: chain(error) }.into() }
}

/// The name of the outcome; no other part of it is logged.
pub(super) fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::Suspended => "suspended",
        Outcome::NotFound => "not found",
        Outcome::OtherUid { .. } => "other uid",
        Outcome::Present { .. } => "present",
        Outcome::Claim { .. } => "claim",
        Outcome::Refused { .. } => "refused",
        Outcome::Throttled { .. } => "throttled",
        Outcome::Unanswered { .. } => "unanswered",
        Outcome::Changed { .. } => "changed",
        Outcome::Unknown { .. } => "unknown",
        Outcome::Pods(_) => "pods",
        Outcome::Content { .. } => "content",
        Outcome::Unlisted { .. } => "unlisted",
        Outcome::Recalled => "recalled",
    }
}

/// Whether a 404 names this object and its resource. If the whole kind is not served, the answer has no Status, or one
/// without a name.
fn is_about(status: &Status, kind: &Kind, object: &ObjectRef) -> bool {
    status.reason == "NotFound"
        && status
            .details
            .as_ref()
            .is_some_and(|details| *details.name == *object.name && *details.kind == *kind.plural)
}

/// The UID that the object has now, if a precondition on the UID failed; `Some(None)` if the message does not name it.
///
/// The two sentences are those of `rest.BeforeDelete` (`k8s.io/apiserver/pkg/registry/rest/delete.go`) and of
/// `Preconditions.Check` (`…/pkg/storage/interfaces.go`).
fn other_uid(message: &str) -> Option<Option<Uid>> {
    for (mark, before, after) in [
        ("the UID in the precondition", "does not match the UID in record (", ')'),
        ("UID in precondition:", "UID in object meta: ", ' '),
    ] {
        let Some((_, rest)) = message.split_once(mark) else { continue };
        let uid = rest
            .split_once(before)
            .map(|(_, rest)| rest.split(after).next().unwrap_or_default().trim());
        return Some(uid.filter(|uid| is_uid(uid)).map(Uid::new));
    }
    None
}

/// Whether a precondition on the version failed, in the sentences of the same two places.
fn is_about_version(message: &str) -> bool {
    ["the ResourceVersion in the precondition", "ResourceVersion in precondition:"]
        .iter()
        .any(|mark| message.contains(mark))
}

/// Whether the text looks like a UID. The API server's UIDs are UUIDs of version 4.
fn is_uid(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
