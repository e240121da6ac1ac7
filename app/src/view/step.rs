//! A step of a plan: the object, what is done with it, and what must be proven first.

use leptos::prelude::*;
use teardown::plan::{Blocker, Plan, Step, StepAction};

use super::{icon::icon, object_name::object_name_short};
use crate::text;

/// The step.
pub fn step(plan: &Plan, step: &Step) -> impl IntoView + use<> {
    let namespace = step.object.namespace.as_deref().unwrap_or_default().to_owned();
    let waits = matches!(step.action, StepAction::Await);
    let reasons = match step.after.as_slice() {
        [] => view! { <p class="step-reason at-once">{text::STARTS_AT_ONCE}</p> }.into_any(),
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
    let finalizers = (!step.finalizers.is_empty()).then(|| {
        view! { <p class="step-finalizers">{icon("icon-hook")} {step.finalizers.join(", ")}</p> }
    });
    view! {
        <li class="step" class:await=waits id=format!("step-{}", step.id)>
            <div class="step-name">{object_name_short(&step.object)}</div>
            <p class="step-place">
                <span class="step-deed">{text::action(step.action)}</span>
                <span class="step-namespace">{namespace}</span>
            </p>
            {reasons}
            {finalizers}
        </li>
    }
}

fn blocker(plan: &Plan, blocker: &Blocker) -> impl IntoView + use<> {
    let said = plan
        .step(blocker.step)
        .map(|before| text::blocker(&before.object, blocker))
        .unwrap_or_default();
    view! {
        <p class="step-reason">
            <a href=format!("#step-{}", blocker.step) rel="external">{said}</a>
            <span class="quote">{text::reason(&blocker.reason)}</span>
        </p>
    }
}
