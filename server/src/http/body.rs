//! The JSON body of a request.

use std::time::Duration;

use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
};
use http::StatusCode;
use serde::de::DeserializeOwned;

use super::Failure;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest part of a parser's complaint that is told.
const COMPLAINT_CHARS: usize = 300;

/// A body of the shape `T`, refused in the words of [`Failure`].
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        match tokio::time::timeout(PATIENCE, Json::<T>::from_request(request, state)).await {
            Ok(Ok(Json(it))) => Ok(Self(it)),
            Ok(Err(rejection)) => Err(failure(&rejection)),
            Err(_) => Err(Failure::TooSlow),
        }
    }
}

fn failure(rejection: &JsonRejection) -> Failure {
    let problem = || rejection.body_text().chars().take(COMPLAINT_CHARS).collect();
    match rejection {
        JsonRejection::JsonSyntaxError(_) => Failure::Syntax(problem()),
        JsonRejection::JsonDataError(_) => Failure::Shape(problem()),
        JsonRejection::MissingJsonContentType(_) => Failure::NotJson,
        rejection if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Failure::TooLarge,
        _ => Failure::Syntax(problem()),
    }
}
