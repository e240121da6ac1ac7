//! Pods and Pod templates: `ValidatePodSpec`, `ValidatePodUpdate`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::validate::{LABEL, is_label};
use super::{difference, one_of};
use crate::{object, status::Cause};

fn list<'a>(spec: &'a Value, member: &str) -> &'a [Value] {
    spec[member].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Validates a Pod's spec, which is at `path` in the object.
pub(super) fn spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    if list(spec, "containers").is_empty() {
        causes.push(Cause::required(&format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for member in ["containers", "initContainers"] {
        for (at, container) in list(spec, member).iter().enumerate() {
            let field = |name: &str| format!("{path}.{member}[{at}].{name}");
            let name = object::text(container, &["name"]);
            if name.is_empty() {
                causes.push(Cause::required(&field("name"), ""));
            } else if name.len() > 63 {
                let why = "must be no more than 63 characters";
                causes.push(Cause::invalid(&field("name"), &json!(name), why));
            } else if !is_label(name) {
                causes.push(Cause::invalid(&field("name"), &json!(name), LABEL));
            } else if !names.insert(name) {
                causes.push(Cause {
                    reason: "FieldValueDuplicate".into(),
                    message: format!("Duplicate value: {name:?}"),
                    field: field("name"),
                });
            }
            if object::text(container, &["image"]).is_empty() {
                causes.push(Cause::required(&field("image"), ""));
            }
        }
    }
    let words = ["Always", "OnFailure", "Never"];
    one_of(&spec["restartPolicy"], &format!("{path}.restartPolicy"), &words, causes);
}

/// Allows other images, an earlier deadline, more tolerations, fewer scheduling gates, and 1 s in place of a negative
/// grace period.
pub(super) fn change(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    for member in ["containers", "initContainers"] {
        if list(old, member).len() != list(new, member).len() {
            let why = "pod updates may not add or remove containers";
            return causes.push(Cause::forbidden(&format!("spec.{member}"), why));
        }
    }
    let deadline = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (deadline(old), deadline(new)) {
        (Some(was), Some(is)) if was < is => {
            let why = "must be less than or equal to previous value";
            let field = "spec.activeDeadlineSeconds";
            return causes.push(Cause::invalid(field, &json!(is), why));
        }
        (Some(_), None) => {
            let why = "must not update from a positive integer to nil value";
            causes.push(Cause::invalid("spec.activeDeadlineSeconds", &Value::Null, why));
        }
        _ => {}
    }
    let timeless = |toleration: &Value| {
        let mut toleration = toleration.clone();
        object::unset(&mut toleration, &["tolerationSeconds"]);
        toleration
    };
    let kept: Vec<_> = list(new, "tolerations").iter().map(timeless).collect();
    if list(old, "tolerations").iter().any(|it| !kept.contains(&timeless(it))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    let gates = list(old, "schedulingGates");
    if list(new, "schedulingGates").iter().any(|it| !gates.contains(it)) {
        let why = "only deletion is allowed, but found new scheduling gate";
        causes.push(Cause::forbidden("spec.schedulingGates", why));
    }
    let (was, mut is) = (kept_of(old), kept_of(new));
    if was["terminationGracePeriodSeconds"].as_i64().is_some_and(|it| it < 0)
        && is["terminationGracePeriodSeconds"] == 1
    {
        is["terminationGracePeriodSeconds"] = was["terminationGracePeriodSeconds"].clone();
    }
    if was != is {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
            `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
            tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        causes.push(Cause::forbidden("spec", &format!("{why}\n{}", difference(&was, &is))));
    }
}

/// The spec of a Pod without its mutable fields.
fn kept_of(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        object::unset(&mut spec, &[field]);
    }
    for member in ["containers", "initContainers"] {
        let containers = spec.get_mut(member).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            object::unset(container, &["image"]);
        }
    }
    spec
}
