//! The parents that a stopped run left suspended, with a button that makes them active again.

use leptos::prelude::*;
use teardown::{message::StepCard, run::LeftSuspended};

use crate::{
    state::scene::{self, Scene},
    text,
    view::{
        control::{ask::Ask, guard::Guarded},
        icon::icon,
    },
};

/// The list; nothing if the run left none.
#[component]
pub fn LeftSuspendedList(
    /// The run's records.
    scene: Scene,
    /// Whether a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Makes them active again.
    put_back: Callback<()>,
) -> impl IntoView {
    let left: Memo<Vec<StepCard>> = Memo::new(move |_| {
        let is_left = |step: &&StepCard| step.left_suspended.is_some();
        scene.read(|records| scene::steps(records).filter(is_left).cloned().collect())
    });
    let open = RwSignal::new(false);
    let ask = Callback::new(move |()| open.set(true));
    let title = Signal::stored(text::MAKE_ACTIVE_TITLE.to_owned());
    let rows = move || {
        let steps = left.get().into_iter();
        let row = |step: StepCard| {
            let how = step.left_suspended.map(text::left_suspended);
            view! { <li>{text::named(&step.object)} ": " {how}</li> }.into_any()
        };
        steps.map(row).collect_view()
    };
    let is_any_off = move || {
        let is_off = |step: &StepCard| step.left_suspended == Some(LeftSuspended::Suspended);
        left.with(|steps| steps.iter().any(is_off))
    };
    move || {
        (!left.with(Vec::is_empty)).then(|| {
            view! {
                <div class="banner warn">
                    {icon("icon-warning")}
                    <div>
                        <strong>{text::LEFT_SUSPENDED}</strong>
                        <ul>{rows()}</ul>
                        {is_any_off().then(|| view! { <Guarded label=text::MAKE_ACTIVE busy act=ask/> }.into_any())}
                        <Ask open id="put-back-title" title label=text::MAKE_ACTIVE_NOW busy act=put_back>
                            <p>{text::MAKE_ACTIVE_LEAD}</p>
                        </Ask>
                    </div>
                </div>
            }
            .into_any()
        })
    }
}
