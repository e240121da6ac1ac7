//! The parts of a storage driver.

use serde::{Deserialize, Serialize};

/// A part of a storage driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriverPart {
    /// The plugin on the node, which unmounts.
    Node,
    /// The attacher, which detaches.
    Attacher,
    /// The provisioner, which deletes the storage.
    Provisioner,
}
