//! Checks each request before its handler: it must name this server as its host, must not come from another site's page,
//! and needs a session except to sign in, with the right that its route names.

use axum::{
    Extension,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, Method, header};
use jiff::Timestamp;
use teardown::right::Right;
use tower_http::csrf::ProtectionError;

use super::{AppState, Failure, access::Person};

/// The longest address. The page keeps its selection and its filters in the query.
const ADDRESS_LIMIT: usize = 8 * 1024;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Marks the requests of a connection beyond the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneTooMany;

/// Accepts requests, reads and streams included, that name this server as their host and do not come from another site.
/// This stops DNS rebinding and cross-site requests.
pub(super) async fn same_origin(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    if request.extensions().get::<OneTooMany>().is_some() {
        return Err(Failure::TooManyConnections);
    }
    let address = request.uri();
    // CONNECT has a host and no path, and `OPTIONS *` has neither; no handler answers them.
    if *request.method() == Method::CONNECT || !address.path().starts_with('/') {
        return Err(Failure::Malformed("the request names no path of this server".to_owned()));
    }
    let whole = address.path_and_query().map_or("", |whole| whole.as_str());
    if whole.len() > ADDRESS_LIMIT {
        return Err(Failure::LongAddress);
    }
    // The parser accepts other bytes too, and inner layers would log them unescaped.
    if !whole.is_ascii() {
        return Err(Failure::Malformed(
            "the address has characters that must be percent-encoded".to_owned(),
        ));
    }
    let named = |authority: &str| state.access.is_called(authority);
    let headers = request.headers();
    if !only(headers, &header::HOST).is_some_and(named)
        || !address.authority().is_none_or(|it| named(it.as_str()))
    {
        return Err(Failure::WrongHost);
    }
    if headers.contains_key(header::ORIGIN) {
        let authority =
            only(headers, &header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        if !authority.is_some_and(named) {
            return Err(Failure::ForeignOrigin);
        }
    }
    if headers.contains_key(SEC_FETCH_SITE)
        && !matches!(only(headers, &SEC_FETCH_SITE), Some("same-origin" | "none"))
    {
        return Err(Failure::ForeignOrigin);
    }
    Ok(next.run(request).await)
}

/// Whether a page asks, of this or another site, rather than a program or a person who typed the address.
pub(super) fn is_from_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
        || headers.contains_key(SEC_FETCH_SITE) && only(headers, &SEC_FETCH_SITE) != Some("none")
}

/// The value of a header that occurs once and is text.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Accepts requests with a session, and passes the person to the handler.
pub(super) async fn signed_in(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let person =
        state.access.admit(request.headers(), Timestamp::now()).ok_or(Failure::NotSignedIn)?;
    request.extensions_mut().insert(person);
    Ok(next.run(request).await)
}

/// Accepts requests of sessions that have the right `needed`.
pub(super) async fn check_right(
    needed: Right,
    Extension(person): Extension<Person>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    ensure_right(needed, &person)?;
    Ok(next.run(request).await)
}

/// Refuses a person who does not have the right `needed`.
pub(super) fn ensure_right(needed: Right, person: &Person) -> Result<(), Failure> {
    if person.guest.right >= needed { Ok(()) } else { Err(Failure::NotAllowed(needed)) }
}

/// Accepts reads, and writes that declare a JSON body, because a form on another site cannot declare one.
pub(super) async fn json_only(request: Request, next: Next) -> Result<Response, Failure> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let declared = only(request.headers(), &header::CONTENT_TYPE)
        .and_then(|value| value.split(';').next())
        .is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"));
    if reads || declared { Ok(next.run(request).await) } else { Err(Failure::NotJson) }
}

/// The failure of a write from another site that passed [`same_origin`].
pub(super) fn foreign_write(_: ProtectionError) -> Response {
    Failure::ForeignOrigin.into_response()
}
