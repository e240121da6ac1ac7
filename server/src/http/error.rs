//! The one error of this room: every refusal has a stable code, one status, and says what happened, what it means and
//! what to do.

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
use teardown::plan::PlanError;

use super::{plain, trace::RequestId};
use crate::hub::{HubClosed, Refusal};

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The hub says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The process ends.
    #[error("the server is shutting down")]
    ShuttingDown,

    /// The request names another host: perhaps another site's name that leads here.
    #[error("this server does not go by that name")]
    WrongHost,
    /// The request comes from another site's page.
    #[error("the request comes from another site")]
    ForeignOrigin,
    /// There is no session.
    #[error("you are not signed in")]
    NotSignedIn,
    /// The link's token is unknown, used or expired.
    #[error("the link is not valid, or was used before")]
    WrongToken,
    /// Too many wrong tokens.
    #[error("too many wrong links were tried")]
    TooManyAttempts {
        /// When the next may be tried.
        after: Duration,
    },

    /// Nothing is there.
    #[error("there is nothing at this address")]
    UnknownPath,
    /// Something is there, which answers other methods.
    #[error("this address does not answer that method")]
    WrongMethod,
    /// The address is too long.
    #[error("the address is too long")]
    LongAddress,
    /// A part of the address or of its query is not what it should be.
    #[error("{0}")]
    Malformed(String),
    /// A write without `Content-Type: application/json`.
    #[error("the body is not declared as JSON")]
    NotJson,
    /// The body is no JSON.
    #[error("{0}")]
    Syntax(String),
    /// The body is JSON of another shape.
    #[error("{0}")]
    Shape(String),
    /// The body is too long.
    #[error("the body is longer than {} KiB", super::BODY_LIMIT / 1024)]
    TooLarge,
    /// The body did not arrive in time.
    #[error("the body did not arrive in time")]
    TooSlow,

    /// The session has too many streams open.
    #[error("too many streams are open in this session")]
    TooManyStreams,
    /// A handler panicked.
    #[error("the server made a mistake")]
    Internal,
}

impl From<HubClosed> for Failure {
    fn from(HubClosed: HubClosed) -> Self {
        Self::ShuttingDown
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

/// How a failure is told.
struct Telling {
    status: StatusCode,
    code: &'static str,
    means: &'static str,
    advice: &'static str,
}

impl Failure {
    /// Its stable code.
    pub fn code(&self) -> &'static str {
        self.telling().code
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.telling().status
    }

    fn telling(&self) -> Telling {
        use StatusCode as S;
        let (status, code, means, advice) = match self {
            Self::Refused(refusal) => return told(refusal),
            Self::ShuttingDown => (
                S::SERVICE_UNAVAILABLE,
                "shuttingDown",
                "The process is ending; open runs go on from the journal at its next start.",
                "Come back when it has been started again; an open page does so by itself.",
            ),
            Self::WrongHost => (
                S::MISDIRECTED_REQUEST,
                "wrongHost",
                "A name that leads to this machine by a trick could make your browser act for somebody else.",
                "Use the address the server printed: 127.0.0.1 or localhost with its port.",
            ),
            Self::ForeignOrigin => (
                S::FORBIDDEN,
                "foreignOrigin",
                "Another site's page may neither read nor do anything here, and its links do not lead here.",
                "Copy the address into the address bar.",
            ),
            Self::NotSignedIn => (
                S::UNAUTHORIZED,
                "notSignedIn",
                "This browser has no session, or it was not used for 12 hours.",
                "Open the link the server printed when it started, or ask somebody who is signed in for another one.",
            ),
            Self::WrongToken => (
                S::UNAUTHORIZED,
                "wrongToken",
                "Every link signs one browser in, once; links made on the page end after an hour.",
                "Ask somebody who is signed in for another link, or start the server again.",
            ),
            Self::TooManyAttempts { .. } => (
                S::TOO_MANY_REQUESTS,
                "tooManyAttempts",
                "Somebody on this machine tries links one after another.",
                "Wait a minute, then open the right link again; it has not been used up.",
            ),
            Self::UnknownPath => (
                S::NOT_FOUND,
                "unknownPath",
                "The address is mistyped, or belongs to another version.",
                "Look the address up in the documentation of the API.",
            ),
            Self::WrongMethod => (
                S::METHOD_NOT_ALLOWED,
                "wrongMethod",
                "Reading is GET, everything else is POST.",
                "Use a method that the header `Allow` names.",
            ),
            Self::LongAddress => (
                S::URI_TOO_LONG,
                "longAddress",
                "No address here needs to be so long.",
                "Shorten the query.",
            ),
            Self::Malformed(_) => (
                S::BAD_REQUEST,
                "malformed",
                "A part of the address cannot be read.",
                "Look the address up in the documentation of the API.",
            ),
            Self::NotJson => (
                S::UNSUPPORTED_MEDIA_TYPE,
                "notJson",
                "Only what declares itself as JSON is read; other sites' forms cannot.",
                "Send the header `Content-Type: application/json`.",
            ),
            Self::Syntax(_) => {
                (S::BAD_REQUEST, "syntax", "The body is no JSON.", "Correct the body.")
            }
            Self::Shape(_) => (
                S::UNPROCESSABLE_ENTITY,
                "shape",
                "The body is JSON, but not what is asked for here: a field is missing, unknown or of another type.",
                "Look the body up in the documentation of the API.",
            ),
            Self::TooLarge => (
                S::PAYLOAD_TOO_LARGE,
                "tooLarge",
                "Nothing here needs so long a body.",
                "Send what is asked for.",
            ),
            Self::TooSlow => (
                S::REQUEST_TIMEOUT,
                "tooSlow",
                "The connection is too slow, or stopped.",
                "Send it again.",
            ),
            Self::TooManyStreams => (
                S::SERVICE_UNAVAILABLE,
                "tooManyStreams",
                "Every open tab follows one stream, and this browser has as many as one session may have.",
                "Close some tabs.",
            ),
            Self::Internal => (
                S::INTERNAL_SERVER_ERROR,
                "internal",
                "It is an error in Unwind, not in what you did; nothing else was affected.",
                "Report it with the request's id and what the log says beside it.",
            ),
        };
        Telling { status, code, means, advice }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyAttempts { after } => Some(*after),
            Self::ShuttingDown | Self::Refused(Refusal::NotReady) => Some(Duration::from_secs(2)),
            Self::TooManyStreams => Some(Duration::from_secs(10)),
            _ => None,
        }
    }

    /// As the JSON that the API answers with.
    fn json(&self, request: &str) -> Value {
        let Telling { code, means, advice, .. } = self.telling();
        let mut error = Map::new();
        error.insert("code".into(), code.into());
        error.insert("what".into(), self.to_string().into());
        error.insert("means".into(), means.into());
        error.insert("do".into(), advice.into());
        match self {
            Self::Refused(Refusal::Stale(differences)) => {
                error.insert("differences".into(), json!(differences));
            }
            Self::Refused(Refusal::Unplannable(PlanError::Cycle { path })) => {
                error.insert("path".into(), json!(path));
            }
            Self::Refused(Refusal::Overlap { run, object }) => {
                error.insert("run".into(), json!(run));
                error.insert("object".into(), json!(object));
            }
            _ => {}
        }
        error.insert("request".into(), request.into());
        json!({ "error": error })
    }
}

fn told(refusal: &Refusal) -> Telling {
    use StatusCode as S;
    let (status, code, means, advice) = match refusal {
        Refusal::UnknownUnit(_) => (
            S::NOT_FOUND,
            "unknownUnit",
            "No object in the cluster belongs to a unit of that name, any more or yet.",
            "Look at the list of units.",
        ),
        Refusal::UnknownPlan(_) => (
            S::NOT_FOUND,
            "unknownPlan",
            "Plans that no run performs are forgotten when the server ends.",
            "Make a new plan of the unit.",
        ),
        Refusal::UnknownRun(_) => (
            S::NOT_FOUND,
            "unknownRun",
            "This server's journal has no such run.",
            "Look at the list of runs.",
        ),
        Refusal::UnknownStep(_) => (
            S::NOT_FOUND,
            "unknownStep",
            "The run's plan has fewer steps.",
            "Look at the run's steps.",
        ),
        Refusal::NotReady => (
            S::SERVICE_UNAVAILABLE,
            "notReady",
            "Until every kind has been listed once, something in front of an object could be overlooked.",
            "Wait a few seconds and try again.",
        ),
        Refusal::Unplannable(PlanError::Empty) => (
            S::UNPROCESSABLE_ENTITY,
            "emptyPlan",
            "Everything that belongs to the unit is kept, or gone already.",
            "Look at the unit: each object says why it is kept.",
        ),
        Refusal::Unplannable(PlanError::Cycle { .. }) => (
            S::UNPROCESSABLE_ENTITY,
            "cyclicPlan",
            "No order satisfies all of the edges on the path, so none is tried.",
            "Remove one of the references on the path by hand, then make a new plan.",
        ),
        Refusal::Stale(_) => (
            S::CONFLICT,
            "stalePlan",
            "What you confirmed is no longer what would happen. Nothing was deleted.",
            "Make a new plan and look at the differences.",
        ),
        Refusal::WrongHash => (
            S::CONFLICT,
            "wrongHash",
            "What you confirmed is another plan than the one that is named. Nothing was deleted.",
            "Read the plan again and confirm its hash.",
        ),
        Refusal::WrongName => (
            S::UNPROCESSABLE_ENTITY,
            "wrongName",
            "The name is typed to be sure that this unit is meant. Nothing was deleted.",
            "Type the unit's name exactly as it is shown.",
        ),
        Refusal::PodsHidden(_) => (
            S::CONFLICT,
            "podsHidden",
            "Nobody can tell what Pods that cannot be seen still need. Nothing was deleted.",
            "Restore the right to list Pods, or wait until they are read again; then make a new plan.",
        ),
        Refusal::Overlap { .. } => (
            S::CONFLICT,
            "overlap",
            "Two runs that touch the same object could not both be proven. Nothing was deleted.",
            "Follow the run that is open, or stop it first.",
        ),
        Refusal::Ended => (
            S::CONFLICT,
            "runEnded",
            "It can be read, but no longer steered.",
            "Make a new plan of what is left.",
        ),
        Refusal::TooLate(_) => (
            S::CONFLICT,
            "tooLate",
            "Its deletion was requested, and Kubernetes cannot take that back.",
            "Wait for it, or look at what holds it.",
        ),
        Refusal::Journal(_) => (
            S::SERVICE_UNAVAILABLE,
            "journalUnwritable",
            "What could not be recovered after a crash is not begun. Nothing new was deleted.",
            "Make room on the disk of the state directory, or restore the rights to it, and try again.",
        ),
    };
    Telling { status, code, means, advice }
}

/// A failure on its way out: status and headers; `render` writes the body, which depends on who asked.
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

/// Gives every failure its body: JSON under `/api`, a small page elsewhere.
pub(super) async fn render(request: Request, next: Next) -> Response {
    let api = request.uri().path() == "/api" || request.uri().path().starts_with("/api/");
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let mut response = next.run(request).await;
    let status = response.status();
    let failure = match response.extensions_mut().remove::<Arc<Failure>>() {
        Some(failure) => failure,
        // What a layer or the file service refused without a word.
        None if bare(&response) => match status {
            StatusCode::NOT_FOUND => Arc::new(Failure::UnknownPath),
            StatusCode::METHOD_NOT_ALLOWED => Arc::new(Failure::WrongMethod),
            _ => return response,
        },
        None => return response,
    };
    let (status, refusal) = (status.as_u16(), failure.code());
    if *failure == Failure::Internal {
        tracing::error!(request.id = %id, response.status = status, refusal, "request {id} failed: {failure}");
    } else {
        tracing::info!(request.id = %id, response.status = status, refusal, "refused {id}: {refusal}");
    }
    let (mut parts, _) = response.into_parts();
    let rendered = if api {
        Json(failure.json(&id.to_string())).into_response()
    } else if *failure == Failure::NotSignedIn {
        plain::sign_in_page().into_response()
    } else {
        let Telling { means, advice, .. } = failure.telling();
        plain::failure_page(&failure.to_string(), means, advice).into_response()
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

/// Where nothing is.
pub(super) async fn unknown_path() -> Failure {
    Failure::UnknownPath
}

/// Where something is, but not for this method.
pub(super) async fn wrong_method() -> Failure {
    Failure::WrongMethod
}

/// What is left of a request whose handler panicked; the panic hook has logged where.
pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Failure::Internal.into_response()
}

#[cfg(test)]
mod tests {
    use teardown::{
        object::ObjectRef,
        plan::{Difference, PlanId, StepId},
        run::RunId,
        unit::UnitId,
    };

    use super::*;

    fn object() -> ObjectRef {
        ObjectRef {
            group: "".into(),
            kind: "Pod".into(),
            namespace: Some("shop".into()),
            name: "web".into(),
        }
    }

    /// The table that clients rely on.
    #[test]
    fn every_refusal_has_its_code_and_status() {
        let refusals = [
            Refusal::UnknownUnit(UnitId::new("u")),
            Refusal::UnknownPlan(PlanId::new("p")),
            Refusal::UnknownRun(RunId::new("r")),
            Refusal::UnknownStep(StepId(1)),
            Refusal::NotReady,
            Refusal::Unplannable(PlanError::Empty),
            Refusal::Unplannable(PlanError::Cycle { path: vec![object()] }),
            Refusal::Stale(vec![]),
            Refusal::WrongHash,
            Refusal::WrongName,
            Refusal::PodsHidden("pods cannot be seen: forbidden".to_owned()),
            Refusal::Overlap { run: RunId::new("r"), object: object() },
            Refusal::Ended,
            Refusal::TooLate(StepId(1)),
            Refusal::Journal("no space left".into()),
        ];
        let failures = refusals.into_iter().map(Failure::from).chain([
            Failure::ShuttingDown,
            Failure::WrongHost,
            Failure::ForeignOrigin,
            Failure::NotSignedIn,
            Failure::WrongToken,
            Failure::TooManyAttempts { after: Duration::ZERO },
            Failure::UnknownPath,
            Failure::WrongMethod,
            Failure::LongAddress,
            Failure::Malformed(String::new()),
            Failure::NotJson,
            Failure::Syntax(String::new()),
            Failure::Shape(String::new()),
            Failure::TooLarge,
            Failure::TooSlow,
            Failure::TooManyStreams,
            Failure::Internal,
        ]);
        let table: Vec<_> = failures
            .map(|failure| format!("{} {}", failure.status().as_u16(), failure.code()))
            .collect();
        insta::assert_snapshot!(table.join("\n"), @r"
        404 unknownUnit
        404 unknownPlan
        404 unknownRun
        404 unknownStep
        503 notReady
        422 emptyPlan
        422 cyclicPlan
        409 stalePlan
        409 wrongHash
        422 wrongName
        409 podsHidden
        409 overlap
        409 runEnded
        409 tooLate
        503 journalUnwritable
        503 shuttingDown
        421 wrongHost
        403 foreignOrigin
        401 notSignedIn
        401 wrongToken
        429 tooManyAttempts
        404 unknownPath
        405 wrongMethod
        414 longAddress
        400 malformed
        415 notJson
        400 syntax
        422 shape
        413 tooLarge
        408 tooSlow
        503 tooManyStreams
        500 internal
        ");
    }

    #[test]
    fn what_a_person_needs_travels_with_it() {
        let stale = Failure::from(Refusal::Stale(vec![Difference::Added { object: object() }]));
        insta::assert_snapshot!(serde_json::to_string_pretty(&stale.json("7f")).unwrap(), @r#"
        {
          "error": {
            "code": "stalePlan",
            "differences": [
              {
                "difference": "added",
                "object": {
                  "group": "",
                  "kind": "Pod",
                  "name": "web",
                  "namespace": "shop"
                }
              }
            ],
            "do": "Make a new plan and look at the differences.",
            "means": "What you confirmed is no longer what would happen. Nothing was deleted.",
            "request": "7f",
            "what": "the cluster has changed since the plan was made"
          }
        }
        "#);
        let overlap =
            Failure::from(Refusal::Overlap { run: RunId::new("r1"), object: object() }).json("7f");
        assert_eq!(overlap["error"]["run"], "r1");
        assert_eq!(overlap["error"]["object"]["name"], "web");
        let cycle = Failure::from(Refusal::Unplannable(PlanError::Cycle { path: vec![object()] }))
            .json("7f");
        assert_eq!(cycle["error"]["path"][0]["kind"], "Pod");
    }

    #[tokio::test]
    async fn a_panic_becomes_an_answer() {
        use axum::{Router, middleware::from_fn, routing::get};
        use tower::ServiceExt;
        use tower_http::catch_panic::CatchPanicLayer;

        async fn fails() -> &'static str {
            panic!("secret of the house")
        }
        let router = Router::new()
            .route("/api/fails", get(fails))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn(render));
        let request = Request::builder().uri("/api/fails").body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 500);
        let body = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "internal");
        assert!(!body.to_string().contains("secret"), "what went wrong is for the log");
    }
}
