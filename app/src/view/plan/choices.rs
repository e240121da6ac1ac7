//! The choices of a plan, as a form that works without the script: it sends them to the address that makes another plan.

use std::collections::BTreeSet;

use leptos::prelude::*;
use teardown::{
    plan::{Choice, Choices, KeptReason, Plan},
    right::Right,
};

use crate::{navigation::address, state::connection::Connection, text};

/// The form.
pub fn choices_form(plan: &Plan) -> AnyView {
    let choices = &plan.choices;
    let offered = offered(plan);
    let boxes = |is_such: fn(&Choice) -> bool| -> Vec<AnyView> {
        let such = offered.iter().filter(|choice| is_such(choice));
        such.map(|choice| tick(choices, choice)).collect()
    };
    let unclaimed = unclaimed(choices, boxes(|it| matches!(it, Choice::Include(_))));
    let mut namespaces = boxes(|it| matches!(it, Choice::Namespace(_)));
    if namespaces.len() < 2 {
        namespaces.clear();
    }
    let mut kinds = boxes(|it| matches!(it, Choice::WithoutKind { .. }));
    kinds.extend(boxes(|it| matches!(it, Choice::Without(_))));
    let is_open = !choices.is_empty() || unclaimed.is_some();
    view! {
        <details class="choices" open=is_open>
            <summary>{text::CHOICES}</summary>
            <form method="get" action=address::new_plan(&plan.unit, &Choices::default())>
                <p class="lead">{text::CHOICES_LEAD}</p>
                {boxes(|it| matches!(it, Choice::Unplanned(_)))}
                {unclaimed}
                {tick(choices, &Choice::KeepData)}
                {group(text::OVERRIDE, boxes(|it| matches!(it, Choice::Delete(_) | Choice::Waive(_))))}
                {group(text::WITHOUT_PROOF, boxes(|it| matches!(it, Choice::Unproven(_))))}
                {group(text::ONLY_NAMESPACES, namespaces)}
                {group(text::LEAVE_OUT_KINDS, kinds)}
                <label class="choices-object">
                    {text::LEAVE_OUT_OBJECT}
                    <input type="text" name="without" autocomplete="off" spellcheck="false" placeholder=text::OBJECT_FORM/>
                </label>
                {boxes(|it| matches!(it, Choice::Unreported(_)))}
                <label class="choices-object">
                    {text::UNREPORTED_NODE}
                    <input type="text" name="unreported" autocomplete="off" spellcheck="false" placeholder=text::NODE_FORM/>
                </label>
                {make()}
            </form>
        </details>
    }
    .into_any()
}

/// The choices that the form offers. One that was made stays in the form, even if it is about nothing any more.
fn offered(plan: &Plan) -> BTreeSet<Choice> {
    // Put in one by one: `collect` sorts them first, which makes the browser's half larger (see `crate::sort`).
    let mut offered = BTreeSet::new();
    for kept in &plan.kept {
        let object = kept.object.clone();
        match kept.reason {
            KeptReason::Unclaimed => offered.extend([Choice::Include(object)]),
            KeptReason::KeepAnnotation { .. } => offered.extend([Choice::Delete(object)]),
            _ => {}
        }
    }
    let objects = plan.steps.iter().map(|step| &step.object);
    for object in objects.chain(plan.kept.iter().map(|kept| &kept.object)) {
        let (group, kind) = (object.group.clone(), object.kind.clone());
        offered.extend([Choice::WithoutKind { group, kind }]);
        offered.extend(object.namespace.clone().map(Choice::Namespace));
    }
    offered.extend(plan.waivable.iter().cloned().map(Choice::Waive));
    offered.extend(plan.unlistable.iter().cloned().map(Choice::Unproven));
    offered.extend(plan.choices.iter().cloned());
    offered
}

/// The boxes of the objects of which no label says that they are part of the unit.
fn unclaimed(choices: &Choices, boxes: Vec<AnyView>) -> Option<AnyView> {
    (choices.has(&Choice::IncludeAll) || !boxes.is_empty()).then(|| {
        view! {
            <fieldset>
                <legend>{text::UNCLAIMED}</legend>
                <p>{text::UNCLAIMED_LEAD}</p>
                {tick(choices, &Choice::IncludeAll)}
                {boxes}
            </fieldset>
        }
        .into_any()
    })
}

fn group(legend: &'static str, boxes: Vec<AnyView>) -> Option<AnyView> {
    (!boxes.is_empty())
        .then(|| view! { <fieldset><legend>{legend}</legend>{boxes}</fieldset> }.into_any())
}

/// The button that makes the plan, or the reason why the reader cannot.
fn make() -> AnyView {
    match expect_context::<Connection>().right_hindrance(Right::Act) {
        Some(reason) => view! { <p class="quiet">{reason}</p> }.into_any(),
        None => {
            view! { <button type="submit" class="button">{text::MAKE_PLAN}</button> }.into_any()
        }
    }
}

/// A box that stands for a choice, ticked where it was made.
fn tick(choices: &Choices, choice: &Choice) -> AnyView {
    let (name, value) = choice.pair();
    let label = match choice {
        Choice::IncludeAll => text::INCLUDE_ALL.to_owned(),
        Choice::KeepData => text::KEEP_DATA.to_owned(),
        Choice::Unplanned(_) => text::UNPLANNED.to_owned(),
        Choice::Include(object)
        | Choice::Delete(object)
        | Choice::Waive(object)
        | Choice::Without(object) => text::named(object),
        Choice::WithoutKind { kind, .. } => kind.to_string(),
        Choice::Namespace(name) | Choice::Unreported(name) => text::isolated(name),
        Choice::Unproven(it) => text::without_proof(it),
    };
    let is_made = choices.has(choice);
    view! {
        <label class="dialog-tick">
            <input type="checkbox" name=name value=value checked=is_made/>
            <bdi>{label}</bdi>
        </label>
    }
    .into_any()
}
