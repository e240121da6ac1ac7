//! The commands of the demo.

use axum::extract::State;
use http::StatusCode;
use teardown::demo::DemoCommand;

use super::{AppState, Failure, body::Body};

/// Runs a command of the demo; where the cluster is real, there is no such address.
pub(super) async fn run_command(
    State(state): State<AppState>,
    Body(command): Body<DemoCommand>,
) -> Result<StatusCode, Failure> {
    let demo = state.demo.as_ref().ok_or(Failure::UnknownPath)?;
    demo.run_command(&command).map_err(|unknown| Failure::Shape(unknown.to_string()))?;
    Ok(StatusCode::NO_CONTENT)
}
