//! The consistent read of a namespace's content just before its DELETE.

use std::time::Duration;

use sandbox::{cluster::Actor, control_plane::ControlPlane, store::Key};
use serde_json::json;
use teardown::{plan::Choices, run::RunState};

use super::setup::{Server, create, define};

fn li() -> Actor {
    Actor { name: "li".into(), ..Actor::admin() }
}

/// The unit `shop`: a namespace with a ConfigMap that a finalizer holds for now.
fn shop(world: &mut ControlPlane) {
    let labels = json!({"app.kubernetes.io/part-of": "shop"});
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop", "labels": labels}}));
    let settings =
        json!({"name": "settings", "labels": labels, "finalizers": ["example.com/hold"]});
    create(world, "", "configmaps", "shop", json!({"metadata": settings}));
    world.run_until_idle();
}

fn let_go(world: &mut ControlPlane) {
    let settings = Key::new("", "configmaps", "shop", "settings");
    let free = |it: &mut serde_json::Value| it["metadata"]["finalizers"] = json!([]);
    world.cluster.modify(&Actor::admin(), &settings, "", free).map(drop).unwrap();
}

fn has(world: &ControlPlane, group: &str, plural: &str, namespace: &str, name: &str) -> bool {
    world.cluster.get(&Key::new(group, plural, namespace, name)).is_some()
}

fn is_going(world: &ControlPlane, key: &Key) -> bool {
    world.cluster.get(key).is_some_and(|it| !it["metadata"]["deletionTimestamp"].is_null())
}

/// Starts a teardown of `shop`, whose ConfigMap goes only when somebody lets it go.
async fn started(server: &Server) -> teardown::run::RunId {
    let run = server.run(&*server.plan("shop", Choices::default()).await).await;
    let settings = Key::new("", "configmaps", "shop", "settings");
    server.until("the ConfigMap terminates", |world| is_going(world, &settings)).await;
    run
}

/// Lets the ConfigMap go, waits, and checks that the namespace is not asked to.
async fn namespace_stays(server: &Server) {
    server.sandbox.with(let_go);
    let is_gone = |world: &ControlPlane| !has(world, "", "configmaps", "shop", "settings");
    server.until("the ConfigMap is gone", is_gone).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(server.changes(), ["delete configmaps/settings"]);
}

/// Deletes what holds the namespace, and waits for the end of the run.
async fn ends_without(server: &Server, run: &teardown::run::RunId, key: &Key) {
    server.sandbox.with(|world| {
        world
            .cluster
            .delete(&Actor::admin(), key, &sandbox::cluster::DeleteOptions::default())
            .unwrap();
    });
    server.until("the namespace is gone", |world| !has(world, "", "namespaces", "", "shop")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.state(run).await, RunState::Finished);
}

#[tokio::test(start_paused = true)]
async fn claim_that_a_dead_watch_hides_holds_its_namespace() {
    let server = Server::start(li(), shop);
    let run = started(&server).await;
    server.sandbox.with(|world| {
        let faults = world.parse_faults("on watch persistentvolumeclaims as=li -> stall").unwrap();
        world.cluster.faults.extend(faults);
        let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}});
        create(
            world,
            "",
            "persistentvolumeclaims",
            "shop",
            json!({"metadata": {"name": "new"}, "spec": spec}),
        );
    });
    namespace_stays(&server).await;
    server.sandbox.with(ControlPlane::repair);
    ends_without(&server, &run, &Key::new("", "persistentvolumeclaims", "shop", "new")).await;
}

#[tokio::test(start_paused = true)]
async fn object_of_a_kind_that_is_younger_than_the_last_discovery_holds_its_namespace() {
    let server = Server::start(li(), shop);
    let run = started(&server).await;
    server.sandbox.with(|world| {
        // The watch of definitions is silent, so that nothing calls for an early discovery.
        let script = "on watch customresourcedefinitions.apiextensions.k8s.io as=li -> stall";
        let faults = world.parse_faults(script).unwrap();
        world.cluster.faults.extend(faults);
        define(world, "example.com", "orders", "Order");
        create(world, "example.com", "orders", "shop", json!({"metadata": {"name": "first"}}));
    });
    namespace_stays(&server).await;
    ends_without(&server, &run, &Key::new("example.com", "orders", "shop", "first")).await;
}

#[tokio::test(start_paused = true)]
async fn kind_whose_lists_fail_holds_the_namespace_until_they_succeed() {
    let server = Server::start(li(), shop);
    let run = started(&server).await;
    server.sandbox.with(|world| {
        let faults = world.parse_faults("on list secrets as=li -> 503").unwrap();
        world.cluster.faults.extend(faults);
    });
    namespace_stays(&server).await;
    server.sandbox.with(ControlPlane::repair);
    server.until("the namespace is gone", |world| !has(world, "", "namespaces", "", "shop")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.state(&run).await, RunState::Finished);
}
