use jiff::SignedDuration;
use sandbox::cluster::{Actor, Propagation::Background};
use sandbox::fault::OperatingMode;
use sandbox::object;
use sandbox::store::Key;

use crate::test_cluster::{TestCluster, config_map, csi_class, deployment, stateful_set};

#[test]
fn slow_controller_does_the_same_later() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.set("deployment-controller", OperatingMode::Slow(SignedDuration::from_secs(20)));
    test.create([deployment("web", 1, &[])]);
    test.run(19);
    assert!(test.list("apps/replicasets").is_empty());
    test.until(10, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn failing_controller_retries_until_it_may() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.set("replicaset-controller", OperatingMode::Failing);
    test.create([deployment("web", 1, &[])]);
    test.run(30);
    assert!(test.pods("web").is_empty());
    test.on("replicaset-controller");
    test.until(70, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn controller_that_comes_back_finds_what_it_missed() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.off("replicaset-controller");
    test.create([deployment("web", 1, &[])]);
    test.run(30);
    assert!(test.pods("web").is_empty());
    test.on("replicaset-controller");
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn controller_manager_addresses_most_controllers() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.off("kube-controller-manager");
    let off = |test: &TestCluster| {
        let all = test.controllers.iter();
        all.filter(|(_, condition)| *condition == OperatingMode::Off).count()
    };
    let all = test.controllers.iter().count();
    assert_eq!(
        off(&test),
        all - 8,
        "all but scheduler, kubelets, drivers, operators, GitOps and a part of the API server"
    );
    test.create([deployment("web", 1, &[])]);
    test.delete("namespaces//shop", Background);
    test.run(60);
    assert!(test.list("apps/replicasets").is_empty());
    assert!(test.at("namespaces//shop")["status"]["conditions"].is_null());
    test.on("kube-controller-manager");
    assert_eq!(off(&test), 0);
    test.until(30, "the namespace is gone", |it| !it.has("namespaces//shop"));
}

#[test]
fn controllers_have_distinct_names() {
    let mut test = TestCluster::new();
    let names: std::collections::BTreeSet<_> =
        test.controllers.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), test.controllers.iter().count());
    assert!(!test.controllers.set_mode("nobody", OperatingMode::Off));
}

#[test]
fn recreated_object_comes_back() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("settings", &serde_json::json!({}))]);
    test.run(1);
    let first = object::uid(test.at("configmaps/shop/settings")).to_owned();
    test.controllers
        .node_faults
        .recreated
        .insert(Key::new("", "configmaps", "shop", "settings"), None);
    test.delete("configmaps/shop/settings", Background);
    test.until(3, "another", |it| {
        it.get("configmaps/shop/settings").is_some_and(|it| object::uid(it) != first)
    });
    test.controllers.node_faults.repair();
    test.delete("configmaps/shop/settings", Background);
    test.run(10);
    assert!(!test.has("configmaps/shop/settings"));
}

/// All changes of the store while an application is created and deleted, as text.
fn changes(seed: u64) -> String {
    let mut test = TestCluster::with_seed(seed);
    test.namespace("shop");
    test.create(csi_class());
    test.create([deployment("web", 3, &[]), stateful_set("db", 2)]);
    test.run(20);
    test.delete("namespaces//shop", Background);
    test.run(90);
    assert!(!test.has("namespaces//shop"));
    let events = test.cluster.store.since(1).unwrap();
    events
        .map(|it| it.event())
        .map(|it| format!("{:?} {} {}", it.change, it.key, it.object))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn same_seed_gives_the_same_log_and_another_seed_another() {
    let first = changes(7);
    assert!(first == changes(7));
    assert!(first != changes(8));
}

/// No controller panics on any object that the API accepts.
#[test]
fn absurd_numbers_stop_no_controller() {
    let numbers = [-1, i64::MIN, i64::MAX, 0];
    for number in numbers {
        let mut test = TestCluster::new();
        test.namespace("shop");
        let spec = |extra: serde_json::Value| {
            let mut spec = deployment("odd", 1, &[])["spec"].clone();
            for (member, value) in extra.as_object().unwrap() {
                spec[member] = value.clone();
            }
            spec
        };
        let job = serde_json::json!({
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "main"}]}},
            "completions": number, "parallelism": number.min(3), "backoffLimit": number,
            "ttlSecondsAfterFinished": number,
        });
        let absurd = [
            (
                "apps/v1",
                "Deployment",
                spec(serde_json::json!({
                    "replicas": number.min(3), "revisionHistoryLimit": number,
                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": number, "maxUnavailable": number}},
                })),
            ),
            ("apps/v1", "ReplicaSet", spec(serde_json::json!({"replicas": number.min(3)}))),
            (
                "apps/v1",
                "StatefulSet",
                spec(serde_json::json!({
                    "replicas": number.min(3), "ordinals": {"start": number}, "serviceName": "odd",
                })),
            ),
            ("batch/v1", "Job", job.clone()),
            (
                "batch/v1",
                "CronJob",
                serde_json::json!({
                    "schedule": "* * * * *", "startingDeadlineSeconds": number, "jobTemplate": {"spec": job},
                }),
            ),
            (
                "policy/v1",
                "PodDisruptionBudget",
                serde_json::json!({
                    "minAvailable": number, "selector": {"matchLabels": {"app": "odd"}},
                }),
            ),
            (
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                serde_json::json!({
                    "minReplicas": number.min(2), "maxReplicas": number.min(5),
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "odd"},
                }),
            ),
        ];
        for (api_version, kind, spec) in absurd {
            let object = serde_json::json!({
                "apiVersion": api_version, "kind": kind, "metadata": {"name": "odd", "namespace": "shop"}, "spec": spec,
            });
            let key = test.cluster.key_of(&object).unwrap();
            let made = test.cluster.create(
                &Actor::admin(),
                &key.group,
                &key.plural,
                &key.namespace,
                object,
            );
            // A refusal by validation is fine too.
            drop(made);
        }
        test.run(130);
        test.create([deployment("web", 1, &[])]);
        test.until(10, "life goes on", |it| it.ready("web") == 1);
    }
}

#[test]
fn fault_that_cannot_be_applied_is_reported_and_the_others_are_applied() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("settings", &serde_json::json!({}))]);
    let script = "
        at 0s delete configmaps shop/nothing
        at 0s unfinalize configmaps shop/nothing example.com/x
        at 0s change widgets.example.com shop/nothing {}
        at 0s delete configmaps shop/settings
    ";
    let faults = test.parse_faults(script).unwrap();
    test.cluster.faults.extend(faults);
    test.run_until_idle();
    let whys: Vec<_> = test.take_failed_faults().into_iter().map(|it| it.reason).collect();
    let nothing = "configmaps \"nothing\" not found";
    assert_eq!(whys, [nothing, nothing, "widgets.example.com \"nothing\" not found"]);
    assert!(!test.has("configmaps/shop/settings"));
    test.run(1);
}
