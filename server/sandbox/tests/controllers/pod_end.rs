//! The end of a Pod's containers: preStop hooks, SIGTERM, and a runtime that fails.

use sandbox::cluster::{DeleteOptions, Propagation::Background};
use sandbox::fault::OperatingMode;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::TestCluster;

const POD: &str = "pods/shop/web";

/// A Pod that runs on `node-a`, with this preStop hook and grace period.
fn running(hook: &Value, grace: i64, annotations: &Value) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": {
            "nodeName": "node-a",
            "terminationGracePeriodSeconds": grace,
            "containers": [{
                "name": "main", "image": "registry.example/main:1", "lifecycle": {"preStop": hook},
            }],
        },
    })]);
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
    test
}

fn exec(command: &[&str]) -> Value {
    json!({"exec": {"command": command}})
}

fn state(test: &TestCluster) -> &Value {
    &test.at(POD)["status"]["containerStatuses"][0]["state"]
}

fn logged(test: &TestCluster, words: &str) -> usize {
    let log = test.controllers.node_faults.kubelet_logs.values().flatten();
    log.filter(|line| line.contains(words)).count()
}

#[test]
fn pre_stop_hook_runs_before_sigterm_and_the_pod_stays_as_it_was() {
    for hook in [exec(&["sleep", "10"]), json!({"sleep": {"seconds": 10}})] {
        let mut test = running(&hook, 30, &json!({}));
        test.delete(POD, Background);
        test.run(9);
        let pod = test.at(POD);
        assert!(object::is_deleting(pod));
        assert_eq!(pod["status"]["phase"], "Running");
        assert_eq!(object::condition(pod, "Ready")["status"], "True");
        assert!(state(&test).get("running").is_some());
        assert_eq!(
            test.events("Killing"),
            ["Stopping container main"],
            "it is said before the hook"
        );
        assert!(test.events("FailedPreStopHook").is_empty());
        let after = test.until(5, "the end", |it| !it.has(POD));
        assert!(
            (2..=3).contains(&after),
            "{after} s after the ninth: the hook, a second, the volumes"
        );
        assert_eq!(logged(&test, "PreStop hook"), 0);
    }
}

#[test]
fn hook_that_is_over_at_once_leaves_the_whole_grace_period() {
    let request = json!({"httpGet": {"path": "/stop", "port": 8080}});
    let delay = json!({"pod-delete.stage.kwok.x-k8s.io/delay": "20s"});
    let mut test = running(&request, 30, &delay);
    test.delete(POD, Background);
    test.run(19);
    assert_eq!(test.at(POD)["status"]["phase"], "Running");
    test.until(3, "the end", |it| !it.has(POD));
}

#[test]
fn hook_that_hangs_leaves_the_containers_two_seconds_after_the_grace_period() {
    let annotations =
        json!({"unwind.test/pre-stop": "hangs", "pod-delete.stage.kwok.x-k8s.io/delay": "1m"});
    let mut test = running(&exec(&["drain"]), 5, &annotations);
    test.delete(POD, Background);
    test.run(6);
    assert!(state(&test).get("running").is_some(), "the time of the hook is over, not theirs");
    assert_eq!(logged(&test, "\"PreStop hook not completed in grace period\""), 1);
    assert!(test.events("FailedPreStopHook").is_empty(), "nothing says so");
    test.until(2, "the end", |it| !it.has(POD));
    assert_eq!(
        test.events("FailedPreStopHook"),
        ["PreStopHook failed"],
        "SIGKILL ended the command"
    );
    assert_eq!(logged(&test, "command 'drain' exited with 137: "), 2);
}

#[test]
fn hook_that_fails_is_an_event_and_sigterm_follows_at_once() {
    for (hook, annotations, said) in [
        (exec(&["false"]), json!({}), "command 'false' exited with 1: "),
        (
            exec(&["drain", "now"]),
            json!({"unwind.test/pre-stop": "fails"}),
            "command 'drain now' exited with 1: ",
        ),
        (
            json!({"httpGet": {"path": "/stop", "port": 8080}}),
            json!({"unwind.test/pre-stop": "fails"}),
            "connect: connection refused",
        ),
    ] {
        let mut test = running(&hook, 30, &annotations);
        test.delete(POD, Background);
        test.run(0);
        assert_eq!(test.events("FailedPreStopHook"), ["PreStopHook failed"]);
        assert_eq!(logged(&test, said), 2, "{said}");
        test.until(2, "the end", |it| !it.has(POD));
    }
}

#[test]
fn later_delete_cuts_neither_a_hook_nor_a_stop_short() {
    let slow = json!({"pod-delete.stage.kwok.x-k8s.io/delay": "1m"});
    for (hook, grace, annotations) in
        [(exec(&["sleep", "20"]), 30, json!({})), (json!(null), 20, slow)]
    {
        let mut test = running(&hook, grace, &annotations);
        test.delete(POD, Background);
        test.run(1);
        let sooner = DeleteOptions { grace_period_seconds: Some(2), ..DeleteOptions::default() };
        test.try_delete(POD, &sooner).unwrap();
        test.run(17);
        assert!(state(&test).get("running").is_some(), "{hook}");
        test.until(5, "the end", |it| !it.has(POD));
    }
}

#[test]
fn kubelet_that_starts_again_stops_a_pod_with_the_shorter_grace_period() {
    let hangs = json!({"unwind.test/pre-stop": "hangs"});
    let mut test = running(&exec(&["drain"]), 3_600, &hangs);
    test.delete(POD, Background);
    test.run(1);
    let sooner = DeleteOptions { grace_period_seconds: Some(10), ..DeleteOptions::default() };
    test.try_delete(POD, &sooner).unwrap();
    test.run(30);
    assert!(state(&test).get("running").is_some(), "the hook goes on");
    for mode in [OperatingMode::Off, OperatingMode::Running] {
        assert!(test.controllers.set_mode("kubelet", mode));
        test.run(1);
    }
    test.run(8);
    assert!(state(&test).get("running").is_some(), "the hook runs again");
    test.until(6, "the end", |it| !it.has(POD));
}

#[test]
fn pod_that_is_forced_away_during_its_hook_runs_on() {
    let mut test = running(&exec(&["sleep", "20"]), 30, &json!({}));
    test.delete(POD, Background);
    test.run(1);
    test.force(POD);
    test.run(17);
    assert!(!test.has(POD));
    let runs = |test: &TestCluster| test.controllers.node_faults.running_containers("node-a");
    assert_eq!(runs(&test), 1);
    test.run(5);
    assert_eq!(runs(&test), 0);
}

#[test]
fn power_loss_ends_a_hook_with_the_containers() {
    let mut test = running(&exec(&["sleep", "20"]), 30, &json!({}));
    test.delete(POD, Background);
    test.run(1);
    test.power_off("node-a");
    test.run(2);
    test.revive();
    test.until(15, "the end", |it| !it.has(POD));
    assert!(test.events("FailedPreStopHook").is_empty());
}

#[test]
fn containers_that_cannot_be_killed_are_tried_again_with_their_hooks() {
    let hold = json!({"unwind.test/hold": "kill"});
    let mut test = running(&exec(&["false"]), 5, &hold);
    test.delete(POD, Background);
    test.run(20);
    let pod = test.at(POD);
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(object::condition(pod, "PodReadyToStartContainers")["status"], "False");
    assert_eq!(object::condition(pod, "Ready")["status"], "True");
    assert!(state(&test).get("running").is_some());
    let counted = |reason: &str| {
        let event = test.list("events").into_iter().find(|it| it["reason"] == reason).unwrap();
        event["count"].as_i64().unwrap()
    };
    let reasons = ["Killing", "FailedPreStopHook", "FailedKillPod"];
    assert_eq!(reasons.map(counted), [2, 2, 2]);
    assert!(
        test.events("FailedKillPod")[0].contains("failed to \"KillContainer\" for \"main\" with")
    );
    assert_eq!(logged(&test, "error killing terminating pod"), 2);
    let node = test.at("nodes//node-a");
    assert_eq!(object::condition(node, "Ready")["status"], "True", "the lease is fresh");
    test.change(POD, |it| object::unset(it, &["metadata", "annotations", "unwind.test/hold"]));
    test.until(3, "the end", |it| !it.has(POD));
}

#[test]
fn runtime_that_does_not_answer_is_reported_two_minutes_after_the_grace_period() {
    let mut test = running(&json!(null), 5, &json!({"unwind.test/hold": "unkillable"}));
    test.delete(POD, Background);
    test.run(124);
    assert!(test.events("FailedKillPod").is_empty());
    assert_eq!(object::condition(test.at(POD), "PodReadyToStartContainers")["status"], "True");
    test.run(2);
    let said = test.events("FailedKillPod");
    assert!(said.len() == 1 && said[0].contains("code = DeadlineExceeded"), "{said:?}");
    assert!(state(&test).get("running").is_some());
}

#[test]
fn sandbox_whose_network_stays_has_ended_containers_and_no_terminal_phase() {
    let mut test = running(&json!(null), 5, &json!({"unwind.test/hold": "network"}));
    test.delete(POD, Background);
    test.run(20);
    let pod = test.at(POD);
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(state(&test)["terminated"]["exitCode"], 143);
    assert_eq!(object::condition(pod, "Ready")["reason"], "ContainersNotReady");
    assert_eq!(object::condition(pod, "PodReadyToStartContainers")["status"], "True");
    assert_eq!(test.events("Killing").len(), 1);
    assert!(test.events("FailedKillPod")[0].contains("with KillPodSandboxError: "));
    assert_eq!(test.controllers.node_faults.running_containers("node-a"), 0);
    test.change(POD, |it| object::unset(it, &["metadata", "annotations", "unwind.test/hold"]));
    test.until(3, "the end", |it| !it.has(POD));
}
