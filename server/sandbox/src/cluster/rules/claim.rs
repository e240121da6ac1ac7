//! PersistentVolumeClaims: `ValidatePersistentVolumeClaimSpec`, `ValidatePersistentVolumeClaimUpdate`.

use serde_json::Value;

use super::{difference, one_of};
use crate::{object, status::Cause};

const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) fn spec(spec: &Value, causes: &mut Vec<Cause>) {
    let modes = spec["accessModes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if modes.is_empty() {
        causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    for mode in modes {
        one_of(mode, "spec.accessModes", &ACCESS_MODES, causes);
    }
    if modes.len() > 1 && modes.iter().any(|it| it == "ReadWriteOncePod") {
        let why = "may not use ReadWriteOncePod with other access modes";
        causes.push(Cause::forbidden("spec.accessModes", why));
    }
    if object::at(spec, &["resources", "requests", "storage"]).is_null() {
        causes.push(Cause::required("spec.resources[storage]", ""));
    }
    one_of(&spec["volumeMode"], "spec.volumeMode", &["Block", "Filesystem"], causes);
}

/// Allows setting a volume and a class that are still empty, and changing the size and the attributes class of a bound
/// claim.
pub(super) fn change(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (was, mut is) = (&old["spec"], new["spec"].clone());
    let mut allow = |path: &[&str]| match object::at(was, path) {
        Value::Null => object::unset(&mut is, path),
        value => object::set(&mut is, path, value.clone()),
    };
    for field in ["volumeName", "storageClassName"] {
        if object::text(was, &[field]).is_empty() {
            allow(&[field]);
        }
    }
    if object::text(new, &["status", "phase"]) == "Bound" {
        allow(&["resources", "requests", "storage"]);
        allow(&["volumeAttributesClassName"]);
    }
    if *was != is {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
            claims";
        causes.push(Cause::forbidden("spec", &format!("{why}\n{}", difference(was, &is))));
    }
}
