//! A cluster of three nodes with short helpers.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use sandbox::clock::Clock;
use sandbox::cluster::{Actor, DeleteOptions, Propagation};
use sandbox::controller::timing::Timing;
use sandbox::fault::{NodeFault, OperatingMode};
use sandbox::object;
use sandbox::status::Status;
use sandbox::store::Key;
use serde_json::{Value, json};

pub(crate) struct TestCluster(sandbox::control_plane::ControlPlane);

impl Deref for TestCluster {
    type Target = sandbox::control_plane::ControlPlane;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for TestCluster {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl TestCluster {
    pub(crate) fn new() -> Self {
        Self::with_seed(1)
    }

    pub(crate) fn with_seed(seed: u64) -> Self {
        Self::with_timing(seed, Timing::default())
    }

    pub(crate) fn with_timing(seed: u64, timing: Timing) -> Self {
        let start: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let mut test = Self(sandbox::control_plane::ControlPlane::new(start, seed, timing));
        test.cluster.clock = Clock::still(start);
        test.run(5);
        test
    }

    /// Lets this many seconds pass.
    pub(crate) fn run(&mut self, seconds: i64) {
        let end = self.cluster.steady() + SignedDuration::from_secs(seconds);
        while let Some(next) = self.run_until_idle().filter(|next| *next < end) {
            let step = next.duration_since(self.cluster.steady());
            self.cluster.clock.advance(step.max(SignedDuration::from_millis(1)).unsigned_abs());
        }
        let rest = end.duration_since(self.cluster.steady());
        self.cluster.clock.advance(rest.unsigned_abs());
        self.run_until_idle();
        assert_eq!(self.take_failed_faults(), [], "everything that is planned can happen");
        assert_eq!(self.controllers.take_panics(), [], "no controller panics");
    }

    /// Lets time pass until a condition holds. Returns the number of seconds.
    #[track_caller]
    pub(crate) fn until(&mut self, within: i64, what: &str, is_so: impl Fn(&Self) -> bool) -> i64 {
        for passed in 0..=within {
            self.run(i64::from(passed > 0));
            if is_so(self) {
                return passed;
            }
        }
        panic!("not within {within} s: {what}\n{}", self.everything());
    }

    /// Creates objects of any kind.
    #[track_caller]
    pub(crate) fn create(&mut self, objects: impl IntoIterator<Item = Value>) {
        for object in objects {
            let key =
                self.cluster.key_of(&object).unwrap_or_else(|| panic!("no such kind: {object}"));
            let made = self.cluster.create(
                &Actor::admin(),
                &key.group,
                &key.plural,
                &key.namespace,
                object,
            );
            made.unwrap_or_else(|status| panic!("{key}: {}", status.message));
        }
    }

    /// Creates a namespace, whose service account is created as well.
    pub(crate) fn namespace(&mut self, name: &str) {
        self.create([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})]);
        self.run(0);
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Arc<Value>> {
        self.cluster.get(&key(path))
    }

    #[track_caller]
    pub(crate) fn at(&self, path: &str) -> &Value {
        self.get(path).unwrap_or_else(|| panic!("no {path}\n{}", self.everything()))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    pub(crate) fn list(&self, resource: &str) -> Vec<&Value> {
        let (group, plural) = resource.rsplit_once('/').unwrap_or(("", resource));
        self.cluster.list(group, plural, None).map(|it| &**it).collect()
    }

    /// The Pods whose names have this prefix.
    pub(crate) fn pods(&self, prefix: &str) -> Vec<&Value> {
        self.list("pods").into_iter().filter(|it| object::name(it).starts_with(prefix)).collect()
    }

    pub(crate) fn ready(&self, prefix: &str) -> usize {
        self.pods(prefix)
            .into_iter()
            .filter(|it| object::condition(it, "Ready")["status"] == "True")
            .count()
    }

    #[track_caller]
    pub(crate) fn delete(&mut self, path: &str, propagation: Propagation) {
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        self.try_delete(path, &options)
            .unwrap_or_else(|status| panic!("{path}: {}", status.message));
    }

    pub(crate) fn try_delete(&mut self, path: &str, options: &DeleteOptions) -> Result<(), Status> {
        self.cluster.delete(&Actor::admin(), &key(path), options).map(|_| ())
    }

    #[track_caller]
    pub(crate) fn force(&mut self, path: &str) {
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        self.try_delete(path, &options)
            .unwrap_or_else(|status| panic!("{path}: {}", status.message));
    }

    #[track_caller]
    pub(crate) fn change(&mut self, path: &str, change: impl FnOnce(&mut Value)) {
        let done = self.cluster.modify(&Actor::admin(), &key(path), "", change);
        done.unwrap_or_else(|status| panic!("{path}: {}", status.message));
    }

    #[track_caller]
    pub(crate) fn set(&mut self, controller: &str, mode: OperatingMode) {
        assert!(self.controllers.set_mode(controller, mode), "no controller {controller}");
    }

    /// Has what a script says happen, from now on.
    pub(crate) fn play(&mut self, script: &str) {
        let faults = self.parse_faults(script).unwrap();
        self.cluster.faults.extend(faults);
        self.run_until_idle();
    }

    pub(crate) fn off(&mut self, controller: &str) {
        self.set(controller, OperatingMode::Off);
    }

    pub(crate) fn on(&mut self, controller: &str) {
        self.set(controller, OperatingMode::Running);
    }

    pub(crate) fn silence(&mut self, node: &str) {
        self.cluster.faults.set_node(node, Some(NodeFault::Silent));
    }

    pub(crate) fn power_off(&mut self, node: &str) {
        self.cluster.faults.set_node(node, Some(NodeFault::Off));
    }

    pub(crate) fn shut_down(&mut self, node: &str) {
        self.cluster.faults.set_node(node, Some(NodeFault::ShuttingDown));
    }

    /// Repairs all nodes.
    pub(crate) fn revive(&mut self) {
        for node in ["node-a", "node-b", "node-c"] {
            self.cluster.faults.set_node(node, None);
        }
    }

    /// The messages of events with this reason.
    pub(crate) fn events(&self, reason: &str) -> Vec<&str> {
        let events = self.list("events").into_iter().filter(|it| it["reason"] == reason);
        events.map(|it| object::text(it, &["message"])).collect()
    }

    /// All objects, for the message of a failure.
    fn everything(&self) -> String {
        let kinds = self
            .cluster
            .kinds
            .iter()
            .filter(|it| it.plural != "events" && it.plural != "apiservices");
        let objects = kinds.flat_map(|it| self.cluster.list(&it.group, &it.plural, None));
        let lines = objects.filter(|it| !object::name(it).starts_with("system:")).map(|it| {
            let mut status = it["status"].clone();
            if let Some(status) = status.as_object_mut() {
                status.retain(|member, _| {
                    ["phase", "replicas", "readyReplicas", "conditions"].contains(&member.as_str())
                });
            }
            format!(
                "{} {}/{} {} {} {}",
                object::text(it, &["kind"]),
                object::namespace(it),
                object::name(it),
                it["metadata"]["finalizers"],
                it["metadata"]["deletionTimestamp"],
                if it["kind"] == "Namespace" || it["kind"] == "Pod" || it["kind"] == "Job" {
                    status
                } else {
                    Value::Null
                }
            )
        });
        let events =
            self.list("events").into_iter().map(|it| format!("{} {}", it["reason"], it["message"]));
        lines.chain(events).collect::<Vec<_>>().join("\n")
    }
}

/// `apps/deployments/shop/web`, `pods/shop/web-0`, `nodes//node-a`.
fn key(path: &str) -> Key {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [plural, namespace, name] => Key::new("", plural, namespace, name),
        [group, plural, namespace, name] => Key::new(group, plural, namespace, name),
        _ => panic!("not a path: {path}"),
    }
}

/// A Pod template whose Pods mount these claims.
pub(crate) fn template(app: &str, claims: &[&str]) -> Value {
    let volumes: Vec<Value> = claims
        .iter()
        .map(|it| json!({"name": it, "persistentVolumeClaim": {"claimName": it}}))
        .collect();
    let mounts: Vec<Value> = claims
        .iter()
        .map(|it| json!({"name": it, "mountPath": format!("/{it}"), "subPath": "part"}))
        .collect();
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {
            "terminationGracePeriodSeconds": 5,
            "containers": [{"name": "main", "image": "registry.example/main:1", "volumeMounts": mounts}],
            "volumes": volumes,
        },
    })
}

fn workload(kind: &str, app: &str, replicas: i64, claims: &[&str]) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": app, "namespace": "shop", "labels": {"app": app}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": app}},
            "template": template(app, claims),
        },
    })
}

pub(crate) fn deployment(app: &str, replicas: i64, claims: &[&str]) -> Value {
    workload("Deployment", app, replicas, claims)
}

pub(crate) fn stateful_set(app: &str, replicas: i64) -> Value {
    let mut set = workload("StatefulSet", app, replicas, &[]);
    set["spec"]["serviceName"] = json!(app);
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }]);
    set
}

/// A StorageClass whose volumes a CSI driver provides.
pub(crate) fn csi_class() -> [Value; 2] {
    [
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": "csi.unwind.test",
            "reclaimPolicy": "Delete",
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": "csi.unwind.test"},
            "spec": {"attachRequired": true},
        }),
    ]
}

/// A StorageClass whose volumes are directories on an NFS server.
pub(crate) fn nfs_class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "nfs"},
        "provisioner": "nfs.unwind.test",
        "parameters": {"server": "nfs.example"},
        "reclaimPolicy": "Delete",
    })
}

pub(crate) fn claim(name: &str, class: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "storageClassName": class,
            "accessModes": [mode],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

pub(crate) fn config_map(name: &str, metadata: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    object["metadata"]["name"] = json!(name);
    object["metadata"]["namespace"] = json!("shop");
    object
}

/// A ClusterRole with one rule, and its binding to a ServiceAccount of the namespace `shop`. Both have the account's name.
pub(crate) fn rights(account: &str, rule: &Value) -> [Value; 2] {
    let group = "rbac.authorization.k8s.io";
    let api_version = format!("{group}/v1");
    [
        json!({
            "apiVersion": api_version,
            "kind": "ClusterRole",
            "metadata": {"name": account},
            "rules": [rule],
        }),
        json!({
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": account},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "shop"}],
        }),
    ]
}
