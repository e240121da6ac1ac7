//! Runs, to start, to look at and to steer.

use axum::{
    Extension, Json,
    extract::{Path, State, rejection::PathRejection},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use teardown::{
    message::{Message, Topic},
    plan::{PlanId, StepId},
    run::RunId,
};

use super::{AppState, Failure, access::Person, body::Body};
use crate::hub::{Start, Steer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirmed {
    plan: PlanId,
    hash: String,
    confirm: String,
}

#[derive(Serialize)]
pub(super) struct Started {
    run: RunId,
}

/// Starts a run of a plan.
pub(super) async fn start(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    Body(Confirmed { plan, hash, confirm }): Body<Confirmed>,
) -> Result<(StatusCode, Json<Started>), Failure> {
    let run = state.hub.start(Start { plan, hash, confirm, by: person.guest.recorded() }).await??;
    Ok((StatusCode::CREATED, Json(Started { run })))
}

/// One run with its steps, graph and feed.
pub(super) async fn read(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<Json<Message>, Failure> {
    let Path(run) = run?;
    Ok(Json(state.hub.query(Topic::Run(run)).await??))
}

type At<T> = Result<Path<T>, PathRejection>;

/// Pauses a run.
pub(super) async fn pause(
    state: State<AppState>,
    person: Extension<Person>,
    run: At<RunId>,
) -> Result<StatusCode, Failure> {
    steer(state, person, run?.0, Steer::Pause).await
}

/// Resumes a run.
pub(super) async fn resume(
    state: State<AppState>,
    person: Extension<Person>,
    run: At<RunId>,
) -> Result<StatusCode, Failure> {
    steer(state, person, run?.0, Steer::Resume).await
}

/// Stops a run.
pub(super) async fn stop(
    state: State<AppState>,
    person: Extension<Person>,
    run: At<RunId>,
) -> Result<StatusCode, Failure> {
    steer(state, person, run?.0, Steer::Stop).await
}

/// Leaves a step of a run out.
pub(super) async fn skip(
    state: State<AppState>,
    person: Extension<Person>,
    step: At<(RunId, StepId)>,
) -> Result<StatusCode, Failure> {
    let Path((run, step)) = step?;
    steer(state, person, run, Steer::Skip(step)).await
}

async fn steer(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    run: RunId,
    steer: Steer,
) -> Result<StatusCode, Failure> {
    state.hub.steer(run, steer, person.guest.recorded()).await??;
    Ok(StatusCode::NO_CONTENT)
}
