//! `metav1.Status`, as much of it as an answer is judged by.

use serde::Deserialize;
use teardown::api_problem::{ApiProblem, ProblemCode};

use super::text::bounded;

/// What the API server says of a request that it did not fulfil.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    /// `Status`, where it is one.
    pub(super) kind: String,
    /// In words; not bounded yet.
    pub(super) message: String,
    /// In one word, such as `NotFound`.
    pub(super) reason: String,
    /// HTTP status code; what a watch's ERROR event goes by.
    pub(super) code: u16,
    /// About which object.
    pub(super) details: Option<Details>,
}

/// `metav1.StatusDetails`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Details {
    /// The object's name; absent where the kind as a whole is not served.
    pub(super) name: String,
    /// The resource, such as `pods`.
    pub(super) kind: String,
    /// Seconds to wait, on 429 and some 5xx.
    pub(super) retry_after_seconds: u32,
}

impl Status {
    /// The Status in a body; none where it is something else, such as a proxy's HTML page.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(body).ok().filter(|status| status.kind == "Status")
    }

    /// Whether the answer is an admission webhook's or policy's own word, whose code says nothing of the object.
    /// The prefixes are fixed in `k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go` and in
    /// `…/plugin/policy/validating/plugin.go`.
    pub(super) fn is_denial(&self) -> bool {
        self.message.starts_with("admission webhook ")
            || self.message.contains("ValidatingAdmissionPolicy '")
    }
}

/// What an answer said: the Status' message, else the body's beginning, else that it said nothing.
pub(super) fn message(code: u16, body: &[u8]) -> ApiProblem {
    let text = match Status::read(body) {
        Some(status) if !status.message.is_empty() => bounded(&status.message),
        // A body that is no Status can be long; a line of it is enough to recognise a proxy by.
        _ => bounded(&String::from_utf8_lossy(&body[..body.len().min(2_048)])),
    };
    if text.is_empty() { ProblemCode::Status { code, said: text }.into() } else { text.into() }
}
