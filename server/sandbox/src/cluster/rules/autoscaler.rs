//! HorizontalPodAutoscalers: pkg/apis/autoscaling/validation.

use serde_json::{Value, json};

use crate::status::Cause;

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
        if crate::object::text(spec, &["scaleTargetRef", field]).is_empty() {
            causes.push(Cause::required(&format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
}
