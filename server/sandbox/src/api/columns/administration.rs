//! The columns of what an administrator makes, and of what stands between the parts of an application: classes, drivers,
//! rights, limits, gates, routes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{AGE, CREATED, Column, boolean, length, number, or_none, text, wide};
use crate::{kind::Kind, object};

/// `None` for a kind that is not one of these.
pub(super) fn of(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("storage.k8s.io", "volumeattachments") => vec![
            text("Attacher", |one, _| one["spec"]["attacher"].clone()),
            text("PV", |one, _| one["spec"]["source"]["persistentVolumeName"].clone()),
            text("Node", |one, _| one["spec"]["nodeName"].clone()),
            boolean("Attached", |one, _| json!(one["status"]["attached"] == true)),
            AGE,
        ],
        ("storage.k8s.io", "csidrivers") => vec![
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
            vec![number("Drivers", |one, _| json!(length(&one["spec"]["drivers"]))), AGE]
        }
        ("storage.k8s.io", "storageclasses") => vec![
            text("Provisioner", |one, _| one["provisioner"].clone()),
            text("ReclaimPolicy", |one, _| one["reclaimPolicy"].clone()),
            text("VolumeBindingMode", |one, _| one["volumeBindingMode"].clone()),
            text("AllowVolumeExpansion", |one, _| json!(one["allowVolumeExpansion"] == true)),
            AGE,
        ],
        ("networking.k8s.io", "ingressclasses") => vec![
            text("Controller", |one, _| one["spec"]["controller"].clone()),
            text("Parameters", |one, _| json!(parameters(&one["spec"]["parameters"]))),
            AGE,
        ],
        ("networking.k8s.io", "ingresses") => vec![
            text("Class", |one, _| or_none(&one["spec"]["ingressClassName"])),
            text("Hosts", |one, _| json!(hosts(&one["spec"]["rules"]))),
            text("Address", |one, _| json!(addresses(&one["status"]["loadBalancer"]["ingress"]))),
            text("Ports", |one, _| {
                json!(if length(&one["spec"]["tls"]) > 0 { "80, 443" } else { "80" })
            }),
            AGE,
        ],
        ("networking.k8s.io", "networkpolicies") => vec![
            text("Pod-Selector", |one, _| {
                json!(labels(&one["spec"]["podSelector"]["matchLabels"]))
            }),
            AGE,
        ],
        ("discovery.k8s.io", "endpointslices") => vec![
            text("AddressType", |one, _| one["addressType"].clone()),
            text("Ports", |one, _| {
                let ports = one["ports"].as_array().into_iter().flatten();
                let shown = ports.map(|port| match (&port["port"], &port["name"]) {
                    (Value::Null, Value::Null) => "*".into(),
                    (Value::Null, name) => name.as_str().unwrap_or_default().into(),
                    (port, _) => port.to_string(),
                });
                json!(at_most_three(&shown.collect::<Vec<_>>()))
            }),
            text("Endpoints", |one, _| {
                let endpoints = one["endpoints"].as_array().into_iter().flatten();
                let all = endpoints.flat_map(|one| object::texts(one, &["addresses"]));
                json!(at_most_three(&all.map(String::from).collect::<Vec<_>>()))
            }),
            AGE,
        ],
        ("", "resourcequotas") => vec![
            text("Request", |one, _| json!(amounts(one, false))),
            text("Limit", |one, _| json!(amounts(one, true))),
            AGE,
        ],
        ("", "limitranges") => vec![CREATED],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => vec![
            text("Role", |one, _| {
                let part = |field| object::text(one, &["roleRef", field]);
                json!(format!("{}/{}", part("kind"), part("name")))
            }),
            AGE,
            wide("Users", |one, _| json!(subjects(one, "User"))),
            wide("Groups", |one, _| json!(subjects(one, "Group"))),
            wide("ServiceAccounts", |one, _| json!(subjects(one, "ServiceAccount"))),
        ],
        ("rbac.authorization.k8s.io" | "apiextensions.k8s.io", _) => vec![CREATED],
        ("scheduling.k8s.io", "priorityclasses") => vec![
            number("Value", |one, _| json!(one["value"].as_i64().unwrap_or_default())),
            boolean("Global-Default", |one, _| json!(one["globalDefault"] == true)),
            AGE,
            text("PreemptionPolicy", |one, _| {
                let policy = object::text(one, &["preemptionPolicy"]);
                json!(if policy.is_empty() { "PreemptLowerPriority" } else { policy })
            }),
        ],
        ("node.k8s.io", "runtimeclasses") => {
            vec![text("Handler", |one, _| one["handler"].clone()), AGE]
        }
        ("coordination.k8s.io", "leases") => vec![
            text("Holder", |one, _| json!(object::text(one, &["spec", "holderIdentity"]))),
            AGE,
        ],
        ("apps", "controllerrevisions") => vec![
            text("Controller", |one, _| json!(controller(one))),
            text("Revision", |one, _| json!(one["revision"].as_i64().unwrap_or_default())),
            AGE,
        ],
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => vec![number("Webhooks", |one, _| json!(length(&one["webhooks"]))), AGE],
        _ => return None,
    })
}

fn parameters(parameters: &Value) -> String {
    let part = |field| object::text(parameters, &[field]);
    match (part("kind"), part("apiGroup"), part("name")) {
        ("", _, _) => "<none>".into(),
        (kind, "", name) => format!("{kind}/{name}"),
        (kind, group, name) => format!("{kind}.{group}/{name}"),
    }
}

/// The hosts of an Ingress, three at most.
fn hosts(rules: &Value) -> String {
    let rules = rules.as_array().map_or(&[][..], Vec::as_slice);
    let all: Vec<_> = rules
        .iter()
        .map(|rule| object::text(rule, &["host"]))
        .filter(|it| !it.is_empty())
        .collect();
    match all.as_slice() {
        [] => "*".into(),
        [a, b, c, _, ..] => format!("{a},{b},{c} + {} more...", rules.len() - 3),
        few => few.join(","),
    }
}

/// Where a load balancer is, in sixteen letters at most.
fn addresses(ingress: &Value) -> String {
    let place = |one: &Value| match (object::text(one, &["ip"]), object::text(one, &["hostname"])) {
        ("", name) => name.to_owned(),
        (address, _) => address.to_owned(),
    };
    let all: BTreeSet<String> = ingress.as_array().into_iter().flatten().map(place).collect();
    let all: Vec<String> = all.into_iter().filter(|one| !one.is_empty()).collect();
    let all = all.join(",");
    if all.chars().count() > 16 { all.chars().take(13).chain("...".chars()).collect() } else { all }
}

fn labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let shown: Vec<_> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if shown.is_empty() { "<none>".into() } else { shown.join(",") }
}

fn at_most_three(all: &[String]) -> String {
    match all {
        [] => "<unset>".into(),
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a},{b},{c} + {} more...", rest.len()),
        few => few.join(","),
    }
}

/// How much is used of how much, of what is limited or of what is asked for.
fn amounts(quota: &Value, limits: bool) -> String {
    let status = &quota["status"];
    let of = |place: &str, name: &str| status[place][name].as_str().unwrap_or("0").to_owned();
    let names = status["hard"].as_object().into_iter().flatten().map(|(name, _)| name);
    let meant = names.filter(|name| name.starts_with("limits.") == limits);
    let shown: Vec<_> =
        meant.map(|name| format!("{name}: {}/{}", of("used", name), of("hard", name))).collect();
    shown.join(", ")
}

/// Whom of a sort a binding is for.
fn subjects(binding: &Value, kind: &str) -> String {
    let all = binding["subjects"].as_array().into_iter().flatten();
    let shown = all.filter(|one| one["kind"] == kind).map(|one| {
        let name = object::text(one, &["name"]);
        match object::text(one, &["namespace"]) {
            place if kind == "ServiceAccount" => format!("{place}/{name}"),
            _ => name.to_owned(),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn controller(one: &Value) -> String {
    let Some(owner) = object::owner_references(one).find(|owner| owner["controller"] == true)
    else {
        return "<none>".into();
    };
    let (group, _) = crate::cluster::split_api_version(object::text(owner, &["apiVersion"]));
    let kind = object::text(owner, &["kind"]).to_lowercase();
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", object::text(owner, &["name"]))
}
