use sandbox::cluster::Propagation::Background;
use serde_json::{Value, json};

use crate::world::{World, deployment};

fn quota(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}, "spec": spec})
}

fn used(world: &World, name: &str) -> String {
    let used = &world.at("resourcequotas/shop/q")["status"]["used"];
    used[name].as_str().unwrap_or("uncounted").to_owned()
}

#[test]
fn a_quota_counts_what_is_there_and_what_goes() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([deployment("web", 2, &[])]);
    world.until(5, "ready Pods", |it| it.ready("web") == 2);
    world.create([quota(&json!({"hard": {
        "pods": "3", "count/deployments.apps": "1", "count/replicasets.apps": "1e0", "count/nothing.example.com": "1",
    }}))]);
    world.run(0);
    assert_eq!(
        world.at("resourcequotas/shop/q")["status"],
        json!({
            "hard": {
                "pods": "3", "count/deployments.apps": "1", "count/replicasets.apps": "1", "count/nothing.example.com": "1",
            },
            "used": {"pods": "2", "count/deployments.apps": "1", "count/replicasets.apps": "1"},
        })
    );
    world.change("apps/deployments/shop/web", |web| web["spec"]["replicas"] = json!(5));
    world.until(5, "three Pods", |it| it.ready("web") == 3);
    world.run(5);
    assert_eq!((world.pods("web").len(), used(&world, "pods").as_str()), (3, "3"));
    assert!(world.events("FailedCreate").iter().any(|it| {
        it.contains("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")
    }));
    world.change("resourcequotas/shop/q", |quota| quota["spec"]["hard"]["pods"] = json!("4"));
    world.run(0);
    assert_eq!(world.at("resourcequotas/shop/q")["status"]["hard"]["pods"], "4");
    world.delete("apps/deployments/shop/web", Background);
    world.until(60, "nothing counts", |it| used(it, "pods") == "0");
    assert_eq!(used(&world, "count/deployments.apps"), "0");
}

#[test]
fn a_pod_that_has_ended_is_no_longer_charged() {
    let mut world = World::new();
    world.namespace("shop");
    let hard = json!({"pods": "1", "count/pods": "2"});
    world.create([quota(&json!({"hard": hard, "scopes": ["BestEffort"]}))]);
    world.run(0);
    world.create([json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })]);
    assert_eq!((used(&world, "pods").as_str(), used(&world, "count/pods").as_str()), ("1", "1"));
    let pod = sandbox::store::Key::new("", "pods", "shop", "a");
    let end = |pod: &mut Value| pod["status"]["phase"] = json!("Succeeded");
    world.cluster.modify(&sandbox::cluster::Actor::admin(), &pod, "status", end).unwrap();
    world.run(0);
    assert_eq!((used(&world, "pods").as_str(), used(&world, "count/pods").as_str()), ("0", "1"));
}

#[test]
fn what_was_charged_for_nothing_is_found_within_minutes() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([quota(&json!({"hard": {"secrets": "9"}}))]);
    world.run(0);
    let secret = json!({"metadata": {"name": "s"}});
    let admin = sandbox::cluster::Actor::admin();
    world.cluster.create(&admin, "", "secrets", "shop", secret.clone()).unwrap();
    assert!(world.cluster.create(&admin, "", "secrets", "shop", secret).is_err());
    world.run(1);
    assert_eq!(used(&world, "secrets"), "2");
    world.run(300);
    assert_eq!(used(&world, "secrets"), "1");
}
