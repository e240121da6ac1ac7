//! A kind that may not be listed in a namespace, as a person names it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::address::is_name;
use crate::index::Index;

/// The resource of Pods, which are never left unseen.
pub(super) const PODS: &str = "pods";

/// A kind that may not be listed in a namespace of the plan. In JSON it is the text of the choice: `shop/widgets.example.com`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Unlistable {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The kind as a path names it.
    pub resource: Arc<str>,
}

impl Unlistable {
    /// Reads `shop/widgets.example.com`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (namespace, resource) = text.split_once('/')?;
        let is_kind = is_name(namespace) && is_name(resource) && resource != PODS;
        is_kind.then(|| Self { namespace: namespace.into(), resource: resource.into() })
    }

    /// Whether the choice is about a kind that cannot be seen in the namespace.
    pub(super) fn is_met(&self, index: &Index) -> bool {
        index.check_visible(&self.resource, Some(&self.namespace)).is_err()
            || !index.is_watched(&self.resource)
    }
}

impl std::fmt::Display for Unlistable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.resource)
    }
}

/// The text names no kind in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no kind in a namespace: it is written as NAMESPACE/RESOURCE")]
pub struct UnlistableError(String);

impl From<Unlistable> for String {
    fn from(it: Unlistable) -> Self {
        it.to_string()
    }
}

impl TryFrom<String> for Unlistable {
    type Error = UnlistableError;

    fn try_from(text: String) -> Result<Self, UnlistableError> {
        Self::read(&text).ok_or(UnlistableError(text))
    }
}
