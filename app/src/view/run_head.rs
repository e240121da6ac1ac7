//! The head of a run, which stays in sight: where it stands, how long, how much is gone, and what can be told to it.

use leptos::prelude::*;
use teardown::{
    message::{RunCard, State},
    run::RunState,
};

use super::{guard::Guarded, icon::icon, moment::moment, stop::Stop};
use crate::{
    navigation::address, state::clock::Clock, state::command::RunCommand, state::scene::Scene, text,
};

/// The head.
#[component]
pub fn RunHead(
    /// The run's records.
    scene: Scene,
    /// The run.
    card: Signal<RunCard>,
    /// How many steps need a person's eye.
    attention: Signal<usize>,
    /// Whether an order is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Tells the run.
    order: Callback<RunCommand>,
) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let stopping = RwSignal::new(false);
    let state = Memo::new(move |_| card.with(|card| card.state));
    let gone = move || card.with(|card| card.counts.get(&State::Gone).copied().unwrap_or_default());
    let total = move || card.with(|card| card.total);
    let elapsed = move || {
        card.with(|card| match card.ended {
            Some(ended) => Some(ended.as_second() - card.started.as_second()),
            None => clock.since(card.started),
        })
        .map(text::duration)
    };
    let is_open = Memo::new(move |_| matches!(state.get(), RunState::Running | RunState::Paused));
    // One button for both, so that it keeps the focus.
    let is_paused = move || state.get() == RunState::Paused;
    let buttons = move || {
        let turn = Callback::new(move |()| {
            order.run(if is_paused() { RunCommand::Resume } else { RunCommand::Pause });
        });
        let stop = Callback::new(move |()| stopping.set(true));
        let label = Signal::derive(move || if is_paused() { text::RESUME } else { text::PAUSE });
        is_open.get().then(|| {
            view! {
                <Guarded label busy act=turn/>
                <Guarded label=text::STOP busy act=stop class="danger"/>
            }
        })
    };
    let class = move || match state.get() {
        RunState::Running => "run-badge running",
        RunState::Paused => "run-badge paused",
        RunState::Stopping => "run-badge stopping",
        RunState::Finished => "run-badge finished",
        RunState::Stopped => "run-badge stopped",
    };
    view! {
        <div class="run-head">
            <div class="run-head-line">
                <h1>{move || text::run_title(&card.with(|card| card.unit.to_string()))}</h1>
                <span class=class>{move || text::run_state(state.get())}</span>
                <span class="grow"></span>
                <div class="tools">{buttons}</div>
            </div>
            <div class="run-head-line figures">
                <div class="progress">
                    <progress
                        max=move || total().max(1).to_string()
                        value=move || gone().to_string()
                        aria-label=text::PROGRESS
                    ></progress>
                    <span>{move || text::gone_of(gone(), total())}</span>
                </div>
                {move || elapsed().map(|elapsed| view! { <span>{text::ELAPSED} " " <b>{elapsed}</b></span> })}
                {move || (attention.get() > 0).then(|| view! {
                    <a class="attention-count" href="#attention" rel="external">
                        {icon("state-stuck")} {text::attention(attention.get())}
                    </a>
                })}
                <span class="quiet">{move || card.with(|card| {
                    let ended = card.ended.map(|ended| view! { " · " {text::ENDED} " " {moment(ended)} });
                    let recovered = (card.recovered > 0).then(|| format!(" · {}", text::recovered(card.recovered)));
                    view! {
                        {text::STARTED} " " {moment(card.started)} " " {text::by(&card.by)} {ended} {recovered}
                        " · " <a href=address::plan(&card.unit, &card.plan)>{text::SEE_PLAN}</a>
                    }
                })}</span>
            </div>
            <Stop scene open=stopping busy order/>
        </div>
    }
}
