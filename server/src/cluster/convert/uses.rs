//! The names that a Pod or a Pod template refers to, each once.

use std::sync::Arc;

use teardown::object::{PodReference, PodReferenceKind};

use super::names::MOST;

/// The references found so far.
pub(super) struct Uses<'a> {
    found: Vec<PodReference>,
    /// The path of the spec in its object.
    prefix: &'a str,
}

impl<'a> Uses<'a> {
    /// No reference yet, of the spec that has this path in its object.
    pub(super) fn of(prefix: &'a str) -> Self {
        Self { found: Vec::new(), prefix }
    }

    /// The path of the spec in its object.
    pub(super) fn prefix(&self) -> &'a str {
        self.prefix
    }

    /// Adds a reference unless the name is absent or known. One field is enough evidence, and a container may take
    /// hundreds of variables from one Secret.
    pub(super) fn add(
        &mut self,
        what: PodReferenceKind,
        name: Option<&str>,
        field: impl FnOnce() -> String,
    ) {
        let prefix = self.prefix;
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.push(what, name, || format!("{prefix}.{}", field()));
        }
    }

    /// Adds a reference by the whole path of its field, unless the name is known, or there are too many of the kind.
    pub(super) fn add_class(
        &mut self,
        what: PodReferenceKind,
        name: &str,
        field: impl FnOnce() -> String,
    ) {
        if self.found.iter().filter(|it| it.what == what).count() < MOST {
            self.push(what, name, field);
        }
    }

    fn push(&mut self, what: PodReferenceKind, name: &str, field: impl FnOnce() -> String) {
        if self.found.iter().any(|used| used.what == what && &*used.name == name) {
            return;
        }
        self.found.push(PodReference { what, name: name.into(), field: field().into() });
    }

    pub(super) fn into_list(self) -> Arc<[PodReference]> {
        self.found.into()
    }
}
