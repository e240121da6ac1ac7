//! The five incidents: each until it is stuck, and then with each of its remedies.

use sandbox::cluster::{Actor, DeleteOptions, Propagation::Background, Propagation::Foreground};
use sandbox::fault::ServerFault;
use sandbox::object;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::namespace::dead_metrics;
use crate::test_cluster::{TestCluster, claim, config_map, deployment, nfs_class};

fn stuck(test: &TestCluster, prefix: &str) -> bool {
    let pods = test.pods(prefix);
    let past =
        |it: &Value| object::deletion_timestamp(it).is_some_and(|at| at < test.cluster.now());
    !pods.is_empty()
        && pods.iter().all(|it| past(it) && object::deletion_grace_period(it) > Some(0))
}

fn peers() -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([
        nfs_class(),
        claim("ledger", "nfs", "ReadWriteMany"),
        deployment("peer", 2, &["ledger"]),
    ]);
    test.until(30, "peers", |it| it.ready("peer") == 2);
    test
}

/// The cluster of `peers`, with a volume that cannot be unmounted.
fn busy_peers() -> TestCluster {
    let mut test = peers();
    let volume = object::name(test.list("persistentvolumes")[0]).to_owned();
    test.controllers.node_faults.busy.insert(volume);
    test
}

/// The claim's finalizer was removed by hand, so the directory of its volume is deleted while Pods have it mounted.
#[test]
fn s1_a_volume_that_goes_before_its_pods_keeps_them() {
    let mut test = peers();
    let claim = "persistentvolumeclaims/shop/ledger";
    test.delete(claim, Background);
    test.run(60);
    assert!(test.has(claim), "protected");
    test.change(claim, |it| {
        object::remove_finalizer(it, "kubernetes.io/pvc-protection");
    });
    test.until(5, "no volume", |it| it.list("persistentvolumes").is_empty());
    assert_eq!(test.ready("peer"), 2, "they run on");

    test.delete("apps/deployments/shop/peer", Foreground);
    test.run(300);
    assert!(stuck(&test, "peer"));
    assert!(test.pods("peer").iter().all(|it| it["status"]["phase"] == "Failed"));
    assert!(test.events("FailedKillPod").is_empty(), "nothing is said of an unmount");
    let log = test.controllers.node_faults.kubelet_logs.values().flatten().last().unwrap();
    assert!(
        log.contains("error cleaning subPath mounts") && log.contains("Stale file handle"),
        "{log}"
    );

    test.controllers.node_faults.removed_exports.clear();
    test.until(123, "the export is back and so is the end", |it| it.pods("peer").is_empty());
    assert!(test.list("apps/deployments").is_empty());
}

/// The server behind the mount is dead: no try ends, and the kubelet says only that it waits.
#[test]
fn s1_a_mount_that_hangs_is_named_every_2_minutes_and_3_seconds() {
    let mut test = peers();
    let server = &test.list("persistentvolumes")[0]["spec"]["nfs"]["server"];
    let server = server.as_str().unwrap().to_owned();
    test.controllers.node_faults.dead_servers.insert(server);
    test.delete("apps/deployments/shop/peer", Background);
    let said = |test: &TestCluster| {
        let lines = test.controllers.node_faults.kubelet_logs.values().flatten();
        lines.filter(|line| line.contains("mounted volumes=[kubernetes.io/nfs/")).count()
    };
    test.run(100);
    assert_eq!(said(&test), 0);
    test.run(200);
    assert_eq!(said(&test), 4, "two Pods, twice each");
    test.controllers.node_faults.dead_servers.clear();
    test.until(30, "the end", |it| it.pods("peer").is_empty());
}

#[test]
fn s1_a_node_that_is_powered_off_and_on_has_no_mounts_left() {
    let mut test = busy_peers();
    test.delete("apps/deployments/shop/peer", Background);
    test.run(60);
    assert!(stuck(&test, "peer"));
    for node in ["node-a", "node-b", "node-c"] {
        test.power_off(node);
    }
    test.run(2);
    test.revive();
    test.until(30, "no Pods", |it| it.pods("peer").is_empty());
}

#[test]
fn s1_in_order_nothing_is_stale() {
    let mut test = peers();
    test.delete("apps/deployments/shop/peer", Background);
    test.until(10, "no Pods", |it| it.pods("peer").is_empty());
    test.delete("persistentvolumeclaims/shop/ledger", Background);
    test.until(5, "no volume", |it| it.list("persistentvolumes").is_empty());
    assert!(test.controllers.node_faults.kubelet_logs.is_empty());
}

#[test]
fn s2_a_busy_mount_withholds_the_second_delete() {
    let mut test = busy_peers();
    let warnings = |test: &TestCluster| {
        test.list("events").into_iter().filter(|it| it["type"] == "Warning").count()
    };
    let before = warnings(&test);
    test.delete("apps/deployments/shop/peer", Background);
    test.run(300);
    assert!(stuck(&test, "peer"));
    assert_eq!(warnings(&test), before, "nothing is said of it");
    let log = test.controllers.node_faults.kubelet_logs.values().flatten().last().unwrap();
    assert!(log.contains("exit status 16") && log.contains("device is busy"), "{log}");
    let waits: Vec<bool> = ["500ms", "1s", "2s", "1m4s", "2m2s"]
        .iter()
        .map(|it| {
            test.controllers
                .node_faults
                .kubelet_logs
                .values()
                .flatten()
                .any(|line| line.contains(&format!("durationBeforeRetry {it})")))
        })
        .collect();
    assert_eq!(waits, [true; 5]);
    test.controllers.node_faults.busy.clear();
    test.until(123, "no Pods", |it| it.pods("peer").is_empty());
}

#[test]
fn s2_is_not_cured_by_another_kubelet() {
    let mut test = busy_peers();
    test.delete("apps/deployments/shop/peer", Background);
    test.run(60);
    test.off("kubelet");
    test.run(10);
    test.on("kubelet");
    test.run(300);
    assert!(stuck(&test, "peer"), "what is mounted is found again");
    test.controllers.node_faults.busy.clear();
    test.until(123, "no Pods", |it| it.pods("peer").is_empty());
}

#[test]
fn s2_by_force_the_record_goes_and_the_mount_stays() {
    let mut test = busy_peers();
    test.delete("apps/deployments/shop/peer", Background);
    test.run(60);
    for pod in test.pods("peer").iter().map(|it| object::name(it).to_owned()).collect::<Vec<_>>() {
        test.force(&format!("pods/shop/{pod}"));
    }
    assert!(test.pods("peer").is_empty());
    let lines =
        |test: &TestCluster| test.controllers.node_faults.kubelet_logs.values().flatten().count();
    let before = lines(&test);
    test.run(400);
    assert!(lines(&test) > before, "the kubelet still tries");
    let log = test.controllers.node_faults.kubelet_logs.values().flatten().last().unwrap();
    assert!(!log.contains("podName: "), "it names the Pod that is gone: {log}");
}

#[test]
fn s3_an_empty_namespace_waits_for_an_api_nobody_serves() {
    for cure in ["repair", "remove"] {
        let mut test = TestCluster::new();
        test.namespace("shop");
        test.create(dead_metrics());
        test.run(5);
        test.delete("namespaces//shop", Background);
        test.run(120);
        let failure =
            object::condition(test.at("namespaces//shop"), "NamespaceDeletionDiscoveryFailure");
        assert_eq!(failure["reason"], "DiscoveryFailed");
        let api = "apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io";
        let available = object::condition(test.at(api), "Available");
        assert_eq!(
            (&available["status"], &available["reason"]),
            (&json!("False"), &json!("MissingEndpoints"))
        );
        // A second DELETE only answers that the namespace is terminating.
        assert!(test.try_delete("namespaces//shop", &DeleteOptions::default()).is_ok());
        if cure == "repair" {
            let mut server = deployment("nobody", 1, &[]);
            server["metadata"]["namespace"] = json!("kube-system");
            test.create([server]);
        } else {
            test.delete(api, Background);
        }
        test.until(90, cure, |it| !it.has("namespaces//shop"));
    }
}

/// The Pods of the server are ready, so that only the discovery check finds that it does not answer.
#[test]
fn api_server_that_is_dead_behind_a_ready_endpoint_fails_its_discovery_check() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create(dead_metrics());
    let mut server = deployment("nobody", 1, &[]);
    server["metadata"]["namespace"] = json!("kube-system");
    test.create([server]);
    let api = "apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io";
    let reason = |test: &TestCluster| {
        object::text(object::condition(test.at(api), "Available"), &["reason"]).to_owned()
    };
    test.until(30, "available", |it| reason(it) == "Passed");
    test.cluster.set_server_fault("v1beta1.metrics.k8s.io".into(), Some(ServerFault::Dead));
    assert_eq!(reason(&test), "FailedDiscoveryCheck");
    test.delete("namespaces//shop", Background);
    test.run(120);
    let failure =
        object::condition(test.at("namespaces//shop"), "NamespaceDeletionDiscoveryFailure");
    assert_eq!(failure["reason"], "DiscoveryFailed");
    test.cluster.set_server_fault("v1beta1.metrics.k8s.io".into(), None);
    test.until(90, "gone", |it| !it.has("namespaces//shop"));
}

/// A person wrote the endpoint, or the controller that would remove it is behind.
#[test]
fn nobody_answers_at_a_ready_endpoint_whose_address_no_pod_has() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let [mut service, api] = dead_metrics();
    service["spec"] = json!({"ports": [{"port": 443}]});
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "by-hand", "namespace": "kube-system",
            "labels": {"kubernetes.io/service-name": "metrics-server"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": true}}],
        "ports": [{"port": 443}],
    });
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gate"},
        "webhooks": [{
            "name": "gate.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": "kube-system", "name": "metrics-server"}},
            "rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        }],
    });
    test.create([service, slice, api, hook, config_map("settings", &json!({}))]);
    test.run(1);
    let api = "apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io";
    let reason = |test: &TestCluster| {
        object::text(object::condition(test.at(api), "Available"), &["reason"]).to_owned()
    };
    assert_eq!(reason(&test), "FailedDiscoveryCheck");
    let refused = test.try_delete("configmaps/shop/settings", &DeleteOptions::default());
    let message = refused.unwrap_err().message;
    assert!(message.contains("gate.example.com"), "{message}");
    assert!(message.ends_with("context deadline exceeded"), "{message}");

    test.create([deployment("web", 1, &[])]);
    let address = |test: &TestCluster| {
        let pods = test.pods("web");
        pods.first().map_or("", |pod| object::text(pod, &["status", "podIP"])).to_owned()
    };
    test.until(30, "an address", |it| !address(it).is_empty());
    let of_pod = address(&test);
    test.change("discovery.k8s.io/endpointslices/kube-system/by-hand", |it| {
        it["endpoints"][0]["addresses"] = json!([of_pod]);
    });
    assert_eq!(reason(&test), "Passed");
    test.delete("configmaps/shop/settings", Background);

    test.delete("apps/deployments/shop/web", Background);
    test.until(90, "the end of the Pod", |it| it.pods("web").is_empty());
    assert_eq!(reason(&test), "FailedDiscoveryCheck");
}

#[test]
fn s4_a_finalizer_whose_controller_is_gone_holds_its_owner_in_the_foreground() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("parent", &json!({}))]);
    let uid = object::uid(test.at("configmaps/shop/parent")).to_owned();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid, "blockOwnerDeletion": true});
    test.create([config_map(
        "child",
        &json!({"finalizers": ["gone.example/cleanup"], "ownerReferences": [owner]}),
    )]);
    test.delete("configmaps/shop/parent", Foreground);
    test.run(300);
    let finalizers = |test: &TestCluster, name: &str| {
        object::finalizers(test.at(name)).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(finalizers(&test, "configmaps/shop/parent"), ["foregroundDeletion"]);
    assert_eq!(finalizers(&test, "configmaps/shop/child"), ["gone.example/cleanup"]);
    test.change("configmaps/shop/child", |it| {
        object::remove_finalizer(it, "gone.example/cleanup");
    });
    test.run(1);
    assert!(!test.has("configmaps/shop/parent") && !test.has("configmaps/shop/child"));
}

/// The third forced remedy: the orphaned objects are out of reach until the namespace exists again.
#[test]
fn s4_a_namespace_finalized_by_force_orphans_what_it_held() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("child", &json!({"finalizers": ["gone.example/cleanup"]}))]);
    test.delete("namespaces//shop", Background);
    test.run(30);
    let key = Key::new("", "namespaces", "", "shop");
    let change = |it: &mut Value| object::set(it, &["spec", "finalizers"], json!([]));
    test.cluster.modify(&Actor::admin(), &key, "finalize", change).unwrap();
    test.run(1);
    assert!(!test.has("namespaces//shop"));
    let child = Key::new("", "configmaps", "shop", "child");
    let free = |it: &mut Value| {
        object::remove_finalizer(it, "gone.example/cleanup");
    };
    let refused = test.cluster.modify(&Actor::admin(), &child, "", free).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (404, "namespaces \"shop\" not found"));
    test.namespace("shop");
    test.cluster.modify(&Actor::admin(), &child, "", free).unwrap();
    assert!(!test.has("configmaps/shop/child"));
}

#[test]
fn s5_a_recreate_deployment_waits_for_a_pod_on_a_dead_node() {
    for cure in ["bring back", "out of service", "delete the node", "force"] {
        let mut test = TestCluster::new();
        test.namespace("shop");
        let mut singleton = deployment("singleton", 1, &[]);
        singleton["spec"]["strategy"] = json!({"type": "Recreate"});
        test.create([singleton]);
        test.until(5, "a Pod", |it| it.ready("singleton") == 1);
        let old = test.pods("singleton")[0].clone();
        let node = object::text(&old, &["spec", "nodeName"]).to_owned();
        test.silence(&node);
        test.run(70);
        test.change("apps/deployments/shop/singleton", |it| {
            it["spec"]["template"]["spec"]["containers"][0]["image"] =
                json!("registry.example/main:2");
        });
        test.run(120);
        assert_eq!(test.pods("singleton").len(), 1, "no replacement");
        assert!(stuck(&test, "singleton"));
        assert_eq!(
            test.pods("singleton")[0]["status"]["phase"],
            "Running",
            "nobody is there to say otherwise"
        );
        match cure {
            "bring back" => test.revive(),
            "out of service" => test.change(&format!("nodes//{node}"), |it| {
                let taint =
                    json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
                it["spec"]["taints"].as_array_mut().unwrap().push(taint);
            }),
            "delete the node" => test.delete(&format!("nodes//{node}"), Background),
            _ => test.force(&format!("pods/shop/{}", object::name(&old))),
        }
        test.until(90, cure, |it| it.ready("singleton") == 1 && it.pods("singleton").len() == 1);
        assert_ne!(object::uid(test.pods("singleton")[0]), object::uid(&old));
    }
}
