//! The roles that a control plane comes with, as far as somebody may be bound to them.

use serde_json::{Value, json};

use super::{Actor, Cluster};

const GROUP: &str = "rbac.authorization.k8s.io";

impl Cluster {
    pub(super) fn register_bootstrap_roles(&mut self) {
        let all = |verbs: Value| {
            json!([
                {"apiGroups": ["*"], "resources": ["*"], "verbs": verbs.clone()},
            ])
        };
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
        let roles = [
            (
                "cluster-admin",
                json!([
                    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                    {"nonResourceURLs": ["*"], "verbs": ["*"]},
                ]),
            ),
            (
                "admin",
                all(json!([
                    "create",
                    "delete",
                    "deletecollection",
                    "get",
                    "list",
                    "patch",
                    "update",
                    "watch"
                ])),
            ),
            (
                "edit",
                all(json!([
                    "create",
                    "delete",
                    "deletecollection",
                    "get",
                    "list",
                    "patch",
                    "update",
                    "watch"
                ])),
            ),
            ("view", all(json!(["get", "list", "watch"]))),
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
        for (role, group) in [
            ("cluster-admin", "system:masters"),
            ("system:discovery", "system:authenticated"),
            ("system:basic-user", "system:authenticated"),
            ("system:public-info-viewer", "system:authenticated"),
        ] {
            let binding = json!({
                "metadata": {"name": role, "labels": label},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group}],
            });
            self.bootstrap("clusterrolebindings", binding);
        }
    }

    fn bootstrap(&mut self, plural: &str, object: Value) {
        let made = self.create(&Actor::admin(), GROUP, plural, "", object);
        debug_assert!(made.is_ok(), "{made:?}");
    }
}
