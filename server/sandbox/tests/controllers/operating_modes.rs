//! Each controller alone: what it does, and how that changes while it is off, slow or failing.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use sandbox::cluster::Propagation::Background;
use sandbox::controller::Controllers;
use sandbox::fault::OperatingMode;
use sandbox::object;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::test_cluster::{
    TestCluster, claim, config_map, csi_class, deployment, stateful_set, template,
};

/// What a controller does where somebody does something.
struct Deed {
    controller: &'static str,
    /// What is there before.
    before: fn(&mut TestCluster),
    /// What somebody does.
    act: fn(&mut TestCluster),
    /// Whether the controller has answered.
    is_done: fn(&TestCluster) -> bool,
    /// How long it takes it at most, in seconds.
    within: i64,
}

fn deed(
    controller: &'static str,
    within: i64,
    before: fn(&mut TestCluster),
    act: fn(&mut TestCluster),
    is_done: fn(&TestCluster) -> bool,
) -> Deed {
    Deed { controller, before, act, is_done, within }
}

fn nothing(_: &mut TestCluster) {}

/// A claim with a volume that is attached to machines.
fn with_a_volume(test: &mut TestCluster) {
    test.create(csi_class());
    test.create([claim("data", "fast", "ReadWriteOnce")]);
    test.run(20);
}

fn at<'a>(test: &'a TestCluster, path: &str) -> &'a Value {
    test.get(path).map_or(&Value::Null, |it| it)
}

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "spec": template(name, &[])["spec"],
    });
    for (member, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][member] = value.clone();
    }
    pod
}

fn volume(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "storageClassName": "by-hand", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"},
            "persistentVolumeReclaimPolicy": "Retain", "nfs": {"server": "nfs.example", "path": "/exports/v"},
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    })
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "queues.unwind.test"},
        "spec": {
            "group": "unwind.test", "scope": "Namespaced", "names": {"plural": "queues", "kind": "Queue"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// A device that a Pod had which is no more.
fn given() -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "shop", "finalizers": ["resource.kubernetes.io/delete-protection"]},
        "spec": {},
    })
}

fn has_condition(test: &TestCluster, path: &str, condition: &str) -> bool {
    object::condition(at(test, path), condition)["status"] == "True"
}

fn settings() -> Key {
    Key::new("", "configmaps", "shop", "settings")
}

/// What each does that only it does.
fn deeds() -> Vec<Deed> {
    vec![
        deed(
            "garbage-collector-controller",
            5,
            |test| {
                test.create([config_map("owner", &json!({}))]);
                let uid = object::uid(test.at("configmaps/shop/owner")).to_owned();
                let owner =
                    json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
                test.create([config_map("owned", &json!({"ownerReferences": owner}))]);
            },
            |test| test.delete("configmaps/shop/owner", Background),
            |test| !test.has("configmaps/shop/owned"),
        ),
        deed(
            "namespace-controller",
            30,
            nothing,
            |test| test.delete("namespaces//shop", Background),
            |test| !test.has("namespaces//shop"),
        ),
        deed(
            "serviceaccount-controller",
            5,
            nothing,
            |test| test.namespace("other"),
            |test| test.has("serviceaccounts/other/default"),
        ),
        deed(
            "root-ca-certificate-publisher-controller",
            5,
            nothing,
            |test| test.namespace("other"),
            |test| test.has("configmaps/other/kube-root-ca.crt"),
        ),
        deed(
            "deployment-controller",
            5,
            nothing,
            |test| test.create([deployment("web", 1, &[])]),
            |test| !test.list("apps/replicasets").is_empty(),
        ),
        deed(
            "replicaset-controller",
            5,
            nothing,
            |test| test.create([deployment("web", 1, &[])]),
            |test| !test.pods("web").is_empty(),
        ),
        deed(
            "replicationcontroller-controller",
            5,
            nothing,
            |test| {
                test.create([json!({
                    "apiVersion": "v1", "kind": "ReplicationController",
                    "metadata": {"name": "old", "namespace": "shop"},
                    "spec": {"replicas": 1, "selector": {"app": "old"}, "template": template("old", &[])},
                })]);
            },
            |test| !test.pods("old").is_empty(),
        ),
        deed(
            "statefulset-controller",
            5,
            |test| test.create(csi_class()),
            |test| test.create([stateful_set("db", 1)]),
            |test| !test.pods("db").is_empty(),
        ),
        deed(
            "daemonset-controller",
            5,
            nothing,
            |test| {
                test.create([json!({
                    "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "shop"},
                    "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", &[])},
                })]);
            },
            |test| !test.pods("agent").is_empty(),
        ),
        deed(
            "job-controller",
            5,
            nothing,
            |test| {
                let mut template = template("once", &[]);
                template["spec"]["restartPolicy"] = json!("Never");
                test.create([json!({
                    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "shop"},
                    "spec": {"template": template},
                })]);
            },
            |test| !test.pods("once").is_empty(),
        ),
        deed(
            "cronjob-controller",
            65,
            nothing,
            |test| {
                let mut template = template("often", &[]);
                template["spec"]["restartPolicy"] = json!("Never");
                test.create([json!({
                    "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "often", "namespace": "shop"},
                    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
                })]);
            },
            |test| !test.list("batch/jobs").is_empty(),
        ),
        deed(
            "horizontal-pod-autoscaler-controller",
            20,
            |test| test.create([deployment("web", 1, &[])]),
            |test| {
                test.create([json!({
                    "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                    "metadata": {"name": "web", "namespace": "shop"},
                    "spec": {
                        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                        "minReplicas": 3, "maxReplicas": 5,
                    },
                })]);
            },
            |test| at(test, "apps/deployments/shop/web")["spec"]["replicas"] == 3,
        ),
        deed(
            "endpoints-controller",
            5,
            nothing,
            |test| test.create([service()]),
            |test| test.has("endpoints/shop/web"),
        ),
        deed(
            "endpointslice-controller",
            5,
            nothing,
            |test| test.create([service()]),
            |test| {
                let slices = test.list("discovery.k8s.io/endpointslices");
                slices.into_iter().any(|it| object::name(it).starts_with("web-"))
            },
        ),
        deed(
            "persistentvolume-binder-controller",
            20,
            |test| test.create([volume("v")]),
            |test| test.create([claim("data", "by-hand", "ReadWriteOnce")]),
            |test| at(test, "persistentvolumeclaims/shop/data")["status"]["phase"] == "Bound",
        ),
        deed(
            "external-provisioner",
            20,
            |test| test.create(csi_class()),
            |test| test.create([claim("data", "fast", "ReadWriteOnce")]),
            |test| !test.list("persistentvolumes").is_empty(),
        ),
        deed(
            "persistentvolumeclaim-protection-controller",
            5,
            |test| test.create([claim("data", "by-hand", "ReadWriteOnce")]),
            |test| test.delete("persistentvolumeclaims/shop/data", Background),
            |test| !test.has("persistentvolumeclaims/shop/data"),
        ),
        deed(
            "persistentvolume-protection-controller",
            5,
            |test| test.create([volume("v")]),
            |test| test.delete("persistentvolumes//v", Background),
            |test| !test.has("persistentvolumes//v"),
        ),
        deed(
            "volumeattributesclass-protection-controller",
            5,
            |test| {
                test.create([json!({
                    "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "gold"},
                    "driverName": "csi.unwind.test", "parameters": {"iops": "1"},
                })]);
            },
            |test| test.delete("storage.k8s.io/volumeattributesclasses//gold", Background),
            |test| !test.has("storage.k8s.io/volumeattributesclasses//gold"),
        ),
        deed(
            "service-cidr-controller",
            5,
            nothing,
            |test| {
                test.create([json!({
                    "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"},
                    "spec": {"cidrs": ["10.9.0.0/16"]},
                })]);
            },
            |test| has_condition(test, "networking.k8s.io/servicecidrs//more", "Ready"),
        ),
        deed(
            "resourceclaim-controller",
            5,
            |test| test.create([given()]),
            |test| test.delete("resource.k8s.io/resourceclaims/shop/gpu", Background),
            |test| !test.has("resource.k8s.io/resourceclaims/shop/gpu"),
        ),
        deed(
            "ephemeral-volume-controller",
            5,
            nothing,
            |test| {
                let spec = claim("scratch", "by-hand", "ReadWriteOnce")["spec"].clone();
                let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]);
                test.create([pod("web", &json!({"volumes": volumes}))]);
            },
            |test| test.has("persistentvolumeclaims/shop/web-scratch"),
        ),
        deed(
            "persistentvolume-attach-detach-controller",
            20,
            with_a_volume,
            |test| test.create([deployment("web", 1, &["data"])]),
            |test| !test.list("storage.k8s.io/volumeattachments").is_empty(),
        ),
        deed(
            "external-attacher",
            5,
            with_a_volume,
            |test| test.create([deployment("web", 1, &["data"])]),
            |test| {
                let attachments = test.list("storage.k8s.io/volumeattachments");
                attachments.into_iter().any(|it| it["status"]["attached"] == true)
            },
        ),
        deed(
            "disruption-controller",
            5,
            |test| test.create([deployment("web", 2, &[])]),
            |test| {
                test.create([json!({
                    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"name": "web", "namespace": "shop"},
                    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
                })]);
            },
            |test| at(test, "policy/poddisruptionbudgets/shop/web")["status"]["expectedPods"] == 2,
        ),
        deed(
            "crd-finalizer",
            10,
            |test| {
                test.create([definition()]);
                test.run(5);
            },
            |test| {
                let path = "apiextensions.k8s.io/customresourcedefinitions//queues.unwind.test";
                test.delete(path, Background);
            },
            |test| !test.has("apiextensions.k8s.io/customresourcedefinitions//queues.unwind.test"),
        ),
        deed(
            "default-scheduler",
            5,
            nothing,
            |test| test.create([pod("web", &json!({}))]),
            |test| at(test, "pods/shop/web")["spec"]["nodeName"].is_string(),
        ),
        deed(
            "node-lifecycle-controller",
            70,
            nothing,
            |test| test.silence("node-a"),
            |test| object::condition(at(test, "nodes//node-a"), "Ready")["status"] == "Unknown",
        ),
        deed(
            "taint-eviction-controller",
            5,
            |test| {
                test.create([pod("web", &json!({"nodeName": "node-a"}))]);
                test.run(5);
            },
            |test| {
                test.change("nodes//node-a", |it| {
                    it["spec"]["taints"] = json!([{"key": "away", "effect": "NoExecute"}]);
                });
            },
            |test| !test.has("pods/shop/web") || object::is_deleting(at(test, "pods/shop/web")),
        ),
        deed(
            "pod-garbage-collector-controller",
            90,
            |test| {
                test.create([pod("web", &json!({"nodeName": "node-a"}))]);
                test.run(5);
                // Whoever else would take it away.
                test.off("kubelet");
            },
            |test| {
                test.silence("node-a");
                test.delete("nodes//node-a", Background);
            },
            |test| !test.has("pods/shop/web"),
        ),
        deed(
            "resourcequota-controller",
            5,
            nothing,
            |test| {
                test.create([json!({
                    "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"},
                    "spec": {"hard": {"pods": "3"}},
                })]);
            },
            |test| at(test, "resourcequotas/shop/q")["status"]["used"]["pods"] == "0",
        ),
        deed(
            "kubelet",
            5,
            nothing,
            |test| test.create([pod("web", &json!({"nodeName": "node-a"}))]),
            |test| at(test, "pods/shop/web")["status"]["phase"] == "Running",
        ),
        deed(
            "gitops-agent",
            5,
            |test| {
                test.create([config_map("settings", &json!({}))]);
                let now = test.cluster.get(&settings()).cloned();
                test.controllers.node_faults.recreated.insert(settings(), now);
            },
            |test| {
                test.delete("configmaps/shop/settings", Background);
                assert!(!test.has("configmaps/shop/settings"));
            },
            |test| test.has("configmaps/shop/settings"),
        ),
        deed(
            "operators",
            10,
            |test| {
                let mut operator = pod("operator", &json!({}));
                operator["metadata"]["annotations"] =
                    json!({"unwind.test/finalizes": "unwind.test/queue"});
                test.create([
                    operator,
                    config_map("queue", &json!({"finalizers": ["unwind.test/queue"]})),
                ]);
                test.run(10);
            },
            |test| test.delete("configmaps/shop/queue", Background),
            |test| !test.has("configmaps/shop/queue"),
        ),
    ]
}

/// A test in which somebody has done what a controller answers, which is like this meanwhile.
fn acted(deed: &Deed, mode: OperatingMode) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    (deed.before)(&mut test);
    test.run(1);
    assert!(!(deed.is_done)(&test) || deed.controller == "gitops-agent", "{}", deed.controller);
    test.set(deed.controller, condition);
    (deed.act)(&mut test);
    test
}

fn answered(test: &mut TestCluster, deed: &Deed, within: i64) -> i64 {
    test.until(within, deed.controller, deed.is_done)
}

#[test]
fn every_controller_has_a_case() {
    let known: BTreeSet<&str> = deeds().iter().map(|it| it.controller).collect();
    let mut all: BTreeSet<&str> = Controllers::built_in_names().collect();
    assert!(all.remove("kube-controller-manager"));
    assert_eq!(known, all);
}

#[test]
fn controller_that_was_off_finds_what_it_missed() {
    for deed in deeds() {
        let mut test = acted(&deed, OperatingMode::Off);
        test.run(deed.within + 10);
        assert!(!(deed.is_done)(&test), "{} is away", deed.controller);
        test.on(deed.controller);
        answered(&mut test, &deed, deed.within);
    }
}

#[test]
fn failing_controller_retries_until_it_may() {
    for deed in deeds() {
        let mut test = acted(&deed, OperatingMode::Failing);
        test.run(deed.within + 10);
        assert!(!(deed.is_done)(&test), "{} is refused", deed.controller);
        test.on(deed.controller);
        answered(&mut test, &deed, deed.within + 90);
    }
}

#[test]
fn slow_controller_acts_later() {
    // Later than each is by itself.
    const LATE: i64 = 120;
    for deed in deeds() {
        let usual = answered(&mut acted(&deed, OperatingMode::Running), &deed, deed.within);
        let slow = OperatingMode::Slow(SignedDuration::from_secs(LATE));
        let late = answered(&mut acted(&deed, slow), &deed, deed.within + 4 * LATE);
        assert!(late >= LATE, "{}: after {late} s, else {usual} s", deed.controller);
    }
}
