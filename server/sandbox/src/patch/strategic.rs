//! Strategic merge: lists whose items have a key are merged by it. Upstream declares these lists in the field tags of
//! `k8s.io/api`. Here the name of a field decides, which is enough for the kinds that are served.

use serde_json::{Map, Value};

/// The merge key of a list field. `None` for lists that are replaced as a whole.
pub(super) fn merge_key(field: &str, elements: &[Value]) -> Option<&'static str> {
    let has = |key: &str| elements.iter().any(|one| one.get(key).is_some());
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "resourceClaimStatuses"
        | "allocatedResourcesStatus"
        | "drivers"
        | "webhooks"
        | "matchConditions"
        | "variables" => Some("name"),
        "secrets" if has("name") => Some("name"),
        "ownerReferences" | "reservedFor" => Some("uid"),
        "conditions" => Some("type"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "ports" if has("containerPort") => Some("containerPort"),
        "ports" if has("port") => Some("port"),
        "addresses" if has("type") => Some("type"),
        "hostAliases" | "podIPs" | "hostIPs" => Some("ip"),
        "topologySpreadConstraints" => Some("topologyKey"),
        _ => None,
    }
}

/// Whether a list of scalars is a set, to which a patch adds.
fn is_set(field: &str) -> bool {
    matches!(field, "finalizers" | "podCIDRs")
}

pub(super) fn merged(object: &Value, patch: &Value) -> Value {
    let mut merged = object.clone();
    merge(&mut merged, patch);
    merged
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = without_directives(patch);
            return;
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return;
        }
        _ => {}
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (field, value) in patch {
        if let Some(list) = field.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(from)), Some(gone)) = (target.get_mut(list), value.as_array())
            {
                from.retain(|one| !gone.contains(one));
            }
        } else if field.starts_with("$setElementOrder/")
            || field == "$retainKeys"
            || field == "$patch"
        {
            // The order in the patch is ignored; no controller of the sandbox depends on it.
        } else if value.is_null() {
            target.remove(field);
        } else if let Value::Array(list) = value {
            let old = target.entry(field.clone()).or_insert_with(|| Value::Array(vec![]));
            merge_list(field, old, list);
        } else {
            merge(target.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
    if let Some(Value::Array(keep)) = patch.get("$retainKeys") {
        target.retain(|field, _| keep.iter().any(|one| one == field));
    }
}

fn merge_list(field: &str, old: &mut Value, patch: &[Value]) {
    if is_set(field)
        && let Value::Array(old) = old
    {
        let had = std::mem::take(old);
        *old = patch.iter().filter(|one| !had.contains(one)).cloned().collect();
        old.extend(had);
        return;
    }
    let replaced = patch.iter().any(|one| one["$patch"] == "replace");
    let key = old
        .as_array()
        .map(|old| [old.as_slice(), patch].concat())
        .and_then(|all| merge_key(field, &all));
    let (Some(key), Value::Array(old), false) = (key, &mut *old, replaced) else {
        let rest = patch.iter().filter(|one| one.get("$patch").is_none());
        *old = rest.cloned().collect();
        return;
    };
    // Without `$setElementOrder`, the items that the patch adds come first.
    let mut added = vec![];
    for one in patch {
        let at =
            old.iter().position(|other| other.get(key).is_some() && other.get(key) == one.get(key));
        match (at, one["$patch"] == "delete") {
            (Some(at), true) => _ = old.remove(at),
            (None, true) => {}
            (Some(at), false) => merge(&mut old[at], one),
            (None, false) => {
                let mut new = Value::Null;
                merge(&mut new, one);
                added.push(new);
            }
        }
    }
    old.splice(..0, added);
}

fn without_directives(patch: &Map<String, Value>) -> Value {
    let kept = patch.iter().filter(|(field, _)| !field.starts_with('$'));
    Value::Object(kept.map(|(field, value)| (field.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_merged_by_their_keys() {
        let object = json!({
            "metadata": {"finalizers": ["a", "b"]},
            "spec": {"containers": [{"name": "x", "image": "1"}, {"name": "y"}], "args": [1, 2]},
        });
        let patch = json!({
            "metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]},
            "spec": {
                "containers": [{"name": "x", "image": "2"}, {"name": "y", "$patch": "delete"}, {"name": "z"}],
                "args": [3],
            },
        });
        assert_eq!(
            merged(&object, &patch),
            json!({
                "metadata": {"finalizers": ["c", "b"]},
                "spec": {"containers": [{"name": "z"}, {"name": "x", "image": "2"}], "args": [3]},
            })
        );
    }

    /// `kubectl taint` sends all taints that stay.
    #[test]
    fn taints_and_validations_are_replaced_as_a_whole() {
        let object = json!({"spec": {
            "taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}],
            "validations": [{"expression": "1"}],
        }});
        let patch = json!({"spec": {
            "taints": [{"key": "a", "effect": "NoExecute"}], "validations": [{"expression": "2"}],
        }});
        assert_eq!(merged(&object, &patch), patch);
    }
}
