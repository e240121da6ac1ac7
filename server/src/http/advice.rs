//! Advice about a deletion that waits, in sentences.

use app::text::{self, Handling};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::Deserialize;
use teardown::advice::{Advice, SWITCHED_OFF};

use super::{AppState, Failure};
use crate::hub::{HubClosed, HubHandle, Refusal, Remedies};

#[derive(Deserialize)]
pub(super) struct Of {
    id: String,
}

/// The advice about one diagnosis.
pub(super) async fn read(
    State(state): State<AppState>,
    of: Result<Query<Of>, QueryRejection>,
) -> Result<Json<Advice>, Failure> {
    let Query(Of { id }) = of?;
    Ok(Json(advice(&state.hub, id).await??))
}

/// The advice about a diagnosis, or about what is switched off.
pub(super) async fn advice(
    hub: &HubHandle,
    diagnosis: String,
) -> Result<Result<Advice, Refusal>, HubClosed> {
    if diagnosis == SWITCHED_OFF {
        return Ok(Ok(text::switched_off_advice(&hub.switched_off().await?)));
    }
    let found = hub.remedies(diagnosis).await?;
    let advice =
        |it: Remedies| text::advice(&it.card, handling(&it), &it.standpoint, it.are_allowed);
    Ok(found.map(advice))
}

/// The things that persons did about a diagnosis, and that they can do.
pub(super) fn handling(found: &Remedies) -> Handling<'_> {
    let Remedies { remedies, attempts, switched_off, .. } = found;
    Handling { remedies, attempts, switched_off }
}
