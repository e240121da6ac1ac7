//! The question before storage is deleted although nobody reported that its Pods have ended. The name of the claim is typed,
//! because a second writer loses data that nothing brings back.

use leptos::prelude::*;
use teardown::plan::StepId;

use super::{ask::Ask, object_name::object_name};
use crate::{
    state::scene::{self, Scene},
    text,
};

/// The dialog.
#[component]
pub fn TakeOn(
    /// The run's records.
    scene: Scene,
    /// The step of the claim.
    asked: RwSignal<Option<StepId>>,
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// Whether an order is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Takes it on; gets the step and what was typed.
    take_on: Callback<(StepId, String)>,
) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let claim = Memo::new(move |_| {
        let id = asked.get()?;
        scene.read(|records| {
            scene::steps(records).find(|step| step.id == id).map(|step| step.object.clone())
        })
    });
    let title = Signal::derive(move || {
        claim.with(|claim| claim.as_ref().map(text::take_on_title).unwrap_or_default())
    });
    let holds = Signal::derive(move || {
        let is_typed = claim.with(|claim| {
            claim.as_ref().is_some_and(|claim| typed.with(|typed| typed.trim() == &*claim.name))
        });
        busy.get() || !is_typed
    });
    let act = Callback::new(move |()| {
        if let Some(step) = asked.get_untracked() {
            take_on.run((step, typed.get_untracked()));
            typed.set(String::new());
        }
    });
    let label = move || {
        claim.with(|claim| {
            let name = claim.as_ref().map(|claim| text::isolated(&claim.name));
            name.map(|name| text::confirm_type(&name)).unwrap_or_default()
        })
    };
    view! {
        <Ask open id="take-on-title" title label=text::TAKE_ON_NOW busy=holds act>
            <p>{move || claim.with(|claim| claim.as_ref().map(object_name))}</p>
            <p>{text::TAKE_ON_MEANS}</p>
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
