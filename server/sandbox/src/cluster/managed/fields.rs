//! Sets of fields, as in `managedFields` (`structured-merge-diff`): the fields that an object has, and those that
//! changed.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::kind::{Element, List, Shape};

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// Whether the field itself is in the set.
    is_member: bool,
    /// The fields within it.
    within: BTreeMap<Element, Fields>,
}

impl Fields {
    /// Reads FieldsV1.
    pub(super) fn read(fields: &Value) -> Self {
        let map = fields.as_object();
        let is_leaf = map.is_none_or(Map::is_empty);
        let within = map.into_iter().flatten().filter(|(name, _)| *name != ".");
        Self {
            is_member: is_leaf || !fields["."].is_null(),
            within: within.map(|(name, rest)| (Element::read(name), Self::read(rest))).collect(),
        }
    }

    /// Writes FieldsV1.
    pub(super) fn written(&self) -> Value {
        let mut map = Map::new();
        if self.is_member && !self.within.is_empty() {
            map.insert(".".into(), json!({}));
        }
        map.extend(self.within.iter().map(|(element, rest)| (element.written(), rest.written())));
        Value::Object(map)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_member && self.within.is_empty()
    }

    /// Removes a field with everything within it.
    pub(super) fn cut(&mut self, path: &[&str]) {
        let Some((name, rest)) = path.split_first() else { return };
        let element = Element::Name((*name).into());
        match self.within.get_mut(&element) {
            Some(inner) if !rest.is_empty() => {
                inner.cut(rest);
                if inner.is_empty() {
                    self.within.remove(&element);
                }
            }
            _ => drop(self.within.remove(&element)),
        }
    }

    /// Keeps only the members with these names.
    pub(super) fn keep(&mut self, keeps: impl Fn(&str) -> bool) {
        self.within.retain(|element, _| matches!(element, Element::Name(name) if keeps(name)));
    }

    pub(super) fn add(&mut self, others: &Self) {
        self.is_member |= others.is_member;
        for (element, rest) in &others.within {
            self.within.entry(element.clone()).or_default().add(rest);
        }
    }

    pub(super) fn subtract(&mut self, others: &Self) {
        self.is_member &= !others.is_member;
        for (element, rest) in &others.within {
            if let Some(mine) = self.within.get_mut(element) {
                mine.subtract(rest);
                if mine.is_empty() {
                    self.within.remove(element);
                }
            }
        }
    }

    /// The fields that are in both sets, as a conflict names them.
    pub(super) fn shared(&self, others: &Self) -> Vec<String> {
        let mut paths = vec![];
        self.share(others, "", &mut paths);
        paths
    }

    fn share(&self, others: &Self, path: &str, paths: &mut Vec<String>) {
        let both = || {
            let pair = |(element, mine)| Some((element, mine, others.within.get(element)?));
            self.within.iter().filter_map(pair)
        };
        for (element, mine, other) in both() {
            if mine.is_member && other.is_member {
                paths.push(format!("{path}{}", element.describe()));
            }
        }
        for (element, mine, other) in both() {
            mine.share(other, &format!("{path}{}", element.describe()), paths);
        }
    }

    /// All fields of a new part, including itself unless it is always present.
    fn all(shape: Shape<'_>, value: &Value) -> Self {
        let parts = parts(shape, value, value).unwrap_or_default();
        let is_member = parts.is_empty() || !shape.is_always_there();
        let within =
            parts.into_iter().map(|part| (part.element, Self::all(part.shape, part.value)));
        Self { is_member, within: within.collect() }
    }

    /// The fields that an applied configuration owns: leaves, list items and map entries.
    pub(super) fn said(shape: Shape<'_>, value: &Value) -> Self {
        let parts = parts(shape, value, value).unwrap_or_default();
        let is_member = parts.is_empty();
        let within = parts.into_iter().map(|part| {
            let mut said = Self::said(part.shape, part.value);
            said.is_member |= match &part.element {
                Element::Name(name) => shape.is_entry(name),
                _ => true,
            };
            (part.element, said)
        });
        Self { is_member, within: within.collect() }
    }

    /// Removes from an object the fields that are in this set and not in `kept`. The metadata itself stays.
    pub(super) fn prune(&self, kept: &Self, shape: Shape<'_>, object: &mut Value) {
        let nothing = Self::default();
        let within = |element: &Element| {
            let is_metadata = *element == Element::Name("metadata".into());
            let kept = kept.within.get(element).or(is_metadata.then_some(&nothing));
            Some((self.within.get(element)?, kept))
        };
        match object {
            Value::Object(map) => {
                map.retain(|name, part| match within(&Element::Name(name.clone())) {
                    Some((_, None)) => false,
                    Some((mine, Some(kept))) => {
                        mine.prune(kept, shape.member(name), part);
                        true
                    }
                    None => true,
                })
            }
            Value::Array(list) => {
                let sort = shape.list(list);
                let elements: Vec<_> = list.iter().map(|item| sort.element(item)).collect();
                let mut elements = elements.into_iter();
                list.retain_mut(|part| match elements.next().flatten().as_ref().and_then(within) {
                    Some((_, None)) => false,
                    Some((mine, Some(kept))) => {
                        mine.prune(kept, shape.item(), part);
                        true
                    }
                    None => true,
                });
            }
            _ => {}
        }
    }
}

/// The changes between two states of an object.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// New fields, and fields with another value.
    pub(super) written: Fields,
    pub(super) removed: Fields,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }

    pub(super) fn between(shape: Shape<'_>, old: &Value, new: &Value) -> Self {
        if old == new {
            return Self::default();
        }
        let (before, after) = (parts(shape, old, new), parts(shape, new, old));
        match (before, after) {
            _ if old.is_null() => Self { written: Fields::all(shape, new), ..Self::default() },
            _ if new.is_null() => Self { removed: Fields::all(shape, old), ..Self::default() },
            (Some(before), Some(after)) if !before.is_empty() || !after.is_empty() => {
                let mut changes = Self::default();
                let mut before: BTreeMap<Element, Part<'_>> =
                    before.into_iter().map(|part| (part.element.clone(), part)).collect();
                for Part { element, shape, value } in after {
                    let old = before.remove(&element).map_or(&Value::Null, |part| part.value);
                    changes.put(element, Self::between(shape, old, value));
                }
                for (element, Part { shape, value, .. }) in before {
                    changes.put(element, Self::between(shape, value, &Value::Null));
                }
                changes
            }
            (before, _) => {
                let written = Fields { is_member: true, ..Fields::default() };
                let mut removed = Fields::default();
                if before.is_some() {
                    removed.within = Fields::all(shape, old).within;
                }
                Self { written, removed }
            }
        }
    }

    /// Adds the changes of a part.
    fn put(&mut self, element: Element, part: Self) {
        if !part.removed.is_empty() {
            self.removed.within.insert(element.clone(), part.removed);
        }
        if !part.written.is_empty() {
            self.written.within.insert(element, part.written);
        }
    }

    pub(super) fn put_member(&mut self, name: &str, part: Self) {
        self.put(Element::Name(name.into()), part);
    }
}

/// A part of a value that has managers of its own.
struct Part<'a> {
    element: Element,
    shape: Shape<'a>,
    value: &'a Value,
}

/// The parts of a value that is not owned as a whole. If a list is empty, its items before or after show how it is
/// merged.
fn parts<'a>(shape: Shape<'a>, value: &'a Value, other: &'a Value) -> Option<Vec<Part<'a>>> {
    match value {
        Value::Object(map) if !shape.is_whole() => {
            let is_there = map.iter().filter(|(_, value)| !value.is_null());
            let part = |(name, value): (&'a String, &'a Value)| {
                let element = Element::Name(name.clone());
                Part { element, shape: shape.member(name), value }
            };
            Some(is_there.map(part).collect())
        }
        Value::Array(list) => {
            let some = if list.is_empty() { other.as_array().unwrap_or(list) } else { list };
            let sort = shape.list(some);
            let part = |value: &'a Value| {
                Some(Part { element: sort.element(value)?, shape: shape.item(), value })
            };
            (sort != List::Whole).then(|| list.iter().map(part).collect())?
        }
        _ => None,
    }
}
