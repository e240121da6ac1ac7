//! The worlds a sandbox can begin with.

use sandbox::cluster::Propagation::Background;
use sandbox::object;
use serde_json::{Value, json};

use crate::world::World;

fn load(name: &str) -> World {
    let mut world = World::new();
    let (objects, faults) = sandbox::world::World::text(name).unwrap();
    world.load(objects, faults).unwrap();
    world
}

fn part_of(object: &Value) -> &str {
    object::label(object, "app.kubernetes.io/part-of")
}

/// Everything that was asked for runs, every claim has its volume.
fn is_settled(world: &World) -> bool {
    let bound = |it: &&Value| it["status"]["phase"] == "Bound";
    let complete = |it: &&Value| it["status"]["readyReplicas"] == it["spec"]["replicas"];
    let done = |it: &&Value| it["status"]["succeeded"] == 1;
    world.list("persistentvolumeclaims").iter().all(bound)
        && world.list("persistentvolumes").iter().all(bound)
        && world.list("apps/deployments").iter().all(complete)
        && world.list("apps/statefulsets").iter().all(complete)
        && world.list("batch/jobs").iter().all(done)
        && world
            .list("storage.k8s.io/volumeattachments")
            .iter()
            .all(|it| it["status"]["attached"] == true)
}

#[test]
fn all_of_them_settle_before_anything_happens() {
    for name in sandbox::world::World::names() {
        let mut world = World::new();
        world.load(sandbox::world::World::text(name).unwrap().0, "").unwrap();
        world.until(30, name, is_settled);
        assert!(!world.list("pods").is_empty(), "{name}");
        let labelled = world.list("apps/deployments").into_iter().any(|it| part_of(it) == name);
        assert!(labelled, "{name} is the name of its application");
    }
}

#[test]
fn the_consortium_is_what_the_sample_of_the_real_cluster_is() {
    let mut world = load("consortium");
    world.until(30, "settled", is_settled);
    let pods = |of: &str| world.list("pods").into_iter().filter(|it| part_of(it) == of).count();
    assert_eq!((pods("consortium"), pods("bystander")), (3 + 2 * (4 + 1 + 1), 2));
    assert_eq!(world.list("persistentvolumes").len(), 3 + 3 + 1);
    assert_eq!(world.list("storage.k8s.io/volumeattachments").len(), 1);
}

#[test]
fn the_shop_goes_in_order_and_nothing_stays() {
    let mut world = load("shop");
    world.until(30, "settled", is_settled);
    world.delete("namespaces//shop", Background);
    world.until(120, "the end", |it| {
        !it.has("namespaces//shop")
            && it.list("persistentvolumes").is_empty()
            && it.list("storage.k8s.io/volumeattachments").is_empty()
            && it.list("pods").is_empty()
    });
}

fn stuck(world: &World, namespace: &str) -> usize {
    let past =
        |it: &&Value| object::deletion_timestamp(it).is_some_and(|at| at < world.cluster.now());
    world
        .list("pods")
        .into_iter()
        .filter(|it| object::namespace(it) == namespace)
        .filter(past)
        .count()
}

#[test]
fn s1_happens_within_a_minute_and_ends_when_the_export_is_back() {
    let mut world = load("s1");
    world.run(60);
    assert_eq!(stuck(&world, "s1"), 2);
    assert!(!world.has("persistentvolumeclaims/s1/ledger"));
    world.run(300);
    assert_eq!(stuck(&world, "s1"), 2);
    world.controllers.breakage.restore("nfs.s1.example");
    world.until(123, "no Pods", |it| it.pods("peer").is_empty());
}

#[test]
fn s2_happens_within_a_minute_and_ends_when_the_volume_is_free() {
    let mut world = load("s2");
    world.run(60);
    assert_eq!(stuck(&world, "s2"), 1);
    assert_eq!(world.ready("front"), 2);
    world.controllers.breakage.busy.remove("s2-archive");
    world.until(123, "no Pods", |it| it.pods("archive").is_empty());
}

#[test]
fn s3_happens_within_a_minute_and_ends_when_the_metrics_are_back() {
    let mut world = load("s3");
    world.run(60);
    let failure =
        object::condition(world.at("namespaces//s3"), "NamespaceDeletionDiscoveryFailure");
    assert_eq!(failure["status"], "True");
    assert!(!world.has("configmaps/s3/settings"));
    world.change("apps/deployments/kube-system/metrics-server", |it| {
        it["spec"]["replicas"] = json!(1)
    });
    world.until(90, "the end", |it| !it.has("namespaces//s3"));
}

#[test]
fn s4_happens_within_a_minute_and_ends_when_the_operator_is_back() {
    let mut world = load("s4");
    let operator = world.at("apps/deployments/s4/queue-operator").clone();
    world.run(60);
    let definition = "apiextensions.k8s.io/customresourcedefinitions//topics.queue.example";
    assert_eq!(object::condition(world.at(definition), "Terminating")["status"], "True");
    assert!(world.list("queue.example/topics").iter().all(|it| object::is_deleting(it)));
    world.create([json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "queue-operator", "namespace": "s4"},
        "spec": operator["spec"],
    })]);
    world.until(30, "the definition gone", |it| !it.has(definition));
}

#[test]
fn s5_happens_within_a_minute_and_ends_when_the_machine_is_back() {
    let mut world = load("s5");
    world.run(75);
    assert_eq!(stuck(&world, "s5"), 1);
    assert_eq!(world.pods("singleton").len(), 1, "no replacement");
    assert_eq!(object::condition(world.at("nodes//node-a"), "Ready")["status"], "Unknown");
    world.revive();
    world
        .until(60, "a new one", |it| it.ready("singleton") == 1 && it.pods("singleton").len() == 1);
}

#[test]
fn everything_can_be_repaired_at_once() {
    for name in ["s1", "s2", "s5"] {
        let mut world = load(name);
        world.run(80);
        assert!(stuck(&world, name) > 0, "{name}");
        world.repair();
        world.until(130, name, |it| stuck(it, name) == 0);
    }
}

#[test]
fn a_world_that_cannot_be_made_says_why() {
    for (objects, faults, why) in [
        ("{", "", "its objects are no JSON"),
        ("{}", "", "its objects are no JSON list"),
        (r#"{"items": 1}"#, "", "its objects are no JSON list"),
        (
            r#"[{"kind": "Nonsense", "apiVersion": "v1"}]"#,
            "",
            "nothing is known of kind \"Nonsense\"",
        ),
        ("[]", "at noon tea", "its faults cannot be read"),
    ] {
        let mut world = World::new();
        assert_eq!(world.load(objects, faults).unwrap_err().to_string(), why);
    }
}
