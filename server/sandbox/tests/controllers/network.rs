use sandbox::cluster::Propagation::Background;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, deployment};

fn web() -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([
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
    test.until(5, "ready Pods", |it| it.ready("web") == 2);
    test
}

fn addresses(test: &TestCluster) -> usize {
    let slices = test.list("discovery.k8s.io/endpointslices");
    let endpoints =
        slices.iter().filter(|it| it["metadata"]["labels"]["kubernetes.io/service-name"] == "web");
    let endpoints =
        endpoints.flat_map(|it| it["endpoints"].as_array().cloned().unwrap_or_default());
    endpoints.filter(|it| it["conditions"]["ready"] == true).count()
}

#[test]
fn service_has_the_addresses_of_its_ready_pods() {
    let mut test = web();
    assert_eq!(addresses(&test), 2);
    assert_eq!(
        test.at("endpoints/shop/web")["subsets"][0]["addresses"].as_array().unwrap().len(),
        2
    );
    test.delete("apps/deployments/shop/web", Background);
    test.until(10, "no addresses", |it| addresses(it) == 0);
    assert!(
        test.at("endpoints/shop/web")
            .get("subsets")
            .is_none_or(|it| it.as_array().unwrap().is_empty())
    );
    test.delete("services/shop/web", Background);
    test.until(2, "neither form", |it| {
        !it.has("endpoints/shop/web")
            && it
                .list("discovery.k8s.io/endpointslices")
                .iter()
                .all(|it| it["metadata"]["namespace"] != "shop")
    });
}

/// Endpoints, the older form, have no owner reference, so the garbage collector does not delete them.
#[test]
fn endpoints_of_a_service_that_went_unseen_are_removed_when_the_controller_is_back() {
    let mut test = web();
    test.create([json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "by-hand", "namespace": "shop"},
    })]);
    test.off("endpoints-controller");
    test.delete("services/shop/web", Background);
    test.run(60);
    assert!(test.has("endpoints/shop/web") && test.has("endpoints/shop/by-hand"));
    test.on("endpoints-controller");
    test.until(1, "none without a Service", |it| {
        !it.has("endpoints/shop/web") && !it.has("endpoints/shop/by-hand")
    });
}

#[test]
fn deleted_slice_is_created_again() {
    let mut test = web();
    let slice = test
        .list("discovery.k8s.io/endpointslices")
        .into_iter()
        .find(|it| it["metadata"]["namespace"] == "shop");
    let name = sandbox::object::name(slice.unwrap()).to_owned();
    test.delete(&format!("discovery.k8s.io/endpointslices/shop/{name}"), Background);
    test.run(1);
    assert_eq!(addresses(&test), 2);
}

#[test]
fn disruption_budget_says_how_many_pods_may_be_evicted() {
    let mut test = web();
    let status =
        |test: &TestCluster| test.at("policy/poddisruptionbudgets/shop/web")["status"].clone();
    assert_eq!(
        (
            &status(&test)["disruptionsAllowed"],
            &status(&test)["expectedPods"],
            &status(&test)["currentHealthy"]
        ),
        (&json!(1), &json!(2), &json!(2))
    );
    let pod = sandbox::object::name(test.pods("web")[0]).to_owned();
    test.delete(&format!("pods/shop/{pod}"), Background);
    test.run(0);
    assert_eq!(status(&test)["disruptionsAllowed"], 0);
    test.until(10, "allowed again", |it| status(it)["disruptionsAllowed"] == 1);
}

/// The Events about the Service `front` with this reason.
fn of_front<'a>(test: &'a TestCluster, reason: &str) -> Vec<&'a Value> {
    let is_meant = |it: &&Value| it["involvedObject"]["name"] == "front" && it["reason"] == reason;
    test.list("events").into_iter().filter(is_meant).collect()
}

#[test]
fn service_stays_until_the_cloud_has_removed_its_load_balancer() {
    let mut test = TestCluster::new();
    test.controllers.add_cloud();
    test.namespace("shop");
    test.create([json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front", "namespace": "shop"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    })]);
    test.run(1);
    let front = test.at("services/shop/front");
    assert_eq!(
        front["metadata"]["finalizers"],
        json!(["service.kubernetes.io/load-balancer-cleanup"])
    );
    assert_eq!(front["status"]["loadBalancer"]["ingress"][0]["ip"], "203.0.113.1");

    test.play("at 0s cloud refuses the security group sg-1 is in use # by another");
    test.delete("services/shop/front", Background);
    test.run(60);
    assert!(test.has("services/shop/front"));
    let failed = of_front(&test, "SyncLoadBalancerFailed");
    let message = "Error syncing load balancer: failed to delete load balancer: the security group sg-1 is in use # by another";
    assert_eq!((&failed[0]["message"], failed.len()), (&json!(message), 1), "{failed:?}");
    assert_eq!(failed[0]["count"], 4, "at once, and after 5, 15 and 35 s");

    test.play("at 0s cloud repaired");
    test.until(41, "no Service", |it| !it.has("services/shop/front"));
    assert_eq!(of_front(&test, "DeletedLoadBalancer").len(), 1);
}

#[test]
fn service_that_becomes_internal_loses_its_load_balancer_and_stays() {
    let mut test = TestCluster::new();
    test.controllers.add_cloud();
    test.namespace("shop");
    test.create([json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front", "namespace": "shop"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    })]);
    test.run(1);
    test.change("services/shop/front", |it| it["spec"]["type"] = json!("ClusterIP"));
    test.run(1);
    let front = test.at("services/shop/front");
    assert_eq!(front["metadata"].get("finalizers"), None);
    assert_eq!(front["status"]["loadBalancer"], json!({}));
}
