//! The graceful shutdown of a node.

use sandbox::cluster::Propagation::Background;
use sandbox::fault::NodeFault;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, claim, csi_class, deployment};

const NODE: &str = "nodes//node-a";

/// A Pod of `node-a` with this name, and with these fields besides.
fn pod(name: &str, annotations: &Value, hook: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
        "spec": {
            "nodeName": "node-a",
            "terminationGracePeriodSeconds": 60,
            "containers": [{"name": "main", "image": "registry.example/main:1", "lifecycle": {"preStop": hook}}],
        },
    })
}

fn slow(name: &str) -> Value {
    pod(name, &json!({"pod-delete.stage.kwok.x-k8s.io/delay": "8s"}), &Value::Null)
}

fn running(pods: impl IntoIterator<Item = Value>) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let pods: Vec<Value> = pods.into_iter().collect();
    let count = pods.len();
    test.create(pods);
    test.until(5, "ready Pods", |it| it.ready("") == count);
    test
}

fn ready(test: &TestCluster) -> [String; 3] {
    let ready = object::condition(test.at(NODE), "Ready");
    ["status", "reason", "message"].map(|it| object::text(ready, &[it]).to_owned())
}

fn is_off(test: &TestCluster) -> bool {
    test.cluster.faults.node("node-a") == Some(NodeFault::Off)
}

/// Begins to shut `node-a` down, and waits until its kubelet knows.
fn shut_down(test: &mut TestCluster) {
    test.shut_down("node-a");
    test.until(10, "the shutdown", |it| ready(it)[0] == "False");
}

#[test]
fn pods_end_without_being_deleted_and_the_node_falls_silent() {
    let mut test = running([slow("web")]);
    shut_down(&mut test);
    assert_eq!(ready(&test), ["False", "KubeletNotReady", "node is shutting down"]);
    assert_eq!(test.events("Shutdown"), ["Shutdown manager detected shutdown event"]);
    assert_eq!(test.at("pods/shop/web")["status"]["phase"], "Running", "it has its time");
    let after = test.until(12, "no power", is_off);
    assert!((8..=10).contains(&after), "{after} s: not the 20 s that it might have had");
    let pod = test.at("pods/shop/web");
    assert!(!object::is_deleting(pod));
    let status = &pod["status"];
    let message = "Pod was terminated in response to imminent node shutdown.";
    assert_eq!(
        (&status["phase"], &status["reason"], &status["message"]),
        (&json!("Failed"), &json!("Terminated"), &json!(message))
    );
    assert_eq!(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 143);
    let disruption = object::condition(pod, "DisruptionTarget");
    assert_eq!(
        (&disruption["reason"], &disruption["message"]),
        (&json!("TerminationByKubelet"), &json!(message))
    );
    test.until(60, "silence", |it| ready(it)[0] == "Unknown");
    test.delete("pods/shop/web", Background);
    assert!(!test.has("pods/shop/web"), "a Pod that has ended needs no kubelet");

    test.revive();
    test.until(20, "the node is back", |it| ready(it)[0] == "True");
    assert_eq!(test.events("Shutdown").len(), 1, "nothing was cancelled");
}

#[test]
fn critical_pods_end_after_the_others() {
    let mut dns = slow("dns");
    dns["spec"]["priorityClassName"] = json!("system-cluster-critical");
    let mut test = running([slow("web"), dns]);
    shut_down(&mut test);
    assert_eq!(test.events("Killing").len(), 1, "nothing ends the critical one yet");
    let phase = |test: &TestCluster, name: &str| {
        test.at(&format!("pods/shop/{name}"))["status"]["phase"].clone()
    };
    test.until(10, "the first ends", |it| phase(it, "web") == "Failed");
    assert_eq!(phase(&test, "dns"), "Running");
    assert_eq!(test.controllers.node_faults.running_containers("node-a"), 1);
    test.until(12, "no power", is_off);
    assert_eq!(phase(&test, "dns"), "Failed");
}

#[test]
fn pod_that_is_too_slow_is_lost_with_the_power_and_starts_again() {
    let hook = json!({"exec": {"command": ["sleep", "45"]}});
    let mut test = running([pod("mail", &json!({}), &hook)]);
    shut_down(&mut test);
    let after = test.until(21, "no power", is_off);
    assert!(after >= 19, "{after}");
    test.run(60);
    let status = |test: &TestCluster| test.at("pods/shop/mail")["status"].clone();
    assert_eq!(status(&test)["phase"], "Running", "nobody says otherwise");
    assert_eq!(status(&test)["reason"], Value::Null);
    test.revive();
    test.until(20, "a restart", |it| status(it)["containerStatuses"][0]["restartCount"] == 1);
    assert!(!object::is_deleting(test.at("pods/shop/mail")));
    test.delete("pods/shop/mail", Background);
    test.run(40);
    assert!(test.has("pods/shop/mail"), "it has its whole grace period again");
    test.until(10, "the end", |it| !it.has("pods/shop/mail"));
}

#[test]
fn pod_that_is_being_deleted_goes_within_the_shutdown() {
    let mut test = running([slow("web")]);
    test.delete("pods/shop/web", Background);
    test.shut_down("node-a");
    test.until(12, "the end", |it| !it.has("pods/shop/web"));
    test.until(12, "no power", is_off);
}

#[test]
fn pod_that_comes_during_a_shutdown_is_rejected() {
    let mut test = running([slow("web")]);
    shut_down(&mut test);
    test.create([pod("late", &json!({}), &Value::Null)]);
    test.run(1);
    let status = &test.at("pods/shop/late")["status"];
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Failed"), &json!("NodeShutdown")));
    let words = "Pod was rejected as the node is shutting down.";
    assert_eq!(status["message"], format!("Pod was rejected: {words}"));
    assert_eq!(test.events("NodeShutdown"), [words]);
}

#[test]
fn shutdown_that_is_cancelled_leaves_the_machine_on() {
    let mut test = running([slow("web")]);
    shut_down(&mut test);
    test.revive();
    test.until(2, "ready again", |it| ready(it)[0] == "True");
    let said = test.events("Shutdown");
    assert!(said.contains(&"Shutdown manager detected shutdown cancellation"), "{said:?}");
    test.run(30);
    assert_eq!(test.cluster.faults.node("node-a"), None);
    assert_eq!(test.at("pods/shop/web")["status"]["reason"], "Terminated", "its end had begun");
    test.create([pod("late", &json!({}), &Value::Null)]);
    test.until(5, "a new Pod", |it| it.ready("late") == 1);
}

/// A Deployment with a disk, and the node of its Pod.
fn with_disk() -> (TestCluster, String) {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create(csi_class());
    test.create([claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])]);
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    let node = object::text(test.pods("web")[0], &["spec", "nodeName"]).to_owned();
    (test, node)
}

fn is_attached(test: &TestCluster, node: &str) -> bool {
    let attachments = test.list("storage.k8s.io/volumeattachments");
    attachments.iter().any(|it| it["spec"]["nodeName"] == json!(node))
}

#[test]
fn disk_of_a_pod_that_ended_in_time_moves_with_its_replacement() {
    let (mut test, node) = with_disk();
    test.shut_down(&node);
    test.until(45, "a replacement", |it| {
        let elsewhere = |it: &Value| it["spec"]["nodeName"] != json!(node);
        it.pods("web").into_iter().any(|it| elsewhere(it) && it["status"]["phase"] == "Running")
    });
    assert!(!is_attached(&test, &node));
}

#[test]
fn disk_that_was_not_unmounted_in_time_is_detached_by_force() {
    let (mut test, node) = with_disk();
    let volume = object::name(test.list("persistentvolumes")[0]).to_owned();
    test.controllers.node_faults.busy.insert(volume);
    test.shut_down(&node);
    test.run(60);
    let old = test.pods("web").into_iter().find(|it| it["spec"]["nodeName"] == json!(node));
    assert_eq!(old.unwrap()["status"]["reason"], "Terminated", "its containers ended");
    test.run(290);
    assert!(is_attached(&test, &node), "the node has reported that it is in use");
    test.until(60, "detached", |it| !is_attached(it, &node));
}
