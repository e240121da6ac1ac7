//! The addresses of one incident that a chat or a ticket keeps: its card, and its note as text.
//!
//! # Decisions
//! - The link to a card goes through the server, because a fragment never reaches it: where the cause at the root has changed since
//!   somebody pasted the link, the page says so and leads to the card of the same root.
//! - The notes are files in UTF-8 and not pages, so that `curl` and a ticket take them as they are.

use app::{
    navigation::address,
    text::{self, NoteForm},
};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Redirect, Response},
};
use http::header;
use serde::Deserialize;
use teardown::{
    diagnosis::root_of,
    message::{DiagnosisCard, Message, Record, Topic},
};

use super::{
    AppState, Failure,
    advice::handling,
    plain::{escape, page},
};
use crate::hub::Refusal;

#[derive(Deserialize)]
pub(super) struct Of {
    id: String,
}

/// Leads to the card of a diagnosis; where its cause has changed or nothing waits for its root any more, says so.
pub(super) async fn card(
    State(state): State<AppState>,
    of: Result<Query<Of>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Of { id }) = of?;
    let cards = at_root(&state, &id).await?;
    if let Some(card) = cards.iter().find(|card| card.diagnosis.id == id) {
        return Ok(Redirect::to(&address::diagnosis(&card.diagnosis.id)).into_response());
    }
    let mut html = String::new();
    for card in &cards {
        let to = escape(&address::diagnosis(&card.diagnosis.id));
        let cause = escape(&text::cause(&card.diagnosis));
        html += &format!("<p><a href=\"{to}\">{cause}</a></p>\n");
    }
    let heading = if cards.is_empty() { text::ROOT_IS_OVER } else { text::CAUSE_HAS_CHANGED };
    let attempts = state.hub.attempts().await?;
    let is_about = |it: &&teardown::remedy::Attempt| {
        !it.diagnosis.is_empty() && root_of(&it.diagnosis) == root_of(&id)
    };
    for attempt in attempts.iter().filter(is_about) {
        html += &format!("<p>{}</p>\n", escape(&text::attempt(attempt)));
    }
    html += &format!("<p><a href=\"{}\">{}</a></p>\n", address::TROUBLE, escape(text::TROUBLE));
    Ok(page(text::LANGUAGE, heading, &html).into_response())
}

/// The incident note as plain text.
pub(super) async fn note(
    state: State<AppState>,
    of: Result<Query<Of>, QueryRejection>,
) -> Result<Response, Failure> {
    written(&state, of?.0.id, NoteForm::Plain).await
}

/// The incident note as Markdown.
pub(super) async fn markdown(
    state: State<AppState>,
    of: Result<Query<Of>, QueryRejection>,
) -> Result<Response, Failure> {
    written(&state, of?.0.id, NoteForm::Markdown).await
}

async fn written(state: &AppState, id: String, form: NoteForm) -> Result<Response, Failure> {
    let cards = at_root(state, &id).await?;
    let same = cards.iter().find(|card| card.diagnosis.id == id).or(cards.first());
    let Some(card) = same else {
        return Err(Failure::Refused(Refusal::UnknownDiagnosis(id)));
    };
    let found = state.hub.remedies(card.diagnosis.id.clone()).await??;
    let mut note = text::incident_note(&found.card, handling(&found), &found.standpoint, form);
    if card.diagnosis.id != id {
        note = format!("{}\n\n{note}", text::CAUSE_HAS_CHANGED);
    }
    let kind = match form {
        NoteForm::Plain => "text/plain; charset=utf-8",
        NoteForm::Markdown => "text/markdown; charset=utf-8",
    };
    Ok(([(header::CONTENT_TYPE, kind)], note).into_response())
}

/// The cards at the root of a diagnosis.
async fn at_root(state: &AppState, id: &str) -> Result<Vec<DiagnosisCard>, Failure> {
    let message = state.hub.query(Topic::Trouble).await??;
    let Message::Snapshot { records, .. } = message else { return Ok(Vec::new()) };
    // Before everything is listed, nothing is known to be over.
    let is_synced = |record: &Record| matches!(record, Record::Cluster(it) if it.synced && it.unreachable.is_none());
    if !records.iter().any(is_synced) {
        return Err(Failure::Refused(Refusal::NotReady));
    }
    let card = |record: Record| match record {
        Record::Diagnosis(card) if card.diagnosis.root_id() == root_of(id) => Some(card),
        _ => None,
    };
    Ok(records.into_iter().filter_map(card).collect())
}
