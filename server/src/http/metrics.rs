//! `GET /metrics` for Prometheus, on a listener of its own: Prometheus cannot exchange a sign-in link for a session.
//!
//! # Decisions
//! - A scrape never queues up at the hub. At most one question waits there, also after its scrape has given up, and the next
//!   scrape waits for that one first.
//! - A browser gets nothing where it is recognised: on a loopback address the request must name one, which stops DNS
//!   rebinding, and a request that a page made is refused.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use super::{
    AppState, Failure,
    guard::{OneTooMany, is_from_page, only},
};
use crate::{
    hub::{HubHandle, Reading},
    metrics::{CONTENT_TYPE, Scrape, exposition},
};

/// The deadline of the hub's answer. Prometheus waits for 10 s by default.
const DEADLINE: Duration = Duration::from_secs(5);

/// The questions of the scrapes to the hub.
#[derive(Debug)]
pub(super) struct Scrapes {
    /// Held by the question that waits for the hub.
    asking: Arc<Semaphore>,
}

impl Default for Scrapes {
    fn default() -> Self {
        Self { asking: Arc::new(Semaphore::new(1)) }
    }
}

impl Scrapes {
    /// The counts of the hub; `None` if it does not answer in time.
    async fn read(&self, hub: &HubHandle) -> Option<Reading> {
        let answer = async {
            let asking = self.asking.clone().acquire_owned().await.ok()?;
            let (reply, answer) = oneshot::channel();
            let hub = hub.clone();
            // The question outlives a scrape that gives up, so that its place is not free while it waits.
            tokio::spawn(async move {
                let reading = hub.reading().await;
                drop(asking);
                let _ = reply.send(reading);
            });
            answer.await.ok()?.ok()
        };
        timeout(DEADLINE, answer).await.ok().flatten()
    }
}

/// The metrics as OpenMetrics text.
pub(super) async fn read(State(state): State<AppState>) -> Response {
    let Some(reading) = state.scrapes.read(&state.hub).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the hub does not answer\n").into_response();
    };
    let scrape = Scrape {
        reading: &reading,
        api: &state.api,
        notifications: state.notifications.as_ref(),
        viewers: state.streams.count(),
        now: Timestamp::now(),
    };
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], exposition(&scrape)).into_response()
}

/// Accepts requests that no page made; on a loopback address they must name one.
pub(super) async fn no_page(
    is_loopback: bool,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    if request.extensions().get::<OneTooMany>().is_some() {
        return Err(Failure::TooManyConnections);
    }
    if is_loopback && !names_loopback(request.headers()) {
        return Err(Failure::WrongHost);
    }
    if is_from_page(request.headers()) {
        return Err(Failure::ForeignOrigin);
    }
    Ok(next.run(request).await)
}

/// Whether the host is `localhost` or a loopback address, with any port: a tunnel may have another one.
fn names_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = only(headers, &header::HOST) else { return false };
    let name = match host.parse::<SocketAddr>() {
        Ok(address) => return address.ip().is_loopback(),
        Err(_) => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_of_a_loopback_listener_is_loopback() {
        let names = |host: &str| {
            names_loopback(&HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]))
        };
        for host in ["127.0.0.1:9464", "localhost:1", "localhost", "[::1]:9464", "127.0.0.53"] {
            assert!(names(host), "{host}");
        }
        for host in ["evil.example:9464", "localhost.evil.example", "10.0.0.1:9464", "", ":1"] {
            assert!(!names(host), "{host}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
    }
}
