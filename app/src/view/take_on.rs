//! The question before storage is deleted although nobody reported that its Pods have ended. The name of the claim is typed,
//! because a second writer loses data that nothing brings back.

use leptos::prelude::*;
use teardown::{message::StepCard, object::Uid, plan::StepId, run::StepProblem};

use super::{ask::Ask, object_name::object_name};
use crate::text;

/// The dialog.
#[component]
pub fn TakeOn(
    /// The step of the claim, as it was when the question was asked. A Pod that joins later is not in it, and the server
    /// refuses the answer then.
    asked: RwSignal<Option<StepCard>>,
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// Whether an order is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Takes it on; gets the step, what was typed and the Pods that were shown.
    take_on: Callback<(StepId, String, Vec<Uid>)>,
) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let claim = move || asked.with(|step| step.as_ref().map(|step| step.object.clone()));
    let pods = move || {
        let lines = asked.with(|step| step.as_ref()?.problem.as_ref().map(text::evidence));
        let lines = lines.into_iter().flatten();
        lines.map(|line| view! { <li>{line}</li> }.into_any()).collect_view()
    };
    let title =
        Signal::derive(move || claim().as_ref().map(text::take_on_title).unwrap_or_default());
    let holds = Signal::derive(move || {
        let is_typed =
            claim().is_some_and(|claim| typed.with(|typed| typed.trim() == &*claim.name));
        busy.get() || !is_typed
    });
    let act = Callback::new(move |()| {
        if let Some(step) = asked.get_untracked() {
            let pods = step.problem.as_ref().map(StepProblem::unconfirmed).unwrap_or_default();
            take_on.run((step.id, typed.get_untracked(), pods));
            typed.set(String::new());
        }
    });
    let label = move || {
        let name = claim().map(|claim| text::isolated(&claim.name));
        name.map(|name| text::confirm_type(&name)).unwrap_or_default()
    };
    view! {
        <Ask open id="take-on-title" title label=text::TAKE_ON_NOW busy=holds act>
            <p>{move || claim().as_ref().map(object_name)}</p>
            <p>{text::TAKE_ON_MEANS}</p>
            <ul>{move || pods()}</ul>
            <p><strong>{text::TAKE_ON_DO}</strong></p>
            <label for="take-on-name">{move || label()}</label>
            <input
                id="take-on-name"
                type="text"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                prop:value=move || typed.get()
                on:input:target=move |event| typed.set(event.target().value())
            />
        </Ask>
    }
}
