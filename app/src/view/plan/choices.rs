//! The choices of a plan, as a form that works without the script: it sends them to the address that makes another plan.

use std::{collections::BTreeSet, sync::Arc};

use leptos::prelude::*;
use teardown::{
    object::ObjectRef,
    plan::{Choice, Choices, KeptReason, Plan, Unlistable},
    right::Right,
    run::RunId,
};

use crate::{navigation::address, state::connection::Connection, text};

/// The form.
pub fn choices_form(plan: &Plan) -> AnyView {
    let choices = &plan.choices;
    let offered = Offered::of(plan);
    let beside = offered
        .beside
        .map(|run| tick(choices, &Choice::Unplanned(run), text::UNPLANNED.to_owned()));
    let unclaimed = unclaimed(choices, objects(choices, offered.unclaimed, Choice::Include));
    let annotated = objects(choices, offered.annotated, Choice::Delete);
    let unlistable = offered
        .unlistable
        .into_iter()
        .map(|it| tick(choices, &it.choice(), text::without_proof(&it)))
        .collect();
    let is_one = offered.namespaces.len() < 2;
    let namespaces = offered.namespaces.into_iter().filter(|_| !is_one);
    let namespaces = namespaces
        .map(|name| tick(choices, &Choice::Namespace(name.clone()), text::isolated(&name)))
        .collect();
    let kinds = offered.kinds.into_iter().map(|(kind, group)| {
        let said = kind.to_string();
        tick(choices, &Choice::WithoutKind { group, kind }, said)
    });
    let kinds = kinds.chain(objects(choices, offered.left_out, Choice::Without)).collect();
    let unreported: Vec<_> = offered
        .unreported
        .into_iter()
        .map(|node| tick(choices, &Choice::Unreported(node.clone()), text::isolated(&node)))
        .collect();
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
                {make()}
            </form>
        </details>
    }
    .into_any()
}

/// The choices that the form offers. One that was made stays in the form, even if it is about nothing any more.
struct Offered {
    unclaimed: BTreeSet<ObjectRef>,
    annotated: BTreeSet<ObjectRef>,
    left_out: BTreeSet<ObjectRef>,
    /// Each kind with its group.
    kinds: BTreeSet<(Arc<str>, Arc<str>)>,
    namespaces: BTreeSet<Arc<str>>,
    unlistable: BTreeSet<Unlistable>,
    /// The nodes whose Pods count as ended.
    unreported: Vec<Arc<str>>,
    /// The run beside which the plan is carried out.
    beside: Option<RunId>,
}

impl Offered {
    fn of(plan: &Plan) -> Self {
        let is_kept = |wanted: fn(&KeptReason) -> bool| {
            let kept = plan.kept.iter().filter(move |kept| wanted(&kept.reason));
            set(kept.map(|kept| kept.object.clone()))
        };
        let objects = plan.steps.iter().map(|step| &step.object);
        let objects: Vec<&ObjectRef> =
            objects.chain(plan.kept.iter().map(|it| &it.object)).collect();
        let mut offered = Self {
            unclaimed: is_kept(|reason| *reason == KeptReason::Unclaimed),
            annotated: is_kept(|reason| matches!(reason, KeptReason::KeepAnnotation { .. })),
            left_out: BTreeSet::new(),
            kinds: set(objects.iter().map(|it| (it.kind.clone(), it.group.clone()))),
            namespaces: set(objects.iter().filter_map(|it| it.namespace.clone())),
            unlistable: set(plan.unlistable.iter().cloned()),
            unreported: Vec::new(),
            beside: None,
        };
        for choice in plan.choices.iter() {
            offered.add(choice.clone());
        }
        offered
    }

    fn add(&mut self, made: Choice) {
        match made {
            Choice::Include(object) => self.unclaimed.extend([object]),
            Choice::Delete(object) => self.annotated.extend([object]),
            Choice::Without(object) => self.left_out.extend([object]),
            Choice::WithoutKind { group, kind } => self.kinds.extend([(kind, group)]),
            Choice::Namespace(name) => self.namespaces.extend([name]),
            Choice::Unproven(it) => self.unlistable.extend([it]),
            Choice::Unreported(node) => self.unreported.push(node),
            Choice::Unplanned(run) => self.beside = Some(run),
            Choice::IncludeAll | Choice::KeepData => {}
        }
    }
}

/// The items in order, each once. They are put in one by one: `collect` sorts them first, and each type that is sorted makes
/// the browser's half larger (see `crate::sort`).
fn set<T: Ord>(items: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// The boxes of the objects of which no label says that they are part of the unit.
fn unclaimed(choices: &Choices, boxes: Vec<AnyView>) -> Option<AnyView> {
    (choices.has(&Choice::IncludeAll) || !boxes.is_empty()).then(|| {
        view! {
            <fieldset>
                <legend>{text::UNCLAIMED}</legend>
                <p>{text::UNCLAIMED_LEAD}</p>
                {tick(choices, &Choice::IncludeAll, text::INCLUDE_ALL.to_owned())}
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

/// The boxes of these objects, each for such a choice.
fn objects(
    choices: &Choices,
    objects: BTreeSet<ObjectRef>,
    choice: fn(ObjectRef) -> Choice,
) -> Vec<AnyView> {
    let boxes = objects.into_iter();
    boxes.map(|it| tick(choices, &choice(it.clone()), text::named(&it))).collect()
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
