//! What the controllers do to what is deleted, each scenario on a cluster of its own whose time stands still unless the
//! scenario moves it.
#![expect(clippy::unwrap_used, reason = "a scenario that cannot go on fails")]

mod world;

mod workload;
mod owner;
mod namespace;
mod storage;
mod node;
mod network;
mod quota;
mod handling;
mod conditions;
mod legible;
mod protection;
mod worlds;
mod incident;
