//! Texts of a kubelet that a person pastes, lines of its log, the Pods that its runtime runs or its metrics: a form that works without
//! a script.
//!
//! # Decisions
//! - It needs the right to act. The text changes what everybody reads on the card, up to "confirmed", and a remedy may be
//!   chosen by that; a link that only looks is given to people who should not be able to do so.
//! - It is a form and not JSON, so it lies outside `/api`. The checks of the host, the origin and the CSRF layer apply to it
//!   as to every write.
//! - The answer leads back to the card. The evidence there says what was recognised, or what was looked for. A text that is
//!   nearly one of the three is refused with what to paste instead.

use axum::{
    Extension, Form,
    extract::{State, rejection::FormRejection},
    response::Redirect,
};
use http::StatusCode;
use serde::Deserialize;
use teardown::diagnosis::{KubeletAnswer, LONGEST_PASTE, PasteProblem};

use super::{AppState, Failure, access::Person, page};

/// The most bytes of the form: a text may need three bytes for each of its own.
pub(super) const FORM_LIMIT: usize = 3 * LONGEST_PASTE + 4096;

#[derive(Deserialize)]
pub(super) struct Pasted {
    diagnosis: String,
    lines: String,
}

/// Takes a text for a diagnosis.
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
    // It takes some milliseconds, which the other requests of this thread need not wait for.
    let answer = tokio::task::spawn_blocking(move || KubeletAnswer::read_pasted(&lines)).await;
    let answer = answer.map_err(|_| Failure::Malformed("the text cannot be read".to_owned()))??;
    let card = page::card(&diagnosis);
    state.hub.paste_kubelet(diagnosis, answer, person.guest.recorded()).await??;
    Ok(Redirect::to(&card))
}

fn failure(rejection: &FormRejection) -> Failure {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        Failure::Pasted(PasteProblem::TooLong)
    } else {
        Failure::Malformed(rejection.body_text().chars().take(300).collect())
    }
}
