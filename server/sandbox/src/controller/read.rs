//! Reading and changing JSON objects. A field that is absent or of the wrong type reads as empty, so that no stored
//! object can stop a controller.

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use crate::clock::{written, written_micro};
pub(crate) use crate::object::{
    add_finalizer, condition, finalizers, generation, has_finalizer, is_deleting, name, namespace,
    pointed, remove_finalizer, set, set_condition, uid, unset,
};
use crate::selector::Labels;

/// The string at a JSON pointer; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    pointed(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number at a JSON pointer.
pub(crate) fn number(object: &Value, pointer: &str) -> Option<i64> {
    pointed(object, pointer).and_then(Value::as_i64)
}

/// A count within the API's limits, whatever was stored: not negative and 32 bits, so that sums do not overflow.
pub(crate) fn small(count: i64) -> i64 {
    count.clamp(0, i64::from(i32::MAX))
}

/// Whether there is a `true` at a JSON pointer.
pub(crate) fn flag(object: &Value, pointer: &str) -> bool {
    pointed(object, pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// The list at a JSON pointer; empty if there is none.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    pointed(object, pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The RFC 3339 time at a JSON pointer.
pub(crate) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

pub(crate) fn kind(object: &Value) -> &str {
    text(object, "/kind")
}

pub(crate) fn phase(object: &Value) -> &str {
    text(object, "/status/phase")
}

/// The value in a map of strings, such as labels, whose keys may have characters that a JSON pointer cannot.
fn member<'a>(object: &'a Value, map: &str, key: &str) -> Option<&'a str> {
    pointed(object, map)?.get(key)?.as_str()
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    member(object, "/metadata/labels", key)
}

pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    member(object, "/metadata/annotations", key)
}

pub(crate) fn owners(object: &Value) -> &[Value] {
    list(object, "/metadata/ownerReferences")
}

/// The ownerReference of the controller.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    owners(object).iter().find(|it| flag(it, "/controller"))
}

/// Whether the object of this UID is its controller.
pub(crate) fn controlled_by(object: &Value, owner: &str) -> bool {
    controller(object).is_some_and(|it| text(it, "/uid") == owner)
}

/// Whether a Pod has ended: none of its containers runs again.
pub(crate) fn ended(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether a Pod counts for its controller (`IsPodActive` in pkg/controller/controller_utils.go).
pub(crate) fn active(pod: &Value) -> bool {
    !ended(pod) && !is_deleting(pod)
}

/// Whether a condition of this type is `True`.
pub(crate) fn is_true(object: &Value, condition: &str) -> bool {
    crate::object::condition(object, condition)["status"] == "True"
}

/// Copies the fields that this controller does not write into a new status.
pub(crate) fn keep(stored: &Value, status: &mut Value) {
    for member in ["conditions", "collisionCount"] {
        if let Some(value) = stored.pointer("/status").and_then(|it| it.get(member)) {
            status[member] = value.clone();
        }
    }
}

pub(crate) fn annotate(object: &mut Value, key: &str, value: &str) {
    set(object, &["metadata", "annotations", key], json!(value));
}

/// An ownerReference with `controller` and `blockOwnerDeletion`.
pub(crate) fn controller_reference(owner: &Value) -> Value {
    let mut reference = owner_reference(owner);
    reference["controller"] = json!(true);
    reference["blockOwnerDeletion"] = json!(true);
    reference
}

pub(crate) fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": text(owner, "/apiVersion"),
        "kind": kind(owner),
        "name": name(owner),
        "uid": uid(owner),
    })
}

/// Whether a plain map of labels, such as a Service's selector, matches. An absent or empty one matches nothing.
pub(crate) fn selects_plainly(selector: Option<&Value>, object: &Value) -> bool {
    selector.and_then(Value::as_object).is_some_and(|all| {
        !all.is_empty() && all.iter().all(|(key, value)| label(object, key) == value.as_str())
    })
}

/// The claims of a Pod's volumes, with those of its generic ephemeral volumes.
pub(crate) fn claims(pod: &Value) -> impl Iterator<Item = String> {
    list(pod, "/spec/volumes").iter().filter_map(|volume| {
        if let Some(claim) =
            volume.pointer("/persistentVolumeClaim/claimName").and_then(Value::as_str)
        {
            return Some(claim.to_owned());
        }
        volume.get("ephemeral").map(|_| format!("{}-{}", name(pod), text(volume, "/name")))
    })
}

/// Whether a LabelSelector (`matchLabels`, `matchExpressions`) matches an object's labels. An absent selector matches
/// nothing, an empty one everything.
pub(crate) fn selects(selector: Option<&Value>, object: &Value) -> bool {
    selector.and_then(Labels::from_object).is_some_and(|it| it.matches(object))
}
