//! The ways out of a deletion that waits, in sentences.

use app::text;
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::Deserialize;
use teardown::way::Way;

use super::{AppState, Failure};
use crate::hub::{HubClosed, HubHandle, Refusal, Remedies};

#[derive(Deserialize)]
pub(super) struct Of {
    id: String,
}

/// The ways out of one diagnosis, the least harmful first.
pub(super) async fn read(
    State(state): State<AppState>,
    of: Result<Query<Of>, QueryRejection>,
) -> Result<Json<Vec<Way>>, Failure> {
    let Query(Of { id }) = of?;
    Ok(Json(ways(&state.hub, id).await??))
}

/// The ways out of a diagnosis.
pub(super) async fn ways(
    hub: &HubHandle,
    diagnosis: String,
) -> Result<Result<Vec<Way>, Refusal>, HubClosed> {
    let found = hub.remedies(diagnosis).await?;
    Ok(found.map(|Remedies { cluster, remedies }| {
        remedies.iter().map(|remedy| text::way(remedy, &cluster)).collect()
    }))
}
