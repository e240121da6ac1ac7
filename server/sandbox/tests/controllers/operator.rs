//! Operators: they write as the ServiceAccount of a Pod that is ready, with the rights that RBAC gives it.

use sandbox::cluster::Propagation::Background;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, config_map, deployment, rights};

const FINALIZER: &str = "unwind.test/queue";
const QUEUE: &str = "configmaps/shop/queue";
const OPERATOR: &str = "apps/deployments/shop/operator";
const ACCOUNT: &str = "serviceaccounts/shop/operator";
/// The two objects that give the account its rights, in the order of [`rights`].
const RIGHTS: [&str; 2] = [
    "rbac.authorization.k8s.io/clusterroles//operator",
    "rbac.authorization.k8s.io/clusterrolebindings//operator",
];

fn may_update_config_maps() -> Value {
    json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["update"]})
}

/// A cluster with an operator that has a ready Pod and this right, and a ConfigMap whose finalizer it clears.
fn with_operator(rule: &Value) -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "operator", "namespace": "shop"},
    })]);
    test.create(rights("operator", rule));
    let mut operator = deployment("operator", 1, &[]);
    let template = &mut operator["spec"]["template"];
    template["metadata"]["annotations"] =
        json!({"unwind.test/finalizes": FINALIZER, "unwind.test/leads": "queues"});
    template["spec"]["serviceAccountName"] = json!("operator");
    test.create([operator, config_map("queue", &json!({"finalizers": [FINALIZER]}))]);
    test.until(10, "its Pod is ready", |it| it.ready("operator") == 1);
    test
}

fn finalizers(test: &TestCluster) -> Vec<&str> {
    object::finalizers(test.at(QUEUE)).collect()
}

#[test]
fn operator_with_a_right_to_the_object_clears_its_finalizer() {
    let mut test = with_operator(&may_update_config_maps());
    test.run(10);
    assert_eq!(finalizers(&test), [FINALIZER], "it is not being deleted");
    test.delete(QUEUE, Background);
    test.until(10, "the finalizer is cleared", |it| !it.has(QUEUE));
}

/// The mistake of a teardown that deletes the binding of an operator before its objects.
#[test]
fn finalizer_stays_without_the_right_and_is_cleared_when_the_right_is_back() {
    for (at, path) in RIGHTS.into_iter().enumerate() {
        let mut test = with_operator(&may_update_config_maps());
        test.delete(path, Background);
        test.delete(QUEUE, Background);
        test.run(60);
        assert_eq!(finalizers(&test), [FINALIZER], "{path}");
        assert_eq!(test.ready("operator"), 1, "{path}");
        test.create([rights("operator", &may_update_config_maps())[at].clone()]);
        // The wait between two tries has grown to 41 s.
        test.until(60, path, |it| !it.has(QUEUE));
    }
}

#[test]
fn finalizer_stays_where_the_right_is_for_other_objects() {
    for rule in [
        json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["update"]}),
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "delete"]}),
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["update"], "resourceNames": ["other"]}),
    ] {
        let mut test = with_operator(&rule);
        test.delete(QUEUE, Background);
        test.run(60);
        assert_eq!(finalizers(&test), [FINALIZER], "{rule}");
    }
}

#[test]
fn finalizer_stays_after_the_account_of_the_operator_is_gone() {
    let mut test = with_operator(&may_update_config_maps());
    test.delete(ACCOUNT, Background);
    test.delete(QUEUE, Background);
    test.run(60);
    assert_eq!(finalizers(&test), [FINALIZER]);
}

#[test]
fn finalizer_stays_without_a_ready_pod_whatever_the_rights() {
    let mut test = with_operator(&may_update_config_maps());
    test.change(OPERATOR, |it| it["spec"]["replicas"] = json!(0));
    test.until(60, "no Pod", |it| it.pods("operator").is_empty());
    test.delete(QUEUE, Background);
    test.run(60);
    assert_eq!(finalizers(&test), [FINALIZER]);
    test.change(OPERATOR, |it| it["spec"]["replicas"] = json!(1));
    test.until(20, "the finalizer is cleared", |it| !it.has(QUEUE));
}

fn renewed(test: &TestCluster) -> Value {
    test.at("coordination.k8s.io/leases/shop/queues")["spec"]["renewTime"].clone()
}

#[test]
fn operator_renews_its_lease_while_its_pod_is_ready() {
    let verbs = ["create", "patch"];
    let rule =
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs});
    let mut test = with_operator(&rule);
    test.run(10);
    let first = renewed(&test);
    test.run(5);
    assert_ne!(renewed(&test), first);
    test.delete(OPERATOR, Background);
    test.until(60, "no Pod", |it| it.pods("operator").is_empty());
    let last = renewed(&test);
    test.run(60);
    assert_eq!(renewed(&test), last);
}

#[test]
fn operator_without_a_right_to_leases_renews_none() {
    let mut test = with_operator(&may_update_config_maps());
    test.run(30);
    assert!(!test.has("coordination.k8s.io/leases/shop/queues"));
}
