use jiff::SignedDuration;
use sandbox::cluster::{Actor, Propagation::Background};
use sandbox::controller::Condition;
use sandbox::fault::Faults;
use sandbox::object;
use sandbox::store::Key;

use crate::world::{World, config_map, csi_class, deployment, stateful_set};

#[test]
fn a_slow_controller_does_the_same_later() {
    let mut world = World::new();
    world.namespace("shop");
    world.set("deployment-controller", Condition::Slow(SignedDuration::from_secs(20)));
    world.create([deployment("web", 1, &[])]);
    world.run(19);
    assert!(world.list("apps/replicasets").is_empty());
    world.until(10, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn a_failing_controller_tries_again_until_it_is_let() {
    let mut world = World::new();
    world.namespace("shop");
    world.set("replicaset-controller", Condition::Failing);
    world.create([deployment("web", 1, &[])]);
    world.run(30);
    assert!(world.pods("web").is_empty());
    world.on("replicaset-controller");
    world.until(70, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn a_controller_that_comes_back_finds_what_it_missed() {
    let mut world = World::new();
    world.namespace("shop");
    world.off("replicaset-controller");
    world.create([deployment("web", 1, &[])]);
    world.run(30);
    assert!(world.pods("web").is_empty());
    world.on("replicaset-controller");
    world.until(5, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn the_controller_manager_is_most_of_them() {
    let mut world = World::new();
    world.namespace("shop");
    world.off("kube-controller-manager");
    let off = |world: &World| {
        let all = world.controllers.iter();
        all.filter(|(_, condition)| *condition == Condition::Off).count()
    };
    let all = world.controllers.iter().count();
    assert_eq!(
        off(&world),
        all - 7,
        "all but scheduler, kubelets, drivers, operators and a part of the API server"
    );
    world.create([deployment("web", 1, &[])]);
    world.delete("namespaces//shop", Background);
    world.run(60);
    assert!(world.list("apps/replicasets").is_empty());
    assert!(world.at("namespaces//shop")["status"]["conditions"].is_null());
    world.on("kube-controller-manager");
    assert_eq!(off(&world), 0);
    world.until(30, "the namespace is gone", |it| !it.has("namespaces//shop"));
}

#[test]
fn every_controller_has_its_own_name() {
    let mut world = World::new();
    let names: std::collections::BTreeSet<_> =
        world.controllers.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), world.controllers.iter().count());
    assert!(!world.controllers.set("nobody", Condition::Off));
}

#[test]
fn what_its_owner_insists_on_comes_back() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("settings", &serde_json::json!({}))]);
    world.run(1);
    let first = object::uid(world.at("configmaps/shop/settings")).to_owned();
    world
        .controllers
        .breakage
        .recreated
        .insert(Key::new("", "configmaps", "shop", "settings"), None);
    world.delete("configmaps/shop/settings", Background);
    world.until(3, "another", |it| {
        it.get("configmaps/shop/settings").is_some_and(|it| object::uid(it) != first)
    });
    world.controllers.breakage.repair();
    world.delete("configmaps/shop/settings", Background);
    world.run(10);
    assert!(!world.has("configmaps/shop/settings"));
}

/// All that happened in the life and death of an application, as text.
fn story(seed: u64) -> String {
    let mut world = World::with_seed(seed);
    world.namespace("shop");
    world.create(csi_class());
    world.create([deployment("web", 3, &[]), stateful_set("db", 2)]);
    world.run(20);
    world.delete("namespaces//shop", Background);
    world.run(90);
    assert!(!world.has("namespaces//shop"));
    let events = world.cluster.store.since(1).unwrap();
    events
        .map(|it| it.event())
        .map(|it| format!("{:?} {} {}", it.change, it.key, it.object))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_same_seed_tells_the_same_story_and_another_another() {
    let first = story(7);
    assert!(first == story(7));
    assert!(first != story(8));
}

/// Whatever the API lets in, no controller stops because of it.
#[test]
fn absurd_numbers_stop_nobody() {
    let numbers = [-1, i64::MIN, i64::MAX, 0];
    for number in numbers {
        let mut world = World::new();
        world.namespace("shop");
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
            let key = world.cluster.key_of(&object).unwrap();
            let made = world.cluster.create(
                &Actor::admin(),
                &key.group,
                &key.plural,
                &key.namespace,
                object,
            );
            // Refused by validation is as good.
            drop(made);
        }
        world.run(130);
        world.create([deployment("web", 1, &[])]);
        world.until(10, "life goes on", |it| it.ready("web") == 1);
    }
}

#[test]
fn what_cannot_happen_is_said_and_the_rest_happens() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("settings", &serde_json::json!({}))]);
    let script = "
        at 0s delete configmaps shop/nothing
        at 0s unfinalize configmaps shop/nothing example.com/x
        at 0s change widgets.example.com shop/nothing {}
        at 0s delete configmaps shop/settings
    ";
    let faults = Faults::parse(script, world.cluster.steady()).unwrap();
    world.cluster.faults.join(faults);
    world.turn();
    let whys: Vec<_> = world.take_failures().into_iter().map(|it| it.why).collect();
    let nothing = "configmaps \"nothing\" not found";
    assert_eq!(whys, [nothing, nothing, "widgets.example.com \"nothing\" not found"]);
    assert!(!world.has("configmaps/shop/settings"));
    world.run(1);
}
