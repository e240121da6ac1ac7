//! Runs: to start one, to look at it, and to give it a command.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State, rejection::PathRejection},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use teardown::{
    message::{Message, Topic},
    plan::{ObjectAddress, Parts, PlanId, StepId, Unlistable},
    run::{RunCommand, RunId},
};

use super::{AppState, Failure, access::Person, body::Body};
use crate::hub::{Start, TakenOn};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirmed {
    plan: PlanId,
    hash: String,
    confirm: String,
    #[serde(default)]
    destroys: Vec<ObjectAddress>,
    #[serde(default)]
    unproven: Vec<Unlistable>,
    #[serde(default)]
    unreported: Vec<Arc<str>>,
    #[serde(default)]
    waived: Vec<ObjectAddress>,
}

#[derive(Serialize)]
pub(super) struct Started {
    run: RunId,
}

/// Starts a run of a plan.
pub(super) async fn start(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    Body(confirmed): Body<Confirmed>,
) -> Result<(StatusCode, Json<Started>), Failure> {
    let Confirmed { plan, hash, confirm, destroys, unproven, unreported, waived } = confirmed;
    let parts = Parts { destroys, unproven, unreported, waived };
    let by = person.guest.recorded();
    let run = state.hub.start(Start { plan, hash, confirm, parts, by }).await??;
    Ok((StatusCode::CREATED, Json(Started { run })))
}

/// One run with its steps, graph and event log.
pub(super) async fn read(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<Json<Message>, Failure> {
    let Path(run) = run?;
    Ok(Json(state.hub.query(Topic::Run(run)).await??))
}

/// Pauses a run.
pub(super) async fn pause(
    state: State<AppState>,
    person: Extension<Person>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<StatusCode, Failure> {
    send(state, person, run?.0, RunCommand::Pause).await
}

/// Resumes a run, or lets a running one repeat refused calls at once.
pub(super) async fn resume(
    state: State<AppState>,
    person: Extension<Person>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<StatusCode, Failure> {
    send(state, person, run?.0, RunCommand::Resume).await
}

/// Stops a run.
pub(super) async fn stop(
    state: State<AppState>,
    person: Extension<Person>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<StatusCode, Failure> {
    send(state, person, run?.0, RunCommand::Stop).await
}

#[derive(Serialize)]
pub(super) struct PuttingBack {
    attempts: Vec<String>,
}

/// Makes the parents active again that a stopped run left suspended.
pub(super) async fn put_back(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<(StatusCode, Json<PuttingBack>), Failure> {
    let attempts = state.hub.put_back(run?.0, person.guest.recorded()).await??;
    Ok((StatusCode::ACCEPTED, Json(PuttingBack { attempts })))
}

/// Skips a step of a run.
pub(super) async fn skip(
    state: State<AppState>,
    person: Extension<Person>,
    step: Result<Path<(RunId, StepId)>, PathRejection>,
) -> Result<StatusCode, Failure> {
    let Path((run, step)) = step?;
    send(state, person, run, RunCommand::Skip(step)).await
}

/// Takes it on that no Pod writes to the storage of a step any more.
pub(super) async fn take_on(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    step: Result<Path<(RunId, StepId)>, PathRejection>,
    Body(answer): Body<TakenOn>,
) -> Result<StatusCode, Failure> {
    let Path((run, step)) = step?;
    state.hub.take_on(run, step, answer, person.guest.recorded()).await??;
    Ok(StatusCode::NO_CONTENT)
}

async fn send(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    run: RunId,
    command: RunCommand,
) -> Result<StatusCode, Failure> {
    state.hub.command(run, command, person.guest.recorded()).await??;
    Ok(StatusCode::NO_CONTENT)
}
