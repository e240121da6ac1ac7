//! The state of a simulated cluster: its fault switches, and how fast its time passes. The server keeps it beside the
//! index, so that every browser sees the same state.

use serde::{Deserialize, Serialize};

/// The state of a simulated cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demo {
    /// Seconds that pass in the cluster per second of real time.
    pub speed: u32,
    /// The fault switches.
    pub switches: Vec<FaultSwitch>,
}

/// A fault that a person can turn on, to see the consequences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSwitch {
    /// The kind of fault.
    pub what: DemoFault,
    /// The name of the object that the fault affects; empty if there is only one.
    pub subject: String,
    /// Whether the fault is on.
    pub on: bool,
    /// Its label. The server makes it: only a simulated cluster has any, and every page would carry all of them.
    pub label: String,
    /// The course of an incident, in two lines; empty for any other fault, and for an incident of somebody's own.
    pub story: String,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DemoFault {
    /// A named incident begins. It can be repaired, but not undone.
    Incident,
    /// An operator is uninstalled, so that nothing removes the finalizers that its Pods handle. Named `namespace/name`.
    Operator,
    /// A node's kubelet stops.
    Node,
    /// The metrics API's server has no Pod.
    Metrics,
    /// An NFS server answers every handle with `ESTALE`.
    Nfs,
    /// A PersistentVolume cannot be unmounted, because a process has a file on it open.
    Volume,
    /// The cloud refuses to remove load balancers.
    Cloud,
    /// The kube-controller-manager does not run.
    Manager,
}

/// A person's command to the simulated cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "camelCase", deny_unknown_fields)]
pub enum DemoCommand {
    /// Turns a fault on.
    TurnOn {
        /// The kind of fault.
        what: DemoFault,
        /// The name of the object that the fault affects.
        #[serde(default)]
        subject: String,
    },
    /// Turns a fault off, and so repairs it.
    TurnOff {
        /// The kind of fault.
        what: DemoFault,
        /// The name of the object that the fault affects.
        #[serde(default)]
        subject: String,
    },
    /// Repairs all faults; no scheduled fault follows.
    Repair {},
    /// Changes how fast time passes.
    Speed {
        /// Seconds that pass in the cluster per second of real time, 1 to 10.
        times: u32,
    },
    /// Restores the initial state, with new objects.
    Reset {},
}
