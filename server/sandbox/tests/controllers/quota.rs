use sandbox::cluster::Propagation::Background;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, deployment};

fn quota(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}, "spec": spec})
}

fn used(test: &TestCluster, name: &str) -> String {
    let used = &test.at("resourcequotas/shop/q")["status"]["used"];
    used[name].as_str().unwrap_or("uncounted").to_owned()
}

#[test]
fn quota_counts_what_is_created_and_deleted() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([deployment("web", 2, &[])]);
    test.until(5, "ready Pods", |it| it.ready("web") == 2);
    test.create([quota(&json!({"hard": {
        "pods": "3", "count/deployments.apps": "1", "count/replicasets.apps": "1e0", "count/nothing.example.com": "1",
    }}))]);
    test.run(0);
    assert_eq!(
        test.at("resourcequotas/shop/q")["status"],
        json!({
            "hard": {
                "pods": "3", "count/deployments.apps": "1", "count/replicasets.apps": "1", "count/nothing.example.com": "1",
            },
            "used": {"pods": "2", "count/deployments.apps": "1", "count/replicasets.apps": "1"},
        })
    );
    test.change("apps/deployments/shop/web", |web| web["spec"]["replicas"] = json!(5));
    test.until(5, "three Pods", |it| it.ready("web") == 3);
    test.run(5);
    assert_eq!((test.pods("web").len(), used(&test, "pods").as_str()), (3, "3"));
    assert!(test.events("FailedCreate").iter().any(|it| {
        it.contains("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")
    }));
    test.change("resourcequotas/shop/q", |quota| quota["spec"]["hard"]["pods"] = json!("4"));
    test.run(0);
    assert_eq!(test.at("resourcequotas/shop/q")["status"]["hard"]["pods"], "4");
    test.delete("apps/deployments/shop/web", Background);
    test.until(60, "nothing counts", |it| used(it, "pods") == "0");
    assert_eq!(used(&test, "count/deployments.apps"), "0");
}

#[test]
fn ended_pod_is_no_longer_charged() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let hard = json!({"pods": "1", "count/pods": "2"});
    test.create([quota(&json!({"hard": hard, "scopes": ["BestEffort"]}))]);
    test.run(0);
    test.create([json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })]);
    assert_eq!((used(&test, "pods").as_str(), used(&test, "count/pods").as_str()), ("1", "1"));
    let pod = sandbox::store::Key::new("", "pods", "shop", "a");
    let end = |pod: &mut Value| pod["status"]["phase"] = json!("Succeeded");
    test.cluster.modify(&sandbox::cluster::Actor::admin(), &pod, "status", end).unwrap();
    test.run(0);
    assert_eq!((used(&test, "pods").as_str(), used(&test, "count/pods").as_str()), ("0", "1"));
}

#[test]
fn wrong_charge_is_corrected_within_minutes() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([quota(&json!({"hard": {"secrets": "9"}}))]);
    test.run(0);
    let secret = json!({"metadata": {"name": "s"}});
    let admin = sandbox::cluster::Actor::admin();
    test.cluster.create(&admin, "", "secrets", "shop", secret.clone()).unwrap();
    assert!(test.cluster.create(&admin, "", "secrets", "shop", secret).is_err());
    test.run(1);
    assert_eq!(used(&test, "secrets"), "2");
    test.run(300);
    assert_eq!(used(&test, "secrets"), "1");
}
