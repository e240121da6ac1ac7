//! The columns of kinds for administrators: roles, quotas, priorities, policies.

use serde_json::{Value, json};

use super::{
    AGE, CREATED, Column, NAME, boolean, duration, int, labels, length, list, number, text,
    text_or, wide,
};
use crate::{kind::Kind, object};

/// The columns of a kind in this module; `None` for any other kind.
pub(super) fn of(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "resourcequotas") => vec![
            NAME,
            text("Request", |one, _| json!(amounts(one, false))),
            text("Limit", |one, _| json!(amounts(one, true))),
            AGE,
        ],
        ("", "limitranges") => vec![NAME, CREATED],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => vec![
            NAME,
            text("Role", |one, _| {
                let part = |field| object::text(one, &["roleRef", field]);
                json!(format!("{}/{}", part("kind"), part("name")))
            }),
            AGE,
            wide("Users", |one, _| json!(subjects(one, "User"))),
            wide("Groups", |one, _| json!(subjects(one, "Group"))),
            wide("ServiceAccounts", |one, _| json!(subjects(one, "ServiceAccount"))),
        ],
        ("rbac.authorization.k8s.io" | "apiextensions.k8s.io", _) => vec![NAME, CREATED],
        ("apiregistration.k8s.io", _) => vec![
            NAME,
            text("Service", |one, _| {
                let part = |field| object::text(one, &["spec", "service", field]);
                json!(match one["spec"]["service"] {
                    Value::Null => "Local".into(),
                    _ => format!("{}/{}", part("namespace"), part("name")),
                })
            }),
            text("Available", |one, _| json!(available(one))),
            AGE,
        ],
        ("scheduling.k8s.io", "priorityclasses") => vec![
            NAME,
            number("Value", |one, _| json!(int(&one["value"]))),
            boolean("Global-Default", |one, _| json!(one["globalDefault"] == true)),
            AGE,
            text("PreemptionPolicy", |one, _| {
                text_or(&one["preemptionPolicy"], "PreemptLowerPriority")
            }),
        ],
        ("node.k8s.io", "runtimeclasses") => {
            vec![NAME, text("Handler", |one, _| json!(object::text(one, &["handler"]))), AGE]
        }
        ("coordination.k8s.io", "leases") => vec![
            NAME,
            text("Holder", |one, _| json!(object::text(one, &["spec", "holderIdentity"]))),
            AGE,
        ],
        ("resource.k8s.io", "resourceclaims") => {
            vec![NAME, text("State", |one, _| json!(state(one))), AGE]
        }
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => vec![NAME, number("Webhooks", |one, _| json!(length(&one["webhooks"]))), AGE],
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => vec![
            NAME,
            number("Validations", |one, _| json!(length(&one["spec"]["validations"]))),
            text("ParamKind", |one, _| {
                let part = |field| object::text(one, &["spec", "paramKind", field]);
                json!(match one["spec"]["paramKind"] {
                    Value::Null => "<unset>".into(),
                    _ => format!("{}/{}", part("apiVersion"), part("kind")),
                })
            }),
            AGE,
        ],
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => vec![
            NAME,
            text("PolicyName", |one, _| json!(object::text(one, &["spec", "policyName"]))),
            text("ParamRef", |one, _| json!(parameter(&one["spec"]["paramRef"]))),
            AGE,
        ],
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => vec![
            NAME,
            text("PriorityLevel", |one, _| {
                json!(object::text(one, &["spec", "priorityLevelConfiguration", "name"]))
            }),
            text("MatchingPrecedence", |one, _| json!(int(&one["spec"]["matchingPrecedence"]))),
            text("DistinguisherMethod", |one, _| {
                text_or(&one["spec"]["distinguisherMethod"]["type"], "<none>")
            }),
            AGE,
            text("MissingPL", |one, _| text_or(&object::condition(one, "Dangling")["status"], "?")),
        ],
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => vec![
            NAME,
            text("Type", |one, _| json!(object::text(one, &["spec", "type"]))),
            text("NominalConcurrencyShares", |one, _| {
                int_of(&one["spec"]["limited"], "nominalConcurrencyShares")
            }),
            text("Queues", |one, _| int_of(queuing(one), "queues")),
            text("HandSize", |one, _| int_of(queuing(one), "handSize")),
            text("QueueLengthLimit", |one, _| int_of(queuing(one), "queueLengthLimit")),
            AGE,
        ],
        ("certificates.k8s.io", "certificatesigningrequests") => vec![
            NAME,
            AGE,
            text("SignerName", |one, _| text_or(&one["spec"]["signerName"], "<none>")),
            text("Requestor", |one, _| json!(object::text(one, &["spec", "username"]))),
            text("RequestedDuration", |one, _| {
                let seconds = one["spec"]["expirationSeconds"].as_i64();
                json!(seconds.map_or("<none>".into(), duration::human))
            }),
            text("Condition", |one, _| json!(decision(one))),
        ],
        _ => return None,
    })
}

/// The used and hard amounts of a quota: those of limits, or all others.
fn amounts(quota: &Value, limits: bool) -> String {
    let status = &quota["status"];
    let of = |place: &str, name: &str| status[place][name].as_str().unwrap_or("0").to_owned();
    let names = status["hard"].as_object().into_iter().flatten().map(|(name, _)| name);
    let meant = names.filter(|name| name.starts_with("limits.") == limits);
    let shown: Vec<_> =
        meant.map(|name| format!("{name}: {}/{}", of("used", name), of("hard", name))).collect();
    shown.join(", ")
}

/// The subjects of one kind in a binding.
fn subjects(binding: &Value, kind: &str) -> String {
    let shown = list(&binding["subjects"]).iter().filter(|one| one["kind"] == kind).map(|one| {
        let name = object::text(one, &["name"]);
        match object::text(one, &["namespace"]) {
            place if kind == "ServiceAccount" => format!("{place}/{name}"),
            _ => name.to_owned(),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Whether the server behind an APIService answers, or the reason why it does not.
fn available(one: &Value) -> String {
    let condition = object::condition(one, "Available");
    let part = |field| object::text(condition, &[field]);
    match (condition, part("status"), part("reason")) {
        (Value::Null, _, _) => "Unknown".into(),
        (_, status @ "True", _) | (_, status, "") => status.to_owned(),
        (_, status, reason) => format!("{status} ({reason})"),
    }
}

/// The state of a ResourceClaim.
fn state(claim: &Value) -> String {
    let allocated = !claim["status"]["allocation"].is_null();
    let deleting = object::is_deleting(claim);
    let states = [
        ("deleted", deleting),
        ("pending", !allocated && !deleting),
        ("allocated", allocated),
        ("reserved", allocated && length(&claim["status"]["reservedFor"]) > 0),
    ];
    let states = states.into_iter().filter(|(_, is_so)| *is_so).map(|(state, _)| state);
    states.collect::<Vec<_>>().join(",")
}

/// The parameters of a policy binding (`paramRef`).
fn parameter(reference: &Value) -> String {
    let part = |field| object::text(reference, &[field]);
    match (part("namespace"), part("name")) {
        (_, "") if reference["selector"].is_null() => "<unset>".into(),
        (_, "") => labels::structure(&reference["selector"]),
        // The printer cannot see whether the kind of the parameters is namespaced at all.
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

fn queuing(level: &Value) -> &Value {
    &level["spec"]["limited"]["limitResponse"]["queuing"]
}

/// A number in an optional struct.
fn int_of(structure: &Value, field: &str) -> Value {
    match structure {
        Value::Null => json!("<none>"),
        structure => json!(int(&structure[field])),
    }
}

/// The decision on a CertificateSigningRequest, and its result.
fn decision(request: &Value) -> String {
    let has = |kind| !object::condition(request, kind).is_null();
    let decided = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = match object::text(request, &["status", "certificate"]) {
        "" => "",
        _ => ",Issued",
    };
    format!("{decided}{failed}{issued}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{NOW, cells, check};

    #[test]
    fn api_service_shows_why_it_does_not_answer() {
        let condition = |status: &str, reason: &str| json!({"conditions": [{"type": "Available", "status": status, "reason": reason}]});
        let service = json!({"namespace": "shop", "name": "api"});
        for (service, status, expected) in [
            (json!(null), json!({}), json!(["Local", "Unknown"])),
            (json!(null), condition("True", "Local"), json!(["Local", "True"])),
            (service.clone(), condition("False", ""), json!(["shop/api", "False"])),
            (
                service,
                condition("False", "MissingEndpoints"),
                json!(["shop/api", "False (MissingEndpoints)"]),
            ),
        ] {
            let one = json!({"spec": {"service": service}, "status": status});
            let columns = ["Service", "Available"];
            check("apiregistration.k8s.io", "apiservices", &columns, &one, &expected);
        }
    }

    #[test]
    fn admission_policy_shows_its_columns() {
        let group = "admissionregistration.k8s.io";
        for (spec, expected) in [
            (json!({}), json!([0, "<unset>"])),
            (
                json!({"validations": [{}, {}], "paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"}}),
                json!([2, "example.com/v1/Limit"]),
            ),
        ] {
            let one = json!({"spec": spec});
            let columns = ["Validations", "ParamKind"];
            check(group, "validatingadmissionpolicies", &columns, &one, &expected);
        }
        let selected = "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}";
        for (reference, expected) in [
            (json!(null), "<unset>"),
            (json!({"parameterNotFoundAction": "Deny"}), "<unset>"),
            (json!({"name": "a"}), "*/a"),
            (json!({"name": "a", "namespace": "shop"}), "shop/a"),
            (json!({"selector": {"matchLabels": {"a": "b"}}}), selected),
        ] {
            let one = json!({"spec": {"policyName": "p", "paramRef": reference}});
            let columns = ["PolicyName", "ParamRef"];
            check(
                group,
                "validatingadmissionpolicybindings",
                &columns,
                &one,
                &json!(["p", expected]),
            );
        }
    }

    #[test]
    fn resource_claim_shows_its_state() {
        let allocation = json!({"devices": {}});
        for (deleted, status, expected) in [
            (false, json!({}), "pending"),
            (true, json!({}), "deleted"),
            (false, json!({"allocation": allocation}), "allocated"),
            (
                true,
                json!({"allocation": allocation, "reservedFor": [{}]}),
                "deleted,allocated,reserved",
            ),
            (false, json!({"reservedFor": [{}]}), "pending"),
        ] {
            let mut claim = json!({"status": status});
            if deleted {
                claim["metadata"] = json!({"deletionTimestamp": NOW});
            }
            check("resource.k8s.io", "resourceclaims", &["State"], &claim, &json!([expected]));
        }
    }

    #[test]
    fn flow_schema_and_priority_level_show_their_columns() {
        let (group, age, none) = ("flowcontrol.apiserver.k8s.io", "<unknown>", "<none>");
        let mut schema = json!({
            "metadata": {"name": "a"},
            "spec": {"priorityLevelConfiguration": {"name": "p"}, "matchingPrecedence": 9},
        });
        assert_eq!(cells(group, "flowschemas", &schema), json!(["a", "p", 9, none, age, "?"]));
        schema["spec"]["distinguisherMethod"] = json!({"type": "ByUser"});
        schema["status"] = json!({"conditions": [{"type": "Dangling", "status": "False"}]});
        let columns = ["DistinguisherMethod", "MissingPL"];
        check(group, "flowschemas", &columns, &schema, &json!(["ByUser", "False"]));
        let queuing = json!({"queues": 64, "handSize": 6, "queueLengthLimit": 50});
        for (spec, expected) in [
            (json!({"type": "Exempt"}), json!(["a", "Exempt", none, none, none, none, age])),
            (
                json!({"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}}),
                json!(["a", "Limited", 5, none, none, none, age]),
            ),
            (
                json!({"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"queuing": queuing}}}),
                json!(["a", "Limited", 5, 64, 6, 50, age]),
            ),
        ] {
            let level = json!({"metadata": {"name": "a"}, "spec": spec});
            assert_eq!(cells(group, "prioritylevelconfigurations", &level), expected, "{level}");
        }
    }

    #[test]
    fn certificate_request_shows_its_conditions() {
        let none = "<none>";
        for (spec, status, expected) in [
            (json!({}), json!({}), json!([none, "", none, "Pending"])),
            (
                json!({"signerName": "example.com/s", "username": "u", "expirationSeconds": 3600}),
                json!({"conditions": [{"type": "Approved"}], "certificate": "eA=="}),
                json!(["example.com/s", "u", "60m", "Approved,Issued"]),
            ),
            (
                json!({}),
                json!({"conditions": [{"type": "Approved"}, {"type": "Denied"}, {"type": "Failed"}]}),
                json!([none, "", none, "Denied,Failed"]),
            ),
        ] {
            let request = json!({"spec": spec, "status": status});
            let columns = ["SignerName", "Requestor", "RequestedDuration", "Condition"];
            check(
                "certificates.k8s.io",
                "certificatesigningrequests",
                &columns,
                &request,
                &expected,
            );
        }
    }
}
