//! What is kept and cannot be read: by nobody, controllers included.

use sandbox::{
    cluster::{Actor, DeleteOptions, Propagation::Background},
    fault::Faults,
    object,
    patch::Patch,
};
use serde_json::{Value, json};

use crate::world::{World, config_map};

fn happens(world: &mut World, happening: &str) {
    let now = world.cluster.steady();
    world.cluster.faults.join(Faults::parse(&format!("at 0s {happening}"), now).unwrap());
    world.run(0);
}

/// A ConfigMap that another owns.
fn owned() -> World {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("parent", &json!({}))]);
    let mut child = config_map("child", &json!({}));
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "parent",
        "uid": object::uid(world.at("configmaps/shop/parent")),
    }]);
    world.create([child]);
    world.run(0);
    world
}

#[test]
fn what_is_damaged_is_not_collected_and_holds_its_namespace_until_it_is_erased() {
    let mut world = owned();
    happens(&mut world, "corrupt configmaps shop/child");
    world.delete("configmaps/shop/parent", Background);
    world.run(120);
    assert!(world.has("configmaps/shop/child"), "the collector cannot read it");
    world.delete("namespaces//shop", Background);
    world.run(120);
    let failure =
        object::condition(world.at("namespaces//shop"), "NamespaceDeletionContentFailure");
    assert_eq!(failure["status"], "True", "{failure}");
    happens(&mut world, "erase configmaps shop/child");
    world.until(70, "the namespace is gone", |it| !it.has("namespaces//shop"));
    world.namespace("shop");
    world.create([config_map("child", &json!({}))]);
    let made = world.at("configmaps/shop/child").clone();
    let kind = world.cluster.kinds.get("", "configmaps").unwrap().clone();
    assert_eq!(kind.kind, made["kind"].as_str().unwrap());
    world.delete("configmaps/shop/child", Background);
    assert!(!world.has("configmaps/shop/child"), "one of the same name is another");
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
fn what_has_to_be_converted_waits_for_who_converts() {
    let mut world = World::new();
    world.namespace("shop");
    let webhook = json!({"clientConfig": {"service": {"namespace": "ops", "name": "converter"}}});
    world.create([definition("v1", &json!({"strategy": "Webhook", "webhook": webhook}))]);
    world.run(0);
    world.create([json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "finalizers": ["example.com/x"]},
    })]);
    world.delete("namespaces//shop", Background);
    world.run(60);
    let widget = world.at("example.com/widgets/shop/w").clone();
    assert!(!object::is_deleting(&widget), "nobody can read it");
    // Stored in the other version from now on: what is changed would have to be converted.
    let key = world.cluster.key_of(&widget).unwrap();
    let crd = world.cluster.key_of(&definition("v1", &Value::Null)).unwrap();
    let other = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    world.cluster.patch(&Actor::admin(), &crd, &Patch::Json(other), "").unwrap();
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let refused = world.cluster.patch(&Actor::admin(), &key, &free, "").unwrap_err();
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message,
        "conversion webhook for example.com/v1, Kind=Widget failed: Post \
         \"https://converter.ops.svc:443/?timeout=30s\": service \"converter\" not found"
    );
    let marked = world.cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
    assert_eq!(marked.unwrap_err().code, 500);
    happens(&mut world, "webhook widgets.example.com allow");
    world.until(70, "it is told to go", |it| {
        object::is_deleting(it.at("example.com/widgets/shop/w"))
    });
    world.cluster.patch(&Actor::admin(), &key, &free, "").unwrap();
    world.until(70, "the namespace is gone", |it| !it.has("namespaces//shop"));
}
