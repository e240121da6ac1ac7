//! The parents that a stopped run left suspended, and the page that makes them active again.

use leptos::prelude::*;
use teardown::{message::StepCard, run::LeftSuspended};

use crate::{
    navigation::address,
    state::scene::{self, Scene},
    text,
    view::icon::icon,
};

/// The list; nothing if the run left none.
#[component]
pub fn LeftSuspendedList(
    /// The run's records.
    scene: Scene,
) -> impl IntoView {
    let left: Memo<Vec<StepCard>> = Memo::new(move |_| {
        let is_left = |step: &&StepCard| step.left_suspended.is_some();
        scene.read(|records| scene::steps(records).filter(is_left).cloned().collect())
    });
    let row = |step: StepCard| {
        let how = step.left_suspended.map(text::left_suspended);
        view! { <li>{text::named(&step.object)} ": " {how}</li> }.into_any()
    };
    let is_off = |step: &StepCard| step.left_suspended == Some(LeftSuspended::Suspended);
    move || {
        let steps = left.get();
        (!steps.is_empty()).then(|| {
            let is_any_off = steps.iter().any(is_off);
            view! {
                <div class="banner warn">
                    {icon("icon-warning")}
                    <div>
                        <strong>{text::LEFT_SUSPENDED}</strong>
                        <ul>{steps.into_iter().map(row).collect_view()}</ul>
                        {is_any_off.then(|| view! {
                            <p><a href=address::SWITCHED_OFF rel="external">{text::PUT_BACK}</a></p>
                        }.into_any())}
                    </div>
                </div>
            }
            .into_any()
        })
    }
}
