//! A Kubernetes API server in memory, with the controllers that deletion depends on and faults on demand.
//!
//! One synchronous state machine, [`control_plane::ControlPlane`], decides everything from requests, the cluster's clock
//! and a seed. The same seed and the same requests give the same log. [`service::Sandbox`] serves it.
//!
//! The modules [`world`], [`demo`] and [`kubectl`] are parts of the dashboard. They use the API server; it does not use them.

pub mod clock;
pub mod kind;
pub mod object;
pub mod quantity;
mod label;
pub mod selector;
pub mod status;
mod cron;
pub mod patch;
pub mod store;
mod watch_cache;
pub mod log;
pub mod fault;
pub mod quota;
pub mod cluster;
pub mod controller;
pub mod control_plane;
pub mod api;
pub mod service;

pub mod kubectl;
pub mod world;
pub mod demo;
