//! Sidecars, which end after the containers of their Pod.

use sandbox::cluster::Propagation::Background;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::TestCluster;

const POD: &str = "pods/shop/web";

/// A Pod of `node-a` with two sidecars, each of whose containers takes 5 s to stop. The second sidecar has this preStop hook.
fn running(grace: i64, hook: &Value, annotations: &Value) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": {
            "nodeName": "node-a",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": grace,
            "initContainers": [
                {"name": "mesh", "image": "registry.example/mesh:1", "restartPolicy": "Always"},
                {"name": "setup", "image": "registry.example/setup:1"},
                {
                    "name": "logs", "image": "registry.example/logs:1", "restartPolicy": "Always",
                    "lifecycle": {"preStop": hook},
                },
            ],
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        },
    });
    pod["metadata"]["annotations"]["pod-delete.stage.kwok.x-k8s.io/delay"] = json!("5s");
    test.create([pod]);
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
    test
}

/// The number of containers that run after these seconds.
fn left_after(test: &mut TestCluster, seconds: i64) -> usize {
    test.run(seconds);
    test.controllers.node_faults.running_containers("node-a")
}

#[test]
fn init_containers_have_a_status_of_their_own() {
    let test = running(60, &Value::Null, &json!({}));
    let statuses = &test.at(POD)["status"]["initContainerStatuses"];
    let states = [0, 1, 2].map(|at| {
        let state = statuses[at]["state"].as_object().unwrap();
        state.keys().next().unwrap().clone()
    });
    assert_eq!(states, ["running", "terminated", "running"]);
    assert_eq!(statuses[1]["state"]["terminated"]["exitCode"], 0);
}

#[test]
fn sidecars_end_after_the_containers_one_after_the_other() {
    let mut test = running(60, &Value::Null, &json!({}));
    test.delete(POD, Background);
    test.run(0);
    let said = test.events("Killing");
    for name in ["main", "mesh", "logs"] {
        assert!(said.contains(&&*format!("Stopping container {name}")), "{name}: {said:?}");
    }
    assert_eq!(said.len(), 3, "it is said of all at once");
    assert_eq!(left_after(&mut test, 4), 3);
    assert_eq!(left_after(&mut test, 2), 2);
    assert_eq!(left_after(&mut test, 5), 1);
    assert_eq!(test.at(POD)["status"]["phase"], "Running", "nothing is reported before the last");
    let after = test.until(6, "the end", |it| !it.has(POD));
    assert!((4..=5).contains(&after), "{after} s after the eleventh");
}

#[test]
fn all_have_one_grace_period_and_two_seconds_after_it() {
    let hold = json!({"unwind.test/hold": "unmount"});
    let mut test = running(8, &Value::Null, &hold);
    test.delete(POD, Background);
    assert_eq!(left_after(&mut test, 6), 2);
    assert_eq!(
        left_after(&mut test, 3),
        1,
        "the last sidecar got SIGTERM with the end of the grace period"
    );
    assert_eq!(left_after(&mut test, 2), 0);
    let status = &test.at(POD)["status"];
    let exit_code =
        |list: &str, at: usize| status[list][at]["state"]["terminated"]["exitCode"].clone();
    assert_eq!(exit_code("containerStatuses", 0), 143, "it ended in time");
    assert_eq!(exit_code("initContainerStatuses", 0), 137);
    assert_eq!(exit_code("initContainerStatuses", 1), 0, "it had ended long before");
    let finished = |list: &str, at: usize| {
        let at = &status[list][at]["state"]["terminated"]["finishedAt"];
        at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    let between = finished("initContainerStatuses", 0) - finished("containerStatuses", 0);
    assert_eq!(between.get_seconds(), 5, "five seconds, and ten");
}

#[test]
fn hook_of_a_sidecar_begins_with_the_end_of_the_pod() {
    let sleep = |seconds: &str| json!({"exec": {"command": ["sleep", seconds]}});
    // It is over before the turn of its sidecar.
    let mut test = running(60, &sleep("4"), &json!({}));
    test.delete(POD, Background);
    assert_eq!(left_after(&mut test, 9), 2);
    assert_eq!(left_after(&mut test, 2), 1);
    // It takes 3 s more than the containers.
    let mut test = running(60, &sleep("8"), &json!({}));
    test.delete(POD, Background);
    assert_eq!(left_after(&mut test, 12), 2);
    assert_eq!(left_after(&mut test, 2), 1);
}

#[test]
fn hook_of_a_sidecar_that_fails_names_its_container() {
    let mut test = running(60, &json!({"exec": {"command": ["false"]}}), &json!({}));
    test.delete(POD, Background);
    test.run(0);
    let failed = test.list("events").into_iter().find(|it| it["reason"] == "FailedPreStopHook");
    let field = object::text(failed.unwrap(), &["involvedObject", "fieldPath"]);
    assert_eq!(field, "spec.initContainers{logs}");
}

#[test]
fn pod_whose_containers_complete_succeeds_after_its_sidecars() {
    let mut test = running(60, &Value::Null, &json!({"unwind.test/completes": "20s"}));
    test.until(25, "the containers end", |it| {
        it.controllers.node_faults.running_containers("node-a") == 2
    });
    assert_eq!(test.at(POD)["status"]["phase"], "Running");
    let after = test.until(12, "success", |it| it.at(POD)["status"]["phase"] == "Succeeded");
    assert!((9..=10).contains(&after), "{after}");
    let status = &test.at(POD)["status"];
    assert_eq!(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
    assert_eq!(status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 143);
    let said = test.events("Killing");
    assert_eq!(said.len(), 2, "of the sidecars alone: {said:?}");
}
