//! The subresource `scale`.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Content, Reply, body,
    request::{Request, Verb},
    write,
};
use crate::{
    cluster::Cluster,
    kind::Kind,
    object,
    patch::Patch,
    status::{Cause, Status},
    store::Key,
};

pub(super) fn answer(
    cluster: &mut Cluster,
    request: &Request,
    verb: Verb,
    kind: &Arc<Kind>,
    key: &Key,
) -> Result<Reply, Status> {
    let existing = cluster.get(key).cloned();
    let existing = existing.ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
    let scale = scale_of(kind, &existing);
    let wanted = match verb {
        Verb::Get => return Ok(Reply::json(scale)),
        Verb::Patch => match write::read_patch(request, kind)? {
            // The lists of a Scale have no keys.
            Patch::Strategic(patch) => Patch::Merge(patch).apply(kind, &scale)?,
            patch => patch.apply(kind, &scale)?,
        },
        _ => body::json(request)?,
    };
    let name = object::name(&wanted);
    if name != &*key.name {
        let why = format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            key.name
        );
        return Err(Status::bad_request(why));
    }
    let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas < 0 || replicas > i64::from(i32::MAX) {
        let cause =
            Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
        return Err(Status::invalid("autoscaling", "Scale", name, vec![cause]));
    }
    let write = write::options(request, "UpdateOptions")?;
    let mut next = Value::clone(&existing);
    let path = path_of(kind, "specReplicasPath", ".spec.replicas");
    object::set(&mut next, &path, json!(replicas));
    for (field, asked) in
        [("resourceVersion", object::resource_version(&wanted)), ("uid", object::uid(&wanted))]
    {
        if !asked.is_empty() {
            object::set(&mut next, &["metadata", field], json!(asked));
        }
    }
    let stored = cluster.update_with(&request.actor, &write, key, "", next)?;
    Ok(Reply::new(StatusCode::OK, Content::Json(scale_of(kind, &stored))))
}

/// Where a number of a scale is: a definition says it, for built-in kinds it is always there.
fn path_of<'a>(kind: &'a Kind, field: &str, otherwise: &'a str) -> Vec<&'a str> {
    let declared = kind.declared["subresources"]["scale"][field].as_str();
    declared.unwrap_or(otherwise).split('.').filter(|part| !part.is_empty()).collect()
}

fn scale_of(kind: &Kind, object: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {},
        "status": {"replicas": object::at(object, &path_of(kind, "statusReplicasPath", ".status.replicas")).as_i64().unwrap_or_default()},
    });
    // Nought is not written.
    let wanted = object::at(object, &path_of(kind, "specReplicasPath", ".spec.replicas")).as_i64();
    if let Some(replicas) = wanted.filter(|replicas| *replicas != 0) {
        scale["spec"]["replicas"] = json!(replicas);
    }
    let labels = object["spec"]["selector"]["matchLabels"].as_object();
    let selector: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if !selector.is_empty() {
        scale["status"]["selector"] = json!(selector.join(","));
    }
    scale
}
