//! Custom resources of kinds that Unwind does not know, read by a whole server from the sandbox under paused time.

use sandbox::{cluster::Actor, control_plane::ControlPlane, store::Key};
use serde_json::{Value, json};
use teardown::{
    plan::{Choices, Plan},
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
