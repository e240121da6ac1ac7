use std::{fmt::Write, sync::Arc};

use super::{fixture, plan_of, preflight_of};
use crate::{
    api_problem::ProblemCode,
    index::Index,
    object::{Kind, Object},
    observation::{HiddenCause, Observation},
    preflight::{Question, QuestionKind, question::MOST},
    suspension::suspend,
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
                QuestionKind::DrySuspend => "dry suspension",
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

const PARENT: &str = "Kustomization.kustomize.toolkit.fluxcd.io";

/// The questions about two Kustomizations, of which one is active, whose API has these APIServices.
fn asked_of_parents(api_services: &str) -> Vec<String> {
    let index = fixture::index(&format!(
        "{SHOP}
        {PARENT} shop/active of=shop
        {PARENT} shop/off of=shop state=suspended
        {api_services}
    "
    ));
    asked(&index).into_iter().filter(|it| it.contains("Kustomization")).collect()
}

#[test]
fn suspension_is_tried_of_active_parents_alone() {
    insta::assert_debug_snapshot!(asked_of_parents("apiservice v1.kustomize.toolkit.fluxcd.io"), @r#"
    [
        "dry run Kustomization shop/active",
        "dry suspension Kustomization shop/active",
        "dry run Kustomization shop/off",
    ]
    "#);
}

/// Such a server may ignore `dryRun`, and would suspend the parent for real.
#[test]
fn suspension_at_another_api_server_is_only_reviewed() {
    let aggregated = "apiservice v1.kustomize.toolkit.fluxcd.io service=flux/api available=Available:True:Passed:60:";
    insta::assert_debug_snapshot!(asked_of_parents(aggregated), @r#"
    [
        "may delete Kustomization shop/active",
        "may suspend Kustomization shop/active",
        "may delete Kustomization shop/off",
    ]
    "#);
}

#[test]
fn dry_suspension_is_the_patch_of_the_run_at_the_watched_version() {
    let mut index = fixture::index(&format!(
        "{SHOP}
        {PARENT} shop/active of=shop
        apiservice v1.kustomize.toolkit.fluxcd.io
        apiservice v2.kustomize.toolkit.fluxcd.io
    "
    ));
    let plan = plan_of(&index);
    let parent = index.get(&fixture::uid(&format!("{PARENT}:shop/active"))).unwrap().clone();
    let kind = Arc::new(Kind { version: "v2".into(), ..(*parent.kind).clone() });
    let moved = Object { kind: kind.clone(), ..Object::clone(&parent) };
    let seen =
        [Observation::Watching(kind.clone()), Observation::Listed { kind, objects: vec![moved] }];
    index.apply(seen, fixture::now());
    let preflight = preflight_of(&index, &plan);
    let suspends = |it: &&Question| it.id.asks == QuestionKind::DrySuspend;
    let question = preflight.questions().iter().find(suspends).unwrap();
    assert_eq!(question.kind.version, "v2".into());
    let patch = suspend(&parent.kind, &parent.uid, "false");
    assert_eq!(question.patch.as_ref(), Some(&patch));
    assert!(patch.to_string().contains("/metadata/uid"), "{patch}");
    let others = preflight.questions().iter().filter(|it| !suspends(it));
    assert!(others.clone().count() > 0 && others.into_iter().all(|it| it.patch.is_none()));
}
