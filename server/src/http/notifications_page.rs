//! The page about notifications that did not arrive. The server writes it, like the page about the journal.

use app::text;
use axum::{extract::State, response::IntoResponse};

use super::{
    AppState, Failure,
    plain::{cluster, framed, heading, paragraph, quote},
};
use crate::hub::DeliveryStatus;

/// The page.
pub(super) async fn read(State(state): State<AppState>) -> Result<impl IntoResponse, Failure> {
    let status = state.hub.delivery().await?;
    let cluster = cluster(&state.hub).await?;
    Ok(framed(text::NOTIFICATIONS, &content(&status), cluster.as_ref()))
}

fn content(status: &DeliveryStatus) -> String {
    let mut html = String::new();
    if let Some(failing) = &status.failing {
        html += &heading(&text::delivery_failing(failing.since));
        html += &paragraph(&text::delivery_failing_means(status.waiting));
        html += &paragraph(text::DELIVERY_FAILING_DO);
        html += &quote(&failing.why);
    }
    if !status.lost.is_empty() {
        html += &heading(text::NOTIFICATIONS_LOST);
        html += &paragraph(text::NOTIFICATIONS_LOST_MEANS);
    }
    for lost in status.lost.iter().rev() {
        html += &quote(&lost.title);
        html += &paragraph(&text::notification_lost(lost.at, &lost.why));
    }
    if html.is_empty() {
        html += &paragraph(text::NOTIFICATIONS_ARRIVE);
    }
    html
}
