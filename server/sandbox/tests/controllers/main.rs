//! Scenarios of the controllers. Each has a cluster of its own, whose clock moves only when the scenario advances it.
#![expect(clippy::unwrap_used, reason = "a scenario that cannot go on fails")]

mod test_cluster;

mod workload;
mod owner;
mod namespace;
mod storage;
mod csi_driver;
mod node;
mod pod_end;
mod sidecar;
mod shutdown;
mod network;
mod quota;
mod robustness;
mod operating_modes;
mod operator;
mod readable;
mod protection;
mod worlds;
mod kustomize;
mod incident;
