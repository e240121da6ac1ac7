//! The parents that a stopped run left suspended and that are so no longer, or not known to be. Those that still are stand in the
//! banner of everything that is switched off, with the page that makes them active again.

use leptos::prelude::*;
use teardown::{message::StepCard, run::LeftSuspended};

use crate::{
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
        let is_left =
            |step: &&StepCard| step.left_suspended.is_some_and(|it| it != LeftSuspended::Suspended);
        scene.read(|records| scene::steps(records).filter(is_left).cloned().collect())
    });
    let row = |step: StepCard| {
        let how = step.left_suspended.map(text::left_suspended);
        view! { <li>{text::named(&step.object)} ": " {how}</li> }.into_any()
    };
    move || {
        let steps = left.get();
        (!steps.is_empty()).then(|| {
            view! {
                <div class="banner warn">
                    {icon("icon-warning")}
                    <div>
                        <strong>{text::LEFT_SUSPENDED}</strong>
                        <ul>{steps.into_iter().map(row).collect_view()}</ul>
                    </div>
                </div>
            }
            .into_any()
        })
    }
}
