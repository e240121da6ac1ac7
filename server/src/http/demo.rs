//! The game, where the cluster is only played.

use axum::extract::State;
use http::StatusCode;
use teardown::demo::DemoCommand;

use super::{AppState, Failure, body::Body};

/// Plays; where the cluster is real, there is no such address.
pub(super) async fn play(
    State(state): State<AppState>,
    Body(play): Body<DemoCommand>,
) -> Result<StatusCode, Failure> {
    let demo = state.demo.as_ref().ok_or(Failure::UnknownPath)?;
    demo.play(&play).map_err(|unknown| Failure::Shape(unknown.to_string()))?;
    Ok(StatusCode::NO_CONTENT)
}
