//! What the controllers do to what is deleted, each scenario on a cluster of its own whose time stands still unless the
//! scenario moves it.

#[path = "controllers/world.rs"]
mod world;

#[path = "controllers/workload.rs"]
mod workload;
#[path = "controllers/owner.rs"]
mod owner;
#[path = "controllers/namespace.rs"]
mod namespace;
#[path = "controllers/storage.rs"]
mod storage;
#[path = "controllers/node.rs"]
mod node;
#[path = "controllers/network.rs"]
mod network;
#[path = "controllers/handling.rs"]
mod handling;
#[path = "controllers/worlds.rs"]
mod worlds;
#[path = "controllers/incident.rs"]
mod incident;
