//! The validation of individual kinds: `ValidateX` and `ValidateXUpdate` of pkg/apis/*/validation, as far as a cluster
//! would behave differently without them.

mod autoscaler;
mod claim;
mod job;
mod pod;
mod quota;
mod range;
mod workload;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{kind::Kind, object, status::Cause};

/// Validates the spec of an object.
pub(super) fn spec(kind: &Kind, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::spec(spec, "spec", causes),
        ("", "persistentvolumeclaims") => claim::spec(spec, causes),
        ("", "replicationcontrollers") => workload::controller(spec, causes),
        ("", "resourcequotas") => quota::spec(spec, causes),
        ("apps", "deployments") => workload::deployment(spec, causes),
        ("apps", "replicasets" | "statefulsets") => workload::replicated(spec, causes),
        ("apps", "daemonsets") => workload::selected(spec, causes),
        ("batch", "jobs") => job::spec(spec, "spec", causes),
        ("batch", "cronjobs") => job::schedule(spec, causes),
        ("networking.k8s.io", "servicecidrs") => range::spec(spec, causes),
        ("autoscaling", "horizontalpodautoscalers") => autoscaler::spec(spec, causes),
        _ => {}
    }
}

/// Validates a change of the spec.
pub(super) fn change(kind: &Kind, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::change(&old["spec"], &new["spec"], causes),
        ("", "persistentvolumeclaims") => claim::change(old, new, causes),
        ("", "resourcequotas") => quota::change(&old["spec"], &new["spec"], causes),
        ("apps", "statefulsets") => workload::change_of_set(&old["spec"], &new["spec"], causes),
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            fixed(old, new, &["spec", "selector"], causes);
        }
        ("batch", "jobs") => job::change(&old["spec"], &new["spec"], causes),
        ("networking.k8s.io", "servicecidrs") => range::change(&old["spec"], &new["spec"], causes),
        _ => {}
    }
}

/// Refuses a change of a field (`ValidateImmutableField`).
fn fixed(old: &Value, new: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    let (was, is) = (object::at(old, path), object::at(new, path));
    if was != is {
        causes.push(Cause::invalid(&path.join("."), is, "field is immutable"));
    }
}

/// Refuses a negative number (`ValidateNonnegativeField`).
fn not_negative(spec: &Value, path: &str, field: &str, causes: &mut Vec<Cause>) {
    let value = &spec[field];
    if value.as_i64().is_some_and(|it| it < 0) {
        let field = format!("{path}.{field}");
        causes.push(Cause::invalid(&field, value, "must be greater than or equal to 0"));
    }
}

/// Refuses any value but these. An absent field has a default.
fn one_of(value: &Value, field: &str, words: &[&str], causes: &mut Vec<Cause>) {
    if value.as_str().is_some_and(|it| !words.contains(&it)) {
        causes.push(Cause::not_supported(field, value, words));
    }
}

/// A unified diff of the members that differ; Kubernetes prints one of Go structs.
fn difference(old: &Value, new: &Value) -> String {
    let members = [old, new].into_iter().filter_map(Value::as_object).flat_map(|it| it.keys());
    let names: BTreeSet<&str> =
        members.map(String::as_str).filter(|name| old[*name] != new[*name]).collect();
    let count = names.len();
    let lines = names.iter().map(|it| format!("-{it}: {}\n+{it}: {}", old[*it], new[*it]));
    let lines: Vec<_> = lines.collect();
    format!("@@ -1,{count} +1,{count} @@\n{}", lines.join("\n"))
}
