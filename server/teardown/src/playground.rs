//! A cluster that is only played: what can be broken and repaired in it, and how fast its time goes. The index keeps it
//! beside what it knows of the cluster, so that everybody who watches sees the same game.

use serde::{Deserialize, Serialize};

/// How the game stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playground {
    /// Seconds of the cluster per second.
    pub speed: u32,
    /// What can be broken, and whether it is.
    pub mishaps: Vec<(Mishap, bool)>,
    /// Incidents that can be lived through, by name, and whether they have begun.
    pub incidents: Vec<(String, bool)>,
}

/// Something that can be broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mishap {
    /// A node, by name: its kubelet says and does nothing.
    Node(String),
    /// The server behind the metrics API has no Pod.
    Metrics,
    /// An NFS server, by name: it answers every handle with `ESTALE`.
    Nfs(String),
    /// A PersistentVolume, by name: something has it open, so it cannot be unmounted.
    Volume(String),
}

/// What a person does in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Play {
    /// Breaks it.
    Break(Mishap),
    /// Repairs it.
    Repair(Mishap),
    /// Repairs everything that is broken; nothing more happens by itself.
    RepairAll,
    /// Begins an incident, by name.
    Begin(String),
    /// Seconds of the cluster per second, 1 to 10.
    Speed(u32),
    /// Makes everything as it was at the start, with new objects.
    Reset,
}
