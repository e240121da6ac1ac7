//! Scripted answers of admission and conversion webhooks.

use serde_json::Value;

/// The scripted answer of a webhook. A webhook without a script allows everything as long as its Service has an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// Allows the request, even if the webhook's Service has no endpoint.
    Allow,
    /// Allows the request and changes the object by a JSON patch.
    Patch(Value),
    /// Refuses the request.
    Deny {
        /// The HTTP status that the webhook asks for; the API server replaces one below 400 with 400.
        code: u16,
        /// The webhook's reason, which the API server quotes.
        message: String,
    },
    /// The call to the webhook fails with this error, for example `context deadline exceeded`.
    Fail(String),
}
