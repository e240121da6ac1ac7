//! Remedies that a person has Unwind do: to confirm one, to take one back, and the list of all.

use app::text;
use axum::{Extension, Json, extract::State};
use http::StatusCode;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use teardown::{
    advice::SWITCHED_OFF,
    object::ObjectRef,
    remedy::{Attempt, AttemptOutcome, Confirmation, Request, Verb},
};

use super::{AppState, Failure, access::Person, body::Body};

#[derive(Serialize)]
pub(super) struct Begun {
    attempt: String,
}

/// Has a remedy done, or one taken back that is confirmed as part of what is switched off.
pub(super) async fn begin(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    Body(given): Body<Confirmation>,
) -> Result<(StatusCode, Json<Begun>), Failure> {
    let by = person.guest.recorded();
    let attempt = match given.diagnosis.as_str() {
        SWITCHED_OFF => state.hub.undo_remedy(given.remedy, given.confirm, by).await??,
        _ => state.hub.remedy(given, by).await??,
    };
    Ok((StatusCode::ACCEPTED, Json(Begun { attempt })))
}

/// An attempt as the list has it. The copies of deleted objects stay in the journal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    id: String,
    undoes: Option<String>,
    diagnosis: String,
    root: ObjectRef,
    by: String,
    statement: String,
    asked: Timestamp,
    ended: Option<Timestamp>,
    request: Request,
    outcome: AttemptOutcome,
    text: String,
}

/// All remedies that persons had done on this cluster, the latest first.
pub(super) async fn list(State(state): State<AppState>) -> Result<Json<Vec<Line>>, Failure> {
    let attempts = state.hub.attempts().await?;
    let line = |mut attempt: Attempt| {
        if attempt.request.verb == Verb::Create {
            attempt.request.body = Value::Null;
        }
        line_of(attempt)
    };
    Ok(Json(attempts.into_iter().map(line).collect()))
}

fn line_of(attempt: Attempt) -> Line {
    Line {
        text: text::attempt(&attempt),
        id: attempt.id,
        undoes: attempt.undoes,
        diagnosis: attempt.diagnosis,
        root: attempt.root,
        by: attempt.by,
        statement: attempt.statement,
        asked: attempt.asked,
        ended: attempt.ended,
        request: attempt.request,
        outcome: attempt.outcome,
    }
}
