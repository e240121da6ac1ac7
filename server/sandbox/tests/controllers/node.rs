use sandbox::cluster::Propagation::Background;
use sandbox::controller::timing::Timing;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, claim, csi_class, deployment};

fn node_of(test: &TestCluster, prefix: &str) -> String {
    object::text(test.pods(prefix)[0], &["spec", "nodeName"]).to_owned()
}

fn web() -> (TestCluster, String) {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([deployment("web", 1, &[])]);
    test.until(5, "a Pod", |it| it.ready("web") == 1);
    let node = node_of(&test, "web");
    (test, node)
}

fn taints(test: &TestCluster, node: &str) -> Vec<String> {
    let taints = test.at(&format!("nodes//{node}"))["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut taints: Vec<String> = taints
        .iter()
        .map(|it| format!("{}:{}", object::text(it, &["key"]), object::text(it, &["effect"])))
        .collect();
    taints.sort();
    taints
}

#[test]
fn kubelets_register_and_renew_their_leases() {
    let mut test = TestCluster::new();
    let ready = |it: &TestCluster| {
        let nodes = it.list("nodes");
        nodes.len() == 3
            && nodes.iter().all(|it| object::condition(it, "Ready")["status"] == "True")
    };
    assert!(ready(&test));
    let renewed = |test: &TestCluster| {
        test.at("coordination.k8s.io/leases/kube-node-lease/node-a")["spec"]["renewTime"].clone()
    };
    let first = renewed(&test);
    test.run(11);
    assert_ne!(renewed(&test), first);
    test.run(600);
    assert!(ready(&test));
    assert_eq!(taints(&test, "node-a"), Vec::<String>::new());
}

#[test]
fn silent_node_is_unknown_then_tainted_and_its_evicted_pods_never_end() {
    let (mut test, node) = web();
    test.silence(&node);
    let path = format!("nodes//{node}");
    let after = test
        .until(70, "Unknown", |it| object::condition(it.at(&path), "Ready")["status"] == "Unknown");
    assert!((40..=60).contains(&after), "{after}");
    let ready = object::condition(test.at(&path), "Ready");
    assert_eq!(
        (&ready["reason"], &ready["message"]),
        (&json!("NodeStatusUnknown"), &json!("Kubelet stopped posting node status."))
    );
    assert_eq!(
        taints(&test, &node),
        ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"]
    );
    assert_eq!(test.ready("web"), 0);
    assert_eq!(test.events("NodeNotReady").len(), 2, "about the node and about the Pod");
    test.run(290);
    assert_eq!(test.pods("web").len(), 1, "tolerated for 300 seconds");
    test.run(20);
    let old = |test: &TestCluster| {
        test.pods("web").into_iter().find(|it| it["spec"]["nodeName"] == json!(node)).cloned()
    };
    let pod = old(&test).unwrap();
    assert!(object::is_deleting(&pod));
    assert_eq!(object::condition(&pod, "DisruptionTarget")["reason"], "DeletionByTaintManager");
    assert_eq!(test.events("TaintManagerEviction").len(), 1);
    assert_eq!(test.ready("web"), 1, "replaced elsewhere");
    test.run(600);
    let pod = old(&test).unwrap();
    assert_eq!(
        (&pod["status"]["phase"], &pod["metadata"]["deletionGracePeriodSeconds"]),
        (&json!("Running"), &json!(5))
    );

    test.revive();
    test.until(30, "the old Pod ends", |it| old(it).is_none());
    test.until(10, "no taints", |it| taints(it, &node).is_empty());
}

#[test]
fn node_that_comes_back_in_time_keeps_its_pods() {
    let (mut test, node) = web();
    test.silence(&node);
    test.until(70, "not ready", |it| it.ready("web") == 0);
    test.run(100);
    test.revive();
    test.until(20, "ready again", |it| it.ready("web") == 1);
    assert_eq!(node_of(&test, "web"), node);
    test.until(10, "no eviction", |it| {
        it.events("TaintManagerEviction").iter().any(|it| it.starts_with("Cancelling"))
    });
    test.run(400);
    assert_eq!(node_of(&test, "web"), node);
}

#[test]
fn node_that_had_no_power_starts_its_containers_again() {
    let (mut test, node) = web();
    let restarts = |it: &TestCluster| {
        it.pods("web")[0]["status"]["containerStatuses"][0]["restartCount"].clone()
    };
    test.silence(&node);
    test.run(100);
    test.revive();
    test.until(20, "ready again", |it| it.ready("web") == 1);
    assert_eq!(restarts(&test), 0, "its containers ran on behind the cut network");
    test.power_off(&node);
    test.until(70, "not ready", |it| it.ready("web") == 0);
    test.revive();
    test.until(20, "ready again", |it| it.ready("web") == 1);
    assert_eq!(restarts(&test), 1);
    let last = test.pods("web")[0]["status"]["containerStatuses"][0]["lastState"].clone();
    assert_eq!(last["terminated"]["exitCode"], 255);
}

#[test]
fn nothing_is_evicted_while_every_node_is_silent() {
    let (mut test, _) = web();
    for node in ["node-a", "node-b", "node-c"] {
        test.silence(node);
    }
    test.run(600);
    assert!(test.pods("web").iter().all(|it| !object::is_deleting(it)));
    for node in ["node-a", "node-b", "node-c"] {
        assert_eq!(taints(&test, node), ["node.kubernetes.io/unreachable:NoSchedule"]);
    }
}

fn evicted() -> (TestCluster, String) {
    let (mut test, node) = web();
    test.silence(&node);
    test.run(380);
    assert_eq!(test.pods("web").len(), 2);
    (test, node)
}

#[test]
fn node_out_of_service_releases_its_terminating_pods() {
    let (mut test, node) = evicted();
    test.change(&format!("nodes//{node}"), |it| {
        let taint = json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"});
        it["spec"]["taints"].as_array_mut().unwrap().push(taint);
    });
    test.until(21, "one Pod", |it| it.pods("web").len() == 1);
}

#[test]
fn deleted_node_releases_its_pods_after_a_quarantine() {
    let (mut test, node) = evicted();
    test.delete(&format!("nodes//{node}"), Background);
    let after = test.until(90, "one Pod", |it| it.pods("web").len() == 1);
    assert!((40..=80).contains(&after), "{after}");
}

#[test]
fn node_without_a_kubelet_is_never_ready() {
    let mut test = TestCluster::new();
    test.create([json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ghost"}})]);
    test.run(120);
    let ready = object::condition(test.at("nodes//ghost"), "Ready");
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("Unknown"), &json!("NodeStatusNeverUpdated"))
    );
}

#[test]
fn hold_annotations_stop_a_pod_where_a_kubelet_would() {
    for (hold, phase, terminated) in [
        ("silent", "Running", false),
        ("kill", "Running", false),
        ("unmount", "Failed", true),
        ("cgroup", "Failed", true),
    ] {
        let (mut test, _) = web();
        let name = object::name(test.pods("web")[0]).to_owned();
        let path = format!("pods/shop/{name}");
        test.change(&path, |it| {
            object::set(it, &["metadata", "annotations", "unwind.test/hold"], json!(hold))
        });
        test.delete("apps/deployments/shop/web", Background);
        test.run(200);
        let pod = test.at(&path);
        assert_eq!(pod["status"]["phase"], phase, "{hold}");
        assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 5, "{hold}");
        let state: &Value = &pod["status"]["containerStatuses"][0]["state"];
        assert_eq!(state.get("terminated").is_some(), terminated, "{hold}");
        assert_eq!(test.events("FailedKillPod").len(), usize::from(hold == "kill"));
        test.change(&path, |it| {
            object::unset(it, &["metadata", "annotations", "unwind.test/hold"])
        });
        test.until(5, hold, |it| !it.has(&path));
    }
}

#[test]
fn pod_without_a_node_or_already_ended_goes_at_once() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.off("default-scheduler");
    test.create([deployment("web", 1, &[])]);
    test.run(1);
    test.delete("apps/deployments/shop/web", Background);
    test.run(0);
    assert!(test.pods("web").is_empty());
}

#[test]
fn cordoned_node_gets_no_new_pods() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    for node in ["node-a", "node-b"] {
        test.change(&format!("nodes//{node}"), |it| {
            object::set(it, &["spec", "unschedulable"], json!(true))
        });
    }
    test.create([deployment("web", 3, &[])]);
    test.until(5, "Pods", |it| it.ready("web") == 3);
    assert!(test.pods("web").iter().all(|it| it["spec"]["nodeName"] == "node-c"));
    test.change("nodes//node-c", |it| object::set(it, &["spec", "unschedulable"], json!(true)));
    test.change("apps/deployments/shop/web", |it| it["spec"]["replicas"] = json!(4));
    test.run(2);
    assert_eq!(test.ready("web"), 3);
    assert_eq!(test.events("FailedScheduling").len(), 1);
}

#[test]
fn volume_of_a_dead_node_is_detached_by_force() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create(csi_class());
    test.create([claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])]);
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    let node = node_of(&test, "web");
    test.silence(&node);
    test.run(380);
    assert_eq!(test.ready("web"), 0, "the replacement waits for the volume");
    assert!(test.events("FailedAttachVolume")[0].starts_with("Multi-Attach error"));
    let old = test
        .pods("web")
        .iter()
        .find(|it| it["spec"]["nodeName"] == json!(node))
        .map(|it| object::name(it).to_owned());
    test.force(&format!("pods/shop/{}", old.unwrap()));
    test.run(300);
    assert_eq!(test.ready("web"), 0, "six minutes after nobody needs it there");
    test.until(90, "attached elsewhere", |it| it.ready("web") == 1);
}

#[test]
fn pause_of_the_whole_cluster_is_no_silence_of_the_nodes() {
    for seed in 0..8 {
        let mut test = TestCluster::with_seed(seed);
        test.cluster.clock.advance(std::time::Duration::from_secs(300));
        test.run(2);
        for node in test.list("nodes") {
            assert_eq!(sandbox::object::condition(node, "Ready")["status"], "True");
        }
        assert!(test.events("NodeNotReady").is_empty());
    }
}

#[test]
fn jump_of_the_clock_moves_no_timer() {
    for minutes in [10, -10, 3 * 60] {
        let mut test = TestCluster::new();
        test.namespace("shop");
        test.create([deployment("web", 1, &[])]);
        test.until(5, "a Pod", |it| it.ready("web") == 1);
        test.cluster.clock.jump(jiff::SignedDuration::from_mins(minutes));
        test.run(90);
        assert!(test.events("NodeNotReady").is_empty(), "{minutes}");
        test.delete("apps/deployments/shop/web", Background);
        test.run(0);
        assert!(object::is_deleting(test.pods("web")[0]), "its containers have their time");
        test.cluster.clock.jump(jiff::SignedDuration::from_mins(-2 * minutes));
        test.until(31, "the Pod's end", |it| it.pods("web").is_empty());
    }
}

#[test]
fn pod_that_is_due_during_a_short_silence_of_its_node_still_ends() {
    let (mut test, node) = web();
    test.delete("apps/deployments/shop/web", Background);
    test.silence(&node);
    test.run(2);
    assert_eq!(test.pods("web").len(), 1, "nobody ends it");
    test.revive();
    test.until(60, "the Pod's end", |it| it.pods("web").is_empty());
    assert!(test.events("NodeNotReady").is_empty(), "nobody noticed");
}

#[test]
fn node_whose_kubelet_reports_is_never_taken_for_lost() {
    for timing in [Timing::default(), Timing::brisk()] {
        let mut test = TestCluster::with_timing(1, timing);
        test.run(120);
        assert_eq!(test.list("nodes").len(), 3);
        for node in test.list("nodes") {
            let ready = object::condition(node, "Ready");
            assert_eq!(ready["status"], "True");
            assert_eq!(ready["lastTransitionTime"], node["metadata"]["creationTimestamp"]);
        }
    }
}
