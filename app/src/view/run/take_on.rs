//! The question before storage, or a namespace, is deleted although nobody reported that what stood in front of it has ended.
//! The name of the object is typed, because a second writer loses data that nothing brings back.

use leptos::prelude::*;
use teardown::{message::StepCard, object::Uid, plan::StepId, run::StepProblem};

use crate::{
    text,
    view::{control::typed::Typed, object_name::object_name},
};

/// The dialog.
#[component]
pub fn TakeOn(
    /// The step, as it was when the question was asked. An object that joins later is not in it, and the server refuses the
    /// answer then.
    asked: RwSignal<Option<StepCard>>,
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// Whether an order is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Takes it on; gets the step, what was typed and the objects that were shown.
    take_on: Callback<(StepId, String, Vec<Uid>)>,
) -> impl IntoView {
    let claim = move || asked.with(|step| step.as_ref().map(|step| step.object.clone()));
    let pods = move || {
        let lines = asked.with(|step| step.as_ref()?.problem.as_ref().map(text::evidence));
        let lines = lines.into_iter().flatten();
        lines.map(|line| view! { <li>{line}</li> }.into_any()).collect_view()
    };
    let data = move || asked.with(|step| step.as_ref()?.fate.map(text::taken_data));
    let title =
        Signal::derive(move || claim().as_ref().map(text::take_on_title).unwrap_or_default());
    let name = Signal::derive(move || claim().map(|it| it.name.to_string()).unwrap_or_default());
    let act = Callback::new(move |typed: String| {
        if let Some(step) = asked.get_untracked() {
            let pods = step.problem.as_ref().map(StepProblem::unconfirmed).unwrap_or_default();
            take_on.run((step.id, typed, pods));
        }
    });
    view! {
        <Typed open id="take-on" title label=text::TAKE_ON_NOW name busy act>
            <p>{move || claim().as_ref().map(object_name)}</p>
            <p>{text::TAKE_ON_MEANS}</p>
            <ul>{move || pods()}</ul>
            <p><strong>{move || data()} " " {text::TAKE_ON_DO}</strong></p>
        </Typed>
    }
}
