//! The names that one object refers to.

use serde_json::Value;
use teardown::object::Reference;

/// The most names that are kept of one object.
pub(super) const MOST: usize = 64;
/// The longest text that can be a name in the API (`validation.DNS1123SubdomainMaxLength`).
const LONGEST: usize = 253;

/// Names, each once, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Reference>);

impl Names {
    /// Keeps a reference, unless there are too many, the same object is named already, or a text of it is too long.
    pub(super) fn push(&mut self, reference: Reference) {
        let Reference { group, kind, namespace, name, .. } = &reference;
        let is_sane = [Some(group), Some(kind), namespace.as_ref()]
            .into_iter()
            .flatten()
            .all(|text| text.len() <= LONGEST);
        let is_known = self.0.iter().any(|it| {
            (&it.group, &it.kind, &it.namespace, &it.name) == (group, kind, namespace, name)
        });
        if is_sane && !is_known && !self.is_full() {
            self.0.push(reference);
        }
    }

    /// Whether no further name is kept.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    pub(super) fn into_list(self) -> Box<[Reference]> {
        self.0.into()
    }
}

/// Whether a text can be a name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST
}

/// The group that a reference says.
pub(super) fn group_of(reference: &Value) -> Option<&str> {
    let part = |name: &str| reference.get(name).and_then(Value::as_str);
    part("apiGroup").or_else(|| part("group")).or_else(|| {
        let api = part("apiVersion")?;
        Some(api.split_once('/').map_or("", |(group, _)| group))
    })
}
