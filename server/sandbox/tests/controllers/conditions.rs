//! Each controller alone: what it does, and that it does not while it is away, late while it is slow, and not while it is
//! refused.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use sandbox::cluster::Propagation::Background;
use sandbox::controller::{Condition, Controllers};
use sandbox::object;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::world::{World, claim, config_map, csi_class, deployment, stateful_set, template};

/// What a controller does where somebody does something.
struct Deed {
    controller: &'static str,
    /// What is there before.
    before: fn(&mut World),
    /// What somebody does.
    act: fn(&mut World),
    /// Whether the controller has answered.
    is_done: fn(&World) -> bool,
    /// How long it takes it at most, in seconds.
    within: i64,
}

fn deed(
    controller: &'static str,
    within: i64,
    before: fn(&mut World),
    act: fn(&mut World),
    is_done: fn(&World) -> bool,
) -> Deed {
    Deed { controller, before, act, is_done, within }
}

fn nothing(_: &mut World) {}

/// A claim with a volume that is attached to machines.
fn with_a_volume(world: &mut World) {
    world.create(csi_class());
    world.create([claim("data", "fast", "ReadWriteOnce")]);
    world.run(20);
}

fn at<'a>(world: &'a World, path: &str) -> &'a Value {
    world.get(path).map_or(&Value::Null, |it| it)
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

fn has_condition(world: &World, path: &str, condition: &str) -> bool {
    object::condition(at(world, path), condition)["status"] == "True"
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
            |world| {
                world.create([config_map("owner", &json!({}))]);
                let uid = object::uid(world.at("configmaps/shop/owner")).to_owned();
                let owner =
                    json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
                world.create([config_map("owned", &json!({"ownerReferences": owner}))]);
            },
            |world| world.delete("configmaps/shop/owner", Background),
            |world| !world.has("configmaps/shop/owned"),
        ),
        deed(
            "namespace-controller",
            30,
            nothing,
            |world| world.delete("namespaces//shop", Background),
            |world| !world.has("namespaces//shop"),
        ),
        deed(
            "serviceaccount-controller",
            5,
            nothing,
            |world| world.namespace("other"),
            |world| world.has("serviceaccounts/other/default"),
        ),
        deed(
            "root-ca-certificate-publisher-controller",
            5,
            nothing,
            |world| world.namespace("other"),
            |world| world.has("configmaps/other/kube-root-ca.crt"),
        ),
        deed(
            "deployment-controller",
            5,
            nothing,
            |world| world.create([deployment("web", 1, &[])]),
            |world| !world.list("apps/replicasets").is_empty(),
        ),
        deed(
            "replicaset-controller",
            5,
            nothing,
            |world| world.create([deployment("web", 1, &[])]),
            |world| !world.pods("web").is_empty(),
        ),
        deed(
            "replicationcontroller-controller",
            5,
            nothing,
            |world| {
                world.create([json!({
                    "apiVersion": "v1", "kind": "ReplicationController",
                    "metadata": {"name": "old", "namespace": "shop"},
                    "spec": {"replicas": 1, "selector": {"app": "old"}, "template": template("old", &[])},
                })]);
            },
            |world| !world.pods("old").is_empty(),
        ),
        deed(
            "statefulset-controller",
            5,
            |world| world.create(csi_class()),
            |world| world.create([stateful_set("db", 1)]),
            |world| !world.pods("db").is_empty(),
        ),
        deed(
            "daemonset-controller",
            5,
            nothing,
            |world| {
                world.create([json!({
                    "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "shop"},
                    "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", &[])},
                })]);
            },
            |world| !world.pods("agent").is_empty(),
        ),
        deed(
            "job-controller",
            5,
            nothing,
            |world| {
                let mut template = template("once", &[]);
                template["spec"]["restartPolicy"] = json!("Never");
                world.create([json!({
                    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "shop"},
                    "spec": {"template": template},
                })]);
            },
            |world| !world.pods("once").is_empty(),
        ),
        deed(
            "cronjob-controller",
            65,
            nothing,
            |world| {
                let mut template = template("often", &[]);
                template["spec"]["restartPolicy"] = json!("Never");
                world.create([json!({
                    "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "often", "namespace": "shop"},
                    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
                })]);
            },
            |world| !world.list("batch/jobs").is_empty(),
        ),
        deed(
            "horizontal-pod-autoscaler-controller",
            20,
            |world| world.create([deployment("web", 1, &[])]),
            |world| {
                world.create([json!({
                    "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                    "metadata": {"name": "web", "namespace": "shop"},
                    "spec": {
                        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                        "minReplicas": 3, "maxReplicas": 5,
                    },
                })]);
            },
            |world| at(world, "apps/deployments/shop/web")["spec"]["replicas"] == 3,
        ),
        deed(
            "endpoints-controller",
            5,
            nothing,
            |world| world.create([service()]),
            |world| world.has("endpoints/shop/web"),
        ),
        deed(
            "endpointslice-controller",
            5,
            nothing,
            |world| world.create([service()]),
            |world| {
                let slices = world.list("discovery.k8s.io/endpointslices");
                slices.into_iter().any(|it| object::name(it).starts_with("web-"))
            },
        ),
        deed(
            "persistentvolume-binder-controller",
            20,
            |world| world.create([volume("v")]),
            |world| world.create([claim("data", "by-hand", "ReadWriteOnce")]),
            |world| at(world, "persistentvolumeclaims/shop/data")["status"]["phase"] == "Bound",
        ),
        deed(
            "external-provisioner",
            20,
            |world| world.create(csi_class()),
            |world| world.create([claim("data", "fast", "ReadWriteOnce")]),
            |world| !world.list("persistentvolumes").is_empty(),
        ),
        deed(
            "persistentvolumeclaim-protection-controller",
            5,
            |world| world.create([claim("data", "by-hand", "ReadWriteOnce")]),
            |world| world.delete("persistentvolumeclaims/shop/data", Background),
            |world| !world.has("persistentvolumeclaims/shop/data"),
        ),
        deed(
            "persistentvolume-protection-controller",
            5,
            |world| world.create([volume("v")]),
            |world| world.delete("persistentvolumes//v", Background),
            |world| !world.has("persistentvolumes//v"),
        ),
        deed(
            "volumeattributesclass-protection-controller",
            5,
            |world| {
                world.create([json!({
                    "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "gold"},
                    "driverName": "csi.unwind.test", "parameters": {"iops": "1"},
                })]);
            },
            |world| world.delete("storage.k8s.io/volumeattributesclasses//gold", Background),
            |world| !world.has("storage.k8s.io/volumeattributesclasses//gold"),
        ),
        deed(
            "service-cidr-controller",
            5,
            nothing,
            |world| {
                world.create([json!({
                    "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"},
                    "spec": {"cidrs": ["10.9.0.0/16"]},
                })]);
            },
            |world| has_condition(world, "networking.k8s.io/servicecidrs//more", "Ready"),
        ),
        deed(
            "resourceclaim-controller",
            5,
            |world| world.create([given()]),
            |world| world.delete("resource.k8s.io/resourceclaims/shop/gpu", Background),
            |world| !world.has("resource.k8s.io/resourceclaims/shop/gpu"),
        ),
        deed(
            "ephemeral-volume-controller",
            5,
            nothing,
            |world| {
                let spec = claim("scratch", "by-hand", "ReadWriteOnce")["spec"].clone();
                let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]);
                world.create([pod("web", &json!({"volumes": volumes}))]);
            },
            |world| world.has("persistentvolumeclaims/shop/web-scratch"),
        ),
        deed(
            "persistentvolume-attach-detach-controller",
            20,
            with_a_volume,
            |world| world.create([deployment("web", 1, &["data"])]),
            |world| !world.list("storage.k8s.io/volumeattachments").is_empty(),
        ),
        deed(
            "external-attacher",
            5,
            with_a_volume,
            |world| world.create([deployment("web", 1, &["data"])]),
            |world| {
                let attachments = world.list("storage.k8s.io/volumeattachments");
                attachments.into_iter().any(|it| it["status"]["attached"] == true)
            },
        ),
        deed(
            "disruption-controller",
            5,
            |world| world.create([deployment("web", 2, &[])]),
            |world| {
                world.create([json!({
                    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"name": "web", "namespace": "shop"},
                    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
                })]);
            },
            |world| {
                at(world, "policy/poddisruptionbudgets/shop/web")["status"]["expectedPods"] == 2
            },
        ),
        deed(
            "crd-finalizer",
            10,
            |world| {
                world.create([definition()]);
                world.run(5);
            },
            |world| {
                let path = "apiextensions.k8s.io/customresourcedefinitions//queues.unwind.test";
                world.delete(path, Background);
            },
            |world| {
                !world.has("apiextensions.k8s.io/customresourcedefinitions//queues.unwind.test")
            },
        ),
        deed(
            "default-scheduler",
            5,
            nothing,
            |world| world.create([pod("web", &json!({}))]),
            |world| at(world, "pods/shop/web")["spec"]["nodeName"].is_string(),
        ),
        deed(
            "node-lifecycle-controller",
            70,
            nothing,
            |world| world.silence("node-a"),
            |world| object::condition(at(world, "nodes//node-a"), "Ready")["status"] == "Unknown",
        ),
        deed(
            "taint-eviction-controller",
            5,
            |world| {
                world.create([pod("web", &json!({"nodeName": "node-a"}))]);
                world.run(5);
            },
            |world| {
                world.change("nodes//node-a", |it| {
                    it["spec"]["taints"] = json!([{"key": "away", "effect": "NoExecute"}]);
                });
            },
            |world| !world.has("pods/shop/web") || object::is_deleting(at(world, "pods/shop/web")),
        ),
        deed(
            "pod-garbage-collector-controller",
            90,
            |world| {
                world.create([pod("web", &json!({"nodeName": "node-a"}))]);
                world.run(5);
                // Whoever else would take it away.
                world.off("kubelet");
            },
            |world| {
                world.silence("node-a");
                world.delete("nodes//node-a", Background);
            },
            |world| !world.has("pods/shop/web"),
        ),
        deed(
            "resourcequota-controller",
            5,
            nothing,
            |world| {
                world.create([json!({
                    "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"},
                    "spec": {"hard": {"pods": "3"}},
                })]);
            },
            |world| at(world, "resourcequotas/shop/q")["status"]["used"]["pods"] == "0",
        ),
        deed(
            "kubelet",
            5,
            nothing,
            |world| world.create([pod("web", &json!({"nodeName": "node-a"}))]),
            |world| at(world, "pods/shop/web")["status"]["phase"] == "Running",
        ),
        deed(
            "gitops-agent",
            5,
            |world| {
                world.create([config_map("settings", &json!({}))]);
                let now = world.cluster.get(&settings()).cloned();
                world.controllers.breakage.recreated.insert(settings(), now);
            },
            |world| {
                world.delete("configmaps/shop/settings", Background);
                assert!(!world.has("configmaps/shop/settings"));
            },
            |world| world.has("configmaps/shop/settings"),
        ),
        deed(
            "operators",
            10,
            |world| {
                let mut operator = pod("operator", &json!({}));
                operator["metadata"]["annotations"] =
                    json!({"unwind.test/finalizes": "unwind.test/queue"});
                world.create([
                    operator,
                    config_map("queue", &json!({"finalizers": ["unwind.test/queue"]})),
                ]);
                world.run(10);
            },
            |world| world.delete("configmaps/shop/queue", Background),
            |world| !world.has("configmaps/shop/queue"),
        ),
    ]
}

/// A world in which somebody has done what a controller answers, which is like this meanwhile.
fn acted(deed: &Deed, condition: Condition) -> World {
    let mut world = World::new();
    world.namespace("shop");
    (deed.before)(&mut world);
    world.run(1);
    assert!(!(deed.is_done)(&world) || deed.controller == "gitops-agent", "{}", deed.controller);
    world.set(deed.controller, condition);
    (deed.act)(&mut world);
    world
}

fn answered(world: &mut World, deed: &Deed, within: i64) -> i64 {
    world.until(within, deed.controller, deed.is_done)
}

#[test]
fn there_is_a_deed_of_each() {
    let known: BTreeSet<&str> = deeds().iter().map(|it| it.controller).collect();
    let mut all: BTreeSet<&str> = Controllers::names().collect();
    assert!(all.remove("kube-controller-manager"));
    assert_eq!(known, all);
}

#[test]
fn each_can_be_away_and_finds_what_it_missed() {
    for deed in deeds() {
        let mut world = acted(&deed, Condition::Off);
        world.run(deed.within + 10);
        assert!(!(deed.is_done)(&world), "{} is away", deed.controller);
        world.on(deed.controller);
        answered(&mut world, &deed, deed.within);
    }
}

#[test]
fn each_can_be_refused_and_tries_until_it_is_let() {
    for deed in deeds() {
        let mut world = acted(&deed, Condition::Failing);
        world.run(deed.within + 10);
        assert!(!(deed.is_done)(&world), "{} is refused", deed.controller);
        world.on(deed.controller);
        answered(&mut world, &deed, deed.within + 90);
    }
}

#[test]
fn each_can_be_slow() {
    // Later than each is by itself.
    const LATE: i64 = 120;
    for deed in deeds() {
        let usual = answered(&mut acted(&deed, Condition::Running), &deed, deed.within);
        let slow = Condition::Slow(SignedDuration::from_secs(LATE));
        let late = answered(&mut acted(&deed, slow), &deed, deed.within + 4 * LATE);
        assert!(late >= LATE, "{}: after {late} s, else {usual} s", deed.controller);
    }
}
