use sandbox::cluster::Propagation::{Background, Foreground, Orphan};
use sandbox::object;
use serde_json::{Value, json};

use crate::world::{World, config_map};

fn reference(owner: &Value, blocks: bool) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": owner["kind"],
        "name": object::name(owner),
        "uid": object::uid(owner),
        "blockOwnerDeletion": blocks,
    })
}

/// A parent with one child.
fn family(blocks: bool, child: &Value) -> World {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("parent", &json!({}))]);
    let owner = reference(world.at("configmaps/shop/parent"), blocks);
    let mut child = config_map("child", child);
    child["metadata"]["ownerReferences"] = json!([owner]);
    world.create([child]);
    world.run(0);
    world
}

#[test]
fn in_the_background_the_owner_goes_first() {
    let mut world = family(true, &json!({"finalizers": ["example.com/x"]}));
    world.delete("configmaps/shop/parent", Background);
    world.run(1);
    assert!(!world.has("configmaps/shop/parent"));
    assert!(object::is_deleting(world.at("configmaps/shop/child")), "held by its own finalizer");
}

#[test]
fn in_the_foreground_only_a_dependent_that_blocks_is_waited_for() {
    for blocks in [true, false] {
        let mut world = family(blocks, &json!({"finalizers": ["example.com/x"]}));
        world.delete("configmaps/shop/parent", Foreground);
        world.run(30);
        assert!(object::is_deleting(world.at("configmaps/shop/child")));
        assert_eq!(world.has("configmaps/shop/parent"), blocks);
        if blocks {
            // The way out without a hand on the finalizer: the same DELETE in the background.
            world.delete("configmaps/shop/parent", Background);
            world.run(1);
            assert!(!world.has("configmaps/shop/parent"));
            assert!(world.has("configmaps/shop/child"));
        }
    }
}

#[test]
fn a_blocking_reference_that_is_unblocked_lets_its_owner_go() {
    let mut world = family(true, &json!({"finalizers": ["example.com/x"]}));
    world.delete("configmaps/shop/parent", Foreground);
    world.run(1);
    world.change("configmaps/shop/child", |it| {
        it["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false);
    });
    world.run(1);
    assert!(!world.has("configmaps/shop/parent"));
}

#[test]
fn an_orphan_loses_its_reference_and_stays() {
    let mut world = family(true, &json!({}));
    world.delete("configmaps/shop/parent", Orphan);
    world.run(1);
    assert!(!world.has("configmaps/shop/parent"));
    assert_eq!(object::owner_references(world.at("configmaps/shop/child")).count(), 0);
}

#[test]
fn an_owner_that_never_was_is_absent() {
    let mut world = World::new();
    world.namespace("shop");
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "11111111-1111-4111-8111-111111111111"});
    world.create([config_map("child", &json!({"ownerReferences": [owner]}))]);
    world.run(1);
    assert!(!world.has("configmaps/shop/child"));
}

#[test]
fn an_owner_of_the_same_name_with_another_uid_is_absent() {
    let mut world = family(true, &json!({}));
    world.off("garbage-collector-controller");
    world.delete("configmaps/shop/parent", Background);
    world.create([config_map("parent", &json!({}))]);
    world.run(5);
    assert!(world.has("configmaps/shop/child"), "nobody collects");
    world.on("garbage-collector-controller");
    world.run(1);
    assert!(!world.has("configmaps/shop/child"));
    assert!(world.has("configmaps/shop/parent"));
}

#[test]
fn an_owner_in_another_namespace_is_absent_and_an_event_says_so() {
    let mut world = World::new();
    world.namespace("shop");
    world.namespace("elsewhere");
    let mut parent = config_map("parent", &json!({}));
    parent["metadata"]["namespace"] = json!("elsewhere");
    world.create([parent]);
    let owner = reference(world.at("configmaps/elsewhere/parent"), true);
    let uid = object::text(&owner, &["uid"]).to_owned();
    world.create([config_map("child", &json!({"ownerReferences": [owner]}))]);
    world.run(1);
    assert!(!world.has("configmaps/shop/child"));
    assert!(world.has("configmaps/elsewhere/parent"));
    assert_eq!(
        world.events("OwnerRefInvalidNamespace"),
        [format!(
            "ownerRef [v1/ConfigMap, namespace: shop, name: parent, uid: {uid}] does not exist in namespace \"shop\""
        )]
    );
}

#[test]
fn a_cluster_scoped_dependent_of_a_namespaced_owner_is_left_alone() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("parent", &json!({}))]);
    let owner = reference(world.at("configmaps/shop/parent"), true);
    world.create([json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "child", "ownerReferences": [owner]},
        "rules": [],
    })]);
    world.delete("configmaps/shop/parent", Background);
    world.run(30);
    assert!(world.has("rbac.authorization.k8s.io/clusterroles//child"));
}

#[test]
fn a_dependent_of_an_unknown_kind_is_never_collected() {
    let mut world = World::new();
    world.namespace("shop");
    let owner = json!({"apiVersion": "gone.example/v1", "kind": "Thing", "name": "x", "uid": "11111111-1111-4111-8111-111111111111"});
    world.create([config_map("child", &json!({"ownerReferences": [owner]}))]);
    world.run(120);
    assert!(world.has("configmaps/shop/child"));
}

#[test]
fn a_second_owner_keeps_what_the_first_leaves() {
    let mut world = family(true, &json!({}));
    world.create([config_map("other", &json!({}))]);
    let other = reference(world.at("configmaps/shop/other"), true);
    world.change("configmaps/shop/child", |it| {
        it["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other);
    });
    world.delete("configmaps/shop/parent", Foreground);
    world.run(1);
    assert!(!world.has("configmaps/shop/parent"), "the waiting reference was dropped");
    let kept =
        object::owner_references(world.at("configmaps/shop/child")).map(|it| it["name"].clone());
    assert_eq!(kept.collect::<Vec<_>>(), ["other"]);
}

#[test]
fn a_cycle_in_the_foreground_is_broken() {
    let mut world = family(true, &json!({}));
    let child = reference(world.at("configmaps/shop/child"), true);
    world.change("configmaps/shop/parent", |it| {
        object::set(it, &["metadata", "ownerReferences"], json!([child]))
    });
    world.delete("configmaps/shop/parent", Foreground);
    world.run(10);
    assert!(!world.has("configmaps/shop/parent") && !world.has("configmaps/shop/child"));
}
