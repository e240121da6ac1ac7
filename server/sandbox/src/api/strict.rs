//! Strict decoding: finds duplicate keys, and for kinds with few fields also unknown ones.

use std::{collections::BTreeSet, fmt};

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::kind::Kind;

/// The problems in a body, in the words of Go's strict decoder.
pub(super) fn problems(kind: &Kind, body: &[u8], object: &Value) -> Vec<String> {
    let names = object.as_object().into_iter().flat_map(|map| map.keys());
    let unknown =
        names.filter(|name| !is_known(kind, name)).map(|name| format!("unknown field {name:?}"));
    duplicates(body).into_iter().chain(unknown).collect()
}

/// Removes the unknown fields that strict decoding reports.
pub(super) fn drop_unknown(kind: &Kind, object: &mut Value) {
    if let Some(map) = object.as_object_mut() {
        map.retain(|name, _| is_known(kind, name));
    }
}

/// Whether a kind has a field. Kinds whose fields are not listed here have every field.
fn is_known(kind: &Kind, name: &str) -> bool {
    let fields: &[&str] = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "configmaps") => &["data", "binaryData", "immutable"],
        ("", "secrets") => &["data", "stringData", "type", "immutable"],
        _ => return true,
    };
    fields.contains(&name) || ["apiVersion", "kind", "metadata"].contains(&name)
}

fn duplicates(body: &[u8]) -> Vec<String> {
    let mut found = vec![];
    let mut reader = serde_json::Deserializer::from_slice(body);
    // Malformed JSON has been refused before.
    let _ = reader.deserialize_any(Keys { path: String::new(), found: &mut found });
    found
}

struct Keys<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> serde::de::DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let path =
                if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if seen.insert(key) {
                map.next_value_seed(Keys { path, found: &mut *self.found })?;
            } else {
                self.found.push(format!("duplicate field {path:?}"));
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            if list.next_element_seed(Keys { path, found: &mut *self.found })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
