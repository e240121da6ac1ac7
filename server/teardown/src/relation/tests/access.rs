//! Aggregated roles, and bindings that name accounts as users or groups.

use super::*;
use crate::relation::{EdgeKind, is_needed, served_namespaces};

#[test]
fn aggregated_role_goes_before_the_roles_whose_rules_it_has() {
    check(
        "clusterrole admin aggregates=team.example/controller:true
         clusterrole istio labels=team.example/controller:true
         clusterrole other labels=team.example/controller:false
         clusterrole bare",
        "clusterrole:admin RunsAs clusterrole:istio; clusterrole:admin first, Gone; aggregationRule.clusterRoleSelectors[0] = team.example/controller=true",
    );
    // A role in a namespace, a role of another group, and one in a namespace that has the field.
    check(
        "clusterrole admin aggregates=team.example/controller:true
         role shop/istio labels=team.example/controller:true
         ClusterRole.authorization.openshift.io istio labels=team.example/controller:true",
        "",
    );
    check(
        "role shop/admin aggregates=team.example/controller:true
         clusterrole istio labels=team.example/controller:true",
        "",
    );
}

#[test]
fn role_that_kubernetes_aggregates_keeps_no_source() {
    check(
        "clusterrole edit labels=kubernetes.io/bootstrapping:rbac-defaults aggregates=to-edit:true
         clusterrole topics-edit labels=to-edit:true",
        "",
    );
}

#[test]
fn binding_of_all_accounts_of_a_namespace_goes_after_its_pods() {
    check(
        "pod shop/web-a uses=account:web
         pod shop/bare
         pod other/web-b uses=account:web
         crb shop accounts=shop/*",
        "crb:shop RunsAs pod:shop/bare; pod:shop/bare first, Gone; subjects = system:serviceaccounts:shop → bare
         crb:shop RunsAs pod:shop/web-a; pod:shop/web-a first, Gone; subjects = system:serviceaccounts:shop → web-a",
    );
}

#[test]
fn role_binding_of_the_accounts_of_another_namespace_goes_after_the_pods_of_its_unit() {
    check(
        "deploy stage/web of=stage
         deploy stage/builder of=dev
         deploy dev/builder of=dev
         rb dev/pullers of=dev accounts=stage/*
         rb dev/unlabelled accounts=stage/*",
        "rb:dev/pullers RunsAs deploy:stage/builder; deploy:stage/builder first, PodsGone; subjects = system:serviceaccounts:stage → builder",
    );
    check(
        "pod dev/web-a
         rb dev/own accounts=dev/*",
        "rb:dev/own RunsAs pod:dev/web-a; pod:dev/web-a first, Gone; subjects = system:serviceaccounts:dev → web-a",
    );
}

#[test]
fn pod_of_another_namespace_needs_no_role_binding_of_its_group() {
    let binding = fixture::object("rb dev/pullers accounts=stage/*,dev/*");
    let served: Vec<&str> = served_namespaces(&binding).into_iter().map(|it| &**it).collect();
    assert_eq!(served, ["dev"]);
    assert!(!is_needed(&binding, &fixture::object("pod stage/a")));
    assert!(is_needed(&binding, &fixture::object("pod dev/a")));
}

#[test]
fn binding_of_all_accounts_of_the_cluster_goes_after_the_pods_of_its_unit() {
    let graph = fixture::graph(
        "deploy shop/web of=shop
         deploy other/web of=other
         crb everyone of=shop accounts=*
         crb unlabelled accounts=*",
    );
    let edges = graph.edges().filter(|edge| edge.kind == EdgeKind::RunsAs);
    let found: Vec<String> = edges.map(|edge| format!("{} {}", edge.from, edge.to)).collect();
    assert_eq!(found, ["crb:everyone deploy:shop/web"]);
}

#[test]
fn pod_needs_the_binding_of_all_accounts_of_its_namespace() {
    let binding = fixture::object("crb shop accounts=shop/*,lab/reader");
    let served: Vec<&str> = served_namespaces(&binding).into_iter().map(|it| &**it).collect();
    assert_eq!(served, ["lab", "shop"]);
    for (pod, needs) in [
        ("pod shop/a uses=account:web", true),
        ("pod lab/a uses=account:reader", true),
        ("pod lab/a uses=account:web", false),
        ("pod other/a uses=account:web", false),
    ] {
        assert_eq!(is_needed(&binding, &fixture::object(pod)), needs, "{pod}");
    }
}

#[test]
fn object_goes_before_the_roles_whose_rules_its_finisher_has_by_aggregation() {
    let fixture = "
        Topic.queue.example shop/t finalizers=queue.example/topic
        clusterrole topics labels=queue/part:true updates=topics/finalizers.queue.example
        clusterrole all labels=queue/part:true updates=*.queue.example
        clusterrole maps labels=queue/part:true updates=configmaps
        deploy queue/operator uses=account:operator
        clusterrole queue aggregates=queue/part:true updates=topics.queue.example
        crb queue accounts=queue/operator role=clusterrole/queue
    ";
    let roles = |fixture: &str| -> Vec<String> {
        let graph = fixture::graph(fixture);
        let of_object = graph.edges().filter(|edge| edge.kind == EdgeKind::RunsAs);
        let of_object = of_object.filter(|edge| edge.from.to_string().starts_with("Topic"));
        let mut found: Vec<String> =
            of_object.map(|edge| format!("{} {}", edge.to, edge.reason.value)).collect();
        found.sort();
        found
    };
    let through = "queue.example/topic → queue";
    assert_eq!(
        roles(fixture),
        [format!("clusterrole:all {through}"), format!("clusterrole:topics {through}")]
    );
    for (what, instead) in [
        // The aggregated role gives rights to an account of the name elsewhere.
        ("accounts=queue/operator", "accounts=other/operator,queue/another"),
        // Kubernetes collects the rules, or no role does.
        (
            "queue aggregates=queue/part:true",
            "queue aggregates=queue/part:true labels=kubernetes.io/bootstrapping:rbac-defaults",
        ),
        ("queue aggregates=queue/part:true", "queue aggregates=queue/other:true"),
        ("finalizers=queue.example/topic", "finalizers=kubernetes.io/pvc-protection"),
    ] {
        let other = fixture.replace(what, instead);
        assert_ne!(other, fixture);
        assert_eq!(roles(&other), [""; 0], "{instead}");
    }
}
