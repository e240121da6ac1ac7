//! A step of a plan: the object, the exception to a plain DELETE, and the objects that go first.

use std::collections::HashMap;

use jiff::Timestamp;
use leptos::prelude::*;
use teardown::{
    object::Uid,
    plan::{Blocker, Plan, Step, StepAction},
};

use crate::{
    text,
    view::{icon::icon, moment::moment, object_name::object_name_short},
};

/// The moment since which an object has been terminating, by UID.
pub type Terminating = HashMap<Uid, Timestamp>;

/// The step.
pub fn step(plan: &Plan, step: &Step, terminating: &Terminating) -> AnyView {
    let namespace = step.object.namespace.as_deref().unwrap_or_default().to_owned();
    let waits = matches!(step.action, StepAction::Await);
    let reasons = match step.after.as_slice() {
        [] => {
            view! { <p class="step-reason step-at-once">{text::WAITS_FOR_NOTHING}</p> }.into_any()
        }
        [one] => blocker(plan, one).into_any(),
        [first, rest @ ..] => view! {
            {blocker(plan, first)}
            <details class="step-more">
                <summary>{text::more(rest.len())}</summary>
                {rest.iter().map(|one| blocker(plan, one)).collect_view()}
            </details>
        }
        .into_any(),
    };
    let since = terminating.get(&step.uid).map(|at| {
        view! { <p class="step-terminating">{icon("state-terminating")} " " {text::TERMINATING_SINCE} " " {moment(*at)}</p> }.into_any()
    });
    let finalizers = (!step.finalizers.is_empty()).then(|| {
        view! { <p class="step-finalizers">{icon("icon-hook")} " " {text::words(&step.finalizers)}</p> }.into_any()
    });
    view! {
        <li class="step-card" class:step-awaited=waits id=format!("step-{}", step.id)>
            <div class="step-name">{object_name_short(&step.object)}</div>
            <p class="step-place">
                <bdi class="step-namespace">{text::visible(&namespace)}</bdi>
                <span class="step-action">{text::action(step)}</span>
            </p>
            {since}
            {reasons}
            {finalizers}
        </li>
    }
    .into_any()
}

fn blocker(plan: &Plan, blocker: &Blocker) -> AnyView {
    let said = plan
        .step(blocker.step)
        .map(|before| text::blocker(&before.object, blocker))
        .unwrap_or_default();
    let reasons = blocker
        .edges
        .iter()
        .map(|edge| view! { <span class="quote">{text::reason(&edge.reason)}</span> }.into_any())
        .collect_view();
    view! {
        <p class="step-reason">
            <a href=format!("#step-{}", blocker.step) rel="external">{said}</a>
            {reasons}
        </p>
    }
    .into_any()
}
