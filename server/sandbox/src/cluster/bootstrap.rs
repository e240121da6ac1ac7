//! The bootstrap roles of a control plane, as far as a binding may name them.

use serde_json::{Value, json};

use super::{Actor, Cluster};

const GROUP: &str = "rbac.authorization.k8s.io";

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
const ALL: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// Resources of one group.
type Resources<'a> = (&'a str, &'a [&'a str]);

/// The resources that `view` can read: in the core group all but Secrets, with which a reader could act as another
/// user, and none of RBAC. This constant and the following ones come from `policy.go` of the bootstrap roles, as far as
/// the sandbox has the resources.
const VIEWED: [Resources<'_>; 9] = [
    (
        "",
        &[
            "bindings",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "namespaces/status",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "pods/log",
            "pods/status",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
    ),
    ("events.k8s.io", &["events"]),
    ("discovery.k8s.io", &["endpointslices"]),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    ("autoscaling", &["horizontalpodautoscalers", "horizontalpodautoscalers/status"]),
    ("batch", &["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
    ("policy", &["poddisruptionbudgets", "poddisruptionbudgets/status"]),
    ("networking.k8s.io", &["ingresses", "ingresses/status", "networkpolicies"]),
    ("resource.k8s.io", &["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"]),
];

/// The resources that `edit` can read in addition.
const PRIVATE: [&str; 6] =
    ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"];

/// The resources that `edit` can write.
const EDITED: [Resources<'_>; 8] = [
    (
        "",
        &[
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
    ),
    ("events.k8s.io", &["events"]),
    (
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    ("policy", &["poddisruptionbudgets"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("resource.k8s.io", &["resourceclaims", "resourceclaimtemplates"]),
];

fn rules(verbs: &[&str], resources: &[Resources<'_>]) -> Vec<Value> {
    let rule = |(group, resources): &Resources<'_>| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    resources.iter().map(rule).collect()
}

impl Cluster {
    pub(super) fn register_bootstrap_roles(&mut self) {
        let paths = json!([
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/openapi",
            "/openapi/*",
            "/readyz",
            "/version",
            "/version/",
        ]);
        let view = rules(&READ, &VIEWED);
        let special = json!([
            {"apiGroups": [""], "verbs": ["impersonate"], "resources": ["serviceaccounts"]},
            {"apiGroups": [""], "verbs": ["create"], "resources": ["pods/eviction", "serviceaccounts/token"]},
        ]);
        let special = special.as_array().cloned().unwrap_or_default();
        let own = [rules(&READ, &[("", &PRIVATE)]), rules(&WRITE, &EDITED), special].concat();
        let edit =
            [view.clone(), own, rules(&ALL, &[("coordination.k8s.io", &["leases"])])].concat();
        let rights = [
            rules(&["create"], &[("authorization.k8s.io", &["localsubjectaccessreviews"])]),
            rules(&ALL, &[(GROUP, &["roles", "rolebindings"])]),
        ];
        let admin = [edit.clone(), rights.concat()].concat();
        let roles = [
            (
                "cluster-admin",
                json!([
                    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                    {"nonResourceURLs": ["*"], "verbs": ["*"]},
                ]),
            ),
            ("admin", json!(admin)),
            ("edit", json!(edit)),
            ("view", json!(view)),
            ("system:discovery", json!([{"nonResourceURLs": paths, "verbs": ["get"]}])),
            (
                "system:public-info-viewer",
                json!([
                    {"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"]},
                ]),
            ),
            (
                "system:basic-user",
                json!([
                    {
                        "apiGroups": ["authorization.k8s.io"], "verbs": ["create"],
                        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                    },
                    {"apiGroups": ["authentication.k8s.io"], "verbs": ["create"], "resources": ["selfsubjectreviews"]},
                ]),
            ),
        ];
        let label = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
        for (name, rules) in roles {
            let role = json!({"metadata": {"name": name, "labels": label}, "rules": rules});
            self.bootstrap("clusterroles", role);
        }
        let authenticated: &[&str] = &["system:authenticated"];
        for (role, groups) in [
            ("cluster-admin", &["system:masters"][..]),
            ("system:discovery", authenticated),
            ("system:basic-user", authenticated),
            ("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
        ] {
            let subject = |group: &&str| json!({"apiGroup": GROUP, "kind": "Group", "name": group});
            let subjects: Vec<Value> = groups.iter().map(subject).collect();
            let binding = json!({
                "metadata": {"name": role, "labels": label},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
                "subjects": subjects,
            });
            self.bootstrap("clusterrolebindings", binding);
        }
    }

    fn bootstrap(&mut self, plural: &str, object: Value) {
        let made = self.create(&Actor::admin(), GROUP, plural, "", object);
        debug_assert!(made.is_ok(), "{made:?}");
    }
}
