//! Jobs and CronJobs: pkg/apis/batch/validation.

use serde_json::Value;

use super::{fixed, not_negative, one_of, pod};
use crate::{cron, object, status::Cause};

/// Validates a Job's spec, which is at `path` in the object.
pub(super) fn spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ] {
        not_negative(spec, path, field, causes);
    }
    let modes = ["NonIndexed", "Indexed"];
    one_of(&spec["completionMode"], &format!("{path}.completionMode"), &modes, causes);
    let policies = ["Failed", "TerminatingOrFailed"];
    let field = format!("{path}.podReplacementPolicy");
    one_of(&spec["podReplacementPolicy"], &field, &policies, causes);
    let template = &spec["template"]["spec"];
    pod::spec(template, &format!("{path}.template.spec"), causes);
    // An absent policy has been defaulted to `Always` before.
    if ["", "Always"].contains(&object::text(template, &["restartPolicy"])) {
        let field = format!("{path}.template.spec.restartPolicy");
        causes.push(Cause::required(&field, "valid values: \"OnFailure\", \"Never\""));
    }
}

/// Validates a CronJob's spec.
pub(super) fn schedule(it: &Value, causes: &mut Vec<Cause>) {
    match object::text(it, &["schedule"]) {
        "" => causes.push(Cause::required("spec.schedule", "")),
        text => {
            if let Some(why) = cron::parse_error(text) {
                causes.push(Cause::invalid("spec.schedule", &it["schedule"], &why));
            }
            if text.contains("TZ") {
                let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                causes.push(Cause::invalid("spec.schedule", &it["schedule"], why));
            }
        }
    }
    not_negative(it, "spec", "startingDeadlineSeconds", causes);
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(&it["concurrencyPolicy"], "spec.concurrencyPolicy", &policies, causes);
    spec(&it["jobTemplate"]["spec"], "spec.jobTemplate.spec", causes);
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        not_negative(it, "spec", field, causes);
    }
}

/// Refuses changes of immutable fields. The fields that place a Job's Pods may change while it is suspended.
pub(super) fn change(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let wrap = |spec: &Value| serde_json::json!({ "spec": spec });
    let (old, mut new) = (wrap(old), wrap(new));
    if new["spec"]["completionMode"] != "Indexed" {
        fixed(&old, &new, &["spec", "completions"], causes);
    }
    fixed(&old, &new, &["spec", "selector"], causes);
    if old["spec"]["suspend"] == true {
        for path in [
            ["spec", "nodeSelector"],
            ["spec", "tolerations"],
            ["spec", "affinity"],
            ["spec", "schedulingGates"],
            ["metadata", "labels"],
            ["metadata", "annotations"],
        ] {
            let path = [&["spec", "template"], &path[..]].concat();
            match object::at(&old, &path).clone() {
                Value::Null => object::unset(&mut new, &path),
                value => object::set(&mut new, &path, value),
            }
        }
    }
    for field in [
        "template",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        fixed(&old, &new, &["spec", field], causes);
    }
}
