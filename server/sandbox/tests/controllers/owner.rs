use sandbox::cluster::Propagation::{Background, Foreground, Orphan};
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, config_map};

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
fn family(blocks: bool, child: &Value) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("parent", &json!({}))]);
    let owner = reference(test.at("configmaps/shop/parent"), blocks);
    let mut child = config_map("child", child);
    child["metadata"]["ownerReferences"] = json!([owner]);
    test.create([child]);
    test.run(0);
    test
}

#[test]
fn background_deletion_removes_the_owner_first() {
    let mut test = family(true, &json!({"finalizers": ["example.com/x"]}));
    test.delete("configmaps/shop/parent", Background);
    test.run(1);
    assert!(!test.has("configmaps/shop/parent"));
    assert!(object::is_deleting(test.at("configmaps/shop/child")), "held by its own finalizer");
}

#[test]
fn foreground_deletion_waits_only_for_blocking_dependents() {
    for blocks in [true, false] {
        let mut test = family(blocks, &json!({"finalizers": ["example.com/x"]}));
        test.delete("configmaps/shop/parent", Foreground);
        test.run(30);
        assert!(object::is_deleting(test.at("configmaps/shop/child")));
        assert_eq!(test.has("configmaps/shop/parent"), blocks);
        if blocks {
            // The way out without removing the finalizer by hand: the same DELETE with background propagation.
            test.delete("configmaps/shop/parent", Background);
            test.run(1);
            assert!(!test.has("configmaps/shop/parent"));
            assert!(test.has("configmaps/shop/child"));
        }
    }
}

#[test]
fn unblocked_reference_lets_its_owner_go() {
    let mut test = family(true, &json!({"finalizers": ["example.com/x"]}));
    test.delete("configmaps/shop/parent", Foreground);
    test.run(1);
    test.change("configmaps/shop/child", |it| {
        it["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false);
    });
    test.run(1);
    assert!(!test.has("configmaps/shop/parent"));
}

#[test]
fn orphan_loses_its_reference_and_stays() {
    let mut test = family(true, &json!({}));
    test.delete("configmaps/shop/parent", Orphan);
    test.run(1);
    assert!(!test.has("configmaps/shop/parent"));
    assert_eq!(object::owner_references(test.at("configmaps/shop/child")).count(), 0);
}

#[test]
fn owner_that_orphans_waits_for_the_garbage_collector() {
    let mut test = family(true, &json!({}));
    test.off("garbage-collector-controller");
    test.delete("configmaps/shop/parent", Orphan);
    test.run(120);
    assert!(object::has_finalizer(test.at("configmaps/shop/parent"), "orphan"));
    test.on("garbage-collector-controller");
    test.run(1);
    assert!(!test.has("configmaps/shop/parent"));
    assert!(test.has("configmaps/shop/child"));
}

#[test]
fn owner_that_orphans_waits_for_a_dependent_that_refuses_the_change() {
    let mut test = family(true, &json!({}));
    test.create([json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "frozen"},
        "webhooks": [{
            "name": "frozen.example.com",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "clientConfig": {"url": "https://frozen.example.com"},
            "objectSelector": {"matchLabels": {"frozen": "yes"}},
            "rules": [{
                "operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            }],
        }],
    })]);
    test.play("at 0s webhook frozen.example.com allow");
    test.change("configmaps/shop/child", |it| {
        object::set(it, &["metadata", "labels", "frozen"], json!("yes"));
    });
    test.play("at 0s webhook frozen.example.com deny 403 it is frozen");
    test.delete("configmaps/shop/parent", Orphan);
    test.run(120);
    assert!(object::has_finalizer(test.at("configmaps/shop/parent"), "orphan"));
    assert_eq!(object::owner_references(test.at("configmaps/shop/child")).count(), 1);
    assert!(test.list("events").iter().all(|it| it["type"] == "Normal"), "only its log says so");
    test.play("at 0s webhook frozen.example.com allow");
    test.until(1_000, "the end", |it| !it.has("configmaps/shop/parent"));
    assert_eq!(object::owner_references(test.at("configmaps/shop/child")).count(), 0);
}

#[test]
fn owner_that_never_existed_is_absent() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "11111111-1111-4111-8111-111111111111"});
    test.create([config_map("child", &json!({"ownerReferences": [owner]}))]);
    test.run(1);
    assert!(!test.has("configmaps/shop/child"));
}

#[test]
fn owner_of_the_same_name_with_another_uid_is_absent() {
    let mut test = family(true, &json!({}));
    test.off("garbage-collector-controller");
    test.delete("configmaps/shop/parent", Background);
    test.create([config_map("parent", &json!({}))]);
    test.run(5);
    assert!(test.has("configmaps/shop/child"), "nobody collects");
    test.on("garbage-collector-controller");
    test.run(1);
    assert!(!test.has("configmaps/shop/child"));
    assert!(test.has("configmaps/shop/parent"));
}

#[test]
fn owner_in_another_namespace_is_absent_and_reported_by_an_event() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.namespace("elsewhere");
    let mut parent = config_map("parent", &json!({}));
    parent["metadata"]["namespace"] = json!("elsewhere");
    test.create([parent]);
    let owner = reference(test.at("configmaps/elsewhere/parent"), true);
    let uid = object::text(&owner, &["uid"]).to_owned();
    test.create([config_map("child", &json!({"ownerReferences": [owner]}))]);
    test.run(1);
    assert!(!test.has("configmaps/shop/child"));
    assert!(test.has("configmaps/elsewhere/parent"));
    assert_eq!(
        test.events("OwnerRefInvalidNamespace"),
        [format!(
            "ownerRef [v1/ConfigMap, namespace: shop, name: parent, uid: {uid}] does not exist in namespace \"shop\""
        )]
    );
}

#[test]
fn cluster_scoped_dependent_of_a_namespaced_owner_is_left_alone() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("parent", &json!({}))]);
    let owner = reference(test.at("configmaps/shop/parent"), true);
    test.create([json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "child", "ownerReferences": [owner]},
        "rules": [],
    })]);
    test.delete("configmaps/shop/parent", Background);
    test.run(30);
    assert!(test.has("rbac.authorization.k8s.io/clusterroles//child"));
}

#[test]
fn dependent_of_an_unknown_kind_is_never_collected() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let owner = json!({"apiVersion": "gone.example/v1", "kind": "Thing", "name": "x", "uid": "11111111-1111-4111-8111-111111111111"});
    test.create([config_map("child", &json!({"ownerReferences": [owner]}))]);
    test.run(120);
    assert!(test.has("configmaps/shop/child"));
}

#[test]
fn second_owner_keeps_the_dependent_of_the_first() {
    let mut test = family(true, &json!({}));
    test.create([config_map("other", &json!({}))]);
    let other = reference(test.at("configmaps/shop/other"), true);
    test.change("configmaps/shop/child", |it| {
        it["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other);
    });
    test.delete("configmaps/shop/parent", Foreground);
    test.run(1);
    assert!(!test.has("configmaps/shop/parent"), "the waiting reference was dropped");
    let kept =
        object::owner_references(test.at("configmaps/shop/child")).map(|it| it["name"].clone());
    assert_eq!(kept.collect::<Vec<_>>(), ["other"]);
}

#[test]
fn cycle_in_the_foreground_is_broken() {
    let mut test = family(true, &json!({}));
    let child = reference(test.at("configmaps/shop/child"), true);
    test.change("configmaps/shop/parent", |it| {
        object::set(it, &["metadata", "ownerReferences"], json!([child]))
    });
    test.delete("configmaps/shop/parent", Foreground);
    test.run(10);
    assert!(!test.has("configmaps/shop/parent") && !test.has("configmaps/shop/child"));
}
