//! The error type of the HTTP API. Every error has a stable code and one status, and says what happened, what it means
//! and what to do.

mod refusal;

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::{
        Request,
        rejection::{PathRejection, QueryRejection},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use teardown::{diagnosis::PasteProblem, plan::PlanError, remedy::RemedyRefusal, right::Right};

use self::refusal::Words;
use super::{plain, trace::RequestId};
use crate::hub::{HubClosed, Refusal};

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The hub refused the command.
    Refused(Refusal),
    /// The process is shutting down.
    ShuttingDown,

    /// The limit of open connections is reached.
    TooManyConnections,

    /// The request names another host, perhaps another site's name that resolves to this machine.
    WrongHost,
    /// The request comes from another site's page.
    ForeignOrigin,
    /// The request has no valid session.
    NotSignedIn,
    /// The session has not the right that the request needs.
    NotAllowed(Right),
    /// The link does not exist, or is not the session's to take back.
    UnknownLink,
    /// The link's token is unknown, used or expired.
    WrongToken,
    /// Too many wrong tokens.
    TooManyAttempts {
        /// The time until the next token may be tried.
        after: Duration,
    },

    /// The path does not exist.
    UnknownPath,
    /// The path exists, but not for this method.
    WrongMethod,
    /// The address is too long.
    LongAddress,
    /// A part of the path or of the query is malformed.
    Malformed(String),
    /// The write has no `Content-Type: application/json`.
    NotJson,
    /// The body is not JSON.
    Syntax(String),
    /// The body is JSON of another shape.
    Shape(String),
    /// The body is too large.
    TooLarge,
    /// A text that a person pasted is not read.
    Pasted(PasteProblem),
    /// The body did not arrive in time.
    TooSlow,

    /// A handler panicked.
    Internal,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<HubClosed> for Failure {
    fn from(HubClosed: HubClosed) -> Self {
        Self::ShuttingDown
    }
}

impl From<PasteProblem> for Failure {
    fn from(problem: PasteProblem) -> Self {
        Self::Pasted(problem)
    }
}

impl From<PathRejection> for Failure {
    fn from(rejection: PathRejection) -> Self {
        Self::Malformed(rejection.body_text())
    }
}

impl From<QueryRejection> for Failure {
    fn from(rejection: QueryRejection) -> Self {
        Self::Malformed(rejection.body_text())
    }
}

impl Failure {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.describe().1
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.describe().0
    }

    /// The status, the code and the text.
    fn describe(&self) -> (StatusCode, &'static str, Words) {
        use StatusCode as S;
        match self {
            Self::Refused(refusal) => describe(refusal),
            Self::ShuttingDown => (S::SERVICE_UNAVAILABLE, "shuttingDown", refusal::SHUTTING_DOWN),
            Self::TooManyConnections => {
                (S::SERVICE_UNAVAILABLE, "tooManyConnections", refusal::TOO_MANY_CONNECTIONS)
            }
            Self::WrongHost => (S::MISDIRECTED_REQUEST, "wrongHost", refusal::WRONG_HOST),
            Self::ForeignOrigin => (S::FORBIDDEN, "foreignOrigin", refusal::FOREIGN_ORIGIN),
            Self::NotSignedIn => (S::UNAUTHORIZED, "notSignedIn", refusal::NOT_SIGNED_IN),
            Self::NotAllowed(_) => (S::FORBIDDEN, "notAllowed", refusal::NOT_ALLOWED),
            Self::UnknownLink => (S::NOT_FOUND, "unknownLink", refusal::UNKNOWN_LINK),
            Self::WrongToken => (S::UNAUTHORIZED, "wrongToken", refusal::WRONG_TOKEN),
            Self::TooManyAttempts { .. } => {
                (S::TOO_MANY_REQUESTS, "tooManyAttempts", refusal::TOO_MANY_ATTEMPTS)
            }
            Self::UnknownPath => (S::NOT_FOUND, "unknownPath", refusal::UNKNOWN_PATH),
            Self::WrongMethod => (S::METHOD_NOT_ALLOWED, "wrongMethod", refusal::WRONG_METHOD),
            Self::LongAddress => (S::URI_TOO_LONG, "longAddress", refusal::LONG_ADDRESS),
            Self::Malformed(problem) => (S::BAD_REQUEST, "malformed", refusal::malformed(problem)),
            Self::NotJson => (S::UNSUPPORTED_MEDIA_TYPE, "notJson", refusal::NOT_JSON),
            Self::Syntax(problem) => (S::BAD_REQUEST, "syntax", refusal::syntax(problem)),
            Self::Shape(problem) => (S::UNPROCESSABLE_ENTITY, "shape", refusal::shape(problem)),
            Self::TooLarge => {
                (S::PAYLOAD_TOO_LARGE, "tooLarge", refusal::too_large(super::BODY_LIMIT / 1024))
            }
            Self::Pasted(PasteProblem::TooLong) => {
                (S::PAYLOAD_TOO_LARGE, "longPaste", refusal::LONG_PASTE)
            }
            Self::Pasted(PasteProblem::CutList) => {
                (S::UNPROCESSABLE_ENTITY, "cutList", refusal::CUT_LIST)
            }
            Self::Pasted(PasteProblem::OtherList) => {
                (S::UNPROCESSABLE_ENTITY, "otherList", refusal::OTHER_LIST)
            }
            Self::Pasted(PasteProblem::OtherMetrics) => {
                (S::UNPROCESSABLE_ENTITY, "otherMetrics", refusal::OTHER_METRICS)
            }
            Self::TooSlow => (S::REQUEST_TIMEOUT, "tooSlow", refusal::TOO_SLOW),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", refusal::INTERNAL),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyAttempts { after } => Some(*after),
            Self::ShuttingDown | Self::TooManyConnections | Self::Refused(Refusal::NotReady) => {
                Some(Duration::from_secs(2))
            }
            _ => None,
        }
    }

    /// The JSON that the API answers with.
    fn json(&self, request: &str) -> Value {
        let (_, code, Words { what, means, advice }) = self.describe();
        let mut error = Map::new();
        error.insert("code".into(), code.into());
        error.insert("what".into(), what.into());
        error.insert("means".into(), means.into());
        error.insert("do".into(), advice.into());
        match self {
            Self::Refused(Refusal::Stale(differences)) => {
                error.insert("differences".into(), json!(differences));
            }
            Self::Refused(Refusal::Unplannable(PlanError::Cycle { path })) => {
                error.insert("path".into(), json!(path));
            }
            Self::Refused(Refusal::Unplannable(PlanError::UnknownChoice { choice })) => {
                error.insert("choice".into(), json!(choice));
            }
            Self::Refused(Refusal::Overlap { run, object }) => {
                error.insert("run".into(), json!(run));
                error.insert("object".into(), json!(object));
            }
            Self::Refused(Refusal::SetAside { run, object }) => {
                error.insert("run".into(), json!(run));
                error.insert("object".into(), json!(object));
            }
            Self::Refused(Refusal::Unconfirmed(missing)) => {
                error.extend(json!(missing).as_object().cloned().unwrap_or_default());
            }
            Self::NotAllowed(needed) => {
                error.insert("needs".into(), json!(needed));
            }
            _ => {}
        }
        error.insert("request".into(), request.into());
        json!({ "error": error })
    }
}

fn describe(refusal: &Refusal) -> (StatusCode, &'static str, Words) {
    use StatusCode as S;
    match refusal {
        Refusal::UnknownUnit(unit) => (S::NOT_FOUND, "unknownUnit", refusal::unknown_unit(unit)),
        Refusal::UnknownPlan(plan) => (S::NOT_FOUND, "unknownPlan", refusal::unknown_plan(plan)),
        Refusal::UnknownRun(run) => (S::NOT_FOUND, "unknownRun", refusal::unknown_run(run)),
        Refusal::UnknownDiagnosis(_) => {
            (S::NOT_FOUND, "unknownDiagnosis", refusal::UNKNOWN_DIAGNOSIS)
        }
        Refusal::UnknownStep(step) => (S::NOT_FOUND, "unknownStep", refusal::unknown_step(step)),
        Refusal::NotReady => (S::SERVICE_UNAVAILABLE, "notReady", refusal::NOT_READY),
        Refusal::Unplannable(PlanError::Empty) => {
            (S::UNPROCESSABLE_ENTITY, "emptyPlan", refusal::EMPTY_PLAN)
        }
        Refusal::Unplannable(PlanError::Cycle { path }) => {
            (S::UNPROCESSABLE_ENTITY, "cyclicPlan", refusal::cyclic_plan(path))
        }
        Refusal::Unplannable(PlanError::DeletesClaims { object, mark }) => {
            (S::UNPROCESSABLE_ENTITY, "deletesClaims", refusal::deletes_claims(object, mark))
        }
        Refusal::Unplannable(PlanError::UnknownChoice { choice }) => {
            (S::UNPROCESSABLE_ENTITY, "unknownChoice", refusal::unknown_choice(choice))
        }
        Refusal::Stale(_) => (S::CONFLICT, "stalePlan", refusal::STALE_PLAN),
        Refusal::WrongHash => (S::CONFLICT, "wrongHash", refusal::WRONG_HASH),
        Refusal::WrongName => (S::UNPROCESSABLE_ENTITY, "wrongName", refusal::WRONG_NAME),
        Refusal::Unconfirmed(missing) => {
            (S::UNPROCESSABLE_ENTITY, "unconfirmed", refusal::unconfirmed(missing))
        }
        Refusal::PodsHidden(reason) => (S::CONFLICT, "podsHidden", refusal::pods_hidden(reason)),
        Refusal::Overlap { run, object } => (S::CONFLICT, "overlap", refusal::overlap(run, object)),
        Refusal::SetAside { run, object } => {
            (S::CONFLICT, "setAside", refusal::set_aside(run, object.as_ref()))
        }
        Refusal::NotStopped => (S::CONFLICT, "notStopped", refusal::NOT_STOPPED),
        Refusal::Ended => (S::CONFLICT, "runEnded", refusal::RUN_ENDED),
        Refusal::TooLate(step) => (S::CONFLICT, "tooLate", refusal::too_late(step)),
        Refusal::NothingToTakeOn(step) => {
            (S::CONFLICT, "nothingToTakeOn", refusal::nothing_to_take_on(step))
        }
        Refusal::OtherPods(step) => (S::CONFLICT, "otherPods", refusal::other_pods(step)),
        Refusal::WrongObjectName => {
            (S::UNPROCESSABLE_ENTITY, "wrongObjectName", refusal::WRONG_OBJECT_NAME)
        }
        Refusal::Remedy(why) => {
            let status = match why {
                RemedyRefusal::WrongName
                | RemedyRefusal::NoStatement
                | RemedyRefusal::OtherMachine(_)
                | RemedyRefusal::ByHand => S::UNPROCESSABLE_ENTITY,
                RemedyRefusal::MayNot(_) => S::FORBIDDEN,
                RemedyRefusal::Changed
                | RemedyRefusal::Withheld(_)
                | RemedyRefusal::NeedFails(_)
                | RemedyRefusal::Busy => S::CONFLICT,
            };
            (status, remedy_code(why), refusal::remedy(why))
        }
        Refusal::RemediesOff => (S::FORBIDDEN, "remediesOff", refusal::REMEDIES_OFF),
        Refusal::UnknownAttempt(id) => {
            (S::NOT_FOUND, "unknownRemedy", refusal::unknown_attempt(id))
        }
        Refusal::NothingToUndo => (S::CONFLICT, "nothingToUndo", refusal::NOTHING_TO_UNDO),
        Refusal::Journal(why) => {
            (S::SERVICE_UNAVAILABLE, "journalUnwritable", refusal::journal_unwritable(why))
        }
    }
}

fn remedy_code(why: &RemedyRefusal) -> &'static str {
    match why {
        RemedyRefusal::Changed => "remedyChanged",
        RemedyRefusal::ByHand => "byHand",
        RemedyRefusal::Withheld(_) => "withheld",
        RemedyRefusal::NeedFails(_) => "needFails",
        RemedyRefusal::MayNot(_) => "clusterForbids",
        RemedyRefusal::WrongName => "wrongTarget",
        RemedyRefusal::NoStatement => "noStatement",
        RemedyRefusal::OtherMachine(_) => "otherMachine",
        RemedyRefusal::Busy => "remedyBusy",
    }
}

/// Sets the status and the headers. `render` writes the body, because it depends on the path.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        if let Some(after) = self.retry_after() {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
        }
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Writes the body of every failure: JSON under `/api`, a small page elsewhere.
pub(super) async fn render(request: Request, next: Next) -> Response {
    let api = request.uri().path() == "/api" || request.uri().path().starts_with("/api/");
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let mut response = next.run(request).await;
    let status = response.status();
    let failure = match response.extensions_mut().remove::<Arc<Failure>>() {
        Some(failure) => failure,
        // A layer or the file service refused the request without a body.
        None if bare(&response) => match status {
            StatusCode::NOT_FOUND => Arc::new(Failure::UnknownPath),
            StatusCode::METHOD_NOT_ALLOWED => Arc::new(Failure::WrongMethod),
            _ => return response,
        },
        None => return response,
    };
    let (status, refusal) = (status.as_u16(), failure.code());
    if *failure == Failure::Internal {
        tracing::error!(request.id = %id, response.status = status, refusal, "request {id} failed");
    } else {
        tracing::info!(request.id = %id, response.status = status, refusal, "refused {id}: {refusal}");
    }
    let (mut parts, _) = response.into_parts();
    let rendered = if api {
        Json(failure.json(&id.to_string())).into_response()
    } else if *failure == Failure::NotSignedIn {
        plain::sign_in_page().into_response()
    } else {
        let (.., Words { what, means, advice }) = failure.describe();
        plain::failure_page(app::text::LANGUAGE, &what, means, advice).into_response()
    };
    let (content, body) = rendered.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(content.headers);
    Response::from_parts(parts, body)
}

fn bare(response: &Response<Body>) -> bool {
    (response.status().is_client_error() || response.status().is_server_error())
        && !response.headers().contains_key(header::CONTENT_TYPE)
}

/// The fallback for unknown paths.
pub(super) async fn unknown_path() -> Failure {
    Failure::UnknownPath
}

/// The fallback for a known path with another method.
pub(super) async fn wrong_method() -> Failure {
    Failure::WrongMethod
}

/// The answer to a request whose handler panicked. The panic hook has logged the position.
pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Failure::Internal.into_response()
}

#[cfg(test)]
mod tests;
