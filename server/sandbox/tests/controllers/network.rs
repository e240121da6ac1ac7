use sandbox::cluster::Propagation::Background;
use serde_json::json;

use crate::world::{World, deployment};

fn web() -> World {
    let mut world = World::new();
    world.namespace("shop");
    world.create([
        deployment("web", 2, &[]),
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"selector": {"app": "web"}, "ports": [{"name": "main", "port": 80}]},
        }),
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }),
    ]);
    world.until(5, "ready Pods", |it| it.ready("web") == 2);
    world
}

fn addresses(world: &World) -> usize {
    let slices = world.list("discovery.k8s.io/endpointslices");
    let endpoints =
        slices.iter().filter(|it| it["metadata"]["labels"]["kubernetes.io/service-name"] == "web");
    let endpoints =
        endpoints.flat_map(|it| it["endpoints"].as_array().cloned().unwrap_or_default());
    endpoints.filter(|it| it["conditions"]["ready"] == true).count()
}

#[test]
fn a_service_has_the_addresses_of_its_ready_pods() {
    let mut world = web();
    assert_eq!(addresses(&world), 2);
    assert_eq!(
        world.at("endpoints/shop/web")["subsets"][0]["addresses"].as_array().unwrap().len(),
        2
    );
    world.delete("apps/deployments/shop/web", Background);
    world.until(10, "no addresses", |it| addresses(it) == 0);
    assert!(
        world
            .at("endpoints/shop/web")
            .get("subsets")
            .is_none_or(|it| it.as_array().unwrap().is_empty())
    );
    world.delete("services/shop/web", Background);
    world.until(2, "neither form", |it| {
        !it.has("endpoints/shop/web")
            && it
                .list("discovery.k8s.io/endpointslices")
                .iter()
                .all(|it| it["metadata"]["namespace"] != "shop")
    });
}

/// The old form names no owner: the garbage collector knows nothing of it.
#[test]
fn addresses_whose_service_went_unseen_go_when_their_controller_is_back() {
    let mut world = web();
    world.create([json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "by-hand", "namespace": "shop"},
    })]);
    world.off("endpoints-controller");
    world.delete("services/shop/web", Background);
    world.run(60);
    assert!(world.has("endpoints/shop/web") && world.has("endpoints/shop/by-hand"));
    world.on("endpoints-controller");
    world.until(1, "none without a Service", |it| {
        !it.has("endpoints/shop/web") && !it.has("endpoints/shop/by-hand")
    });
}

#[test]
fn a_slice_that_is_deleted_is_made_again() {
    let mut world = web();
    let slice = world
        .list("discovery.k8s.io/endpointslices")
        .into_iter()
        .find(|it| it["metadata"]["namespace"] == "shop");
    let name = sandbox::object::name(slice.unwrap()).to_owned();
    world.delete(&format!("discovery.k8s.io/endpointslices/shop/{name}"), Background);
    world.run(1);
    assert_eq!(addresses(&world), 2);
}

#[test]
fn a_budget_says_how_many_may_be_evicted() {
    let mut world = web();
    let status = |world: &World| world.at("policy/poddisruptionbudgets/shop/web")["status"].clone();
    assert_eq!(
        (
            &status(&world)["disruptionsAllowed"],
            &status(&world)["expectedPods"],
            &status(&world)["currentHealthy"]
        ),
        (&json!(1), &json!(2), &json!(2))
    );
    let pod = sandbox::object::name(world.pods("web")[0]).to_owned();
    world.delete(&format!("pods/shop/{pod}"), Background);
    world.run(0);
    assert_eq!(status(&world)["disruptionsAllowed"], 0);
    world.until(10, "allowed again", |it| status(it)["disruptionsAllowed"] == 1);
}
