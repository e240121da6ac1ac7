use sandbox::cluster::{DeleteOptions, Propagation::Background};
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, config_map, deployment};

fn condition(test: &TestCluster, kind: &str) -> Option<String> {
    let condition = object::condition(test.at("namespaces//shop"), kind);
    (condition["status"] == "True").then(|| object::text(condition, &["message"]).to_owned())
}

#[test]
fn namespaces_get_their_service_account_and_root_certificate() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    assert!(
        test.has("serviceaccounts/shop/default") && test.has("configmaps/shop/kube-root-ca.crt")
    );
    test.delete("serviceaccounts/shop/default", Background);
    test.run(1);
    assert!(test.has("serviceaccounts/shop/default"));
}

#[test]
fn pods_are_deleted_first_and_remaining_content_is_reported_after_them() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([
        deployment("web", 1, &[]),
        config_map("settings", &json!({"finalizers": ["example.com/x"]})),
    ]);
    test.until(5, "a Pod", |it| it.ready("web") == 1);
    let pod = object::name(test.pods("web")[0]).to_owned();
    test.change(&format!("pods/shop/{pod}"), |it| {
        object::add_finalizer(it, "example.com/y");
    });
    test.delete("namespaces//shop", Background);
    test.run(4);
    assert!(
        !object::is_deleting(test.at("configmaps/shop/settings")),
        "nothing happens for five seconds"
    );
    test.run(60);
    assert!(!object::is_deleting(test.at("configmaps/shop/settings")), "the Pod still is");
    for kind in [
        "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
        "NamespaceDeletionContentFailure",
    ] {
        assert_eq!(condition(&test, kind), None, "the five conditions know nothing of it");
    }
    assert_eq!(
        object::condition(test.at("namespaces//shop"), "NamespaceContentRemaining")["reason"],
        "ContentRemoved"
    );
    test.change(&format!("pods/shop/{pod}"), |it| {
        object::remove_finalizer(it, "example.com/y");
    });
    test.until(70, "the next sweep", |it| object::is_deleting(it.at("configmaps/shop/settings")));
    assert_eq!(
        condition(&test, "NamespaceContentRemaining").as_deref(),
        Some("Some resources are remaining: configmaps. has 1 resource instances")
    );
    assert_eq!(
        condition(&test, "NamespaceFinalizersRemaining").as_deref(),
        Some(
            "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances"
        )
    );
    test.change("configmaps/shop/settings", |it| {
        object::remove_finalizer(it, "example.com/x");
    });
    test.until(70, "the end", |it| !it.has("namespaces//shop"));
    assert!(test.list("apps/deployments").is_empty());
}

/// The cause of world S3: an aggregated API whose Service has no endpoints.
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
fn unavailable_group_blocks_the_end_of_a_namespace_but_nothing_else() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create(dead_metrics());
    test.create([config_map("settings", &json!({}))]);
    test.run(1);
    test.delete("namespaces//shop", Background);
    test.run(10);
    assert!(!test.has("configmaps/shop/settings"));
    assert_eq!(
        condition(&test, "NamespaceDeletionDiscoveryFailure").as_deref(),
        Some(
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
             metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1"
        )
    );
    assert_eq!(test.at("namespaces//shop")["spec"]["finalizers"], json!(["kubernetes"]));
    test.delete("apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io", Background);
    test.until(61, "the end", |it| !it.has("namespaces//shop"));
}

#[test]
fn foreign_finalizer_stays_on_the_namespace() {
    let mut test = TestCluster::new();
    test.create([json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop"},
        "spec": {"finalizers": ["example.com/keep"]},
    })]);
    test.run(1);
    test.delete("namespaces//shop", Background);
    test.run(120);
    assert_eq!(test.at("namespaces//shop")["spec"]["finalizers"], json!(["example.com/keep"]));
    assert!(!test.has("configmaps/shop/kube-root-ca.crt"), "emptied all the same");
}

#[test]
fn namespace_without_its_controller_stays_terminating() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.off("namespace-controller");
    test.delete("namespaces//shop", Background);
    test.run(120);
    assert!(test.at("namespaces//shop")["status"].get("conditions").is_none());
    test.on("namespace-controller");
    test.until(10, "the end", |it| !it.has("namespaces//shop"));
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
fn unreachable_webhook_does_not_block_a_definition() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([widgets()]);
    test.run(1);
    test.create([
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
    test.run(1);
    let refused = test.try_delete("example.com/widgets/shop/one", &DeleteOptions::default());
    assert!(refused.unwrap_err().message.contains("no endpoints available for service"));
    let definition = "apiextensions.k8s.io/customresourcedefinitions//widgets.example.com";
    test.delete(definition, Background);
    test.until(10, "the end", |it| !it.has(definition));
    assert!(!test.has("example.com/widgets/shop/one"));
}

#[test]
fn definition_waits_for_its_objects() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([widgets()]);
    test.run(1);
    test.create([json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "shop", "finalizers": ["example.com/x"]},
    })]);
    let definition = "apiextensions.k8s.io/customresourcedefinitions//widgets.example.com";
    test.delete(definition, Background);
    test.run(1);
    let reason = |test: &TestCluster| {
        object::condition(test.at(definition), "Terminating")["reason"].clone()
    };
    assert_eq!(reason(&test), "InstanceDeletionInProgress");
    assert!(object::is_deleting(test.at("example.com/widgets/shop/one")));
    test.run(70);
    assert_eq!(reason(&test), "InstanceDeletionCheck");
    test.change("example.com/widgets/shop/one", |it| {
        object::remove_finalizer(it, "example.com/x");
    });
    test.until(10, "the end", |it| !it.has(definition));
}
