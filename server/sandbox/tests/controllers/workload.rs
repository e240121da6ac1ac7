use sandbox::cluster::Actor;
use sandbox::cluster::Propagation::{Background, Foreground, Orphan};
use sandbox::object;
use serde_json::json;

use crate::test_cluster::{TestCluster, csi_class, deployment, stateful_set, template};

fn shop() -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test
}

#[test]
fn deployment_runs_and_is_deleted_in_the_background_before_its_pods() {
    let mut test = shop();
    test.create([deployment("web", 3, &[])]);
    test.until(5, "three ready Pods", |it| it.ready("web") == 3);
    let status = &test.at("apps/deployments/shop/web")["status"];
    assert_eq!((&status["readyReplicas"], &status["observedGeneration"]), (&json!(3), &json!(1)));
    let nodes: std::collections::BTreeSet<_> =
        test.pods("web").iter().map(|it| object::text(it, &["spec", "nodeName"])).collect();
    assert_eq!(nodes.len(), 3, "spread over the machines");

    test.delete("apps/deployments/shop/web", Background);
    test.run(0);
    assert!(!test.has("apps/deployments/shop/web"), "the owner goes first");
    assert_eq!(test.pods("web").len(), 3, "and its Pods only now begin to");
    assert!(test.pods("web").iter().all(|it| object::is_deleting(it)));
    test.until(6, "no Pods", |it| {
        it.pods("web").is_empty() && it.list("apps/replicasets").is_empty()
    });
}

#[test]
fn foreground_deletion_removes_the_pods_first() {
    let mut test = shop();
    test.create([deployment("web", 2, &[])]);
    test.until(5, "ready Pods", |it| it.ready("web") == 2);
    test.delete("apps/deployments/shop/web", Foreground);
    test.run(0);
    assert!(object::has_finalizer(test.at("apps/deployments/shop/web"), "foregroundDeletion"));
    test.until(8, "nothing of it", |it| !it.has("apps/deployments/shop/web"));
    assert!(test.pods("web").is_empty());
}

#[test]
fn orphans_stay_and_are_adopted_again() {
    let mut test = shop();
    test.create([deployment("web", 1, &[])]);
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
    test.delete("apps/deployments/shop/web", Orphan);
    test.run(5);
    assert!(!test.has("apps/deployments/shop/web"));
    let [set] = test.list("apps/replicasets")[..] else { panic!("one ReplicaSet") };
    assert_eq!(object::owner_references(set).count(), 0);
    assert_eq!(test.ready("web"), 1);
}

#[test]
fn replica_set_replaces_a_terminating_pod_at_once() {
    let mut test = shop();
    test.create([deployment("web", 1, &[])]);
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
    let first = object::name(test.pods("web")[0]).to_owned();
    test.delete(&format!("pods/shop/{first}"), Background);
    test.run(0);
    assert_eq!(test.pods("web").len(), 2);
    test.until(5, "the first gone", |it| !it.has(&format!("pods/shop/{first}")));
    assert_eq!(test.events("Killing"), ["Stopping container main"]);
}

#[test]
fn new_template_rolls_and_recreate_waits() {
    for strategy in ["RollingUpdate", "Recreate"] {
        let mut test = shop();
        let mut web = deployment("web", 2, &[]);
        web["spec"]["strategy"] = json!({"type": strategy});
        test.create([web]);
        test.until(5, "ready Pods", |it| it.ready("web") == 2);
        test.change("apps/deployments/shop/web", |it| {
            it["spec"]["template"]["spec"]["containers"][0]["image"] =
                json!("registry.example/main:2");
        });
        test.run(0);
        let new = test
            .pods("web")
            .iter()
            .filter(|it| it["spec"]["containers"][0]["image"] == "registry.example/main:2")
            .count();
        assert_eq!(new, usize::from(strategy == "RollingUpdate"), "{strategy}");
        test.until(30, "all new", |it| {
            let pods = it.pods("web");
            pods.len() == 2
                && it.ready("web") == 2
                && pods
                    .iter()
                    .all(|it| it["spec"]["containers"][0]["image"] == "registry.example/main:2")
        });
    }
}

#[test]
fn stateful_set_scales_by_ordinal_and_keeps_its_claims() {
    let mut test = shop();
    test.create(csi_class());
    test.create([stateful_set("db", 3)]);
    test.until(30, "three members", |it| it.ready("db") == 3);
    let created = |test: &TestCluster, at: usize| {
        object::text(test.pods("db")[at], &["metadata", "creationTimestamp"]).to_owned()
    };
    assert!(created(&test, 0) <= created(&test, 1) && created(&test, 1) <= created(&test, 2));
    assert_eq!(test.list("apps/controllerrevisions").len(), 1);

    test.change("apps/statefulsets/shop/db", |it| it["spec"]["replicas"] = json!(1));
    test.run(0);
    let going: Vec<_> = test
        .pods("db")
        .into_iter()
        .filter(|it| object::is_deleting(it))
        .map(object::name)
        .collect();
    assert_eq!(going, ["db-2"], "the last first");
    test.until(20, "one member", |it| it.pods("db").len() == 1);
    assert_eq!(test.list("persistentvolumeclaims").len(), 3, "Retain is the default");

    test.delete("apps/statefulsets/shop/db", Background);
    test.until(10, "no members", |it| it.pods("db").is_empty());
    test.run(30);
    assert_eq!(test.list("persistentvolumeclaims").len(), 3);
    assert_eq!(test.list("apps/controllerrevisions").len(), 0);
}

#[test]
fn retention_policy_makes_the_set_or_the_surplus_pod_an_owner() {
    let mut test = shop();
    test.create(csi_class());
    let mut db = stateful_set("db", 2);
    db["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    test.create([db]);
    test.until(30, "two members", |it| it.ready("db") == 2);
    let owner = |test: &TestCluster, claim: &str| {
        let claim = test.at(&format!("persistentvolumeclaims/shop/{claim}"));
        object::controller_reference(claim).map(|it| it["kind"].clone())
    };
    assert_eq!(owner(&test, "data-db-0"), Some(json!("StatefulSet")));
    test.change("apps/statefulsets/shop/db", |it| it["spec"]["replicas"] = json!(1));
    test.run(0);
    assert_eq!(owner(&test, "data-db-1"), Some(json!("Pod")));
    test.until(20, "the claim of the second gone", |it| {
        !it.has("persistentvolumeclaims/shop/data-db-1")
    });
    test.delete("apps/statefulsets/shop/db", Foreground);
    test.until(30, "nothing left", |it| {
        !it.has("apps/statefulsets/shop/db") && it.list("persistentvolumeclaims").is_empty()
    });
    test.until(30, "no volumes", |it| it.list("persistentvolumes").is_empty());
}

#[test]
fn ordinal_waits_for_the_pod_that_had_it() {
    let mut test = shop();
    test.create(csi_class());
    test.create([stateful_set("db", 1)]);
    test.until(30, "a member", |it| it.ready("db") == 1);
    test.silence("node-a");
    test.silence("node-b");
    test.silence("node-c");
    test.delete("pods/shop/db-0", Background);
    test.run(60);
    let [pod] = test.pods("db")[..] else { panic!("one Pod") };
    assert!(object::is_deleting(pod));
}

#[test]
fn daemon_set_has_a_pod_on_every_node_and_takes_them_along() {
    let mut test = shop();
    test.create([json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", &[])},
    })]);
    test.until(5, "one on each", |it| it.ready("agent") == 3);
    test.delete("apps/daemonsets/shop/agent", Foreground);
    test.until(10, "none", |it| {
        it.pods("agent").is_empty() && !it.has("apps/daemonsets/shop/agent")
    });
}

fn job(name: &str) -> serde_json::Value {
    let mut template = template(name, &[]);
    template["spec"]["restartPolicy"] = json!("Never");
    template["metadata"]["annotations"] = json!({"unwind.test/completes": "3s"});
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"template": template},
    })
}

#[test]
fn pods_of_a_job_are_held_until_they_are_counted() {
    let mut test = shop();
    test.create([job("once")]);
    test.until(3, "a Pod", |it| it.ready("once") == 1);
    assert!(object::has_finalizer(test.pods("once")[0], "batch.kubernetes.io/job-tracking"));
    test.until(8, "the end", |it| {
        object::condition(it.at("batch/jobs/shop/once"), "Complete")["status"] == "True"
    });
    assert_eq!(test.at("batch/jobs/shop/once")["status"]["succeeded"], 1);
    let [pod] = test.pods("once")[..] else { panic!("one Pod") };
    assert_eq!(
        (object::finalizers(pod).count(), &pod["status"]["phase"]),
        (0, &json!("Succeeded"))
    );
    test.delete("batch/jobs/shop/once", Background);
    test.until(5, "nothing", |it| it.pods("once").is_empty());
}

#[test]
fn orphaned_pods_of_a_job_lose_their_finalizer() {
    let mut test = shop();
    test.create([job("once")]);
    test.until(3, "a Pod", |it| it.ready("once") == 1);
    test.delete("batch/jobs/shop/once", Orphan);
    test.run(3);
    assert!(!test.has("batch/jobs/shop/once"));
    let [pod] = test.pods("once")[..] else { panic!("one Pod") };
    assert_eq!(object::finalizers(pod).count(), 0);
}

#[test]
fn tracking_finalizer_holds_while_the_job_controller_is_off() {
    let mut test = shop();
    test.create([job("once")]);
    test.until(3, "a Pod", |it| it.ready("once") == 1);
    test.off("job-controller");
    test.delete("batch/jobs/shop/once", Background);
    test.run(30);
    let [pod] = test.pods("once")[..] else { panic!("one Pod") };
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 0, "the node is done with it");
    test.on("job-controller");
    test.until(5, "nothing", |it| it.pods("once").is_empty());
}

#[test]
fn terminating_pod_of_a_job_has_failed_and_is_released_at_once() {
    let mut test = shop();
    let mut once = job("once");
    once["spec"]["template"]["metadata"]["annotations"] = json!({});
    test.create([once]);
    test.until(3, "a Pod", |it| it.ready("once") == 1);
    let first = object::name(test.pods("once")[0]).to_owned();
    let path = format!("pods/shop/{first}");
    test.delete(&path, Background);
    test.run(0);
    assert!(object::is_deleting(test.at(&path)));
    assert_eq!(object::finalizers(test.at(&path)).count(), 0);
    let status = &test.at("batch/jobs/shop/once")["status"];
    assert_eq!((&status["failed"], &status["terminating"]), (&json!(1), &json!(1)));
    assert_eq!(test.pods("once").len(), 1, "the next comes after the first wait");
    test.until(12, "another", |it| it.pods("once").iter().any(|pod| object::name(pod) != first));
    test.run(60);
    assert_eq!(test.at("batch/jobs/shop/once")["status"]["failed"], 1, "counted once");
}

#[test]
fn suspended_job_has_no_pods_and_a_late_one_fails() {
    let mut test = shop();
    let mut once = job("once");
    once["spec"]["template"]["metadata"]["annotations"] = json!({});
    once["spec"]["activeDeadlineSeconds"] = json!(60);
    test.create([once]);
    test.until(3, "a Pod", |it| it.ready("once") == 1);
    test.change("batch/jobs/shop/once", |it| it["spec"]["suspend"] = json!(true));
    test.until(40, "none", |it| it.pods("once").is_empty());
    let condition = |it: &TestCluster, of: &str| {
        let condition = object::condition(it.at("batch/jobs/shop/once"), of);
        (condition["status"].clone(), condition["reason"].clone())
    };
    assert_eq!(condition(&test, "Suspended"), (json!("True"), json!("JobSuspended")));
    test.run(120);
    test.change("batch/jobs/shop/once", |it| it["spec"]["suspend"] = json!(false));
    test.until(15, "a Pod", |it| it.ready("once") == 1);
    assert_eq!(condition(&test, "Suspended"), (json!("False"), json!("JobResumed")));
    test.until(60, "too late", |it| condition(it, "FailureTarget").0 == "True");
    assert_eq!(condition(&test, "Failed").0, json!(null), "its Pod still ends");
    test.until(40, "the end", |it| {
        condition(it, "Failed") == (json!("True"), json!("DeadlineExceeded"))
    });
}

#[test]
fn absurd_numbers_keep_no_controller_busy() {
    let mut test = shop();
    let mut once = job("once");
    once["spec"]["completions"] = json!(2_000_000_000);
    once["spec"]["parallelism"] = json!(2_000_000_000);
    let mut odd = job("odd");
    odd["spec"]["parallelism"] = json!(-1);
    let scaler = |least: i64, most: i64| {
        json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": least,
                "maxReplicas": most,
            },
        })
    };
    for refused in [odd, deployment("web", -1, &[]), scaler(3, 2), scaler(0, 2), scaler(-1, 0)] {
        let key = test.cluster.key_of(&refused).unwrap();
        let made =
            test.cluster.create(&Actor::admin(), &key.group, &key.plural, &key.namespace, refused);
        assert_eq!(made.map_err(|it| it.code), Err(422));
    }
    test.create([deployment("web", 1, &[]), scaler(2_000_000_000, 2_000_000_000)]);
    test.run(60);
    assert_eq!(test.at("apps/deployments/shop/web")["spec"]["replicas"], 100);
    test.create([once]);
    test.run(1);
    assert!(test.pods("once").len() <= 1_000);
}

#[test]
fn cron_job_creates_jobs_until_it_is_suspended() {
    let mut test = shop();
    let spec = job("tick")["spec"].clone();
    test.create([json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick", "namespace": "shop"},
        "spec": {"schedule": "*/1 * * * *", "jobTemplate": {"spec": spec}},
    })]);
    test.until(70, "a Job", |it| !it.list("batch/jobs").is_empty());
    test.change("batch/cronjobs/shop/tick", |it| it["spec"]["suspend"] = json!(true));
    let jobs = test.list("batch/jobs").len();
    test.run(180);
    assert_eq!(test.list("batch/jobs").len(), jobs);
    test.delete("batch/cronjobs/shop/tick", Foreground);
    test.until(10, "nothing", |it| it.list("batch/jobs").is_empty() && it.pods("tick").is_empty());
}

#[test]
fn finished_job_expires() {
    let mut test = shop();
    let mut once = job("once");
    once["spec"]["ttlSecondsAfterFinished"] = json!(20);
    test.create([once]);
    test.run(15);
    assert!(test.has("batch/jobs/shop/once"));
    test.until(30, "nothing", |it| !it.has("batch/jobs/shop/once") && it.pods("once").is_empty());
}

#[test]
fn autoscaler_writes_replicas_of_what_it_does_not_own() {
    let mut test = shop();
    test.create([
        deployment("web", 1, &[]),
        json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 2,
                "maxReplicas": 4,
            },
        }),
    ]);
    test.until(20, "two Pods", |it| it.ready("web") == 2);
    test.change("apps/deployments/shop/web", |it| it["spec"]["replicas"] = json!(1));
    test.until(20, "two again", |it| it.at("apps/deployments/shop/web")["spec"]["replicas"] == 2);
    test.change("apps/deployments/shop/web", |it| it["spec"]["replicas"] = json!(0));
    test.run(60);
    assert!(test.pods("web").is_empty(), "zero switches it off");
}

#[test]
fn pod_that_no_longer_matches_is_released_and_replaced() {
    let mut test = shop();
    test.create([deployment("web", 1, &[])]);
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
    let first = format!("pods/shop/{}", object::name(test.pods("web")[0]));
    test.change(&first, |it| object::set(it, &["metadata", "labels", "app"], json!("free")));
    test.until(5, "another", |it| it.ready("web") == 2);
    assert_eq!(object::owner_references(test.at(&first)).count(), 0);
}
