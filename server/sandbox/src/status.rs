//! The API server's errors: a `Status` object with code, reason, message, details and causes, word for word as in
//! `k8s.io/apimachinery/pkg/api/errors`. Clients branch on these.

use serde_json::{Map, Value, json};

/// The message of every conflict of resource versions.
pub const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// A refusal of the API server.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    pub code: u16,
    /// Empty where Kubernetes sets none.
    pub reason: &'static str,
    pub message: String,
    pub details: Box<Details>,
}

/// The `details` of a refusal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    pub name: String,
    pub group: String,
    /// The resource; for an invalid object its kind.
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: Option<u32>,
    /// Whether the details are sent even if they are empty.
    pub shown: bool,
    /// The token with which an expired list continues.
    pub token: String,
}

/// A cause of a refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

impl Cause {
    /// A field with an invalid value.
    #[must_use]
    pub fn invalid(field: &str, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid".into(),
            message: format!("Invalid value: {value}: {why}"),
            field: field.into(),
        }
    }

    /// A required field.
    #[must_use]
    pub fn required(field: &str, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".into() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired".into(), message, field: field.into() }
    }

    /// A field of more than `limit` bytes.
    #[must_use]
    pub fn too_long(field: &str, limit: usize) -> Self {
        Self {
            reason: "FieldValueTooLong".into(),
            message: format!("Too long: may not be more than {limit} bytes"),
            field: field.into(),
        }
    }

    /// A field that may not be set or changed.
    #[must_use]
    pub fn forbidden(field: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueForbidden".into(),
            message: format!("Forbidden: {why}"),
            field: field.into(),
        }
    }

    /// A field that must have one of a few values.
    #[must_use]
    pub fn not_supported(field: &str, value: &Value, words: &[&str]) -> Self {
        let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
        Self {
            reason: "FieldValueNotSupported".into(),
            message: format!("Unsupported value: {value}: supported values: {}", words.join(", ")),
            field: field.into(),
        }
    }
}

/// A resource with its group, as messages name it: `deployments.apps`.
#[must_use]
pub fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.into() } else { format!("{resource}.{group}") }
}

impl Status {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, details: Box::default() }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        self.details.group = group.into();
        self.details.kind = kind.into();
        self.details.name = name.into();
        self
    }

    /// This refusal with another code and reason.
    #[must_use]
    pub fn instead(mut self, code: u16, reason: &'static str) -> Self {
        (self.code, self.reason) = (code, reason);
        self
    }

    /// This refusal with one more cause.
    #[must_use]
    pub fn because(mut self, cause: Cause) -> Self {
        self.details.causes.push(cause);
        self
    }

    #[must_use]
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(group, resource));
        Self::new(404, "NotFound", message).about(group, resource, name)
    }

    #[must_use]
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(group, resource));
        Self::new(409, "AlreadyExists", message).about(group, resource, name)
    }

    /// A generated name that was taken: the client may try again.
    #[must_use]
    pub fn generated_name_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!(
            "{} {name:?} already exists, the server was not able to generate a unique name for the object",
            qualified(group, resource)
        );
        let mut status = Self::new(409, "AlreadyExists", message).about(group, resource, name);
        status.details.retry_after_seconds = Some(1);
        status
    }

    /// A conflict; `why` is [`MODIFIED`] or a failed precondition.
    #[must_use]
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(group, resource);
        let message = format!("Operation cannot be fulfilled on {what} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(group, resource, name)
    }

    /// A server-side apply that would take fields from other managers.
    #[must_use]
    pub fn apply_conflict(causes: Vec<Cause>, message: String) -> Self {
        let mut status = Self::new(409, "Conflict", message);
        status.details.causes = causes;
        status
    }

    #[must_use]
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(group, resource);
        let message = match (resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{what} is forbidden: {why}"),
            _ => format!("{what} {name:?} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized".into())
    }

    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message.into())
    }

    /// 422 with its causes. A cause without a field is the message itself.
    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let mut said: Vec<String> = vec![];
        for cause in &causes {
            let text = match cause.field.as_str() {
                "" => cause.message.clone(),
                field => format!("{field}: {}", cause.message),
            };
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let what = qualified(group, kind);
        let why = if let [one] = said.as_slice() {
            one.clone()
        } else {
            format!("[{}]", said.join(", "))
        };
        let message = format!("{what} {name:?} is invalid: {why}");
        let mut status = Self::new(422, "Invalid", message).about(group, kind, name);
        status.details.causes = causes;
        status
    }

    #[must_use]
    pub fn method_not_allowed(group: &str, resource: &str, verb: &str) -> Self {
        let what = qualified(group, resource);
        let message = format!("{verb} is not supported on resources of kind {what:?}");
        Self::new(405, "MethodNotAllowed", message).about(group, resource, "")
    }

    /// 410: a resource version or continue token that is too old.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message.into())
    }

    /// A `Status` as `NewGenericServerResponse` builds it: with empty details.
    fn generic(code: u16, reason: &'static str, message: &str) -> Self {
        let mut status = Self::new(code, reason, message.into());
        status.details.shown = true;
        status
    }

    /// 404 for a resource that a group version does not have.
    #[must_use]
    pub fn unknown_resource() -> Self {
        Self::generic(404, "NotFound", "the server could not find the requested resource")
    }

    /// 405 for a method that a path does not support.
    #[must_use]
    pub fn method_refused() -> Self {
        Self::generic(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// 415 for an unknown type of patch.
    #[must_use]
    pub fn unsupported_patch() -> Self {
        Self::generic(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }

    /// 422 for a patch whose operations do not fit the object.
    #[must_use]
    pub fn unfit() -> Self {
        Self::generic(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
    }

    /// 410 for a continue token; `token` continues from there with the current objects.
    #[must_use]
    pub fn expired_continue(token: String) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a \
            new list without the continue parameter, or use the continue token in this response to retrieve the \
            remainder of the results. Continuing with the provided token results in an inconsistent list - objects that \
            were created, modified, or deleted between the time the first chunk was returned and now may show up in the \
            list.";
        let mut status = Self::expired(message);
        status.details.token = token;
        status
    }

    /// 504 for a resource version in the future.
    #[must_use]
    pub fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut status = Self::new(504, "Timeout", message).because(Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        });
        status.details.retry_after_seconds = Some(1);
        status
    }

    #[must_use]
    pub fn timeout(message: &str) -> Self {
        Self::new(504, "Timeout", format!("Timeout: {message}"))
    }

    /// 429; 0 gives no Retry-After header.
    #[must_use]
    pub fn too_many_requests(message: &str, retry_after_seconds: u32) -> Self {
        let mut status = Self::new(429, "TooManyRequests", message.into());
        status.details.retry_after_seconds =
            (retry_after_seconds > 0).then_some(retry_after_seconds);
        status
    }

    #[must_use]
    pub fn internal(why: &str) -> Self {
        let cause = Cause { reason: String::new(), message: why.into(), field: String::new() };
        Self::new(500, "InternalError", format!("Internal error occurred: {why}")).because(cause)
    }

    /// 500 without a reason, as where Kubernetes builds its `Status` by hand.
    #[must_use]
    pub fn plain(code: u16, message: &str) -> Self {
        Self::new(code, "", message.into())
    }

    #[must_use]
    pub fn unavailable(message: &str) -> Self {
        Self::new(503, "ServiceUnavailable", message.into())
    }

    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        Self::entity_too_large(format!("Request entity too large: limit is {limit}"))
    }

    #[must_use]
    pub fn entity_too_large(message: String) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    #[must_use]
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    #[must_use]
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message =
            format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::new(406, "NotAcceptable", message)
    }

    #[must_use]
    pub fn not_acceptable_as(message: &str) -> Self {
        Self::new(406, "NotAcceptable", message.into())
    }

    /// 406 from the filters before the handlers.
    #[must_use]
    pub fn not_representable(available: &[&str]) -> Self {
        let message =
            format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", "));
        Self::new(406, "NotAcceptable", message)
    }

    /// Whether it is a 404.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether it is a 409 for a resource version or a precondition, not for a name.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.reason == "Conflict"
    }

    /// The `Status` object.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut details = Map::new();
        let Details { name, group, kind, uid, causes, retry_after_seconds, shown, token } =
            &*self.details;
        for (field, value) in [("name", name), ("group", group), ("kind", kind), ("uid", uid)] {
            if !value.is_empty() {
                details.insert(field.into(), json!(value));
            }
        }
        if !causes.is_empty() {
            let causes = causes.iter().map(|Cause { reason, message, field }| {
                let mut cause = Map::new();
                for (name, value) in [("reason", reason), ("message", message), ("field", field)] {
                    if !value.is_empty() {
                        cause.insert(name.into(), json!(value));
                    }
                }
                Value::Object(cause)
            });
            details.insert("causes".into(), causes.collect());
        }
        if let Some(seconds) = retry_after_seconds {
            details.insert("retryAfterSeconds".into(), json!(seconds));
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !token.is_empty() {
            status["metadata"]["continue"] = json!(token);
        }
        if *shown || !details.is_empty() {
            status["details"] = Value::Object(details);
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_the_real_ones() {
        let said = |status: Status| status.message;
        assert_eq!(
            said(Status::not_found("apps", "deployments", "web")),
            r#"deployments.apps "web" not found"#
        );
        assert_eq!(
            said(Status::conflict("", "Pod", "a", "no")),
            r#"Operation cannot be fulfilled on Pod "a": no"#
        );
        let causes = vec![
            Cause::required("metadata.name", "name or generateName is required"),
            Cause::invalid("spec.x", &json!("y"), "must be z"),
        ];
        assert_eq!(
            said(Status::invalid("apps", "Deployment", "web", causes)),
            "Deployment.apps \"web\" is invalid: [metadata.name: Required value: name or generateName is required, \
             spec.x: Invalid value: \"y\": must be z]"
        );
        assert_eq!(said(Status::forbidden("", "pods", "", "no")), "pods is forbidden: no");
    }
}
