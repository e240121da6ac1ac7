//! One span and one line per request. What comes from outside is bounded and escaped before it is logged; bodies,
//! queries, cookies and tokens never are.

use std::{fmt, sync::Arc, time::Instant};

use axum::{extract::Request, middleware::Next, response::Response};
use http::{HeaderName, HeaderValue};
use tracing::Instrument;

use super::{printable::printable, random::random_hex};

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

/// Gives a request its id and its span.
pub(super) async fn record(mut request: Request, next: Next) -> Response {
    let id = RequestId(random_hex::<8>().into());
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
