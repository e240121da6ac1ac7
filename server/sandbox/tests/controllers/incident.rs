//! The five incidents, each until it is stuck and through its cures.

use sandbox::cluster::{Actor, DeleteOptions, Propagation::Background, Propagation::Foreground};
use sandbox::object;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::namespace::dead_metrics;
use crate::world::{World, claim, config_map, deployment, nfs_class};

fn stuck(world: &World, prefix: &str) -> bool {
    let pods = world.pods(prefix);
    let past =
        |it: &Value| object::deletion_timestamp(it).is_some_and(|at| at < world.cluster.now());
    !pods.is_empty()
        && pods.iter().all(|it| past(it) && object::deletion_grace_period(it) > Some(0))
}

fn peers() -> World {
    let mut world = World::new();
    world.namespace("shop");
    world.create([
        nfs_class(),
        claim("ledger", "nfs", "ReadWriteMany"),
        deployment("peer", 2, &["ledger"]),
    ]);
    world.until(30, "peers", |it| it.ready("peer") == 2);
    world
}

/// The same, and their volume cannot be unmounted.
fn busy_peers() -> World {
    let mut world = peers();
    let volume = object::name(world.list("persistentvolumes")[0]).to_owned();
    world.controllers.breakage.busy.insert(volume);
    world
}

/// The claim's finalizer was taken off by hand, so its directory goes while Pods have it mounted.
#[test]
fn s1_a_volume_that_goes_before_its_pods_keeps_them() {
    let mut world = peers();
    let claim = "persistentvolumeclaims/shop/ledger";
    world.delete(claim, Background);
    world.run(60);
    assert!(world.has(claim), "protected");
    world.change(claim, |it| {
        object::remove_finalizer(it, "kubernetes.io/pvc-protection");
    });
    world.until(5, "no volume", |it| it.list("persistentvolumes").is_empty());
    assert_eq!(world.ready("peer"), 2, "they run on");

    world.delete("apps/deployments/shop/peer", Foreground);
    world.run(300);
    assert!(stuck(&world, "peer"));
    assert!(world.pods("peer").iter().all(|it| it["status"]["phase"] == "Failed"));
    assert!(world.events("FailedKillPod").is_empty(), "nothing is said of an unmount");
    let log = world.controllers.breakage.kubelet_logs.values().flatten().last().unwrap();
    assert!(
        log.contains("error cleaning subPath mounts") && log.contains("stale NFS file handle"),
        "{log}"
    );

    world.controllers.breakage.removed_exports.clear();
    world.until(123, "the export is back and so is the end", |it| it.pods("peer").is_empty());
    assert!(world.list("apps/deployments").is_empty());
}

#[test]
fn s1_in_order_nothing_is_stale() {
    let mut world = peers();
    world.delete("apps/deployments/shop/peer", Background);
    world.until(10, "no Pods", |it| it.pods("peer").is_empty());
    world.delete("persistentvolumeclaims/shop/ledger", Background);
    world.until(5, "no volume", |it| it.list("persistentvolumes").is_empty());
    assert!(world.controllers.breakage.kubelet_logs.is_empty());
}

#[test]
fn s2_a_busy_mount_withholds_the_second_delete() {
    let mut world = busy_peers();
    let warnings = |world: &World| {
        world.list("events").into_iter().filter(|it| it["type"] == "Warning").count()
    };
    let before = warnings(&world);
    world.delete("apps/deployments/shop/peer", Background);
    world.run(300);
    assert!(stuck(&world, "peer"));
    assert_eq!(warnings(&world), before, "nothing is said of it");
    let log = world.controllers.breakage.kubelet_logs.values().flatten().last().unwrap();
    assert!(log.contains("exit status 32") && log.contains("target is busy"), "{log}");
    let waits: Vec<bool> = ["500ms", "1s", "2s", "64s", "122s"]
        .iter()
        .map(|it| {
            world
                .controllers
                .breakage
                .kubelet_logs
                .values()
                .flatten()
                .any(|line| line.contains(&format!("durationBeforeRetry {it})")))
        })
        .collect();
    assert_eq!(waits, [true; 5]);
    world.controllers.breakage.busy.clear();
    world.until(123, "no Pods", |it| it.pods("peer").is_empty());
}

#[test]
fn s2_is_not_cured_by_another_kubelet() {
    let mut world = busy_peers();
    world.delete("apps/deployments/shop/peer", Background);
    world.run(60);
    world.off("kubelet");
    world.run(10);
    world.on("kubelet");
    world.run(300);
    assert!(stuck(&world, "peer"), "what is mounted is found again");
    world.controllers.breakage.busy.clear();
    world.until(123, "no Pods", |it| it.pods("peer").is_empty());
}

#[test]
fn s2_by_force_the_record_goes_and_the_mount_stays() {
    let mut world = busy_peers();
    world.delete("apps/deployments/shop/peer", Background);
    world.run(60);
    for pod in world.pods("peer").iter().map(|it| object::name(it).to_owned()).collect::<Vec<_>>() {
        world.force(&format!("pods/shop/{pod}"));
    }
    assert!(world.pods("peer").is_empty());
    let lines = |world: &World| world.controllers.breakage.kubelet_logs.values().flatten().count();
    let before = lines(&world);
    world.run(400);
    assert!(lines(&world) > before, "the kubelet still tries");
}

#[test]
fn s3_an_empty_namespace_waits_for_an_api_nobody_serves() {
    for cure in ["repair", "remove"] {
        let mut world = World::new();
        world.namespace("shop");
        world.create(dead_metrics());
        world.run(5);
        world.delete("namespaces//shop", Background);
        world.run(120);
        let failure =
            object::condition(world.at("namespaces//shop"), "NamespaceDeletionDiscoveryFailure");
        assert_eq!(failure["reason"], "DiscoveryFailed");
        let api = "apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io";
        let available = object::condition(world.at(api), "Available");
        assert_eq!(
            (&available["status"], &available["reason"]),
            (&json!("False"), &json!("MissingEndpoints"))
        );
        // Asked once more, it only says again that it is going.
        assert!(world.try_delete("namespaces//shop", &DeleteOptions::default()).is_ok());
        if cure == "repair" {
            let mut server = deployment("nobody", 1, &[]);
            server["metadata"]["namespace"] = json!("kube-system");
            world.create([server]);
        } else {
            world.delete(api, Background);
        }
        world.until(90, cure, |it| !it.has("namespaces//shop"));
    }
}

#[test]
fn s4_a_finalizer_whose_controller_is_gone_holds_its_owner_in_the_foreground() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("parent", &json!({}))]);
    let uid = object::uid(world.at("configmaps/shop/parent")).to_owned();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid, "blockOwnerDeletion": true});
    world.create([config_map(
        "child",
        &json!({"finalizers": ["gone.example/cleanup"], "ownerReferences": [owner]}),
    )]);
    world.delete("configmaps/shop/parent", Foreground);
    world.run(300);
    let finalizers = |world: &World, name: &str| {
        object::finalizers(world.at(name)).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(finalizers(&world, "configmaps/shop/parent"), ["foregroundDeletion"]);
    assert_eq!(finalizers(&world, "configmaps/shop/child"), ["gone.example/cleanup"]);
    world.change("configmaps/shop/child", |it| {
        object::remove_finalizer(it, "gone.example/cleanup");
    });
    world.run(1);
    assert!(!world.has("configmaps/shop/parent") && !world.has("configmaps/shop/child"));
}

/// The third hammer: what is orphaned is out of reach until the namespace is there again.
#[test]
fn s4_a_namespace_finalized_by_force_orphans_what_it_held() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("child", &json!({"finalizers": ["gone.example/cleanup"]}))]);
    world.delete("namespaces//shop", Background);
    world.run(30);
    let key = Key::new("", "namespaces", "", "shop");
    let change = |it: &mut Value| object::set(it, &["spec", "finalizers"], json!([]));
    world.cluster.modify(&Actor::admin(), &key, "finalize", change).unwrap();
    world.run(1);
    assert!(!world.has("namespaces//shop"));
    let child = Key::new("", "configmaps", "shop", "child");
    let free = |it: &mut Value| {
        object::remove_finalizer(it, "gone.example/cleanup");
    };
    let refused = world.cluster.modify(&Actor::admin(), &child, "", free).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (404, "namespaces \"shop\" not found"));
    world.namespace("shop");
    world.cluster.modify(&Actor::admin(), &child, "", free).unwrap();
    assert!(!world.has("configmaps/shop/child"));
}

#[test]
fn s5_a_recreate_deployment_waits_for_a_pod_on_a_dead_node() {
    for cure in ["bring back", "out of service", "delete the node", "force"] {
        let mut world = World::new();
        world.namespace("shop");
        let mut singleton = deployment("singleton", 1, &[]);
        singleton["spec"]["strategy"] = json!({"type": "Recreate"});
        world.create([singleton]);
        world.until(5, "a Pod", |it| it.ready("singleton") == 1);
        let old = world.pods("singleton")[0].clone();
        let node = object::text(&old, &["spec", "nodeName"]).to_owned();
        world.silence(&node);
        world.run(70);
        world.change("apps/deployments/shop/singleton", |it| {
            it["spec"]["template"]["spec"]["containers"][0]["image"] =
                json!("registry.example/main:2");
        });
        world.run(120);
        assert_eq!(world.pods("singleton").len(), 1, "no replacement");
        assert!(stuck(&world, "singleton"));
        assert_eq!(
            world.pods("singleton")[0]["status"]["phase"],
            "Running",
            "nobody is there to say otherwise"
        );
        match cure {
            "bring back" => world.revive(),
            "out of service" => world.change(&format!("nodes//{node}"), |it| {
                let taint =
                    json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
                it["spec"]["taints"].as_array_mut().unwrap().push(taint);
            }),
            "delete the node" => world.delete(&format!("nodes//{node}"), Background),
            _ => world.force(&format!("pods/shop/{}", object::name(&old))),
        }
        world.until(90, cure, |it| it.ready("singleton") == 1 && it.pods("singleton").len() == 1);
        assert_ne!(object::uid(world.pods("singleton")[0]), object::uid(&old));
    }
}
