//! Sends whole requests to a cluster. Neither the API nor a controller that observes the stored objects panics, and
//! every refusal is a `Status`.
//!
//! An input is a list of HTTP requests in text form, separated by a line of `%%`.
#![no_main]

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{HeaderName, HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use libfuzzer_sys::{Corpus, fuzz_target};
use sandbox::{
    control_plane::ControlPlane,
    controller::timing::Timing,
    service::{Body, Sandbox},
};
use serde_json::Value;
use tower::ServiceExt;

/// The largest number of requests in one input.
const REQUESTS: usize = 8;
/// The number of steps for which the controllers run on the stored objects.
const MOMENTS: usize = 60;
/// The shortest step. The steps together are long enough for a Pod's grace period, for retries and for timeouts.
const MOMENT: Duration = Duration::from_secs(1);

fuzz_target!(|input: &[u8]| -> Corpus { run(input) });

fn run(input: &[u8]) -> Corpus {
    let requests: Option<Vec<_>> = split(input, b"\n%%\n").into_iter().map(request).collect();
    let Some(requests) = requests.filter(|all| all.len() <= REQUESTS) else {
        return Corpus::Reject;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without input and output needs nothing");
    runtime.block_on(async {
        let control_plane = ControlPlane::new(Timestamp::UNIX_EPOCH, 1, Timing::brisk());
        let sandbox = Sandbox::of(control_plane);
        let mut watches = vec![];
        for request in requests {
            let head = request.method() == Method::HEAD;
            let Ok(response) = sandbox.clone().oneshot(request).await else { continue };
            let (parts, mut body) = response.into_parts();
            let bytes = at_once(&mut body);
            if parts.status.is_client_error() || parts.status.is_server_error() {
                let sort = parts.headers.get(header::CONTENT_TYPE);
                check(parts.status.as_u16(), sort, &bytes, head);
            }
            watches.push(body);
        }
        sandbox.with(live);
        for watch in &mut watches {
            at_once(watch);
        }
    });
    Corpus::Keep
}

/// Checks that a refusal is a `Status` of the same code, or plain text for a browser.
fn check(code: u16, sort: Option<&HeaderValue>, bytes: &[u8], head: bool) {
    let sort = sort.and_then(|sort| sort.to_str().ok()).unwrap_or_default();
    if head && bytes.is_empty() || sort.starts_with("text/plain") {
        return;
    }
    let status: Value = serde_json::from_slice(bytes).expect("a refusal is JSON");
    assert_eq!(status["kind"], "Status", "{code}: {status}");
    assert_eq!(status["status"], "Failure", "{code}: {status}");
    assert_eq!(status["code"], code, "{status}");
    assert!(status["message"].is_string(), "{status}");
}

/// Runs the controllers, which must not panic on the stored objects.
fn live(control_plane: &mut ControlPlane) {
    for _ in 0..MOMENTS {
        let Some(next) = control_plane.run_until_idle() else { break };
        let step = Duration::try_from(next.duration_since(control_plane.cluster.steady()));
        control_plane.cluster.clock.advance(step.unwrap_or(MOMENT).max(MOMENT));
    }
    let panics: Vec<_> = control_plane.controllers.panics().collect();
    assert!(panics.is_empty(), "{panics:?}");
}

/// The part of a body that is available now: all of it, or the beginning of a watch.
fn at_once(body: &mut Body) -> Vec<u8> {
    let mut bytes = vec![];
    while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    bytes
}

/// Parses method, target, headers, an empty line and a body. `None` for a request that an HTTP server refuses before
/// the API sees it.
fn request(text: &[u8]) -> Option<Request<Full<Bytes>>> {
    let (head, body) = match text.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text, &b""[..]),
    };
    let mut lines = split(head, b"\n").into_iter();
    let first = lines.next()?;
    let space = first.iter().position(|byte| *byte == b' ')?;
    let mut request = Request::builder()
        .method(&first[..space])
        .uri(&first[space + 1..])
        .body(Full::new(Bytes::copy_from_slice(body)))
        .ok()?;
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        request.headers_mut().append(name, value);
    }
    Some(request)
}

fn split<'a>(text: &'a [u8], by: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = vec![];
    let mut rest = text;
    while let Some(at) = rest.windows(by.len()).position(|part| part == by) {
        parts.push(&rest[..at]);
        rest = &rest[at + by.len()..];
    }
    parts.push(rest);
    parts
}
