//! ResourceQuotas: `ValidateResourceQuotaSpec`, `ValidateResourceQuotaUpdate`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::validate::wrong_qualified_name;
use crate::{object, quota, status::Cause};

/// `standardQuotaResources`: the resources that a quota can name without a domain.
const STANDARD: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
/// `integerResources`: the resources that are counted in whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// `podComputeQuotaResources`.
const COMPUTE: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];
const CONFLICTS: [[&str; 2]; 2] =
    [["BestEffort", "NotBestEffort"], ["NotTerminating", "Terminating"]];

pub(super) fn spec(spec: &Value, causes: &mut Vec<Cause>) {
    for (name, amount) in quota::list(&spec["hard"]) {
        let field = format!("spec.hard[{name}]");
        let mut wrong = |value: Value, why: &str| causes.push(Cause::invalid(&field, &value, why));
        let unqualified = wrong_qualified_name(&name);
        for why in &unqualified {
            wrong(json!(name), why);
        }
        if !name.contains('/') && !is_standard(&name) {
            // `storage` is a standard resource, but quotas do not know it by this name.
            if unqualified.is_empty() && name != "storage" {
                let why = "must be a standard resource type or fully qualified";
                wrong(json!(name), why);
            }
            wrong(json!(name), "must be a standard resource for quota");
        }
        if amount.is_negative() {
            wrong(amount.to_value(), "must be greater than or equal to 0");
        }
        if WHOLE.contains(&name.as_str()) && !amount.is_whole() {
            wrong(amount.to_value(), "must be an integer");
        }
    }
    scopes(spec, causes);
}

fn is_standard(name: &str) -> bool {
    let asked = name.strip_prefix("requests.").unwrap_or(name);
    STANDARD.contains(&name) || asked.starts_with("hugepages-")
}

fn scopes(spec: &Value, causes: &mut Vec<Cause>) {
    let scopes: BTreeSet<&str> = object::texts(spec, &["scopes"]).collect();
    let mut wrong = |why: &str| causes.push(Cause::invalid("spec.scopes", &spec["scopes"], why));
    for scope in object::texts(spec, &["scopes"]) {
        if !SCOPES.contains(&scope) {
            wrong("unsupported scope");
        }
        let limited = quota::list(&spec["hard"]);
        for name in limited.keys().map(String::as_str).filter(|name| is_standard(name)) {
            let fits = match scope {
                "BestEffort" => name == "pods",
                "VolumeAttributesClass" => {
                    ["persistentvolumeclaims", "requests.storage"].contains(&name)
                }
                _ => name == "pods" || COMPUTE.contains(&name),
            };
            if SCOPES.contains(&scope) && !fits {
                wrong("unsupported scope applied to resource");
            }
        }
    }
    for pair in CONFLICTS {
        if pair.iter().all(|one| scopes.contains(one)) {
            wrong("conflicting scopes");
        }
    }
}

pub(super) fn change(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let scopes = |spec: &Value| {
        object::texts(spec, &["scopes"]).map(String::from).collect::<BTreeSet<String>>()
    };
    if scopes(old) != scopes(new) {
        causes.push(Cause::invalid("spec.scopes", &new["scopes"], "field is immutable"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(quota: &Value, expected: &[&str]) {
        let mut causes = vec![];
        spec(quota, &mut causes);
        let said = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
        assert_eq!(said.collect::<Vec<_>>(), expected, "{quota}");
    }

    #[test]
    fn limits_are_of_what_can_be_limited() {
        check(
            &json!({"hard": {"count/services": "1", "pods": "1", "requests.hugepages-2Mi": "1"}}),
            &[],
        );
        check(
            &json!({"hard": {"pods": "-1"}}),
            &[r#"spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0"#],
        );
        check(
            &json!({"hard": {"pods": "500m"}}),
            &[r#"spec.hard[pods]: Invalid value: "500m": must be an integer"#],
        );
        check(
            &json!({"hard": {"things": "1"}}),
            &[
                r#"spec.hard[things]: Invalid value: "things": must be a standard resource type or fully qualified"#,
                r#"spec.hard[things]: Invalid value: "things": must be a standard resource for quota"#,
            ],
        );
    }

    #[test]
    fn scopes_are_of_pods() {
        check(&json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]}), &[]);
        check(
            &json!({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}),
            &[
                r#"spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource"#,
            ],
        );
        check(
            &json!({"scopes": ["Good", "BestEffort", "NotBestEffort"]}),
            &[
                r#"spec.scopes: Invalid value: ["Good","BestEffort","NotBestEffort"]: unsupported scope"#,
                r#"spec.scopes: Invalid value: ["Good","BestEffort","NotBestEffort"]: conflicting scopes"#,
            ],
        );
    }
}
