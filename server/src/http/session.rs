//! Signing in and out, inviting another browser, and taking a link back.

use axum::{
    Extension, Json,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header, uri::PathAndQuery};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use teardown::right::Right;

use super::{
    AppState, Failure,
    access::{Guest, ListedLink, Person},
    body::Body,
};
use crate::args;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignIn {
    token: String,
}

#[derive(Serialize)]
struct SignedIn {
    #[serde(flatten)]
    guest: Guest,
}

/// Exchanges a link's token for a cookie.
pub(super) async fn sign_in(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(SignIn { token }): Body<SignIn>,
) -> Result<Response, Failure> {
    let now = Timestamp::now();
    let (Person { guest, .. }, cookie) = state.access.sign_in(&token, now)?;
    // The browser replaces its old cookie, so this is the last chance to end the old session.
    if let Some(replaced) = state.access.admit(&headers, now) {
        state.access.sign_out(&replaced.session, now)?;
    }
    tracing::info!(person.name = %guest.recorded(), "signed in");
    Ok((StatusCode::CREATED, [(header::SET_COOKIE, cookie)], Json(SignedIn { guest }))
        .into_response())
}

/// Ends the session and its streams, and clears the cookie.
pub(super) async fn sign_out(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
) -> Result<Response, Failure> {
    let cookie = state.access.sign_out(&person.session, Timestamp::now())?;
    tracing::info!(person.name = %person.guest.recorded(), "signed out");
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Invite {
    name: Option<String>,
    path: Option<String>,
    #[serde(default)]
    right: Right,
}

#[derive(Serialize)]
pub(super) struct Invitation {
    url: String,
    expires: Option<Timestamp>,
}

/// Creates a link for another browser; the link opens `path`.
pub(super) async fn link(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    Body(Invite { name, path, right }): Body<Invite>,
) -> Result<(StatusCode, Json<Invitation>), Failure> {
    let path = own_path(path.as_deref().unwrap_or("/"))?;
    let inviter = &person.guest;
    let guest = match name {
        Some(name) => Guest {
            name: args::name(&name).map_err(Failure::Shape)?,
            invited_by: Some(inviter.name.clone()),
            right,
        },
        None => Guest { right, ..inviter.clone() },
    };
    let name = guest.name.clone();
    let link = state.access.link(&person.session, guest, path.to_owned(), Timestamp::now())?;
    tracing::info!(person.name = %inviter.recorded(), invited.name = %name, invited.right = %right, "made a link");
    Ok((StatusCode::CREATED, Json(Invitation { url: link.url(), expires: link.expires })))
}

#[derive(Serialize)]
pub(super) struct Links {
    links: Vec<ListedLink>,
}

/// The links that the session may take back, with the sessions that they signed in.
pub(super) async fn links(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
) -> Json<Links> {
    Json(Links { links: state.access.links(&person.session, Timestamp::now()) })
}

/// Takes a link back, and ends the session that it signed in.
pub(super) async fn take_back(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    link: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Failure> {
    let Path(link) = link?;
    state.access.take_back(&person.session, &link, Timestamp::now())?;
    tracing::info!(person.name = %person.guest.recorded(), link.id = link, "took a link back");
    Ok(StatusCode::NO_CONTENT)
}

/// The longest path of a link, equal to the longest address.
const PATH_LIMIT: usize = 8 * 1024;

/// A path of this server with its query and without a fragment. Browsers read `//host` and `/\host` as other hosts.
fn own_path(path: &str) -> Result<&str, Failure> {
    let is_path = path.parse::<PathAndQuery>().is_ok_and(|parsed| parsed.as_str() == path);
    let is_own = path.starts_with('/') && !path.starts_with("//") && !path.contains('\\');
    if is_path && is_own && path.is_ascii() && path.len() <= PATH_LIMIT {
        Ok(path)
    } else {
        Err(Failure::Shape("the path is not a path of this server".to_owned()))
    }
}
