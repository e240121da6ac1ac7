//! The columns of Nodes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{AGE, Column, NAME, list, text, text_or, wide};
use crate::object;

pub(super) fn columns() -> Vec<Column> {
    vec![
        NAME,
        text("Status", |node, _| {
            let ready = match object::condition(node, "Ready") {
                Value::Null => "Unknown",
                ready if ready["status"] == "True" => "Ready",
                _ => "NotReady",
            };
            let cordoned = node["spec"]["unschedulable"] == true;
            json!(format!("{ready}{}", if cordoned { ",SchedulingDisabled" } else { "" }))
        }),
        text("Roles", |node, _| json!(roles(node))),
        AGE,
        text("Version", |node, _| {
            json!(object::text(node, &["status", "nodeInfo", "kubeletVersion"]))
        }),
        wide("Internal-IP", |node, _| address(node, "InternalIP")),
        wide("External-IP", |node, _| address(node, "ExternalIP")),
        wide("OS-Image", |node, _| text_or(&node["status"]["nodeInfo"]["osImage"], "<unknown>")),
        wide("Kernel-Version", |node, _| {
            let info = &node["status"]["nodeInfo"];
            let kernel = text_or(&info["kernelVersion"], "<unknown>");
            match object::text(info, &["architecture"]) {
                "" => kernel,
                of => json!(format!("{} ({of})", kernel.as_str().unwrap_or_default())),
            }
        }),
        wide("Container-Runtime", |node, _| {
            text_or(&node["status"]["nodeInfo"]["containerRuntimeVersion"], "<unknown>")
        }),
    ]
}

/// The roles of a node, from both forms of role labels.
fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.as_str() {
            "kubernetes.io/role" => value.as_str(),
            key => key.strip_prefix("node-role.kubernetes.io/"),
        })
        .filter(|role| !role.is_empty())
        .collect();
    let roles: Vec<&str> = roles.into_iter().collect();
    if roles.is_empty() { "<none>".into() } else { roles.join(",") }
}

/// The node's first address of a type.
fn address(node: &Value, sort: &str) -> Value {
    let found = list(&node["status"]["addresses"]).iter().find(|one| one["type"] == sort);
    json!(found.map_or("<none>", |one| object::text(one, &["address"])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{cells, check};

    #[test]
    fn node_shows_its_roles_and_addresses() {
        let (age, none, unknown) = ("<unknown>", "<none>", "<unknown>");
        let mut node = json!({"metadata": {"name": "a"}, "spec": {"unschedulable": true}});
        let status = "Unknown,SchedulingDisabled";
        assert_eq!(
            cells("", "nodes", &node),
            json!(["a", status, none, age, "", none, none, unknown, unknown, unknown])
        );
        node["metadata"]["labels"] = json!({
            "kubernetes.io/role": "worker", "node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/": "",
        });
        node["spec"] = json!({});
        node["status"] = json!({
            "addresses": [
                {"type": "Hostname", "address": "a"},
                {"type": "InternalIP", "address": "192.0.2.1"}, {"type": "InternalIP", "address": "2001:db8::1"},
                {"type": "ExternalIP", "address": "192.0.2.2"},
            ],
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {
                "architecture": "arm64", "containerRuntimeVersion": "containerd://2.0", "kernelVersion": "6.1",
                "kubeletVersion": "v1.36.3", "osImage": "Debian",
            },
        });
        let roles = "control-plane,worker";
        let (internal, external) = ("192.0.2.1", "192.0.2.2");
        let (kernel, runtime) = ("6.1 (arm64)", "containerd://2.0");
        assert_eq!(
            cells("", "nodes", &node),
            json!([
                "a", "Ready", roles, age, "v1.36.3", internal, external, "Debian", kernel, runtime
            ])
        );
        node["status"] = json!({"conditions": [{"type": "Ready", "status": "Unknown"}]});
        check("", "nodes", &["Status"], &node, &json!(["NotReady"]));
    }
}
