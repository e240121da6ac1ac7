//! Reading and writing the fields that every object has. Nothing panics on an object of any shape: a field that is
//! absent or of the wrong type reads as empty.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::clock;

/// The finalizer of foreground deletion: the garbage collector deletes the dependents first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer `orphan`: the garbage collector removes the dependents' references.
pub const ORPHAN: &str = "orphan";

/// The string at a path of names; empty if there is none.
#[must_use]
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// The value at a path of names; null if there is none.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, name| &value[*name])
}

/// The value at a JSON pointer without escapes, such as `/spec/containers/0`. `Value::pointer` allocates two strings
/// for every name in case it has escapes, and this is the most frequent read.
#[must_use]
pub fn pointed<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(object, |value, name| match value {
        Value::Object(map) => map.get(name),
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The strings in the list at a path.
pub fn texts<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a str> {
    at(object, path).as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[must_use]
pub fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

#[must_use]
pub fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

#[must_use]
pub fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

#[must_use]
pub fn resource_version(object: &Value) -> &str {
    text(object, &["metadata", "resourceVersion"])
}

#[must_use]
pub fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    texts(object, &["metadata", "finalizers"])
}

#[must_use]
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|one| one == finalizer)
}

#[must_use]
pub fn label<'a>(object: &'a Value, name: &str) -> &'a str {
    text(object, &["metadata", "labels", name])
}

/// The `deletionTimestamp`.
#[must_use]
pub fn deletion_timestamp(object: &Value) -> Option<Timestamp> {
    clock::read(&object["metadata"]["deletionTimestamp"])
}

#[must_use]
pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

#[must_use]
pub fn deletion_grace_period(object: &Value) -> Option<i64> {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64()
}

/// The owner references, each as it is.
pub fn owner_references(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// The owner reference whose `controller` is true.
#[must_use]
pub fn controller_reference(object: &Value) -> Option<&Value> {
    owner_references(object).find(|reference| reference["controller"] == true)
}

/// The VolumeAttributesClasses that a claim or a volume names: the requested one, the current one, and the target of a
/// change.
pub fn attributes_classes(object: &Value) -> impl Iterator<Item = &str> {
    let places = [
        &["spec", "volumeAttributesClassName"][..],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    places.into_iter().map(|place| text(object, place)).filter(|class| !class.is_empty())
}

/// The condition of this type in `status.conditions`.
#[must_use]
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|one| one["type"] == kind).unwrap_or(&Value::Null)
}

/// The map at a path, created if it is absent. A value on the way that is not a map is replaced.
pub fn map_at<'a>(object: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut value = object;
    for name in path {
        value = own(value).entry(*name).or_insert_with(|| json!({}));
    }
    own(value)
}

fn own(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("an object was just put there")
}

/// Sets the value at a path, and creates the maps on the way.
pub fn set(object: &mut Value, path: &[&str], value: Value) {
    if let Some((last, way)) = path.split_last() {
        map_at(object, way).insert((*last).into(), value);
    }
}

/// Sets the value at a path unless there is one.
pub fn set_default(object: &mut Value, path: &[&str], value: Value) {
    if at(object, path).is_null() {
        set(object, path, value);
    }
}

/// Removes the value at a path.
pub fn unset(object: &mut Value, path: &[&str]) {
    if let Some((last, way)) = path.split_last()
        && let Some(map) = way
            .iter()
            .try_fold(object, |value, name| value.get_mut(*name))
            .and_then(Value::as_object_mut)
    {
        map.remove(*last);
    }
}

/// Sets the finalizers; without any the field is removed.
pub fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    if finalizers.is_empty() {
        unset(object, &["metadata", "finalizers"]);
    } else {
        set(object, &["metadata", "finalizers"], json!(finalizers));
    }
}

/// Removes a finalizer. Returns whether it was there.
pub fn remove_finalizer(object: &mut Value, finalizer: &str) -> bool {
    let rest: Vec<String> =
        finalizers(object).filter(|one| *one != finalizer).map(String::from).collect();
    let had = rest.len() < finalizers(object).count();
    if had {
        set_finalizers(object, &rest);
    }
    had
}

/// Adds a finalizer. Returns whether it was missing.
pub fn add_finalizer(object: &mut Value, finalizer: &str) -> bool {
    if has_finalizer(object, finalizer) {
        return false;
    }
    let all: Vec<String> = finalizers(object).chain([finalizer]).map(String::from).collect();
    set_finalizers(object, &all);
    true
}

/// Sets a condition in `status.conditions`. `lastTransitionTime` changes only with its status. Returns whether anything
/// changed.
pub fn set_condition(
    object: &mut Value,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    let old = condition(object, kind);
    let since = if old["status"] == status {
        old["lastTransitionTime"].clone()
    } else {
        clock::written(now)
    };
    let mut new = json!({"type": kind, "status": status, "lastTransitionTime": since});
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            new[field] = json!(text);
        }
    }
    if *old == new {
        return false;
    }
    let conditions = map_at(object, &["status"]).entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        match conditions.iter_mut().find(|one| one["type"] == kind) {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }
    true
}

/// The depth of a value. Values are compared, written and dropped by recursion, so what is stored has a limit.
#[must_use]
pub fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let Some(limit) = limit.checked_sub(1) else { return true };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper_than(value, limit)),
        Value::Object(map) => map.values().any(|value| is_deeper_than(value, limit)),
        _ => false,
    }
}

/// The name that Go's JSON decoder gives to the type of a value in its errors.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_shape_will_do() {
        let mut object = json!([1, "two"]);
        assert_eq!((name(&object), generation(&object), finalizers(&object).count()), ("", 0, 0));
        assert!(!remove_finalizer(&mut object, "x"));
        unset(&mut object, &["a", "b"]);
        assert!(add_finalizer(&mut object, "x") && !add_finalizer(&mut object, "x"));
        assert_eq!(object, json!({"metadata": {"finalizers": ["x"]}}));
        assert!(remove_finalizer(&mut object, "x"));
        assert_eq!(object, json!({"metadata": {}}));
        object = json!({"status": {"conditions": "none"}});
        assert!(set_condition(&mut object, "Ready", "True", "R", "m", Timestamp::UNIX_EPOCH));
        assert!(!set_condition(&mut object, "Ready", "True", "R", "m", Timestamp::MAX));
        assert!(is_deeper_than(&json!([[[1]]]), 3) && !is_deeper_than(&json!([[[1]]]), 4));
    }

    #[test]
    fn pointer_leads_where_json_pointers_do() {
        let object = json!({"spec": {"containers": [{"name": "web"}], "": 1}, "0": null});
        for pointer in [
            "",
            "/",
            "/spec",
            "/spec/",
            "/spec/containers/0/name",
            "/spec/containers/1",
            "/0",
            "/0/0",
            "/x",
        ] {
            assert_eq!(pointed(&object, pointer), object.pointer(pointer), "{pointer:?}");
        }
    }
}
