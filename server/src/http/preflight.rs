//! Preflights of plans, in sentences.

use app::text;
use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use http::StatusCode;
use teardown::{plan::PlanId, preflight::PreflightCard};

use super::{AppState, Failure};

/// Starts the preflight of a plan, unless one is running.
pub(super) async fn start(
    State(state): State<AppState>,
    plan: Result<Path<PlanId>, PathRejection>,
) -> Result<(StatusCode, Json<PreflightCard>), Failure> {
    let Path(plan) = plan?;
    let view = state.hub.start_preflight(plan).await??;
    Ok((StatusCode::ACCEPTED, Json(text::preflight(&view))))
}

/// The last preflight of a plan.
pub(super) async fn read(
    State(state): State<AppState>,
    plan: Result<Path<PlanId>, PathRejection>,
) -> Result<Json<PreflightCard>, Failure> {
    let Path(plan) = plan?;
    let view = state.hub.preflight(plan).await??;
    Ok(Json(text::preflight(&view)))
}
