//! Namespaces that go although a kind may not be listed in them, so that nobody can prove them empty.
//!
//! # Decisions
//! - Without a person's choice the step of such a namespace waits until the kind can be listed.
//! - The choice is about a missing right only. While an API is down, the namespace controller cannot list its kinds either, and
//!   the namespace would never end (`pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
//! - Pods are left out: no run starts while those of its namespaces are hidden.
//! - A kind that no watch covers is listed for the first time just before the DELETE, so the choice may name one that the index
//!   does not know. A name that was mistyped leaves the namespace waiting.

use super::{
    Choice, Choices, Plan, Step,
    unlistable::{PODS, Unlistable},
};
use crate::{index::Index, unknown_reason::UnknownReason};

/// The resource of claims.
const CLAIMS: &str = "persistentvolumeclaims";

impl Choices {
    /// The kinds of which a namespace need not be proven empty. Claims are none of them where their data is to be kept.
    pub(super) fn unproven_in(&self, namespace: &str) -> Vec<String> {
        let chosen = self.iter().filter_map(|choice| match choice {
            Choice::Unproven(it) if *it.namespace == *namespace => Some(it.resource.to_string()),
            _ => None,
        });
        chosen.filter(|resource| !self.keeps_data() || resource != CLAIMS).collect()
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
pub(super) fn unlistable(steps: &[Step], choices: &Choices, index: &Index) -> Vec<Unlistable> {
    let namespaces = steps.iter().filter(|step| step.kind.is("", "Namespace"));
    let mut found: Vec<Unlistable> = namespaces
        .flat_map(|step| {
            let namespace = &step.object.name;
            index.unseen_in_namespace(namespace).filter_map(|why| match why {
                UnknownReason::Hidden { resource, .. }
                    if resource != PODS
                        && (!choices.keeps_data() || resource != CLAIMS)
                        && index.may_not_list(&resource) =>
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
