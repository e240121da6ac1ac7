//! The creator of an object and the writers of its finalizers, from `metadata.managedFields`. Everything else in them, most
//! of the JSON of many objects, is skipped while it is read.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use teardown::object::{FinalizerManager, Seconds};

use crate::cluster::text::bounded;

/// The most entries that are kept of one object.
const MOST: usize = 8;

/// The fields that are read of the managed fields of an object.
#[derive(Debug, Default)]
pub(super) struct Managed {
    /// The entries that have finalizers.
    pub(super) finalizers: Vec<FinalizerManager>,
    /// The manager whose entry is the oldest, with the time of the entry.
    oldest: Option<(Arc<str>, Timestamp)>,
}

impl Managed {
    /// The manager that created the object. Each of its later changes makes its entry newer, so that an entry older or newer
    /// than the object is no proof.
    pub(super) fn creator(&self, created: Option<Timestamp>) -> Option<Arc<str>> {
        let (manager, at) = self.oldest.as_ref()?;
        (created == Some(*at)).then(|| manager.clone())
    }

    /// The finalizers, each with the manager whose entry is the newest.
    pub(super) fn writers(&self) -> Box<[(Arc<str>, Arc<str>)]> {
        let mut newest: BTreeMap<&Arc<str>, &FinalizerManager> = BTreeMap::new();
        for entry in &self.finalizers {
            let known = newest.entry(&entry.finalizer).or_insert(entry);
            if entry.at > known.at {
                *known = entry;
            }
        }
        newest.values().map(|it| (it.finalizer.clone(), it.manager.clone())).collect()
    }
}

/// Reads the oldest entry, and those that have finalizers.
pub(super) fn managed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Managed, D::Error> {
    deserializer.deserialize_any(Entries)
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Managed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Managed::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = Managed::default();
        while let Some(Entry { manager, time, subresource, fields }) = entries.next_element()? {
            let is_older = |at: &Timestamp| found.oldest.as_ref().is_none_or(|(_, it)| at < it);
            // A creation has no subresource, and an entry without a manager names nobody.
            let is_candidate = subresource.is_none() && !manager.is_empty();
            if let Some(at) = time.filter(is_older).filter(|_| is_candidate) {
                found.oldest = Some((bounded(&manager).into(), at));
            }
            for finalizer in fields.metadata.finalizers.0 {
                if found.finalizers.len() < MOST {
                    found.finalizers.push(FinalizerManager {
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
    #[serde(default)]
    subresource: Option<IgnoredAny>,
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
        let found = managed(&mut json).unwrap().finalizers.into_iter();
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
    fn writer_of_a_finalizer_is_the_manager_whose_entry_is_the_newest() {
        let entry = |manager: &str, day: &str| {
            format!(
                r#"{{"manager": "{manager}", "time": "2026-01-{day}T00:00:00Z",
                    "fieldsV1": {{"f:metadata": {{"f:finalizers": {{"v:\"a.example/b\"": {{}}}}}}}}}}"#
            )
        };
        let writers = |entries: String| {
            let mut json = serde_json::Deserializer::from_str(&entries);
            let found = managed(&mut json).unwrap().writers();
            found.iter().map(|(finalizer, by)| format!("{finalizer} {by}")).collect::<Vec<_>>()
        };
        let (old, new) = (entry("old", "01"), entry("new", "02"));
        for both in [format!("[{old}, {new}]"), format!("[{new}, {old}]")] {
            assert_eq!(writers(both), ["a.example/b new"]);
        }
        assert_eq!(writers("null".to_owned()), [""; 0]);
    }

    #[test]
    fn creator_is_the_manager_whose_entry_is_as_old_as_the_object() {
        let creator = |entries: &str| {
            let mut json = serde_json::Deserializer::from_str(entries);
            let created = "2026-01-01T00:00:00Z".parse().ok();
            managed(&mut json).unwrap().creator(created).map(|it| it.to_string())
        };
        let entry = |manager: &str, time: &str, more: &str| {
            format!(r#"{{"manager": "{manager}", "time": "2026-01-{time}T00:00:00Z"{more}}}"#)
        };
        let (helm, later) = (entry("helm", "01", ""), entry("kubectl", "02", ""));
        assert_eq!(creator(&format!("[{later}, {helm}]")).as_deref(), Some("helm"));
        assert_eq!(creator(&format!("[{later}]")), None);
        let status = entry("kubelet", "01", r#", "subresource": "status""#);
        assert_eq!(creator(&format!("[{status}]")), None);
        assert_eq!(creator(&format!("[{}]", entry("", "01", ""))), None);
        assert_eq!(creator(r#"[{"manager": "helm"}]"#), None);
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
