//! The protection of ServiceCIDRs and of ResourceClaims.

use sandbox::cluster::{Actor, Propagation::Background};
use sandbox::object;
use sandbox::patch::Patch;
use serde_json::{Value, json};

use crate::test_cluster::TestCluster;

fn range(name: &str, cidr: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
        "metadata": {"name": name}, "spec": {"cidrs": [cidr]},
    })
}

fn service(address: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"},
        "spec": {"clusterIP": address, "ports": [{"port": 80}]},
    })
}

#[test]
fn service_cidr_stays_while_a_service_uses_one_of_its_addresses() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([range("more", "10.9.0.0/16"), service("10.9.8.7")]);
    test.run(5);
    assert!(test.has("networking.k8s.io/ipaddresses//10.9.8.7"));
    test.delete("networking.k8s.io/servicecidrs//more", Background);
    test.run(60);
    let ready = object::condition(test.at("networking.k8s.io/servicecidrs//more"), "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("Terminating")));
    test.delete("services/shop/s", Background);
    test.until(2, "the range is gone", |it| !it.has("networking.k8s.io/servicecidrs//more"));
    assert!(!test.has("networking.k8s.io/ipaddresses//10.9.8.7"));
}

#[test]
fn unused_service_cidr_goes_after_ten_seconds() {
    let mut test = TestCluster::new();
    test.create([range("more", "10.9.0.0/16")]);
    test.run(5);
    test.delete("networking.k8s.io/servicecidrs//more", Background);
    test.run(9);
    assert!(test.has("networking.k8s.io/servicecidrs//more"));
    test.until(2, "the range is gone", |it| !it.has("networking.k8s.io/servicecidrs//more"));
}

#[test]
fn malformed_service_cidr_stops_no_controller() {
    let mut test = TestCluster::new();
    test.create([range("more", "10.9.0.0/16")]);
    let key = test.cluster.key_of(&range("more", "")).unwrap();
    for junk in [json!(["junk", {"type": "Other"}, 7]), json!("junk"), json!({"0": {}})] {
        let patch = Patch::Merge(json!({"status": {"conditions": junk}}));
        test.cluster.patch(&Actor::admin(), &key, &patch, "status").unwrap();
        test.run(15);
        let range = test.at("networking.k8s.io/servicecidrs//more");
        assert_eq!(object::condition(range, "Ready")["status"], "True", "{range}");
    }
}

#[test]
fn resource_claim_is_deallocated_when_its_pod_will_never_run() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop", "finalizers": ["example.com/x"]},
            "spec": {
                "nodeSelector": {"nowhere": "ever"}, "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": "one", "resourceClaimName": "c"}],
            },
        }),
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {
                "name": "c", "namespace": "shop",
                "finalizers": ["resource.kubernetes.io/delete-protection"],
            },
            "spec": {},
        }),
    ]);
    let pod = json!({"resource": "pods", "name": "p", "uid": object::uid(test.at("pods/shop/p"))});
    let given = json!({"status": {"allocation": {}, "reservedFor": [pod, "junk"]}});
    let claim = test.at("resource.k8s.io/resourceclaims/shop/c").clone();
    let key = test.cluster.key_of(&claim).unwrap();
    test.cluster.patch(&Actor::admin(), &key, &Patch::Merge(given), "status").unwrap();
    test.delete("resource.k8s.io/resourceclaims/shop/c", Background);
    test.run(30);
    assert!(test.has("resource.k8s.io/resourceclaims/shop/c"), "a Pod has its device");
    test.delete("pods/shop/p", Background);
    test.run(30);
    let reserved = json!({"status": {"reservedFor": [pod]}});
    assert!(test.has("pods/shop/p"), "its finalizer holds it");
    // The controller ignores an entry that is not a Pod, so the user who wrote the junk entry removes it.
    test.cluster.patch(&Actor::admin(), &key, &Patch::Merge(reserved), "status").unwrap();
    test.until(5, "the claim is gone", |it| !it.has("resource.k8s.io/resourceclaims/shop/c"));
}
