//! The process: what the cluster says goes to the hub, what the hub decides goes to the cluster and to every browser.
#![warn(missing_docs)]

pub mod cluster;
pub mod hub;
