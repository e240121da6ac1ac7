//! The choices of a plan, as a form that works without the script: it sends them to the address that makes another plan.

use std::collections::BTreeSet;

use leptos::prelude::*;
use teardown::{
    object::ObjectRef,
    plan::{Choice, Choices, KeptReason, Plan},
    right::Right,
};

use crate::{navigation::address, state::connection::Connection, text};

/// The items in order, each once. They are put in one by one: `collect` sorts them first, and each type that is sorted makes
/// the browser's half larger (see `crate::sort`).
fn set<T: Ord>(items: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// The form.
pub fn choices_form(plan: &Plan) -> AnyView {
    let choices = &plan.choices;
    let is_kept = |wanted: fn(&KeptReason) -> bool| {
        let kept = plan.kept.iter().filter(move |kept| wanted(&kept.reason));
        set(kept.map(|kept| kept.object.clone()))
    };
    let mut unclaimed = is_kept(|reason| *reason == KeptReason::Unclaimed);
    let mut annotated = is_kept(|reason| matches!(reason, KeptReason::KeepAnnotation { .. }));
    let mut left_out = BTreeSet::new();
    let objects = plan.steps.iter().map(|step| &step.object);
    let objects: Vec<&ObjectRef> = objects.chain(plan.kept.iter().map(|it| &it.object)).collect();
    let mut kinds = set(objects.iter().map(|it| (it.kind.clone(), it.group.clone())));
    let mut namespaces = set(objects.iter().filter_map(|it| it.namespace.clone()));
    let mut unlistable = set(plan.unlistable.iter().cloned());
    let mut unreported = Vec::new();
    let mut beside = None;
    // A choice stays in the form, even if it is about nothing any more.
    for choice in choices.iter() {
        match choice {
            Choice::Include(object) => unclaimed.extend([object.clone()]),
            Choice::Delete(object) => annotated.extend([object.clone()]),
            Choice::Without(object) => left_out.extend([object.clone()]),
            Choice::WithoutKind { group, kind } => kinds.extend([(kind.clone(), group.clone())]),
            Choice::Namespace(name) => namespaces.extend([name.clone()]),
            Choice::Unproven(it) => unlistable.extend([it.clone()]),
            Choice::Unreported(node) => {
                unreported.push(tick(choices, choice, text::isolated(node)));
            }
            Choice::Unplanned(_) => {
                beside = Some(tick(choices, choice, text::UNPLANNED.to_owned()));
            }
            Choice::IncludeAll | Choice::KeepData => {}
        }
    }
    let of = |objects: BTreeSet<ObjectRef>, choice: fn(ObjectRef) -> Choice| -> Vec<_> {
        let boxes = objects.into_iter();
        boxes.map(|it| tick(choices, &choice(it.clone()), text::named(&it))).collect()
    };
    let (unclaimed, annotated, left_out) = (
        of(unclaimed, Choice::Include),
        of(annotated, Choice::Delete),
        of(left_out, Choice::Without),
    );
    let includes_all = choices.has(&Choice::IncludeAll);
    let unclaimed = (includes_all || !unclaimed.is_empty()).then(|| {
        view! {
            <fieldset>
                <legend>{text::UNCLAIMED}</legend>
                <p>{text::UNCLAIMED_LEAD}</p>
                {tick(choices, &Choice::IncludeAll, text::INCLUDE_ALL.to_owned())}
                {unclaimed}
            </fieldset>
        }
        .into_any()
    });
    let group = |legend: &'static str, boxes: Vec<AnyView>| {
        (!boxes.is_empty())
            .then(|| view! { <fieldset><legend>{legend}</legend>{boxes}</fieldset> }.into_any())
    };
    let unlistable = unlistable
        .into_iter()
        .map(|it| tick(choices, &it.choice(), text::without_proof(&it)))
        .collect();
    let is_one = namespaces.len() < 2;
    let namespaces = namespaces.into_iter().filter(|_| !is_one);
    let namespaces = namespaces
        .map(|name| tick(choices, &Choice::Namespace(name.clone()), text::isolated(&name)))
        .collect();
    let kinds = kinds.into_iter().map(|(kind, group)| {
        let said = kind.to_string();
        tick(choices, &Choice::WithoutKind { group, kind }, said)
    });
    let kinds: Vec<_> = kinds.chain(left_out).collect();
    let hindrance = expect_context::<Connection>().right_hindrance(Right::Act);
    let make = match hindrance {
        Some(reason) => view! { <p class="quiet">{reason}</p> }.into_any(),
        None => {
            view! { <button type="submit" class="button">{text::MAKE_PLAN}</button> }.into_any()
        }
    };
    let is_open = !choices.is_empty() || unclaimed.is_some();
    view! {
        <details class="choices" open=is_open>
            <summary>{text::CHOICES}</summary>
            <form method="get" action=address::new_plan(&plan.unit, &Choices::default())>
                <p class="lead">{text::CHOICES_LEAD}</p>
                {beside}
                {unclaimed}
                {tick(choices, &Choice::KeepData, text::KEEP_DATA.to_owned())}
                {group(text::OVERRIDE, annotated)}
                {group(text::WITHOUT_PROOF, unlistable)}
                {group(text::ONLY_NAMESPACES, namespaces)}
                {group(text::LEAVE_OUT_KINDS, kinds)}
                <label class="choices-object">
                    {text::LEAVE_OUT_OBJECT}
                    <input type="text" name="without" autocomplete="off" spellcheck="false" placeholder=text::OBJECT_FORM/>
                </label>
                {unreported}
                <label class="choices-object">
                    {text::UNREPORTED_NODE}
                    <input type="text" name="unreported" autocomplete="off" spellcheck="false" placeholder=text::NODE_FORM/>
                </label>
                {make}
            </form>
        </details>
    }
    .into_any()
}

/// A box that stands for a choice, ticked where it was made.
fn tick(choices: &Choices, choice: &Choice, label: String) -> AnyView {
    let (name, value) = choice.pair();
    let is_made = choices.has(choice);
    view! {
        <label class="dialog-tick">
            <input type="checkbox" name=name value=value checked=is_made/>
            <bdi>{label}</bdi>
        </label>
    }
    .into_any()
}
