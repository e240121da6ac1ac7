//! Quantities in objects (`v1.ResourceList`): they must be valid, and are stored in canonical form.

use serde_json::Value;

use crate::{kind::Kind, object, quantity::Quantity};

/// The error of Go's decoder for the first quantity that is malformed.
pub(super) fn unreadable(kind: &Kind, object: &Value) -> Option<String> {
    let lists = paths(kind, object).into_iter().filter_map(|path| object::pointed(object, &path));
    let amounts = lists.filter_map(Value::as_object).flat_map(|list| list.values());
    amounts.filter_map(|one| Quantity::from_value(one).err()).map(|error| error.to_string()).next()
}

/// Rewrites every quantity in canonical form: `1024Mi` becomes `1Gi`.
pub(super) fn canonicalize(kind: &Kind, object: &mut Value) {
    for path in paths(kind, object) {
        let list = object.pointer_mut(&path).and_then(Value::as_object_mut);
        for amount in list.into_iter().flat_map(|list| list.values_mut()) {
            if let Ok(quantity) = Quantity::from_value(amount) {
                *amount = quantity.to_value();
            }
        }
    }
}

/// The JSON pointers of the lists of quantities in an object.
fn paths(kind: &Kind, object: &Value) -> Vec<String> {
    let of = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "resourcequotas") => of(&["/spec/hard", "/status/hard", "/status/used"]),
        ("", "persistentvolumeclaims") => of(&[
            "/spec/resources/requests",
            "/spec/resources/limits",
            "/status/capacity",
            "/status/allocatedResources",
        ]),
        ("", "persistentvolumes") => of(&["/spec/capacity"]),
        ("", "pods") => of_pod(object, "/spec"),
        ("", "podtemplates") => of_pod(object, "/template/spec"),
        ("", "replicationcontrollers") | ("apps", _) | ("batch", "jobs") => {
            of_pod(object, "/spec/template/spec")
        }
        ("batch", "cronjobs") => of_pod(object, "/spec/jobTemplate/spec/template/spec"),
        _ => vec![],
    }
}

fn of_pod(object: &Value, spec: &str) -> Vec<String> {
    let mut paths = vec![format!("{spec}/overhead")];
    for list in ["containers", "initContainers"] {
        let containers = object.pointer(&format!("{spec}/{list}")).and_then(Value::as_array);
        for at in 0..containers.map_or(0, Vec::len) {
            for side in ["requests", "limits"] {
                paths.push(format!("{spec}/{list}/{at}/resources/{side}"));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kind::Kinds;

    #[test]
    fn amounts_are_read_wherever_they_are() {
        let kinds = Kinds::new();
        let kind = kinds.get("batch", "cronjobs").unwrap();
        let with = |cpu: Value| {
            let container = json!({"name": "c", "resources": {"limits": {"cpu": cpu}}});
            json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [7, container]}}}}}})
        };
        let mut object = with(json!(0.5));
        canonicalize(kind, &mut object);
        assert_eq!(object, with(json!("500m")));
        assert_eq!(unreadable(kind, &object), None);
        assert_eq!(
            unreadable(kind, &with(json!("half"))).as_deref(),
            Some(
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            )
        );
    }
}
