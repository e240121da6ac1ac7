//! Asks the API server whether our credentials have a right: a SelfSubjectAccessReview, which changes nothing.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    fetched::{Permission, Review},
};

use super::{
    request::{self, ApiClient, Failure},
    text::bounded,
};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Sends the review.
pub(super) async fn ask(
    client: &ApiClient,
    permission: &Permission,
    deadline: Duration,
) -> Result<request::Answer, Failure> {
    let Permission { verb, group, version, resource, subresource, namespace, name } = permission;
    let mut attributes = json!({
        "verb": verb,
        "group": group,
        "version": version,
        "resource": resource,
        "namespace": namespace,
    });
    for (field, value) in [("subresource", subresource), ("name", name)] {
        if !value.is_empty() {
            attributes[field] = json!(value);
        }
    }
    let body = json!({
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": { "resourceAttributes": attributes },
    });
    let sent = request::with_body(Method::POST, REVIEWS, Some((request::JSON, &body)));
    request::ask(client, sent, deadline).await
}

/// Reads the answer to it. An authorizer that could not decide has not said no
/// (`SubjectAccessReviewStatus` in `staging/src/k8s.io/api/authorization/v1/types.go`).
pub(super) fn read(answer: &request::Answer) -> Result<Review, ApiProblem> {
    if !answer.is_success() {
        return Err(answer.message());
    }
    let AccessReview { status } = serde_json::from_slice(&answer.body)
        .map_err(|error| ProblemCode::Unreadable { why: bounded(&error.to_string()) })?;
    let Status { allowed, denied, reason, evaluation_error } = status;
    if !allowed && !denied && !evaluation_error.is_empty() {
        return Err(ApiProblem::Quoted(bounded(&evaluation_error)));
    }
    Ok(Review { allowed, said: bounded(&reason).into() })
}

#[derive(Deserialize)]
struct AccessReview {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    allowed: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    evaluation_error: String,
}
