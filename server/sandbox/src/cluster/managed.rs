//! `metadata.managedFields`, as far as finalizers need it: who put each one on, and when. Other fields are not
//! tracked; a sandbox object says less here than a real one, and never anything that is not so.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Write;
use crate::{clock, kind::Kind, object};

/// Notes in `new` whose finalizers are whose. What the client sent as managedFields does not count.
pub(super) fn note(
    old: Option<&Value>,
    new: &mut Value,
    kind: &Kind,
    write: &Write,
    subresource: &str,
    now: Timestamp,
) {
    let had: BTreeSet<&str> = old.into_iter().flat_map(object::finalizers).collect();
    let has: BTreeSet<String> = object::finalizers(new).map(String::from).collect();
    let before = old.map_or(&Value::Null, |old| &old["metadata"]["managedFields"]);
    let mut entries: Vec<Value> = before.as_array().cloned().unwrap_or_default();
    let added: Vec<&String> = has.iter().filter(|one| !had.contains(one.as_str())).collect();
    let removed: Vec<&str> = had.into_iter().filter(|one| !has.contains(*one)).collect();
    if !removed.is_empty() {
        for entry in &mut entries {
            if let Some(fields) = finalizers_of(entry) {
                for one in &removed {
                    fields.remove(&field(one));
                }
            }
        }
        entries.retain_mut(|entry| {
            finalizers_of(entry).is_some_and(|fields| fields.keys().any(|key| key != "."))
        });
    }
    if !added.is_empty() {
        let operation = if write.apply { "Apply" } else { "Update" };
        let mine = |entry: &Value| {
            entry["manager"] == *write.field_manager
                && entry["operation"] == operation
                && entry["subresource"].as_str().unwrap_or_default() == subresource
        };
        let index = entries.iter().position(mine).unwrap_or_else(|| {
            let mut entry = json!({
                "manager": write.field_manager, "operation": operation, "apiVersion": kind.api_version(),
                "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}}}},
            });
            if !subresource.is_empty() {
                entry["subresource"] = json!(subresource);
            }
            entries.push(entry);
            entries.len() - 1
        });
        entries[index]["time"] = clock::written(now);
        if let Some(fields) = finalizers_of(&mut entries[index]) {
            for one in added {
                fields.insert(field(one), json!({}));
            }
        }
    }
    if entries.is_empty() {
        object::unset(new, &["metadata", "managedFields"]);
    } else {
        object::set(new, &["metadata", "managedFields"], entries.into());
    }
}

/// The finalizers that a manager once applied, and applies no more.
pub(super) fn given_up(existing: &Value, applied: &Value, manager: &str) -> Vec<String> {
    let mut entries = existing["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mine = |entry: &&mut Value| entry["manager"] == *manager && entry["operation"] == "Apply";
    let once: Vec<String> = entries
        .iter_mut()
        .filter(mine)
        .filter_map(finalizers_of)
        .flat_map(|fields| fields.keys().cloned())
        .collect();
    object::finalizers(existing)
        .filter(|one| once.contains(&field(one)) && !object::has_finalizer(applied, one))
        .map(String::from)
        .collect()
}

fn field(finalizer: &str) -> String {
    format!("v:{}", json!(finalizer))
}

fn finalizers_of(entry: &mut Value) -> Option<&mut Map<String, Value>> {
    entry.get_mut("fieldsV1")?.get_mut("f:metadata")?.get_mut("f:finalizers")?.as_object_mut()
}
