//! HorizontalPodAutoscalers: pkg/apis/autoscaling/validation.

use serde_json::{Value, json};

use crate::{object::text, status::Cause};

pub(super) fn spec(spec: &Value, causes: &mut Vec<Cause>) {
    let number = |field: &str| spec[field].as_i64();
    let most = number("maxReplicas").unwrap_or_default();
    if let Some(least) = number("minReplicas").filter(|it| *it < 1) {
        let why = "must be greater than or equal to 1";
        causes.push(Cause::invalid("spec.minReplicas", &json!(least), why));
    }
    if most == 0 {
        causes.push(Cause::required("spec.maxReplicas", "must be set and greater than 0"));
    } else if most < 0 {
        let why = "must be greater than or equal to 1";
        causes.push(Cause::invalid("spec.maxReplicas", &json!(most), why));
    }
    if number("minReplicas").is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &json!(most), why));
    }
    for field in ["kind", "name"] {
        if text(spec, &["scaleTargetRef", field]).is_empty() {
            causes.push(Cause::required(&format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    let version = &spec["scaleTargetRef"]["apiVersion"];
    if let Some(why) = odd_version(version.as_str().unwrap_or_default(), spec) {
        let field = "spec.scaleTargetRef.apiVersion";
        let version = if version.is_null() { &json!("") } else { version };
        causes.push(Cause::invalid(field, version, &why));
    }
    let can_be_none = |metric: &Value| ["Object", "External"].contains(&text(metric, &["type"]));
    let metrics = spec["metrics"].as_array();
    if spec["minReplicas"] == 0 && !metrics.into_iter().flatten().any(can_be_none) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        causes.push(Cause::forbidden("spec.metrics", why));
    }
}

/// The reason why no scale target can have this apiVersion (`ValidateAPIVersion`).
fn odd_version(version: &str, spec: &Value) -> Option<String> {
    match version.split('/').count() {
        // ReplicationController is the only kind in the core group that has a scale.
        1 if text(spec, &["scaleTargetRef", "kind"]) != "ReplicationController" => {
            Some("apiVersion must specify API group".to_owned())
        }
        1 | 2 => None,
        _ => Some(format!("unexpected GroupVersion string: {version}")),
    }
}
