//! The columns of volumes, claims and storage classes.

use serde_json::{Value, json};

use super::{
    AGE, CREATED, Column, NAME, amount, boolean, length, name_of_class, number, or_unset, text,
    text_or, wide,
};
use crate::{kind::Kind, object};

/// The short names of the access modes, in this order.
const ACCESS: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

/// The columns of a kind in this module; `None` for any other kind.
pub(super) fn of(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "persistentvolumeclaims") => vec![
            NAME,
            text("Status", |one, _| json!(phase_or_terminating(one))),
            text("Volume", |one, _| json!(object::text(one, &["spec", "volumeName"]))),
            text("Capacity", |one, _| {
                json!(of_volume(one, |status| amount(&status["capacity"]["storage"])))
            }),
            text("Access Modes", |one, _| {
                json!(of_volume(one, |status| access_modes(&status["accessModes"])))
            }),
            text("StorageClass", |one, _| json!(class(one))),
            text("VolumeAttributesClass", |one, _| {
                or_unset(&one["spec"]["volumeAttributesClassName"])
            }),
            AGE,
            wide("VolumeMode", |one, _| or_unset(&one["spec"]["volumeMode"])),
        ],
        ("", "persistentvolumes") => vec![
            NAME,
            text("Capacity", |one, _| json!(amount(&one["spec"]["capacity"]["storage"]))),
            text("Access Modes", |one, _| json!(access_modes(&one["spec"]["accessModes"]))),
            text("Reclaim Policy", |one, _| {
                json!(object::text(one, &["spec", "persistentVolumeReclaimPolicy"]))
            }),
            text("Status", |one, _| json!(phase_or_terminating(one))),
            text("Claim", |one, _| {
                let part = |field| object::text(one, &["spec", "claimRef", field]);
                json!(match one["spec"]["claimRef"] {
                    Value::Null => String::new(),
                    _ => format!("{}/{}", part("namespace"), part("name")),
                })
            }),
            text("StorageClass", |one, _| json!(class(one))),
            text("VolumeAttributesClass", |one, _| {
                or_unset(&one["spec"]["volumeAttributesClassName"])
            }),
            text("Reason", |one, _| json!(object::text(one, &["status", "reason"]))),
            AGE,
            wide("VolumeMode", |one, _| or_unset(&one["spec"]["volumeMode"])),
        ],
        ("storage.k8s.io", "volumeattachments") => vec![
            NAME,
            Column::naming("Attacher", 0, |one, _| json!(object::text(one, &["spec", "attacher"]))),
            text("PV", |one, _| {
                json!(object::text(one, &["spec", "source", "persistentVolumeName"]))
            }),
            text("Node", |one, _| json!(object::text(one, &["spec", "nodeName"]))),
            boolean("Attached", |one, _| json!(one["status"]["attached"] == true)),
            AGE,
        ],
        ("storage.k8s.io", "csidrivers") => vec![
            NAME,
            boolean("AttachRequired", |one, _| json!(one["spec"]["attachRequired"] != false)),
            boolean("PodInfoOnMount", |one, _| json!(one["spec"]["podInfoOnMount"] == true)),
            boolean("StorageCapacity", |one, _| json!(one["spec"]["storageCapacity"] == true)),
            text("TokenRequests", |one, _| match one["spec"]["tokenRequests"].as_array() {
                None => json!("<unset>"),
                Some(all) => {
                    let audiences = all.iter().map(|one| object::text(one, &["audience"]));
                    json!(audiences.collect::<Vec<_>>().join(","))
                }
            }),
            boolean("RequiresRepublish", |one, _| json!(one["spec"]["requiresRepublish"] == true)),
            text("Modes", |one, _| {
                let modes: Vec<_> = object::texts(one, &["spec", "volumeLifecycleModes"]).collect();
                json!(if modes.is_empty() { "Persistent".into() } else { modes.join(",") })
            }),
            AGE,
        ],
        ("storage.k8s.io", "csinodes") => {
            vec![NAME, number("Drivers", |one, _| json!(length(&one["spec"]["drivers"]))), AGE]
        }
        // CSIStorageCapacity has a printer, but its registry does not use it.
        ("storage.k8s.io", "csistoragecapacities") => vec![NAME, CREATED],
        ("storage.k8s.io", "storageclasses") => vec![
            Column::naming("Name", 0, |one, _| {
                let marks = [
                    "storageclass.kubernetes.io/is-default-class",
                    "storageclass.beta.kubernetes.io/is-default-class",
                ];
                name_of_class(one, &marks)
            }),
            text("Provisioner", |one, _| json!(object::text(one, &["provisioner"]))),
            text("ReclaimPolicy", |one, _| text_or(&one["reclaimPolicy"], "Delete")),
            text("VolumeBindingMode", |one, _| text_or(&one["volumeBindingMode"], "Immediate")),
            text("AllowVolumeExpansion", |one, _| json!(one["allowVolumeExpansion"] == true)),
            AGE,
        ],
        ("storage.k8s.io", "volumeattributesclasses") => {
            vec![NAME, text("DriverName", |one, _| json!(object::text(one, &["driverName"]))), AGE]
        }
        _ => return None,
    })
}

fn phase_or_terminating(object: &Value) -> &str {
    if object::is_deleting(object) {
        "Terminating"
    } else {
        object::text(object, &["status", "phase"])
    }
}

/// A property of the claim's volume, from the claim's status; empty before the claim has a volume.
fn of_volume(claim: &Value, property: fn(&Value) -> String) -> String {
    match object::text(claim, &["spec", "volumeName"]) {
        "" => String::new(),
        _ => property(&claim["status"]),
    }
}

fn access_modes(modes: &Value) -> String {
    let has = |mode: &str| modes.as_array().is_some_and(|all| all.iter().any(|one| one == mode));
    let shown = ACCESS.into_iter().filter(|(mode, _)| has(mode)).map(|(_, short)| short);
    shown.collect::<Vec<_>>().join(",")
}

/// The class of a claim or a volume. The old annotation takes precedence over the field.
fn class(one: &Value) -> &str {
    let old = one["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    old.unwrap_or_else(|| object::text(one, &["spec", "storageClassName"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{NOW, cells, check};

    #[test]
    fn claim_shows_its_volume_once_it_is_bound() {
        let (age, unset) = ("<unknown>", "<unset>");
        let old = "volume.beta.kubernetes.io/storage-class";
        let status = json!({"phase": "Bound", "capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]});
        for (object, expected) in [
            (
                json!({
                    "metadata": {"name": "a"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "c"}, "status": {"phase": "Pending"},
                }),
                json!(["a", "Pending", "", "", "", "c", unset, age, unset]),
            ),
            (
                json!({
                    "metadata": {"name": "a", "annotations": {old: "b"}},
                    "spec": {
                        "volumeName": "v", "volumeMode": "Block", "storageClassName": "c", "volumeAttributesClassName": "",
                    },
                    "status": status,
                }),
                json!(["a", "Bound", "v", "1Gi", "RWO,RWX", "b", "", age, "Block"]),
            ),
            (
                json!({"metadata": {"name": "a", "deletionTimestamp": NOW}, "spec": {"volumeName": "v"}}),
                json!(["a", "Terminating", "v", "0", "", "", unset, age, unset]),
            ),
        ] {
            assert_eq!(cells("", "persistentvolumeclaims", &object), expected, "{object}");
        }
        let mut one = json!({
            "metadata": {"name": "v"},
            "spec": {
                "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOncePod", "ReadOnlyMany", "ReadOnlyMany"],
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "shop", "name": "a"},
            },
            "status": {"phase": "Released", "reason": "Gone"},
        });
        assert_eq!(
            cells("", "persistentvolumes", &one),
            json!([
                "v", "5Gi", "ROX,RWOP", "Retain", "Released", "shop/a", "", unset, "Gone", age,
                unset
            ])
        );
        one["spec"] = json!({});
        check("", "persistentvolumes", &["Capacity", "Claim"], &one, &json!(["0", ""]));
    }
}
