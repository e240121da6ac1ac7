//! An object's labels.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};

/// The label by which a unit is found
/// (<https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/>).
pub const PART_OF: &str = "app.kubernetes.io/part-of";

/// An object's labels: few, immutable, and often the same for many objects. They are stored as one sorted list that
/// clones share, and [`Interner`](crate::interner::Interner) lets objects with equal labels share it too.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Labels(Arc<[Label]>);

/// A label's key and its value.
pub(crate) type Label = (Arc<str>, Arc<str>);

impl Labels {
    /// No labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value under this key.
    pub fn get(&self, key: &str) -> Option<&Arc<str>> {
        let place = self.0.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Arc<str>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn list_mut(&mut self) -> &mut Arc<[Label]> {
        &mut self.0
    }
}

/// If a key occurs twice, the last value counts, as in a map.
impl FromIterator<Label> for Labels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        let mut list: Vec<Label> = Vec::new();
        // API servers and maps return labels sorted, so an insertion at the end is the usual case.
        for (key, value) in labels {
            match list.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(place) => list[place].1 = value,
                Err(place) => list.insert(place, (key, value)),
            }
        }
        Self(list.into())
    }
}

impl<const N: usize> From<[Label; N]> for Labels {
    fn from(labels: [Label; N]) -> Self {
        labels.into_iter().collect()
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LabelsVisitor)
    }
}

struct LabelsVisitor;

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut list = Vec::new();
        while let Some(label) = map.next_entry()? {
            list.push(label);
        }
        Ok(list.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_a_map_in_json() {
        let json = r#"{"tier":"front","app":"web","app":"shop"}"#;
        let labels: Labels = serde_json::from_str(json).unwrap();
        assert_eq!(labels, [("app".into(), "shop".into()), ("tier".into(), "front".into())].into());
        assert_eq!(serde_json::to_string(&labels).unwrap(), r#"{"app":"shop","tier":"front"}"#);
        assert_eq!(serde_json::to_string(&Labels::new()).unwrap(), "{}");
        assert!(serde_json::from_str::<Labels>("[1]").is_err());
    }

    #[test]
    fn labels_are_found_by_key() {
        let labels: Labels = [("b", "2"), ("a", "1"), ("c", "3")]
            .map(|(key, value)| (key.into(), value.into()))
            .into();
        assert_eq!(labels.get("b").map(|value| &**value), Some("2"));
        assert_eq!((labels.get("d"), labels.len(), labels.is_empty()), (None, 3, false));
        assert!(labels.iter().map(|(key, _)| &**key).eq(["a", "b", "c"]));
    }
}
