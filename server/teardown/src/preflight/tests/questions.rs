use std::fmt::Write;

use super::{fixture, plan_of, preflight_of};
use crate::{
    api_problem::ProblemCode,
    index::Index,
    observation::{HiddenCause, Observation},
    preflight::{QuestionKind, question::MOST},
};

/// Each question of the plan of the unit `shop`.
fn asked(index: &Index) -> Vec<String> {
    let preflight = preflight_of(index, &plan_of(index));
    let questions = preflight.questions().iter();
    questions
        .map(|it| {
            let how = match it.id.asks {
                QuestionKind::DryRun { .. } => "dry run",
                QuestionKind::MayDelete => "may delete",
                QuestionKind::MaySuspend => "may suspend",
            };
            format!("{how} {}", it.object)
        })
        .collect()
}

const SHOP: &str = "
    ns shop of=shop
    cm shop/a of=shop
    Widget shop/b of=shop
    Metric.agg.example.com shop/c of=shop
    apiservice v1.
    apiservice v1.example.com
";

#[test]
fn dry_run_is_asked_for_only_where_the_api_server_itself_stores_the_objects() {
    let index = fixture::index(&format!(
        "{SHOP}
        apiservice v1.agg.example.com service=kube-system/agg available=Available:True:Passed:60:
    "
    ));
    insta::assert_debug_snapshot!(asked(&index), @r#"
    [
        "dry run ConfigMap shop/a",
        "may delete Metric shop/c",
        "dry run Widget shop/b",
        "dry run Namespace shop",
    ]
    "#);
}

/// Without an APIService nobody says who stores the objects.
#[test]
fn group_version_without_an_api_service_is_only_reviewed() {
    let index = fixture::index(SHOP);
    assert!(asked(&index).contains(&"may delete Metric shop/c".to_owned()));
}

/// Another version of the group may be served by another server.
#[test]
fn group_with_an_aggregated_version_is_only_reviewed() {
    let index = fixture::index(&format!(
        "{SHOP}
        apiservice v1.agg.example.com
        apiservice v2.agg.example.com service=kube-system/agg available=Available:True:Passed:60:
    "
    ));
    assert!(asked(&index).contains(&"may delete Metric shop/c".to_owned()));
}

#[test]
fn while_api_services_are_hidden_no_dry_run_is_asked_for() {
    let mut index = fixture::index(SHOP);
    let hidden = Observation::Hidden {
        resource: "apiservices.apiregistration.k8s.io".into(),
        cause: HiddenCause::Forbidden,
        message: ProblemCode::Stale.into(),
    };
    index.apply([hidden], fixture::now());
    let asked = asked(&index);
    assert!(asked.len() == 4 && asked.iter().all(|it| it.starts_with("may delete ")), "{asked:?}");
}

/// A volume that its controller deletes has no DELETE of the run.
#[test]
fn object_that_the_run_does_not_delete_is_not_asked_about() {
    let index = fixture::index(
        "
        ns shop of=shop
        pvc shop/a of=shop volume=pv-a
        pv pv-a claim=shop/a reclaim=Delete
        apiservice v1.
    ",
    );
    insta::assert_debug_snapshot!(asked(&index), @r#"
    [
        "dry run PersistentVolumeClaim shop/a",
        "dry run Namespace shop",
    ]
    "#);
}

#[test]
fn questions_are_bounded_and_each_kind_is_asked_about_first() {
    let mut text = String::from("ns shop of=shop\napiservice v1.\nsecret shop/z of=shop\n");
    for number in 0..600 {
        writeln!(text, "cm shop/a{number:03} of=shop").unwrap();
    }
    let index = fixture::index(&text);
    let asked = asked(&index);
    assert_eq!(asked.len(), MOST);
    assert_eq!(asked[..3].iter().filter(|it| it.contains("ConfigMap")).count(), 1, "{asked:?}");
    let view = preflight_of(&index, &plan_of(&index)).view();
    assert_eq!(super::describe_view(&view).lines().count(), 1);
    assert_eq!(view.notes[0].total, 602 - MOST);
}

#[test]
fn right_to_suspend_is_asked_for_active_parents_alone() {
    const PARENT: &str = "Kustomization.kustomize.toolkit.fluxcd.io";
    let index = fixture::index(&format!(
        "{SHOP}
        {PARENT} shop/active of=shop
        {PARENT} shop/off of=shop state=suspended
        apiservice v1.kustomize.toolkit.fluxcd.io
    "
    ));
    let parents: Vec<String> =
        asked(&index).into_iter().filter(|it| it.contains("Kustomization")).collect();
    insta::assert_debug_snapshot!(parents, @r#"
    [
        "dry run Kustomization shop/active",
        "may suspend Kustomization shop/active",
        "dry run Kustomization shop/off",
    ]
    "#);
}
