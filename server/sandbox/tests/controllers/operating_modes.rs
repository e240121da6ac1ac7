//! Each controller alone: its effect, and how the effect changes while the controller is off, slow or failing.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use sandbox::cluster::Propagation::Background;
use sandbox::controller::Controllers;
use sandbox::fault::OperatingMode;
use sandbox::object;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::test_cluster::{
    TestCluster, claim, config_map, csi_class, deployment, rights, stateful_set, template,
};

/// A situation to which one controller reacts.
struct Case {
    controller: &'static str,
    /// Creates the objects that have to exist before.
    before: fn(&mut TestCluster),
    /// Makes the change that the controller reacts to.
    act: fn(&mut TestCluster),
    /// Whether the controller has reacted.
    is_done: fn(&TestCluster) -> bool,
    /// The longest time that it takes, in seconds.
    within: i64,
}

fn case(
    controller: &'static str,
    within: i64,
    before: fn(&mut TestCluster),
    act: fn(&mut TestCluster),
    is_done: fn(&TestCluster) -> bool,
) -> Case {
    Case { controller, before, act, is_done, within }
}

fn renewed(test: &TestCluster, lease: &str) -> Value {
    test.at(&format!("coordination.k8s.io/leases/{lease}"))["spec"]["renewTime"].clone()
}

#[test]
fn program_renews_its_lease_while_it_runs() {
    let mut test = TestCluster::new();
    test.controllers.add_cloud();
    test.controllers.add_leader_election();
    for program in ["kube-controller-manager", "kube-scheduler", "cloud-controller-manager"] {
        let lease = format!("kube-system/{program}");
        test.run(5);
        let first = renewed(&test, &lease);
        test.run(5);
        let second = renewed(&test, &lease);
        assert_ne!(first, second, "{program}");
        test.off(program);
        test.run(60);
        assert_eq!(renewed(&test, &lease), second, "{program}");
        test.on(program);
        test.run(3);
        assert_ne!(renewed(&test, &lease), second, "{program}");
    }
}

fn nothing(_: &mut TestCluster) {}

/// A claim with a volume that can be attached to nodes.
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
    definition_of("unwind.test", "queues", "Queue")
}

fn definition_of(group: &str, plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// A device that was allocated to a Pod which no longer exists.
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

/// For each controller, a situation to which only it reacts.
fn cases() -> Vec<Case> {
    vec![
        case(
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
        case(
            "namespace-controller",
            30,
            nothing,
            |test| test.delete("namespaces//shop", Background),
            |test| !test.has("namespaces//shop"),
        ),
        case(
            "serviceaccount-controller",
            5,
            nothing,
            |test| test.namespace("other"),
            |test| test.has("serviceaccounts/other/default"),
        ),
        case(
            "root-ca-certificate-publisher-controller",
            5,
            nothing,
            |test| test.namespace("other"),
            |test| test.has("configmaps/other/kube-root-ca.crt"),
        ),
        case(
            "deployment-controller",
            5,
            nothing,
            |test| test.create([deployment("web", 1, &[])]),
            |test| !test.list("apps/replicasets").is_empty(),
        ),
        case(
            "replicaset-controller",
            5,
            nothing,
            |test| test.create([deployment("web", 1, &[])]),
            |test| !test.pods("web").is_empty(),
        ),
        case(
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
        case(
            "statefulset-controller",
            5,
            |test| test.create(csi_class()),
            |test| test.create([stateful_set("db", 1)]),
            |test| !test.pods("db").is_empty(),
        ),
        case(
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
        case(
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
        case(
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
        case(
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
        case(
            "endpoints-controller",
            5,
            nothing,
            |test| test.create([service()]),
            |test| test.has("endpoints/shop/web"),
        ),
        case(
            "endpointslice-controller",
            5,
            nothing,
            |test| test.create([service()]),
            |test| {
                let slices = test.list("discovery.k8s.io/endpointslices");
                slices.into_iter().any(|it| object::name(it).starts_with("web-"))
            },
        ),
        case(
            "persistentvolume-binder-controller",
            20,
            |test| test.create([volume("v")]),
            |test| test.create([claim("data", "by-hand", "ReadWriteOnce")]),
            |test| at(test, "persistentvolumeclaims/shop/data")["status"]["phase"] == "Bound",
        ),
        case(
            "external-provisioner",
            20,
            |test| test.create(csi_class()),
            |test| test.create([claim("data", "fast", "ReadWriteOnce")]),
            |test| !test.list("persistentvolumes").is_empty(),
        ),
        case(
            "persistentvolumeclaim-protection-controller",
            5,
            |test| test.create([claim("data", "by-hand", "ReadWriteOnce")]),
            |test| test.delete("persistentvolumeclaims/shop/data", Background),
            |test| !test.has("persistentvolumeclaims/shop/data"),
        ),
        case(
            "persistentvolume-protection-controller",
            5,
            |test| test.create([volume("v")]),
            |test| test.delete("persistentvolumes//v", Background),
            |test| !test.has("persistentvolumes//v"),
        ),
        case(
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
        case(
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
        case(
            "resourceclaim-controller",
            5,
            |test| test.create([given()]),
            |test| test.delete("resource.k8s.io/resourceclaims/shop/gpu", Background),
            |test| !test.has("resource.k8s.io/resourceclaims/shop/gpu"),
        ),
        case(
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
        case(
            "persistentvolume-attach-detach-controller",
            20,
            with_a_volume,
            |test| test.create([deployment("web", 1, &["data"])]),
            |test| !test.list("storage.k8s.io/volumeattachments").is_empty(),
        ),
        case(
            "external-attacher",
            5,
            with_a_volume,
            |test| test.create([deployment("web", 1, &["data"])]),
            |test| {
                let attachments = test.list("storage.k8s.io/volumeattachments");
                attachments.into_iter().any(|it| it["status"]["attached"] == true)
            },
        ),
        case(
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
        case(
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
        case(
            "default-scheduler",
            5,
            nothing,
            |test| test.create([pod("web", &json!({}))]),
            |test| at(test, "pods/shop/web")["spec"]["nodeName"].is_string(),
        ),
        case(
            "node-lifecycle-controller",
            70,
            nothing,
            |test| test.silence("node-a"),
            |test| object::condition(at(test, "nodes//node-a"), "Ready")["status"] == "Unknown",
        ),
        case(
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
        case(
            "pod-garbage-collector-controller",
            90,
            |test| {
                test.create([pod("web", &json!({"nodeName": "node-a"}))]);
                test.run(5);
                // No other controller may remove it.
                test.off("kubelet");
            },
            |test| {
                test.silence("node-a");
                test.delete("nodes//node-a", Background);
            },
            |test| !test.has("pods/shop/web"),
        ),
        case(
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
        case(
            "kubelet",
            5,
            nothing,
            |test| test.create([pod("web", &json!({"nodeName": "node-a"}))]),
            |test| at(test, "pods/shop/web")["status"]["phase"] == "Running",
        ),
        case(
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
        case(
            "kustomize-controller",
            5,
            |test| {
                test.create([definition_of(
                    "kustomize.toolkit.fluxcd.io",
                    "kustomizations",
                    "Kustomization",
                )]);
                test.run(2);
                test.create([json!({
                    "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                    "metadata": {"name": "web", "namespace": "shop", "finalizers": ["finalizers.fluxcd.io"]},
                    "spec": {"prune": true},
                })]);
            },
            |test| test.delete("kustomize.toolkit.fluxcd.io/kustomizations/shop/web", Background),
            |test| !test.has("kustomize.toolkit.fluxcd.io/kustomizations/shop/web"),
        ),
        case(
            "operators",
            10,
            |test| {
                let mut operator = pod("operator", &json!({}));
                operator["metadata"]["annotations"] =
                    json!({"unwind.test/finalizes": "unwind.test/queue"});
                let rule =
                    json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["update"]});
                test.create(rights("default", &rule));
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

/// A cluster in which the situation of a case has arisen while its controller has this operating mode.
fn acted(case: &Case, mode: OperatingMode) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    (case.before)(&mut test);
    test.run(1);
    assert!(!(case.is_done)(&test) || case.controller == "gitops-agent", "{}", case.controller);
    test.set(case.controller, mode);
    (case.act)(&mut test);
    test
}

fn answered(test: &mut TestCluster, case: &Case, within: i64) -> i64 {
    test.until(within, case.controller, case.is_done)
}

#[test]
fn controllers_all_have_a_case() {
    let known: BTreeSet<&str> = cases().iter().map(|it| it.controller).collect();
    let mut all: BTreeSet<&str> = Controllers::built_in_names().collect();
    assert!(all.remove("kube-controller-manager"));
    assert_eq!(known, all);
}

#[test]
fn controller_that_was_off_finds_what_it_missed() {
    for case in cases() {
        let mut test = acted(&case, OperatingMode::Off);
        test.run(case.within + 10);
        assert!(!(case.is_done)(&test), "{} is away", case.controller);
        test.on(case.controller);
        answered(&mut test, &case, case.within);
    }
}

#[test]
fn failing_controller_retries_until_it_may() {
    for case in cases() {
        let mut test = acted(&case, OperatingMode::Failing);
        test.run(case.within + 10);
        assert!(!(case.is_done)(&test), "{} is refused", case.controller);
        test.on(case.controller);
        answered(&mut test, &case, case.within + 90);
    }
}

#[test]
fn slow_controller_acts_later() {
    // Later than any controller acts by itself.
    const LATE: i64 = 120;
    for case in cases() {
        let usual = answered(&mut acted(&case, OperatingMode::Running), &case, case.within);
        let slow = OperatingMode::Slow(SignedDuration::from_secs(LATE));
        let late = answered(&mut acted(&case, slow), &case, case.within + 4 * LATE);
        assert!(late >= LATE, "{}: after {late} s, else {usual} s", case.controller);
    }
}
