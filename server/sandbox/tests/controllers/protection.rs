//! Ranges of addresses and claims to devices.

use sandbox::cluster::{Actor, Propagation::Background};
use sandbox::object;
use sandbox::patch::Patch;
use serde_json::{Value, json};

use crate::world::World;

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
fn a_range_stays_as_long_as_a_service_has_one_of_its_addresses() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([range("more", "10.9.0.0/16"), service("10.9.8.7")]);
    world.run(5);
    assert!(world.has("networking.k8s.io/ipaddresses//10.9.8.7"));
    world.delete("networking.k8s.io/servicecidrs//more", Background);
    world.run(60);
    let ready = object::condition(world.at("networking.k8s.io/servicecidrs//more"), "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("Terminating")));
    world.delete("services/shop/s", Background);
    world.until(2, "the range is gone", |it| !it.has("networking.k8s.io/servicecidrs//more"));
    assert!(!world.has("networking.k8s.io/ipaddresses//10.9.8.7"));
}

#[test]
fn a_range_goes_ten_seconds_later_where_nothing_uses_it() {
    let mut world = World::new();
    world.create([range("more", "10.9.0.0/16")]);
    world.run(5);
    world.delete("networking.k8s.io/servicecidrs//more", Background);
    world.run(9);
    assert!(world.has("networking.k8s.io/servicecidrs//more"));
    world.until(2, "the range is gone", |it| !it.has("networking.k8s.io/servicecidrs//more"));
}

#[test]
fn what_anybody_wrote_into_a_range_stops_no_controller() {
    let mut world = World::new();
    world.create([range("more", "10.9.0.0/16")]);
    let key = world.cluster.key_of(&range("more", "")).unwrap();
    for junk in [json!(["junk", {"type": "Other"}, 7]), json!("junk"), json!({"0": {}})] {
        let patch = Patch::Merge(json!({"status": {"conditions": junk}}));
        world.cluster.patch(&Actor::admin(), &key, &patch, "status").unwrap();
        world.run(15);
        let range = world.at("networking.k8s.io/servicecidrs//more");
        assert_eq!(object::condition(range, "Ready")["status"], "True", "{range}");
    }
}

#[test]
fn a_claim_gives_its_device_back_when_its_pod_will_never_run() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([
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
    let pod = json!({"resource": "pods", "name": "p", "uid": object::uid(world.at("pods/shop/p"))});
    let given = json!({"status": {"allocation": {}, "reservedFor": [pod, "junk"]}});
    let claim = world.at("resource.k8s.io/resourceclaims/shop/c").clone();
    let key = world.cluster.key_of(&claim).unwrap();
    world.cluster.patch(&Actor::admin(), &key, &Patch::Merge(given), "status").unwrap();
    world.delete("resource.k8s.io/resourceclaims/shop/c", Background);
    world.run(30);
    assert!(world.has("resource.k8s.io/resourceclaims/shop/c"), "a Pod has its device");
    world.delete("pods/shop/p", Background);
    world.run(30);
    let reserved = json!({"status": {"reservedFor": [pod]}});
    assert!(world.has("pods/shop/p"), "its finalizer holds it");
    // Who is no Pod is not its business, so the junk is taken away by who wrote it.
    world.cluster.patch(&Actor::admin(), &key, &Patch::Merge(reserved), "status").unwrap();
    world.until(5, "the claim is gone", |it| !it.has("resource.k8s.io/resourceclaims/shop/c"));
}
