//! Lines of a kubelet's log that a person pastes: a form that works without a script.
//!
//! # Decisions
//! - It needs the right to act. The lines change what everybody reads on the card, up to "confirmed", and a remedy may be
//!   chosen by that; a link that only looks is given to people who should not be able to do so.
//! - It is a form and not JSON, so it lies outside `/api`. The checks of the host, the origin and the CSRF layer apply to it
//!   as to every write.
//! - The answer leads back to the card. The evidence there says what was recognised, or what was looked for.

use axum::{
    Extension, Form,
    extract::{State, rejection::FormRejection},
    response::Redirect,
};
use http::StatusCode;
use serde::Deserialize;
use teardown::diagnosis::kubelet_log::{LONGEST_LOG, read};

use super::{AppState, Failure, access::Person, page};

/// The most bytes of the form: a text may need three bytes for each of its own.
pub(super) const FORM_LIMIT: usize = 3 * LONGEST_LOG + 4096;

#[derive(Deserialize)]
pub(super) struct Pasted {
    diagnosis: String,
    lines: String,
}

/// Takes lines for a diagnosis.
pub(super) async fn paste(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    form: Result<Form<Pasted>, FormRejection>,
) -> Result<Redirect, Failure> {
    let Form(Pasted { diagnosis, lines }) = form.map_err(|rejection| failure(&rejection))?;
    // The session may have been taken back while the body arrived.
    if person.ended.is_cancelled() {
        return Err(Failure::NotSignedIn);
    }
    if lines.len() > LONGEST_LOG {
        return Err(Failure::TooLarge);
    }
    // It takes some milliseconds, which the other requests of this thread need not wait for.
    let log = tokio::task::spawn_blocking(move || read(&lines)).await;
    let log = log.map_err(|_| Failure::Malformed("the lines cannot be read".to_owned()))?;
    let card = page::card(&diagnosis);
    state.hub.kubelet_log(diagnosis, log, person.guest.recorded()).await??;
    Ok(Redirect::to(&card))
}

fn failure(rejection: &FormRejection) -> Failure {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        Failure::TooLarge
    } else {
        Failure::Malformed(rejection.body_text().chars().take(300).collect())
    }
}
