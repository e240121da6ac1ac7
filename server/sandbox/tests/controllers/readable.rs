//! Stored objects that neither clients nor controllers can read.

use sandbox::{
    cluster::{Actor, DeleteOptions, Propagation::Background},
    object,
    patch::Patch,
};
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, config_map};

fn happens(test: &mut TestCluster, fault: &str) {
    let faults = test.parse_faults(&format!("at 0s {fault}")).unwrap();
    test.cluster.faults.extend(faults);
    test.run(0);
}

/// A ConfigMap that another ConfigMap owns.
fn owned() -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([config_map("parent", &json!({}))]);
    let mut child = config_map("child", &json!({}));
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "parent",
        "uid": object::uid(test.at("configmaps/shop/parent")),
    }]);
    test.create([child]);
    test.run(0);
    test
}

#[test]
fn corrupted_object_is_not_collected_and_blocks_its_namespace_until_it_is_erased() {
    let mut test = owned();
    happens(&mut test, "corrupt configmaps shop/child");
    test.delete("configmaps/shop/parent", Background);
    test.run(120);
    assert!(test.has("configmaps/shop/child"), "the collector cannot read it");
    test.delete("namespaces//shop", Background);
    test.run(120);
    let failure = object::condition(test.at("namespaces//shop"), "NamespaceDeletionContentFailure");
    assert_eq!(failure["status"], "True", "{failure}");
    happens(&mut test, "erase configmaps shop/child");
    test.until(70, "the namespace is gone", |it| !it.has("namespaces//shop"));
    test.namespace("shop");
    test.create([config_map("child", &json!({}))]);
    let made = test.at("configmaps/shop/child").clone();
    let kind = test.cluster.kinds.get("", "configmaps").unwrap().clone();
    assert_eq!(kind.kind, made["kind"].as_str().unwrap());
    test.delete("configmaps/shop/child", Background);
    assert!(!test.has("configmaps/shop/child"), "one of the same name is another");
}

fn definition(stored: &str, conversion: &Value) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version =
        |name| json!({"name": name, "served": true, "storage": name == stored, "schema": schema});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "conversion": conversion,
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [version("v1"), version("v2")],
        },
    })
}

/// The controllers ask for the version that discovery prefers, which is v2.
#[test]
fn object_that_needs_conversion_waits_for_its_webhook() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let webhook = json!({"clientConfig": {"service": {"namespace": "ops", "name": "converter"}}});
    test.create([definition("v1", &json!({"strategy": "Webhook", "webhook": webhook}))]);
    test.run(0);
    test.create([json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "finalizers": ["example.com/x"]},
    })]);
    test.delete("namespaces//shop", Background);
    test.run(60);
    let widget = test.at("example.com/widgets/shop/w").clone();
    assert!(!object::is_deleting(&widget), "nobody can read it");
    // From now on the other version is stored, so an object that is changed would have to be converted.
    let key = test.cluster.key_of(&widget).unwrap();
    let crd = test.cluster.key_of(&definition("v1", &Value::Null)).unwrap();
    let other = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    test.cluster.patch(&Actor::admin(), &crd, &Patch::Json(other), "").unwrap();
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let refused = test.cluster.patch(&Actor::admin(), &key, &free, "").unwrap_err();
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message,
        "conversion webhook for example.com/v1, Kind=Widget failed: Post \
         \"https://converter.ops.svc:443/?timeout=30s\": service \"converter\" not found"
    );
    let marked = test.cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
    assert_eq!(marked.unwrap_err().code, 500);
    happens(&mut test, "webhook widgets.example.com allow");
    test.until(70, "it is terminating", |it| {
        object::is_deleting(it.at("example.com/widgets/shop/w"))
    });
    test.cluster.patch(&Actor::admin(), &key, &free, "").unwrap();
    test.until(70, "the namespace is gone", |it| !it.has("namespaces//shop"));
}
