//! Workloads and the objects that their Pods need.

use serde_json::{Value, json};

use super::{Generator, RBAC, UNIT, object, storage::CLASS};

/// The content of every secret and setting. It must not appear on a page, in the journal or in the log.
pub(crate) const CANARY: &str = "canary-7e57ab1e";
/// The same in base64, as the API shows the data of a Secret.
pub(crate) const ENCODED: &str = "Y2FuYXJ5LTdlNTdhYjFl";

/// Whether a text contains the content of a secret, plain or in base64.
pub(crate) fn contains_secret(text: &str) -> bool {
    text.contains(CANARY) || text.contains(ENCODED)
}

impl Generator<'_> {
    /// A Deployment with a random selection of the objects that usually accompany one.
    pub(super) fn deployment(&mut self, unit: &str, namespace: &str) {
        let name = self.name("web");
        let replicas = self.rng.u32(..3);
        let mut deployment = self.deployment_of(&name, namespace, replicas);
        let spec = self.needs(namespace, &name);
        merge(&mut deployment["spec"]["template"]["spec"], spec);
        self.add_for(unit, deployment);
        if self.chance(15) {
            self.application.recreated.push(("Deployment", namespace.to_owned(), name.clone()));
        }
        if self.chance(60) {
            let mut service = object("v1", "Service", namespace, &name);
            service["spec"] =
                json!({"selector": {"app": name}, "ports": [{"name": "http", "port": 80}]});
            self.add(service);
            if self.chance(40) {
                let ingress = ingress(&name, namespace, &name);
                self.add(ingress);
            }
        }
        if self.chance(25) {
            self.scaler("apps/v1", "Deployment", namespace, &name);
        }
        self.guards(namespace, &name);
    }

    pub(super) fn deployment_of(&mut self, name: &str, namespace: &str, replicas: u32) -> Value {
        let mut deployment = object("apps/v1", "Deployment", namespace, name);
        deployment["spec"] = json!({
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": self.template(name),
        });
        deployment
    }

    pub(super) fn plain_deployment(
        &mut self,
        unit: &str,
        namespace: &str,
        name: &str,
        replicas: u32,
    ) {
        let deployment = self.deployment_of(name, namespace, replicas);
        self.add_for(unit, deployment);
    }

    pub(super) fn template(&mut self, name: &str) -> Value {
        let stops = ["500ms", "2s", "8s", "25s"][self.rng.usize(..4)];
        json!({
            "metadata": {
                "labels": {"app": name},
                "annotations": {"pod-delete.stage.kwok.x-k8s.io/delay": stops},
            },
            "spec": {"containers": [{
                "name": "main", "image": "example.com/main",
                "env": [{"name": "TOKEN", "value": CANARY}],
            }]},
        })
    }

    /// The part of a Pod's specification that refers to other objects: storage, settings and identity. Adds these
    /// objects.
    pub(super) fn needs(&mut self, namespace: &str, name: &str) -> Value {
        let mut spec = json!({});
        let mut volumes = vec![];
        if self.chance(35) {
            let config = self.config(namespace);
            volumes.push(json!({"name": "config", "configMap": {"name": config}}));
        }
        if self.chance(35) {
            let secret = self.secret(namespace);
            volumes.push(json!({"name": "secret", "secret": {"secretName": secret}}));
        }
        if self.chance(35) {
            let claim = self.claim(namespace);
            volumes.push(json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}}));
        }
        if !volumes.is_empty() {
            spec["volumes"] = Value::Array(volumes);
        }
        if self.chance(30) {
            spec["serviceAccountName"] = json!(self.account(namespace, name));
        }
        spec
    }

    pub(super) fn config(&mut self, namespace: &str) -> String {
        let name = self.name("config");
        let mut config = object("v1", "ConfigMap", namespace, &name);
        config["data"] = json!({"setting": CANARY});
        self.add(config);
        name
    }

    pub(super) fn secret(&mut self, namespace: &str) -> String {
        let name = self.name("secret");
        let mut secret = object("v1", "Secret", namespace, &name);
        secret["data"] = json!({"password": ENCODED});
        secret["metadata"]["annotations"] = json!({"example.com/note": CANARY});
        self.add(secret);
        name
    }

    pub(super) fn settings(&mut self, namespace: &str) {
        self.config(namespace);
        self.secret(namespace);
    }

    /// A ServiceAccount with a role and its binding.
    fn account(&mut self, namespace: &str, name: &str) -> String {
        self.add(object("v1", "ServiceAccount", namespace, name));
        let (kind, binding, within) = if self.chance(70) {
            ("Role", "RoleBinding", namespace)
        } else {
            ("ClusterRole", "ClusterRoleBinding", "")
        };
        let mut role = object(RBAC, kind, within, name);
        role["rules"] = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        let mut binding = object(RBAC, binding, within, name);
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        binding["subjects"] =
            json!([{"kind": "ServiceAccount", "namespace": namespace, "name": name}]);
        self.add(role);
        self.add(binding);
        name.to_owned()
    }

    pub(super) fn scaler(&mut self, api_version: &str, kind: &str, namespace: &str, name: &str) {
        let mut scaler = object("autoscaling/v2", "HorizontalPodAutoscaler", namespace, name);
        scaler["spec"] = json!({
            "scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": name},
            "minReplicas": 1, "maxReplicas": 3,
        });
        self.add(scaler);
    }

    /// Objects that only select Pods: a PodDisruptionBudget and a NetworkPolicy.
    pub(super) fn guards(&mut self, namespace: &str, name: &str) {
        if self.chance(20) {
            let mut budget = object("policy/v1", "PodDisruptionBudget", namespace, name);
            budget["spec"] = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": name}}});
            self.add(budget);
        }
        if self.chance(20) {
            let mut policy = object("networking.k8s.io/v1", "NetworkPolicy", namespace, name);
            policy["spec"] =
                json!({"podSelector": {"matchLabels": {"app": name}}, "policyTypes": ["Ingress"]});
            self.add(policy);
        }
    }

    pub(super) fn stateful_set(&mut self, namespace: &str) {
        let name = self.name("db");
        let mut service = object("v1", "Service", namespace, &name);
        service["spec"] = json!({
            "clusterIP": "None", "selector": {"app": name}, "ports": [{"name": "sql", "port": 5432}],
        });
        self.add(service);
        let retention = if self.chance(50) { "Retain" } else { "Delete" };
        let mut template = self.template(&name);
        let spec = self.needs(namespace, &name);
        merge(&mut template["spec"], spec);
        let mut set = object("apps/v1", "StatefulSet", namespace, &name);
        set["spec"] = json!({
            "replicas": self.rng.u32(..3),
            "serviceName": name,
            "podManagementPolicy": if self.chance(50) { "Parallel" } else { "OrderedReady" },
            "selector": {"matchLabels": {"app": name}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": retention, "whenScaled": "Retain"},
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
            "template": template,
        });
        self.class();
        self.add(set);
        if self.chance(15) {
            self.scaler("apps/v1", "StatefulSet", namespace, &name);
        }
        self.guards(namespace, &name);
    }

    pub(super) fn daemon_set(&mut self, namespace: &str) {
        let name = self.name("agent");
        let mut template = self.template(&name);
        let spec = self.needs(namespace, &name);
        merge(&mut template["spec"], spec);
        let mut set = object("apps/v1", "DaemonSet", namespace, &name);
        set["spec"] = json!({"selector": {"matchLabels": {"app": name}}, "template": template});
        self.add(set);
        self.guards(namespace, &name);
    }

    pub(super) fn job(&mut self, namespace: &str) {
        let name = self.name("job");
        let mut template = self.template(&name);
        template["spec"]["restartPolicy"] = json!("Never");
        if self.chance(60) {
            template["metadata"]["annotations"]["unwind.test/completes"] = json!("true");
        }
        let spec = self.needs(namespace, &name);
        merge(&mut template["spec"], spec);
        let mut job = object("batch/v1", "Job", namespace, &name);
        job["spec"] = json!({"template": template});
        self.add(job);
    }

    pub(super) fn cron_job(&mut self, namespace: &str) {
        let name = self.name("cron");
        let mut template = self.template(&name);
        template["spec"]["restartPolicy"] = json!("Never");
        let mut cron = object("batch/v1", "CronJob", namespace, &name);
        cron["spec"] = json!({
            "schedule": "*/1 * * * *",
            "suspend": self.chance(50),
            "jobTemplate": {"spec": {"template": template}},
        });
        self.add(cron);
    }

    pub(super) fn pod(&mut self, namespace: &str) {
        let name = self.name("pod");
        let template = self.template(&name);
        let mut pod = object("v1", "Pod", namespace, &name);
        pod["metadata"]["labels"] = template["metadata"]["labels"].clone();
        pod["metadata"]["annotations"] = template["metadata"]["annotations"].clone();
        pod["spec"] = template["spec"].clone();
        let spec = self.needs(namespace, &name);
        merge(&mut pod["spec"], spec);
        self.add_for(UNIT, pod);
    }
}

/// An Ingress in front of a Service.
pub(super) fn ingress(name: &str, namespace: &str, service: &str) -> Value {
    let mut ingress = object("networking.k8s.io/v1", "Ingress", namespace, name);
    let backend = json!({"service": {"name": service, "port": {"number": 80}}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
    ingress["spec"] = json!({"rules": [{"host": "example.com", "http": {"paths": [path]}}]});
    ingress
}

pub(super) fn merge(into: &mut Value, fields: Value) {
    let (Some(into), Value::Object(fields)) = (into.as_object_mut(), fields) else { return };
    into.extend(fields);
}
