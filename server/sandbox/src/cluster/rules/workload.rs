//! Deployments and the other workloads: pkg/apis/apps/validation.

use serde_json::Value;

use super::{not_negative, pod};
use crate::{object, selector::Labels, status::Cause};

pub(super) fn deployment(spec: &Value, causes: &mut Vec<Cause>) {
    not_negative(spec, "spec", "replicas", causes);
    selected(spec, causes);
    for field in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        not_negative(spec, "spec", field, causes);
    }
    let number = |field: &str| spec[field].as_i64();
    if number("progressDeadlineSeconds")
        .is_some_and(|it| it <= number("minReadySeconds").unwrap_or_default())
    {
        let why = "must be greater than minReadySeconds";
        let value = &spec["progressDeadlineSeconds"];
        causes.push(Cause::invalid("spec.progressDeadlineSeconds", value, why));
    }
}

/// Validates ReplicaSets and StatefulSets.
pub(super) fn replicated(spec: &Value, causes: &mut Vec<Cause>) {
    not_negative(spec, "spec", "replicas", causes);
    not_negative(spec, "spec", "minReadySeconds", causes);
    selected(spec, causes);
}

/// Validates workloads with a selector that their template must match.
pub(super) fn selected(spec: &Value, causes: &mut Vec<Cause>) {
    let selector = &spec["selector"];
    if selector.is_null() {
        causes.push(Cause::required("spec.selector", ""));
    }
    if !Labels::from_object(selector).is_some_and(|it| it.matches(&spec["template"])) {
        let labels = object::at(spec, &["template", "metadata", "labels"]);
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, why));
    }
    template(spec, causes);
}

/// Validates ReplicationControllers, whose selector is a plain map.
pub(super) fn controller(spec: &Value, causes: &mut Vec<Cause>) {
    not_negative(spec, "spec", "minReadySeconds", causes);
    if spec["selector"].as_object().is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required("spec.selector", ""));
    }
    not_negative(spec, "spec", "replicas", causes);
    template(spec, causes);
}

fn template(spec: &Value, causes: &mut Vec<Cause>) {
    let pods = object::at(spec, &["template", "spec"]);
    pod::spec(pods, "spec.template.spec", causes);
    let policy = &pods["restartPolicy"];
    if policy.as_str().is_some_and(|it| it != "Always") {
        let field = "spec.template.spec.restartPolicy";
        causes.push(Cause::not_supported(field, policy, &["Always"]));
    }
}

pub(super) fn change_of_set(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if kept_of_set(old) != kept_of_set(new) {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
            'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' \
            are forbidden";
        causes.push(Cause::forbidden("spec", why));
    }
}

/// The spec of a StatefulSet without its mutable fields.
fn kept_of_set(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for field in [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ] {
        object::unset(&mut spec, &[field]);
    }
    spec
}
