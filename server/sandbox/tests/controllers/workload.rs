use sandbox::cluster::Actor;
use sandbox::cluster::Propagation::{Background, Foreground, Orphan};
use sandbox::object;
use serde_json::json;

use crate::world::{World, csi_class, deployment, stateful_set, template};

fn shop() -> World {
    let mut world = World::new();
    world.namespace("shop");
    world
}

#[test]
fn a_deployment_runs_and_goes_in_the_background_before_its_pods() {
    let mut world = shop();
    world.create([deployment("web", 3, &[])]);
    world.until(5, "three ready Pods", |it| it.ready("web") == 3);
    let status = &world.at("apps/deployments/shop/web")["status"];
    assert_eq!((&status["readyReplicas"], &status["observedGeneration"]), (&json!(3), &json!(1)));
    let nodes: std::collections::BTreeSet<_> =
        world.pods("web").iter().map(|it| object::text(it, &["spec", "nodeName"])).collect();
    assert_eq!(nodes.len(), 3, "spread over the machines");

    world.delete("apps/deployments/shop/web", Background);
    world.run(0);
    assert!(!world.has("apps/deployments/shop/web"), "the owner goes first");
    assert_eq!(world.pods("web").len(), 3, "and its Pods only now begin to");
    assert!(world.pods("web").iter().all(|it| object::is_deleting(it)));
    world.until(6, "no Pods", |it| {
        it.pods("web").is_empty() && it.list("apps/replicasets").is_empty()
    });
}

#[test]
fn in_the_foreground_the_pods_go_first() {
    let mut world = shop();
    world.create([deployment("web", 2, &[])]);
    world.until(5, "ready Pods", |it| it.ready("web") == 2);
    world.delete("apps/deployments/shop/web", Foreground);
    world.run(0);
    assert!(object::has_finalizer(world.at("apps/deployments/shop/web"), "foregroundDeletion"));
    world.until(8, "nothing of it", |it| !it.has("apps/deployments/shop/web"));
    assert!(world.pods("web").is_empty());
}

#[test]
fn orphans_stay_and_are_adopted_again() {
    let mut world = shop();
    world.create([deployment("web", 1, &[])]);
    world.until(5, "a ready Pod", |it| it.ready("web") == 1);
    world.delete("apps/deployments/shop/web", Orphan);
    world.run(5);
    assert!(!world.has("apps/deployments/shop/web"));
    let [set] = world.list("apps/replicasets")[..] else { panic!("one ReplicaSet") };
    assert_eq!(object::owner_references(set).count(), 0);
    assert_eq!(world.ready("web"), 1);
}

#[test]
fn a_replica_set_replaces_a_pod_that_is_told_to_go_at_once() {
    let mut world = shop();
    world.create([deployment("web", 1, &[])]);
    world.until(5, "a ready Pod", |it| it.ready("web") == 1);
    let first = object::name(world.pods("web")[0]).to_owned();
    world.delete(&format!("pods/shop/{first}"), Background);
    world.run(0);
    assert_eq!(world.pods("web").len(), 2);
    world.until(5, "the first gone", |it| !it.has(&format!("pods/shop/{first}")));
    assert_eq!(world.events("Killing"), ["Stopping container main"]);
}

#[test]
fn a_new_template_rolls_and_recreate_waits() {
    for strategy in ["RollingUpdate", "Recreate"] {
        let mut world = shop();
        let mut web = deployment("web", 2, &[]);
        web["spec"]["strategy"] = json!({"type": strategy});
        world.create([web]);
        world.until(5, "ready Pods", |it| it.ready("web") == 2);
        world.change("apps/deployments/shop/web", |it| {
            it["spec"]["template"]["spec"]["containers"][0]["image"] =
                json!("registry.example/main:2");
        });
        world.run(0);
        let new = world
            .pods("web")
            .iter()
            .filter(|it| it["spec"]["containers"][0]["image"] == "registry.example/main:2")
            .count();
        assert_eq!(new, usize::from(strategy == "RollingUpdate"), "{strategy}");
        world.until(30, "all new", |it| {
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
fn a_stateful_set_goes_up_and_down_by_ordinal_and_keeps_its_claims() {
    let mut world = shop();
    world.create(csi_class());
    world.create([stateful_set("db", 3)]);
    world.until(30, "three members", |it| it.ready("db") == 3);
    let created = |world: &World, at: usize| {
        object::text(world.pods("db")[at], &["metadata", "creationTimestamp"]).to_owned()
    };
    assert!(created(&world, 0) <= created(&world, 1) && created(&world, 1) <= created(&world, 2));
    assert_eq!(world.list("apps/controllerrevisions").len(), 1);

    world.change("apps/statefulsets/shop/db", |it| it["spec"]["replicas"] = json!(1));
    world.run(0);
    let going: Vec<_> = world
        .pods("db")
        .into_iter()
        .filter(|it| object::is_deleting(it))
        .map(object::name)
        .collect();
    assert_eq!(going, ["db-2"], "the last first");
    world.until(20, "one member", |it| it.pods("db").len() == 1);
    assert_eq!(world.list("persistentvolumeclaims").len(), 3, "Retain is the default");

    world.delete("apps/statefulsets/shop/db", Background);
    world.until(10, "no members", |it| it.pods("db").is_empty());
    world.run(30);
    assert_eq!(world.list("persistentvolumeclaims").len(), 3);
    assert_eq!(world.list("apps/controllerrevisions").len(), 0);
}

#[test]
fn the_retention_policy_makes_the_set_or_the_condemned_pod_an_owner() {
    let mut world = shop();
    world.create(csi_class());
    let mut db = stateful_set("db", 2);
    db["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    world.create([db]);
    world.until(30, "two members", |it| it.ready("db") == 2);
    let owner = |world: &World, claim: &str| {
        let claim = world.at(&format!("persistentvolumeclaims/shop/{claim}"));
        object::controller_reference(claim).map(|it| it["kind"].clone())
    };
    assert_eq!(owner(&world, "data-db-0"), Some(json!("StatefulSet")));
    world.change("apps/statefulsets/shop/db", |it| it["spec"]["replicas"] = json!(1));
    world.run(0);
    assert_eq!(owner(&world, "data-db-1"), Some(json!("Pod")));
    world.until(20, "the claim of the second gone", |it| {
        !it.has("persistentvolumeclaims/shop/data-db-1")
    });
    world.delete("apps/statefulsets/shop/db", Foreground);
    world.until(30, "nothing left", |it| {
        !it.has("apps/statefulsets/shop/db") && it.list("persistentvolumeclaims").is_empty()
    });
    world.until(30, "no volumes", |it| it.list("persistentvolumes").is_empty());
}

#[test]
fn the_same_ordinal_waits_for_the_pod_that_had_it() {
    let mut world = shop();
    world.create(csi_class());
    world.create([stateful_set("db", 1)]);
    world.until(30, "a member", |it| it.ready("db") == 1);
    world.silence("node-a");
    world.silence("node-b");
    world.silence("node-c");
    world.delete("pods/shop/db-0", Background);
    world.run(60);
    let [pod] = world.pods("db")[..] else { panic!("one Pod") };
    assert!(object::is_deleting(pod));
}

#[test]
fn a_daemon_is_on_every_node_and_goes_with_its_set() {
    let mut world = shop();
    world.create([json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", &[])},
    })]);
    world.until(5, "one on each", |it| it.ready("agent") == 3);
    world.delete("apps/daemonsets/shop/agent", Foreground);
    world.until(10, "none", |it| {
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
fn a_jobs_pods_are_held_until_they_are_counted() {
    let mut world = shop();
    world.create([job("once")]);
    world.until(3, "a Pod", |it| it.ready("once") == 1);
    assert!(object::has_finalizer(world.pods("once")[0], "batch.kubernetes.io/job-tracking"));
    world.until(8, "the end", |it| {
        object::condition(it.at("batch/jobs/shop/once"), "Complete")["status"] == "True"
    });
    assert_eq!(world.at("batch/jobs/shop/once")["status"]["succeeded"], 1);
    let [pod] = world.pods("once")[..] else { panic!("one Pod") };
    assert_eq!(
        (object::finalizers(pod).count(), &pod["status"]["phase"]),
        (0, &json!("Succeeded"))
    );
    world.delete("batch/jobs/shop/once", Background);
    world.until(5, "nothing", |it| it.pods("once").is_empty());
}

#[test]
fn without_a_word_a_job_leaves_its_pods_and_the_finalizer_still_goes() {
    let mut world = shop();
    world.create([job("once")]);
    world.until(3, "a Pod", |it| it.ready("once") == 1);
    world.delete("batch/jobs/shop/once", Orphan);
    world.run(3);
    assert!(!world.has("batch/jobs/shop/once"));
    let [pod] = world.pods("once")[..] else { panic!("one Pod") };
    assert_eq!(object::finalizers(pod).count(), 0);
}

#[test]
fn the_tracking_finalizer_holds_while_the_job_controller_is_away() {
    let mut world = shop();
    world.create([job("once")]);
    world.until(3, "a Pod", |it| it.ready("once") == 1);
    world.off("job-controller");
    world.delete("batch/jobs/shop/once", Background);
    world.run(30);
    let [pod] = world.pods("once")[..] else { panic!("one Pod") };
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 0, "the node is done with it");
    world.on("job-controller");
    world.until(5, "nothing", |it| it.pods("once").is_empty());
}

#[test]
fn a_pod_of_a_job_that_is_told_to_go_has_failed_and_is_let_go_at_once() {
    let mut world = shop();
    let mut once = job("once");
    once["spec"]["template"]["metadata"]["annotations"] = json!({});
    world.create([once]);
    world.until(3, "a Pod", |it| it.ready("once") == 1);
    let first = object::name(world.pods("once")[0]).to_owned();
    let path = format!("pods/shop/{first}");
    world.delete(&path, Background);
    world.run(0);
    assert!(object::is_deleting(world.at(&path)));
    assert_eq!(object::finalizers(world.at(&path)).count(), 0);
    let status = &world.at("batch/jobs/shop/once")["status"];
    assert_eq!((&status["failed"], &status["terminating"]), (&json!(1), &json!(1)));
    assert_eq!(world.pods("once").len(), 1, "the next comes after the first wait");
    world.until(12, "another", |it| it.pods("once").iter().any(|pod| object::name(pod) != first));
    world.run(60);
    assert_eq!(world.at("batch/jobs/shop/once")["status"]["failed"], 1, "counted once");
}

#[test]
fn a_suspended_job_has_no_pods_and_a_late_one_fails() {
    let mut world = shop();
    let mut once = job("once");
    once["spec"]["template"]["metadata"]["annotations"] = json!({});
    once["spec"]["activeDeadlineSeconds"] = json!(60);
    world.create([once]);
    world.until(3, "a Pod", |it| it.ready("once") == 1);
    world.change("batch/jobs/shop/once", |it| it["spec"]["suspend"] = json!(true));
    world.until(40, "none", |it| it.pods("once").is_empty());
    let condition = |it: &World, of: &str| {
        let condition = object::condition(it.at("batch/jobs/shop/once"), of);
        (condition["status"].clone(), condition["reason"].clone())
    };
    assert_eq!(condition(&world, "Suspended"), (json!("True"), json!("JobSuspended")));
    world.run(120);
    world.change("batch/jobs/shop/once", |it| it["spec"]["suspend"] = json!(false));
    world.until(15, "a Pod", |it| it.ready("once") == 1);
    assert_eq!(condition(&world, "Suspended"), (json!("False"), json!("JobResumed")));
    world.until(60, "too late", |it| condition(it, "FailureTarget").0 == "True");
    assert_eq!(condition(&world, "Failed").0, json!(null), "its Pod still ends");
    world.until(40, "the end", |it| {
        condition(it, "Failed") == (json!("True"), json!("DeadlineExceeded"))
    });
}

#[test]
fn absurd_numbers_keep_nobody_busy() {
    let mut world = shop();
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
        let key = world.cluster.key_of(&refused).unwrap();
        let made =
            world.cluster.create(&Actor::admin(), &key.group, &key.plural, &key.namespace, refused);
        assert_eq!(made.map_err(|it| it.code), Err(422));
    }
    world.create([deployment("web", 1, &[]), scaler(2_000_000_000, 2_000_000_000)]);
    world.run(60);
    assert_eq!(world.at("apps/deployments/shop/web")["spec"]["replicas"], 100);
    world.create([once]);
    world.run(1);
    assert!(world.pods("once").len() <= 1_000);
}

#[test]
fn a_cron_job_starts_jobs_until_it_is_suspended() {
    let mut world = shop();
    let spec = job("tick")["spec"].clone();
    world.create([json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick", "namespace": "shop"},
        "spec": {"schedule": "*/1 * * * *", "jobTemplate": {"spec": spec}},
    })]);
    world.until(70, "a Job", |it| !it.list("batch/jobs").is_empty());
    world.change("batch/cronjobs/shop/tick", |it| it["spec"]["suspend"] = json!(true));
    let jobs = world.list("batch/jobs").len();
    world.run(180);
    assert_eq!(world.list("batch/jobs").len(), jobs);
    world.delete("batch/cronjobs/shop/tick", Foreground);
    world.until(10, "nothing", |it| it.list("batch/jobs").is_empty() && it.pods("tick").is_empty());
}

#[test]
fn a_job_expires() {
    let mut world = shop();
    let mut once = job("once");
    once["spec"]["ttlSecondsAfterFinished"] = json!(20);
    world.create([once]);
    world.run(15);
    assert!(world.has("batch/jobs/shop/once"));
    world.until(30, "nothing", |it| !it.has("batch/jobs/shop/once") && it.pods("once").is_empty());
}

#[test]
fn an_autoscaler_writes_replicas_of_what_it_does_not_own() {
    let mut world = shop();
    world.create([
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
    world.until(20, "two Pods", |it| it.ready("web") == 2);
    world.change("apps/deployments/shop/web", |it| it["spec"]["replicas"] = json!(1));
    world.until(20, "two again", |it| it.at("apps/deployments/shop/web")["spec"]["replicas"] == 2);
    world.change("apps/deployments/shop/web", |it| it["spec"]["replicas"] = json!(0));
    world.run(60);
    assert!(world.pods("web").is_empty(), "zero switches it off");
}

#[test]
fn a_pod_that_no_longer_matches_is_let_go_and_replaced() {
    let mut world = shop();
    world.create([deployment("web", 1, &[])]);
    world.until(5, "a ready Pod", |it| it.ready("web") == 1);
    let first = format!("pods/shop/{}", object::name(world.pods("web")[0]));
    world.change(&first, |it| object::set(it, &["metadata", "labels", "app"], json!("free")));
    world.until(5, "another", |it| it.ready("web") == 2);
    assert_eq!(object::owner_references(world.at(&first)).count(), 0);
}
