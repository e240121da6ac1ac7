//! Whatever annotations ask for: a plan keeps and deletes the same objects by the same calls, every order that it had without them
//! is kept, and an order that they ask for is kept unless the opposite is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use teardown::{
    fixture,
    graph::Graph,
    object::{Object, Uid},
    plan::{Plan, Step},
    relation::{Edge, EdgeKind},
};

use super::{application::application, planned};

/// The annotations of one object: the number of the object that it depends on, its sync wave, its change group and its rule.
type Marks = (usize, i32, usize, usize);

/// An application whose objects are those of an Application and of a kapp application, and the same with annotations.
fn fixtures(application: &str, marks: &[Marks]) -> [String; 2] {
    let lines: Vec<&str> = application.lines().collect();
    let of_tools = lines.iter().map(|line| {
        if !line.contains(" of=shop") {
            return (*line).to_owned();
        }
        let label = "labels=kapp.k14s.io/app:1";
        let labelled = match line.contains("labels=") {
            true => line.replace("labels=", &format!("{label},")),
            false => format!("{line} {label}"),
        };
        format!("{labelled} argocd=shop")
    });
    let plain: Vec<String> = of_tools.collect();
    let annotated = plain.iter().enumerate().map(|(number, line)| {
        let (target, wave, group, rule) = marks[number % marks.len()];
        let target = dependency(&fixture::object(&plain[target % plain.len()]));
        let rule = match rule % 4 {
            0 => "delete_after_deleting",
            1 => "delete_before_deleting",
            2 => "upsert_after_upserting",
            _ => "upsert_before_upserting",
        };
        format!(
            "{line} config.kubernetes.io/depends-on={target} argocd.argoproj.io/sync-wave={wave} \
             kapp.k14s.io/change-group=g{group} kapp.k14s.io/change-rule={rule}_g{}",
            number % 3
        )
    });
    let annotated: Vec<String> = annotated.collect();
    [plain.join("\n"), annotated.join("\n")]
}

fn dependency(object: &Object) -> String {
    let (group, kind, name) = (&object.kind.group, &object.kind.kind, &object.name);
    match &object.namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{kind}/{name}"),
        None => format!("{group}/{kind}/{name}"),
    }
}

fn by_uid(plan: &Plan) -> BTreeMap<&Uid, &Step> {
    plan.steps.iter().map(|step| (&step.uid, step)).collect()
}

/// Everything that a step waits for, over other steps too.
fn all_before<'a>(plan: &'a Plan, step: &'a Step) -> BTreeSet<&'a Uid> {
    let mut found = BTreeSet::new();
    let mut open = vec![step];
    while let Some(step) = open.pop() {
        for first in step.after.iter().filter_map(|blocker| plan.step(blocker.step)) {
            if found.insert(&first.uid) {
                open.push(first);
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn annotations_about_the_order_change_nothing_but_the_order(
        application in application(),
        marks in prop::collection::vec((0usize..40, -2i32..3, 0usize..3, 0usize..4), 1..12),
    ) {
        let [plain, annotated] = fixtures(&application, &marks).map(|text| fixture::index(&text));
        let (without, with) = match (planned(&plain)?, planned(&annotated)?) {
            (Some(without), Some(with)) => (without, with),
            (without, with) => {
                prop_assert_eq!(without.is_some(), with.is_some());
                return Ok(());
            }
        };
        prop_assert_eq!(&without.kept, &with.kept);
        prop_assert_eq!(&without.data, &with.data);
        prop_assert_eq!(&without.given_up, &with.given_up);
        let (before, steps) = (by_uid(&without), by_uid(&with));
        prop_assert!(before.keys().eq(steps.keys()));
        for (uid, step) in &steps {
            prop_assert_eq!(step.action, before[uid].action);
            for blocker in &before[uid].after {
                let first = &without.step(blocker.step).unwrap().uid;
                let kept = step.after.iter().find(|it| with.step(it.step).unwrap().uid == *first);
                prop_assert!(kept.is_some_and(|it| it.phase >= blocker.phase), "{uid} after {first}");
            }
        }
        let graph = Graph::of(&annotated);
        let hints = graph.edges().filter(|edge| edge.kind == EdgeKind::Hints);
        for (first, then, _) in hints.filter_map(Edge::ordered) {
            let (Some(first), Some(then)) = (steps.get(first), steps.get(then)) else { continue };
            let is_kept = then.after.iter().any(|it| it.step == first.id);
            let is_opposite = || all_before(&with, first).contains(&then.uid);
            prop_assert!(is_kept || is_opposite(), "{} before {}", first.uid, then.uid);
        }
    }
}
