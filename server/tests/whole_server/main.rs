//! A whole server against the sandbox under paused time. The request log of the sandbox says what was sent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod custom_resources;
mod former_world;
mod namespaces;
mod parents;
mod preflight;
mod remedies;
mod setup;
mod transport;
mod unplanned;
