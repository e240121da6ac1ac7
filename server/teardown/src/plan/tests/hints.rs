//! The order that annotations ask for: kept where it closes no cycle, among objects of one application.

use super::*;
use crate::relation::hints_among;

const ARGO: &str = "argocd=shop of=shop";
const KAPP: &str = "labels=kapp.k14s.io/app:17 of=shop";
const GROUP: &str = "kapp.k14s.io/change-group";
const RULE: &str = "kapp.k14s.io/change-rule";
const WAVE: &str = "argocd.argoproj.io/sync-wave";
const DEPENDS: &str = "config.kubernetes.io/depends-on";

fn text_of(fixture: &str) -> String {
    text(&plan_of(fixture, "shop").unwrap())
}

#[test]
fn object_goes_before_what_it_depends_on() {
    insta::assert_snapshot!(text_of(&format!(
        "deploy shop/web of=shop {DEPENDS}=apps/namespaces/shop/StatefulSet/db
         sts shop/db of=shop {DEPENDS}=/namespaces/shop/ConfigMap/a
         cm shop/a of=shop"
    )), @r"
    1 deploy:shop/web
    2 sts:shop/db < deploy:shop/web+pods
    3 cm:shop/a < sts:shop/db+pods
    ");
}

/// The Pods of the Deployment go before the ConfigMap that they mount, whatever an annotation says.
#[test]
fn hint_that_closes_a_cycle_is_given_up_and_not_named() {
    let plan = plan_of(
        &format!(
            "deploy shop/web of=shop uses=config:a
             cm shop/a of=shop {DEPENDS}=apps/namespaces/shop/Deployment/web
             cm shop/b of=shop {DEPENDS}=/namespaces/shop/ConfigMap/c
             cm shop/c of=shop {DEPENDS}=/namespaces/shop/ConfigMap/b"
        ),
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/b
    1 deploy:shop/web
    2 cm:shop/a < deploy:shop/web+pods
    2 cm:shop/c < cm:shop/b
    ");
    assert_eq!(plan.given_up, []);
}

/// A person leaves the Deployment out: it stays, and would have to go before what it depends on.
#[test]
fn hint_of_an_object_that_stays_keeps_nothing() {
    let fixture = format!(
        "deploy shop/web of=shop {DEPENDS}=/namespaces/shop/ConfigMap/a
         deploy other/api of=other {DEPENDS}=/namespaces/shop/ConfigMap/a
         cm shop/a of=shop"
    );
    let plan = plan_with(&fixture, "shop", &["without=Deployment.apps/shop/web"]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/a
    keep deploy:shop/web: LeftOut
    ");
}

#[test]
fn later_wave_of_an_application_goes_before_the_earlier_one() {
    insta::assert_snapshot!(text_of(&format!(
        "cm shop/late {ARGO} {WAVE}=5
         deploy shop/web {ARGO} {WAVE}=1
         cm shop/a {ARGO}
         cm shop/b {ARGO} {WAVE}=bad
         cm shop/early {ARGO} {WAVE}=-1"
    )), @r"
    1 cm:shop/late
    2 deploy:shop/web < cm:shop/late
    3 cm:shop/a < deploy:shop/web+pods
    3 cm:shop/b < deploy:shop/web+pods
    4 cm:shop/early < cm:shop/a cm:shop/b
    ");
}

#[test]
fn waves_of_other_applications_and_of_none_order_nothing() {
    insta::assert_snapshot!(text_of(&format!(
        "cm shop/a {ARGO} {WAVE}=1
         cm shop/b argocd=other of=shop
         cm shop/c of=shop {WAVE}=-1
         cm shop/d of=shop labels=app.kubernetes.io/instance:shop"
    )), @r"
    1 cm:shop/a
    1 cm:shop/b
    1 cm:shop/c
    1 cm:shop/d
    ");
}

/// Argo CD before 3.0 tracks objects by a label that other tools set too.
#[test]
fn label_instance_counts_where_the_application_manages_the_object() {
    let instance = "labels=app.kubernetes.io/instance:shop of=shop";
    insta::assert_snapshot!(text_of(&format!(
        "Application.argoproj.io argocd/shop manages=cm/shop/a,cm/shop/b
         cm shop/a {instance} {WAVE}=1
         cm shop/b {instance}
         cm shop/c {instance}"
    )), @r"
    1 cm:shop/a
    1 cm:shop/c
    2 cm:shop/b < cm:shop/a
    ");
}

/// The ReplicaSet has copies of the annotations of its Deployment, and the Pod has no wave.
#[test]
fn object_with_an_owner_is_in_no_wave() {
    insta::assert_snapshot!(text_of(&format!(
        "deploy shop/web {ARGO} {WAVE}=1 selector=app:web template=app:web
         rs shop/web-1 {ARGO} {WAVE}=1 owner=deploy/web selector=app:web template=app:web
         cm shop/a {ARGO}"
    )), @r"
    1 deploy:shop/web
    2 cm:shop/a < deploy:shop/web+pods
    2 rs:shop/web-1 < deploy:shop/web
    ");
}

#[test]
fn change_rules_of_kapp_order_deletions_and_others_in_reverse() {
    for (rule, a_goes_first) in [
        ("delete_after_deleting_shop/a", true),
        ("delete_before_deleting_shop/a", false),
        ("upsert_after_upserting_shop/a", false),
        ("upsert_before_upserting_shop/a", true),
    ] {
        let fixture = format!(
            "cm shop/a {KAPP} {GROUP}.x=shop/{{name}}
             cm shop/b {KAPP} {RULE}.y={rule}"
        );
        let expected = if a_goes_first {
            "1 cm:shop/a\n2 cm:shop/b < cm:shop/a"
        } else {
            "1 cm:shop/b\n2 cm:shop/a < cm:shop/b"
        };
        assert_eq!(text_of(&fixture), expected, "{rule}");
    }
}

/// `ruled` waits for `a`, by its rule for deletions. The other order would come first by name if both were kept.
#[test]
fn rule_for_deletions_comes_before_the_reverse_of_another_one() {
    insta::assert_snapshot!(text_of(&format!(
        "cm shop/x {KAPP} {GROUP}=g
         cm shop/a {KAPP} {RULE}=upsert_after_upserting_g {RULE}.1=delete_after_deleting_g"
    )), @r"
    1 cm:shop/x
    2 cm:shop/a < cm:shop/x
    ");
}

#[test]
fn change_group_of_another_application_is_not_meant() {
    insta::assert_snapshot!(text_of(&format!(
        "cm shop/a labels=kapp.k14s.io/app:18 of=shop {GROUP}=g
         cm shop/b of=shop {GROUP}=g
         cm shop/c {KAPP} {GROUP}=g2
         cm shop/d {KAPP} {RULE}=delete_after_deleting_g"
    )), @r"
    1 cm:shop/a
    1 cm:shop/b
    1 cm:shop/c
    1 cm:shop/d
    ");
}

/// Two waves of 1,000 objects each, and one of 3.
#[test]
fn many_objects_of_a_wave_make_a_bounded_number_of_edges() {
    let line = |wave: i32, count: usize| {
        (0..count).map(move |i| format!("cm shop/c{wave}-{i} argocd=shop {WAVE}={wave}"))
    };
    let lines: Vec<String> = line(1, 1_000).chain(line(2, 1_000)).chain(line(3, 3)).collect();
    let index = fixture::index(&lines.join("\n"));
    let edges = hints_among(index.objects(), &index);
    assert!(edges.len() <= 4_000, "{}", edges.len());
    let ends = |is_from: bool| -> BTreeSet<&Uid> {
        edges.iter().map(|edge| if is_from { &edge.from } else { &edge.to }).collect()
    };
    assert_eq!((ends(true).len(), ends(false).len()), (1_003, 2_000), "every object is linked");
    let of_three = edges.iter().filter(|edge| *edge.reason.value == *"3 → 2");
    assert_eq!(of_three.count(), 2_000, "of what there is room for");
}
