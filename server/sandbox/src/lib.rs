//! A Kubernetes API server in memory, with the controllers that deletion depends on and faults on demand.
//!
//! Everything that happens is decided by one synchronous state machine, [`cluster::Cluster`], from requests, the
//! cluster's clock and a seed. The same seed and the same requests give the same log.

mod line;

pub mod clock;
pub mod kind;
pub mod object;
pub mod quantity;
pub mod selector;
pub mod status;
pub mod patch;
pub mod store;
pub mod usage;
pub mod cluster;
pub mod controller;
pub mod fault;
pub mod log;
mod printed;
pub mod world;
pub mod play;
pub mod api;
pub mod service;
