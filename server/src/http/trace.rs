//! One span and one line per request. What comes from outside is bounded and escaped before it is logged; bodies,
//! queries, cookies and tokens never are.

use std::{fmt, sync::Arc, time::Instant};

use axum::{extract::Request, middleware::Next, response::Response};
use http::{HeaderName, HeaderValue};
use tracing::Instrument;

/// Names a request in the log, in its answer's header and in what a person reads. Always made here: one that came from
/// outside could be anything.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestId(Arc<str>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest part of a text from outside that is logged.
const LOGGED_CHARS: usize = 200;

/// Gives a request its id and its span.
pub(super) async fn record(mut request: Request, next: Next) -> Response {
    let id = RequestId(super::access::random_hex::<8>().into());
    request.extensions_mut().insert(id.clone());
    let span = tracing::info_span!(
        "request",
        request.id = %id,
        request.method = %printable(request.method().as_str()),
        request.path = %printable(request.uri().path()),
    );
    let started = Instant::now();
    async move {
        let mut response = next.run(request).await;
        tracing::debug!(
            response.status = response.status().as_u16(),
            elapsed.ms = started.elapsed().as_millis() as u64,
            "answered {id}"
        );
        if let Ok(value) = HeaderValue::from_str(&id.0) {
            response.headers_mut().insert(X_REQUEST_ID, value);
        }
        response
    }
    .instrument(span)
    .await
}

/// A text from outside as it may stand in a log line.
pub(super) fn printable(text: &str) -> String {
    let mut printable: String =
        text.chars().take(LOGGED_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(LOGGED_CHARS).is_some() {
        printable.push('…');
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logged_text_cannot_forge_a_line_or_colour_it() {
        assert_eq!(printable("/u/shop"), "/u/shop");
        assert_eq!(printable("a\nb\u{1b}[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
        assert_eq!(printable(&"x".repeat(500)).chars().count(), 201);
    }
}
