//! Custom resources of kinds that Unwind does not know, read by a whole server from the sandbox under paused time.

use std::time::Duration;

use sandbox::{cluster::Actor, control_plane::ControlPlane, store::Key};
use serde_json::{Value, json};
use teardown::{
    plan::{Choices, KeptReason, Plan},
    relation::EdgeKind,
};

use super::setup::{Server, create, define};

const GROUP: &str = "queue.example";

/// The unit `shop`: a Broker, a Topic that names it, and a Topic that names a Broker of another namespace.
fn shop(world: &mut ControlPlane) {
    define(world, GROUP, "brokers", "Broker");
    define(world, GROUP, "topics", "Topic");
    let of_unit =
        |name: &str| json!({"name": name, "labels": {"app.kubernetes.io/part-of": "shop"}});
    create(world, "", "namespaces", "", json!({"metadata": of_unit("shop")}));
    let mut object = |plural: &str, name: &str, spec: Value| {
        create(world, GROUP, plural, "shop", json!({"metadata": of_unit(name), "spec": spec}));
    };
    object("brokers", "main", json!({"storage": {"credentialsSecret": "keys"}}));
    object("topics", "orders", json!({"brokerRef": {"name": "main"}}));
    object("topics", "elsewhere", json!({"brokerRef": {"name": "main", "namespace": "other"}}));
    create(world, "", "secrets", "shop", json!({"metadata": of_unit("keys")}));
    world.run_until_idle();
}

/// The objects that a step waits for because their specs name its own.
fn named_by(plan: &Plan, name: &str) -> Vec<String> {
    let step = plan.steps.iter().find(|step| &*step.object.name == name).unwrap();
    let refers = step.after.iter().filter(|it| it.has(EdgeKind::Refers));
    refers.map(|it| plan.step(it.step).unwrap().object.name.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn custom_resource_goes_before_what_its_spec_names() {
    let server = Server::start(Actor { name: "li".into(), ..Actor::admin() }, shop);
    let plan = server.plan("shop", Choices::default()).await;
    assert_eq!(named_by(&plan, "main"), ["orders"]);
    assert_eq!(named_by(&plan, "keys"), ["main"]);
    server.run(&plan).await;
    let namespace = Key::new("", "namespaces", "", "shop");
    server.until("the namespace is gone", |world| world.cluster.get(&namespace).is_none()).await;
    let changes = server.changes();
    let at = |wanted: &str| changes.iter().position(|it| it == wanted).unwrap();
    let [topic, broker] = ["delete topics/orders", "delete brokers/main"].map(at);
    assert!(topic < broker && broker < at("delete secrets/keys"), "{changes:?}");
}

/// Serves Topics in this version, with the verb `delete` or without it. Discovery names the versions of a group by its APIServices.
fn serve_topics(world: &mut ControlPlane, version: &str, can_be_deleted: bool) {
    let mut kind = (**world.cluster.kinds.get(GROUP, "topics").unwrap()).clone();
    kind.version = version.to_owned();
    kind.verbs.retain(|verb| verb != "delete" && verb != "deletecollection");
    if can_be_deleted {
        kind.verbs.push("delete".to_owned());
    }
    world.cluster.kinds.insert(kind);
    let name = format!("{version}.{GROUP}");
    let (group, plural) = ("apiregistration.k8s.io", "apiservices");
    if world.cluster.get(&Key::new(group, plural, "", &name)).is_none() {
        let spec = json!({
            "group": GROUP, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100,
        });
        create(world, group, plural, "", json!({"metadata": {"name": name}, "spec": spec}));
    }
}

/// An aggregated server may serve its kinds without the verb `delete` first, and another version that has it later.
#[tokio::test(start_paused = true)]
async fn version_that_lets_delete_is_used_once_it_is_served() {
    let server = Server::start(Actor { name: "li".into(), ..Actor::admin() }, |world| {
        shop(world);
        // The Topic keeps what it names, and a plan needs something to delete.
        let labels = json!({"app.kubernetes.io/part-of": "shop"});
        let settings = json!({"metadata": {"name": "settings", "labels": labels}});
        create(world, "", "configmaps", "shop", settings);
        serve_topics(world, "v1", false);
    });
    let mut plan = server.plan("shop", Choices::default()).await;
    let kept = plan.kept.iter().find(|kept| &*kept.object.name == "orders").unwrap();
    assert_eq!(kept.reason, KeptReason::NoDeleteVerb);
    server.sandbox.with(|world| serve_topics(world, "v2", true));
    let is_step = |plan: &Plan| {
        let topic = plan.steps.iter().find(|step| &*step.object.name == "orders");
        topic.is_some_and(|topic| &*topic.kind.version == "v2")
    };
    // Discovery runs again when an APIService has changed, and otherwise once a minute.
    for _ in 0..180 {
        if !is_step(&plan) {
            tokio::time::sleep(Duration::from_secs(1)).await;
            plan = server.plan("shop", Choices::default()).await;
        }
    }
    assert!(is_step(&plan), "{:?}", plan.kept);
    server.run(&plan).await;
    let topic = Key::new(GROUP, "topics", "shop", "orders");
    server.until("the topic is gone", |world| world.cluster.get(&topic).is_none()).await;
    let changes = server.changes();
    assert!(changes.iter().any(|it| it == "delete topics/orders"), "{changes:?}");
}

/// Discovery runs once a minute, and only the answer to the DELETE says that the version has lost its verb.
#[tokio::test(start_paused = true)]
async fn delete_that_its_version_refuses_goes_to_another_version_within_seconds() {
    let server = Server::start(Actor { name: "li".into(), ..Actor::admin() }, |world| {
        shop(world);
        serve_topics(world, "v1", true);
        serve_topics(world, "v2", true);
    });
    let plan = server.plan("shop", Choices::default()).await;
    // The rounds of discovery that follow the first lists are over, and the next one is far away.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let topic = plan.steps.iter().find(|step| &*step.object.name == "orders").unwrap();
    let version = topic.kind.version.to_string();
    server.sandbox.with(|world| serve_topics(world, &version, false));
    let began = tokio::time::Instant::now();
    server.run(&plan).await;
    let topic = Key::new(GROUP, "topics", "shop", "orders");
    server.until("the topic is gone", |world| world.cluster.get(&topic).is_none()).await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
