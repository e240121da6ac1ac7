//! What an answer proves. Where it proves nothing it says so: "gone" is never concluded from a code alone.

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

/// The outcome of a request that was not fulfilled; `about` is the object it was for, if it was for one.
///
/// Reasons and codes as in `k8s.io/apimachinery/pkg/api/errors`.
pub(super) fn of_answer(answer: &Answer, about: Option<(&Kind, &ObjectRef)>) -> Outcome {
    let message = answer.message();
    let status = Status::read(&answer.body);
    if status.as_ref().is_some_and(Status::is_denial) {
        // A webhook chooses its code freely; even its 404 or 409 only says that it denied the request.
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
            // The object changed while it was being deleted, or its storage was busy: the same call may succeed.
            None => Outcome::Unanswered { message, after: None },
        },
        429 => Outcome::Throttled { after },
        // 410: a page of a list has expired; asked anew it succeeds.
        408 | 410 | 500.. => Outcome::Unanswered { message, after },
        400 | 402 | 403 | 405..=499 => Outcome::Refused { code: answer.code, message },
        // 401, and whatever is no answer of an API server: a proxy's redirect.
        _ => Outcome::Unknown { message },
    }
}

/// The outcome of a request without an answer.
pub(super) fn of_failure(failure: &Failure) -> Outcome {
    let message = failure.into();
    match failure {
        // It never left.
        Failure::Credentials => Outcome::Unknown { message },
        Failure::Silence(_) | Failure::Connection(_) | Failure::TooLarge => {
            Outcome::Unanswered { message, after: None }
        }
    }
}

/// An answer that is no JSON, or not of the shape asked for.
pub(super) fn unreadable(error: &serde_json::Error) -> Outcome {
    Outcome::Unknown { message: ProblemCode::Unreadable { why: chain(error) }.into() }
}

/// The outcome in a word; the only part of it that is logged.
pub(super) fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::NotFound => "not found",
        Outcome::OtherUid { .. } => "other uid",
        Outcome::Present { .. } => "present",
        Outcome::Refused { .. } => "refused",
        Outcome::Throttled { .. } => "throttled",
        Outcome::Unanswered { .. } => "unanswered",
        Outcome::Unknown { .. } => "cannot tell",
        Outcome::Pods(_) => "pods",
        Outcome::Recalled => "recalled",
    }
}

/// Whether a 404 is about this very object: it names it, and its resource. Where the kind as a whole is not served
/// there is no Status, or one without a name.
fn is_about(status: &Status, kind: &Kind, object: &ObjectRef) -> bool {
    status.reason == "NotFound"
        && status
            .details
            .as_ref()
            .is_some_and(|details| *details.name == *object.name && *details.kind == *kind.plural)
}

/// The UID the object has now, if a precondition on the UID failed; `Some(None)` if it failed without saying so.
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

/// Whether it looks like a UID: those the API server makes are UUIDs of version 4.
fn is_uid(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
