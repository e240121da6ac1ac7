//! The question before a run is stopped, with the objects that a stop leaves. It counts what this run requested: what was
//! terminating before is named for itself.

use leptos::prelude::*;
use teardown::run::RunCommand;

use crate::{
    state::{
        progress::Progress,
        scene::{self, Scene},
    },
    text,
    view::control::ask::Ask,
};

/// The dialog.
#[component]
pub fn Stop(
    /// The run's records.
    scene: Scene,
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Whether a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Sends the run a command.
    send: Callback<RunCommand>,
) -> impl IntoView {
    let left = move || {
        // Where nobody asks, nothing is counted.
        if !open.get() {
            return None;
        }
        let reached: Vec<Progress> = scene.read(|records| {
            scene::steps(records).map(|step| Progress::of(step, records)).collect()
        });
        let count = |reach| reached.iter().filter(|reached| **reached == reach).count();
        let counts = text::stop_counts(
            count(Progress::Untouched),
            count(Progress::Accepted),
            count(Progress::Gone),
        );
        let unsure = Some(count(Progress::Open)).filter(|unsure| *unsure > 0).map(text::stop_open);
        let foreign =
            Some(count(Progress::Foreign)).filter(|foreign| *foreign > 0).map(text::stop_foreign);
        Some(
            view! { <p class="stop-counts">{counts}</p> <p>{foreign}</p> <p>{unsure}</p> }
                .into_any(),
        )
    };
    let title = Signal::stored(text::STOP_TITLE.to_owned());
    let act = Callback::new(move |()| send.run(RunCommand::Stop));
    view! {
        <Ask open id="stop-title" title label=text::STOP_NOW busy act>
            <p>{text::STOP_LEAD}</p>
            {move || left()}
        </Ask>
    }
}
