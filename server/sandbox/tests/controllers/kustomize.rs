//! A Kustomization of Flux and what it applied.

use sandbox::cluster::Propagation::Background;
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, config_map};

const PARENT: &str = "kustomize.toolkit.fluxcd.io/kustomizations/shop/web";
const MAP: &str = "configmaps/shop/settings";

/// A namespace with a ConfigMap that a Kustomization applied.
fn applied(spec: &Value) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "kustomizations.kustomize.toolkit.fluxcd.io"},
        "spec": {
            "group": "kustomize.toolkit.fluxcd.io", "scope": "Namespaced",
            "names": {"plural": "kustomizations", "kind": "Kustomization"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })]);
    test.run(2);
    test.create([
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "web", "namespace": "shop", "finalizers": ["finalizers.fluxcd.io"]},
            "spec": spec,
        }),
        config_map("settings", &json!({"labels": {
            "kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": "shop",
        }})),
    ]);
    test.run(2);
    test
}

#[test]
fn active_kustomization_creates_again_what_is_gone() {
    let mut test = applied(&json!({"prune": true}));
    test.delete(MAP, Background);
    assert!(!test.has(MAP));
    test.until(11, "it is back", |test| test.has(MAP));
}

#[test]
fn suspended_kustomization_does_not_until_it_is_resumed() {
    let mut test = applied(&json!({"prune": true, "suspend": true}));
    test.delete(MAP, Background);
    test.run(60);
    assert!(!test.has(MAP));
    test.change(PARENT, |parent| parent["spec"]["suspend"] = json!(false));
    test.until(11, "it is back", |test| test.has(MAP));
}

#[test]
fn deleted_kustomization_prunes_unless_it_is_suspended_or_does_not_prune() {
    for (spec, is_pruned) in [
        (json!({"prune": true}), true),
        (json!({"prune": true, "suspend": true}), false),
        (json!({"prune": false}), false),
    ] {
        let mut test = applied(&spec);
        test.delete(PARENT, Background);
        test.until(5, "it is gone", |test| !test.has(PARENT));
        assert_eq!(!test.has(MAP), is_pruned, "{spec}");
    }
}
