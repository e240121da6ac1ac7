//! The subresource `scale`: the replicas of an object as an object of their own. A write of a Scale changes the object;
//! admission sees the Scale (`pkg/registry/apps/deployment/storage`, and that of custom resources).

use serde_json::{Value, json};

use super::Cluster;
use crate::{
    kind::Kind,
    object,
    status::{Cause, Status},
    store::Key,
};

/// The name of the subresource.
pub(super) const SUBRESOURCE: &str = "scale";
/// The group, version and kind of a Scale.
pub(super) const KIND: [&str; 3] = ["autoscaling", "v1", "Scale"];

impl Cluster {
    /// The Scale of an object.
    ///
    /// # Errors
    ///
    /// 404 if there is no such object, or if its kind has no scale.
    pub(crate) fn scale(&self, key: &Key) -> Result<Value, Status> {
        let kind = self.kind(key)?;
        kind.subresource(SUBRESOURCE).ok_or_else(Status::unknown_resource)?;
        let object = self.get(key);
        let object = object.ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        Ok(of(&kind, object))
    }
}

/// Copies the number of replicas and the resource version from a Scale into its object.
pub(super) fn write_to(kind: &Kind, scale: &Value, object: &mut Value) -> Result<(), Status> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas < 0 || replicas > i64::from(i32::MAX) {
        let cause =
            Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
        return Err(Status::invalid(KIND[0], KIND[2], object::name(object), vec![cause]));
    }
    let path = path_of(kind, "specReplicasPath", ".spec.replicas");
    object::set(object, &path, json!(replicas));
    let version = object::resource_version(scale);
    if !version.is_empty() {
        object::set(object, &["metadata", "resourceVersion"], json!(version));
    }
    Ok(())
}

/// The path of a number of replicas. A custom resource has it from its definition; for built-in kinds it is fixed.
fn path_of<'a>(kind: &'a Kind, field: &str, otherwise: &'a str) -> Vec<&'a str> {
    let declared = kind.declared["subresources"]["scale"][field].as_str();
    declared.unwrap_or(otherwise).split('.').filter(|part| !part.is_empty()).collect()
}

/// The Scale of an object that has one.
pub(super) fn of(kind: &Kind, object: &Value) -> Value {
    let metadata = &object["metadata"];
    let [group, version, name] = KIND;
    let mut scale = json!({
        "kind": name, "apiVersion": format!("{group}/{version}"),
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {},
        "status": {"replicas": object::at(object, &path_of(kind, "statusReplicasPath", ".status.replicas")).as_i64().unwrap_or_default()},
    });
    // Go omits the number zero.
    let wanted = object::at(object, &path_of(kind, "specReplicasPath", ".spec.replicas")).as_i64();
    if let Some(replicas) = wanted.filter(|replicas| *replicas != 0) {
        scale["spec"]["replicas"] = json!(replicas);
    }
    if let Some(selector) = selector_of(kind, object) {
        scale["status"]["selector"] = json!(selector);
    }
    scale
}

/// The selector in a Scale, as text. A custom resource has one only if its definition declares the path.
fn selector_of(kind: &Kind, object: &Value) -> Option<String> {
    if kind.is_custom() {
        let path = path_of(kind, "labelSelectorPath", "");
        return object::at(object, &path).as_str().map(String::from);
    }
    let selector = &object["spec"]["selector"];
    // A ReplicationController's selector is a plain map.
    let labels = if kind.group.is_empty() { selector } else { &selector["matchLabels"] };
    let parts: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    (!parts.is_empty()).then(|| parts.join(","))
}
