//! Plans, to make and to read.

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Deserialize;
use teardown::{
    plan::{Choices, Plan, PlanId},
    unit::UnitId,
};

use super::{AppState, Failure, body::Body};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MakePlan {
    unit: UnitId,
    #[serde(default)]
    choices: Choices,
}

/// Makes a plan of a unit as it is now, or of what one of its open runs waits for outside its plan, with a person's choices.
pub(super) async fn make(
    State(state): State<AppState>,
    Body(MakePlan { unit, choices }): Body<MakePlan>,
) -> Result<Response, Failure> {
    let plan = state.hub.make_plan(unit, choices).await??;
    Ok((StatusCode::CREATED, Json::<&Plan>(&plan)).into_response())
}

/// One plan.
pub(super) async fn read(
    State(state): State<AppState>,
    plan: Result<Path<PlanId>, PathRejection>,
) -> Result<Response, Failure> {
    let Path(plan) = plan?;
    let plan = state.hub.plan(plan).await??;
    Ok(Json::<&Plan>(&plan).into_response())
}
