//! The field managers of finalizers, from `metadata.managedFields`. Everything else in them, most of the JSON of many objects, is
//! skipped while it is read.

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use teardown::object::{FinalizerManager, Seconds};

use crate::cluster::text::bounded;

/// The most entries that are kept of one object.
const MOST: usize = 8;

/// Reads the entries that have finalizers.
pub(super) fn finalizers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<FinalizerManager>, D::Error> {
    deserializer.deserialize_any(Entries)
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<FinalizerManager>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(Entry { manager, time, fields }) = entries.next_element()? {
            for finalizer in fields.metadata.finalizers.0 {
                if found.len() < MOST {
                    found.push(FinalizerManager {
                        finalizer: bounded(&finalizer).into(),
                        manager: bounded(&manager).into(),
                        at: time.map(Seconds::from),
                    });
                }
            }
        }
        Ok(found)
    }
}

/// `metav1.ManagedFieldsEntry`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(default)]
    time: Option<Timestamp>,
    #[serde(default, rename = "fieldsV1")]
    fields: Fields,
}

/// `metav1.FieldsV1`: a field is a key with `f:`, a value in a set one with `v:` and its JSON.
#[derive(Default, Deserialize)]
struct Fields {
    #[serde(default, rename = "f:metadata")]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default, rename = "f:finalizers")]
    finalizers: Finalizers,
}

#[derive(Default)]
struct Finalizers(Vec<String>);

impl<'de> Deserialize<'de> for Finalizers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys).map(Self)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some((key, IgnoredAny)) = fields.next_entry::<String, IgnoredAny>()? {
            let value = key.strip_prefix("v:").map(serde_json::from_str::<String>);
            found.extend(value.and_then(Result::ok));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Vec<(String, String, bool)> {
        let mut json = serde_json::Deserializer::from_str(fields);
        let found = finalizers(&mut json).unwrap().into_iter();
        let named = |it: FinalizerManager| {
            (it.finalizer.to_string(), it.manager.to_string(), it.at.is_some())
        };
        found.map(named).collect()
    }

    #[test]
    fn manager_of_each_finalizer_is_read_and_everything_else_is_skipped() {
        let entries = r#"[
            {"manager": "kubectl", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": {"f:replicas": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}},
            {"manager": "topic-operator", "operation": "Update", "time": "2026-01-02T00:00:00Z",
             "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"queue.example/topic\"": {}, "v:\"b.example/c\"": {}}}}},
            {"manager": "old", "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"queue.example/topic\"": {}}}}},
            {"operation": "Update"}
        ]"#;
        let entry = |finalizer: &str, manager: &str, dated| {
            (finalizer.to_owned(), manager.to_owned(), dated)
        };
        assert_eq!(
            read(entries),
            [
                entry("queue.example/topic", "topic-operator", true),
                entry("b.example/c", "topic-operator", true),
                entry("queue.example/topic", "old", false),
            ]
        );
        assert_eq!(read("null"), []);
    }

    #[test]
    fn entries_and_their_texts_are_bounded() {
        let entry = format!(
            r#"{{"manager": "a\u202e", "fieldsV1": {{"f:metadata": {{"f:finalizers": {{"v:\"{}\"": {{}}}}}}}}}}"#,
            "x".repeat(10_000)
        );
        let many = format!("[{}]", vec![entry; 20].join(","));
        let found = read(&many);
        assert_eq!(found.len(), MOST);
        assert!(found.iter().all(|(finalizer, ..)| finalizer.len() < 5_000));
        assert!(found.iter().all(|(_, manager, _)| manager.starts_with('a')));
    }
}
