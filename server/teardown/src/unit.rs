//! Which objects make up one application.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A unit's name, unique in the cluster: the value of the label for one found by its label, `ns:NAME` for a namespace.
/// A label's value has no colon, so the two cannot meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnitId(String);

impl UnitId {
    /// The id as it stands in a URL.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a unit was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// Its objects carry `app.kubernetes.io/part-of` with its name.
    PartOf,
    /// It is a namespace with everything in it.
    Namespace,
}
