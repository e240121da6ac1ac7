//! Objects that others create while a run goes on, of kinds that the unit does not have.

use serde_json::{Value, json};

use super::{object, workload};

/// The name of every object that others create.
pub(crate) const UNPLANNED: &str = "unplanned";
/// The end of the names of the Pods that a controller creates whose cache lags.
pub(crate) const LAGGING: &str = "-lagging";
/// The resource of a kind that is defined after the plan.
pub(crate) const NEW_PLURAL: &str = "notes";
/// The group of that kind.
pub(crate) const NEW_GROUP: &str = "late.example.com";

/// The definition of the new kind.
pub(crate) fn new_definition() -> Value {
    let name = format!("{NEW_PLURAL}.{NEW_GROUP}");
    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", &name);
    definition["spec"] = json!({
        "group": NEW_GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Note", "listKind": "NoteList", "plural": NEW_PLURAL, "singular": "note"},
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }},
        }],
    });
    definition
}

/// An object of the new kind.
pub(crate) fn new_object(namespace: &str) -> Value {
    object(&format!("{NEW_GROUP}/v1"), "Note", namespace, UNPLANNED)
}

/// A LimitRange without limits.
pub(crate) fn limit_range(namespace: &str) -> Value {
    let mut range = object("v1", "LimitRange", namespace, UNPLANNED);
    range["spec"] = json!({"limits": []});
    range
}

/// An Ingress in front of a Service of the unit.
pub(crate) fn late_ingress(namespace: &str, service: &str) -> Value {
    workload::ingress(UNPLANNED, namespace, service)
}
