//! Access to the server, and the headers of every answer: tested through the router, and over a real connection where
//! the connection is the point.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "../test_server/mod.rs"]
mod test_server;
mod listening;
mod callers;
mod sessions;
mod answers;
mod connections;

use http::{Method, StatusCode};
use test_server::TestServer;

const API: &str = "/api/units";
const STREAM: &str = "/api/events?topic=units";

/// Everything that answers a read, with a session or without.
const READS: [&str; 9] = [
    API,
    STREAM,
    "/",
    "/u/shop",
    "/nope",
    "/api/nope",
    "/pkg/unwind.0123456789abcdef.js",
    "/sign-in.js",
    "/healthz",
];

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> StatusCode {
    server.send(Method::GET, path, headers, "").await.status()
}
