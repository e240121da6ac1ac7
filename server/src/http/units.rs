//! Units, and deletions that wait, to look at.

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use teardown::{
    message::{Message, Topic},
    unit::UnitId,
};

use super::{AppState, Failure};

/// All units and runs.
pub(super) async fn all(State(state): State<AppState>) -> Result<Json<Message>, Failure> {
    Ok(Json(state.hub.query(Topic::Units).await??))
}

/// Every deletion that waits, with its cause.
pub(super) async fn trouble(State(state): State<AppState>) -> Result<Json<Message>, Failure> {
    Ok(Json(state.hub.query(Topic::Trouble).await??))
}

/// One unit with its graph.
pub(super) async fn one(
    State(state): State<AppState>,
    unit: Result<Path<UnitId>, PathRejection>,
) -> Result<Json<Message>, Failure> {
    let Path(unit) = unit?;
    Ok(Json(state.hub.query(Topic::Unit(unit)).await??))
}
