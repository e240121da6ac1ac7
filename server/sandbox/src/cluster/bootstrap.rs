//! The roles that a control plane comes with, as far as somebody may be bound to them.

use serde_json::{Value, json};

use super::{Actor, Cluster};

const GROUP: &str = "rbac.authorization.k8s.io";

impl Cluster {
    pub(super) fn register_bootstrap_roles(&mut self) {
        let verbs =
            ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]);
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
        // Of the core group all but Secrets, with which a reader could become somebody else, and of RBAC nothing.
        let read = json!(["get", "list", "watch"]);
        let readable = json!([
            {"apiGroups": [""], "verbs": read.clone(), "resources": [
                "bindings", "configmaps", "endpoints", "events", "limitranges", "namespaces", "namespaces/status",
                "persistentvolumeclaims", "persistentvolumeclaims/status", "pods", "pods/log", "pods/status",
                "replicationcontrollers", "replicationcontrollers/scale", "replicationcontrollers/status",
                "resourcequotas", "resourcequotas/status", "serviceaccounts", "services", "services/status",
            ]},
            {"apiGroups": ["apps", "autoscaling", "batch", "networking.k8s.io", "policy"], "verbs": read.clone(), "resources": ["*"]},
            {"apiGroups": ["discovery.k8s.io"], "verbs": read, "resources": ["endpointslices"]},
        ]);
        let roles = [
            (
                "cluster-admin",
                json!([
                    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                    {"nonResourceURLs": ["*"], "verbs": ["*"]},
                ]),
            ),
            ("admin", everything.clone()),
            ("edit", everything),
            ("view", readable),
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
