use sandbox::cluster::{DeleteOptions, Propagation::Background};
use sandbox::object;
use serde_json::{Value, json};

use crate::world::{World, config_map, deployment};

fn condition(world: &World, kind: &str) -> Option<String> {
    let condition = object::condition(world.at("namespaces//shop"), kind);
    (condition["status"] == "True").then(|| object::text(condition, &["message"]).to_owned())
}

#[test]
fn every_namespace_is_furnished() {
    let mut world = World::new();
    world.namespace("shop");
    assert!(
        world.has("serviceaccounts/shop/default") && world.has("configmaps/shop/kube-root-ca.crt")
    );
    world.delete("serviceaccounts/shop/default", Background);
    world.run(1);
    assert!(world.has("serviceaccounts/shop/default"));
}

#[test]
fn pods_go_first_and_what_remains_is_said_only_then() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([
        deployment("web", 1, &[]),
        config_map("settings", &json!({"finalizers": ["example.com/x"]})),
    ]);
    world.until(5, "a Pod", |it| it.ready("web") == 1);
    let pod = object::name(world.pods("web")[0]).to_owned();
    world.change(&format!("pods/shop/{pod}"), |it| {
        object::add_finalizer(it, "example.com/y");
    });
    world.delete("namespaces//shop", Background);
    world.run(4);
    assert!(
        !object::is_deleting(world.at("configmaps/shop/settings")),
        "nothing happens for five seconds"
    );
    world.run(60);
    assert!(!object::is_deleting(world.at("configmaps/shop/settings")), "the Pod still is");
    for kind in [
        "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
        "NamespaceDeletionContentFailure",
    ] {
        assert_eq!(condition(&world, kind), None, "the five conditions know nothing of it");
    }
    assert_eq!(
        object::condition(world.at("namespaces//shop"), "NamespaceContentRemaining")["reason"],
        "ContentRemoved"
    );
    world.change(&format!("pods/shop/{pod}"), |it| {
        object::remove_finalizer(it, "example.com/y");
    });
    world.until(70, "the next sweep", |it| object::is_deleting(it.at("configmaps/shop/settings")));
    assert_eq!(
        condition(&world, "NamespaceContentRemaining").as_deref(),
        Some("Some resources are remaining: configmaps. has 1 resource instances")
    );
    assert_eq!(
        condition(&world, "NamespaceFinalizersRemaining").as_deref(),
        Some(
            "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances"
        )
    );
    world.change("configmaps/shop/settings", |it| {
        object::remove_finalizer(it, "example.com/x");
    });
    world.until(70, "the end", |it| !it.has("namespaces//shop"));
    assert!(world.list("apps/deployments").is_empty());
}

/// S3's cause: an aggregated API whose Service has no endpoints.
pub(crate) fn dead_metrics() -> [Value; 2] {
    [
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "metrics-server", "namespace": "kube-system"},
            "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 443}]},
        }),
        json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": true,
                "service": {"name": "metrics-server", "namespace": "kube-system"},
            },
        }),
    ]
}

#[test]
fn a_group_that_nobody_answers_for_withholds_the_end_but_nothing_else() {
    let mut world = World::new();
    world.namespace("shop");
    world.create(dead_metrics());
    world.create([config_map("settings", &json!({}))]);
    world.run(1);
    world.delete("namespaces//shop", Background);
    world.run(10);
    assert!(!world.has("configmaps/shop/settings"));
    assert_eq!(
        condition(&world, "NamespaceDeletionDiscoveryFailure").as_deref(),
        Some(
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
             metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1"
        )
    );
    assert_eq!(world.at("namespaces//shop")["spec"]["finalizers"], json!(["kubernetes"]));
    world.delete("apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io", Background);
    world.until(61, "the end", |it| !it.has("namespaces//shop"));
}

#[test]
fn a_finalizer_of_somebody_else_stays_on_the_namespace() {
    let mut world = World::new();
    world.create([json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop"},
        "spec": {"finalizers": ["example.com/keep"]},
    })]);
    world.run(1);
    world.delete("namespaces//shop", Background);
    world.run(120);
    assert_eq!(world.at("namespaces//shop")["spec"]["finalizers"], json!(["example.com/keep"]));
    assert!(!world.has("configmaps/shop/kube-root-ca.crt"), "emptied all the same");
}

#[test]
fn without_its_controller_a_namespace_stays_as_it_was() {
    let mut world = World::new();
    world.namespace("shop");
    world.off("namespace-controller");
    world.delete("namespaces//shop", Background);
    world.run(120);
    assert!(world.at("namespaces//shop")["status"].get("conditions").is_none());
    world.on("namespace-controller");
    world.until(10, "the end", |it| !it.has("namespaces//shop"));
}

fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

#[test]
fn a_webhook_that_is_down_does_not_hold_a_definition() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([widgets()]);
    world.run(1);
    world.create([
        json!({
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "one", "namespace": "shop"},
        }),
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "hook", "namespace": "shop"},
            "spec": {"ports": [{"port": 443}], "selector": {"app": "hook"}},
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook"},
            "webhooks": [{
                "name": "widgets.example.com",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
                "clientConfig": {"service": {"namespace": "shop", "name": "hook"}},
                "rules": [{
                    "operations": ["DELETE"],
                    "apiGroups": ["example.com"],
                    "apiVersions": ["v1"],
                    "resources": ["widgets"],
                }],
            }],
        }),
    ]);
    world.run(1);
    let refused = world.try_delete("example.com/widgets/shop/one", &DeleteOptions::default());
    assert!(refused.unwrap_err().message.contains("no endpoints available for service"));
    let definition = "apiextensions.k8s.io/customresourcedefinitions//widgets.example.com";
    world.delete(definition, Background);
    world.until(10, "the end", |it| !it.has(definition));
    assert!(!world.has("example.com/widgets/shop/one"));
}

#[test]
fn a_definition_waits_for_its_objects() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([widgets()]);
    world.run(1);
    world.create([json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "shop", "finalizers": ["example.com/x"]},
    })]);
    let definition = "apiextensions.k8s.io/customresourcedefinitions//widgets.example.com";
    world.delete(definition, Background);
    world.run(1);
    let reason =
        |world: &World| object::condition(world.at(definition), "Terminating")["reason"].clone();
    assert_eq!(reason(&world), "InstanceDeletionInProgress");
    assert!(object::is_deleting(world.at("example.com/widgets/shop/one")));
    world.run(70);
    assert_eq!(reason(&world), "InstanceDeletionCheck");
    world.change("example.com/widgets/shop/one", |it| {
        object::remove_finalizer(it, "example.com/x");
    });
    world.until(10, "the end", |it| !it.has(definition));
}
