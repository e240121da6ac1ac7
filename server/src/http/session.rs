//! Signing in, and letting somebody else sign in.

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AppState, Failure, access::Person, body::Body};
use crate::args;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignIn {
    token: String,
}

#[derive(Serialize)]
struct SignedIn {
    name: String,
}

/// Exchanges a link's token for a cookie.
pub(super) async fn sign_in(
    State(state): State<AppState>,
    Body(SignIn { token }): Body<SignIn>,
) -> Result<Response, Failure> {
    let (Person { name, .. }, cookie) = state.access.sign_in(&token, Timestamp::now())?;
    tracing::info!(person.name = %name, "signed in");
    Ok((StatusCode::CREATED, [(header::SET_COOKIE, cookie)], Json(SignedIn { name }))
        .into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Invite {
    name: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Invitation {
    url: String,
    expires: Option<Timestamp>,
}

/// Makes a link for another browser.
pub(super) async fn link(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    Body(Invite { name }): Body<Invite>,
) -> Result<(StatusCode, Json<Invitation>), Failure> {
    let name = match name {
        Some(name) => args::name(&name).map_err(Failure::Shape)?,
        None => person.name.clone(),
    };
    tracing::info!(person.name = %person.name, invited.name = %name, "made a link");
    let link = state.access.link(name, Timestamp::now());
    Ok((StatusCode::CREATED, Json(Invitation { url: link.url(), expires: link.expires })))
}
