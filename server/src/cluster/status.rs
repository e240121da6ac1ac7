//! The fields of `metav1.Status` that decide what an answer means.

use serde::Deserialize;
use teardown::api_problem::{ApiProblem, ProblemCode};

use super::text::bounded;

/// The API server's answer to a request that failed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    /// `Status`, if the body is one.
    pub(super) kind: String,
    /// The message for people; not bounded yet.
    pub(super) message: String,
    /// The reason for programs, such as `NotFound`.
    pub(super) reason: String,
    /// The HTTP status code; an ERROR event of a watch is judged by it.
    pub(super) code: u16,
    /// The object that the request was about.
    pub(super) details: Option<Details>,
}

/// `metav1.StatusDetails`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Details {
    /// The object's name; empty if the kind as a whole is not served.
    pub(super) name: String,
    /// The resource, such as `pods`.
    pub(super) kind: String,
    /// Seconds to wait, on 429 and some 5xx.
    pub(super) retry_after_seconds: u32,
}

impl Status {
    /// Reads the Status in a body; `None` if the body is something else, such as a proxy's HTML page.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(body).ok().filter(|status| status.kind == "Status")
    }

    /// Whether it is about a Node.
    pub(super) fn is_of_node(&self) -> bool {
        self.details.as_ref().is_some_and(|details| details.kind == "nodes")
    }

    /// Whether an admission webhook or policy denied the request. Its code says nothing about the object.
    /// The prefixes are fixed in `k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go` and in
    /// `…/plugin/policy/validating/plugin.go`.
    pub(super) fn is_denial(&self) -> bool {
        self.message.starts_with("admission webhook ")
            || self.message.contains("ValidatingAdmissionPolicy '")
    }

    /// Whether a webhook with `failurePolicy: Fail` could not be asked, so that the request had no effect. The text is that
    /// of `ErrCallingWebhook` (`k8s.io/apiserver/pkg/util/webhook/error.go`) in `errors.NewInternalError`.
    pub(super) fn is_webhook_failure(&self) -> bool {
        self.message.starts_with("Internal error occurred: failed calling webhook ")
    }

    /// Whether a JSON patch could not be applied: one of its `test` operations failed, or a path of it does not exist. The text is that
    /// of `NewGenericServerResponse` (`k8s.io/apimachinery/pkg/api/errors/errors.go`), which
    /// `k8s.io/apiserver/pkg/endpoints/handlers/patch.go` uses for it. An object that is invalid afterwards is named instead.
    pub(super) fn is_unfit_patch(&self) -> bool {
        self.message == "the server rejected our request due to an error in our request"
    }

    /// Whether the request met another write of the object, or the object's deletion that has begun already: the reasons for
    /// a 409 that the same request may not meet again.
    pub(super) fn is_passing_conflict(&self) -> bool {
        ["the object has been modified", "The system is ensuring all content is removed"]
            .iter()
            .any(|mark| self.message.contains(mark))
    }
}

/// The message of an answer: the Status' message, else the start of the body, else only the code.
pub(super) fn message(code: u16, body: &[u8]) -> ApiProblem {
    let text = match Status::read(body) {
        Some(status) if !status.message.is_empty() => bounded(&status.message),
        // A body that is not a Status can be long; one line of it is enough to recognise a proxy.
        _ => bounded(&String::from_utf8_lossy(&body[..body.len().min(2_048)])),
    };
    if text.is_empty() { ProblemCode::Status { code, said: text }.into() } else { text.into() }
}
