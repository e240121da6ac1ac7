//! Namespaces that go although a kind may not be listed in them, so that nobody can prove them empty.
//!
//! # Decisions
//! - Without a person's choice the step of such a namespace waits until the kind can be listed.
//! - The choice is about a missing right only. While an API is down, the namespace controller cannot list its kinds either, and
//!   the namespace would never end (`pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
//! - Pods are left out: no run starts while those of its namespaces are hidden.
//! - A kind that no watch covers is listed for the first time just before the DELETE, so the choice may name one that the index
//!   does not know. A name that was mistyped leaves the namespace waiting.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Choice, Choices, Plan, Step, address::is_name};
use crate::{index::Index, unknown_reason::UnknownReason};

/// A kind that may not be listed in a namespace of the plan.
/// In JSON it is the text of the choice: `shop/widgets.example.com`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Unlistable {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The kind as a path names it.
    pub resource: Arc<str>,
}

impl Unlistable {
    /// The choice that deletes the namespace all the same.
    pub fn choice(&self) -> Choice {
        Choice::Unproven(self.clone())
    }

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

const PODS: &str = "pods";

impl Choices {
    /// The kinds of which a namespace need not be proven empty.
    pub(super) fn unproven_in(&self, namespace: &str) -> Vec<String> {
        let chosen = self.iter().filter_map(|choice| match choice {
            Choice::Unproven(it) if *it.namespace == *namespace => Some(it.resource.to_string()),
            _ => None,
        });
        chosen.collect()
    }
}

impl Plan {
    /// The kinds of which the namespaces of the plan need not be proven empty. A person confirms each.
    pub fn unproven(&self) -> impl Iterator<Item = Unlistable> {
        self.steps.iter().flat_map(|step| {
            step.unproven.iter().map(|resource| Unlistable {
                namespace: step.object.name.clone(),
                resource: resource.as_str().into(),
            })
        })
    }
}

/// The kinds that may not be listed in the namespaces of these steps.
pub(super) fn unlistable(steps: &[Step], index: &Index) -> Vec<Unlistable> {
    let namespaces = steps.iter().filter(|step| step.kind.is("", "Namespace"));
    let mut found: Vec<Unlistable> = namespaces
        .flat_map(|step| {
            let namespace = &step.object.name;
            index.unseen_in_namespace(namespace).filter_map(|why| match why {
                UnknownReason::Hidden { resource, .. }
                    if resource != PODS && index.may_not_list(&resource) =>
                {
                    Some(Unlistable { namespace: namespace.clone(), resource: resource.into() })
                }
                _ => None,
            })
        })
        .collect();
    found.sort();
    found
}
