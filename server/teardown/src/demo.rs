//! A cluster that is only played: what can be broken and repaired in it, and how fast its time goes. The index keeps it
//! beside what it knows of the cluster, so that everybody who watches sees the same game.

use serde::{Deserialize, Serialize};

/// How the game stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demo {
    /// Seconds of the cluster per second.
    pub speed: u32,
    /// What can be pulled, and whether it is.
    pub switches: Vec<FaultSwitch>,
}

/// Something a person can pull to see what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSwitch {
    /// What happens then.
    pub what: DemoFault,
    /// To whom: a name, empty where there is only one.
    pub subject: String,
    /// Whether it is pulled.
    pub on: bool,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DemoFault {
    /// An incident begins, by name; it cannot be taken back, only repaired.
    Incident,
    /// An operator is uninstalled: what only its Pods finalize is not. Named as namespace/name.
    Operator,
    /// A node's kubelet says and does nothing.
    Node,
    /// The server behind the metrics API has no Pod.
    Metrics,
    /// An NFS server answers every handle with `ESTALE`.
    Nfs,
    /// A PersistentVolume cannot be unmounted: something has it open.
    Volume,
}

/// What a person does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "camelCase", deny_unknown_fields)]
pub enum DemoCommand {
    /// Pulls a lever.
    TurnOn {
        /// What happens.
        what: DemoFault,
        /// To whom.
        #[serde(default)]
        subject: String,
    },
    /// Lets a lever go: repairs what is broken.
    TurnOff {
        /// What is repaired.
        what: DemoFault,
        /// Whose.
        #[serde(default)]
        subject: String,
    },
    /// Repairs everything that is broken; nothing more happens by itself.
    Repair {},
    /// Lets time go faster or slower.
    Speed {
        /// Seconds of the cluster per second, 1 to 10.
        times: u32,
    },
    /// Makes everything as it was at the start, with new objects.
    Reset {},
}
