//! The head of a run, which stays in sight: where it stands, how long, how much is gone, and which commands it takes.

use leptos::prelude::*;
use teardown::{
    message::{RunCard, State},
    run::{RunCommand, RunState},
};

use super::{current::is_moving, stop::Stop};
use crate::{
    navigation::address,
    state::{clock::Clock, scene::Scene},
    text,
    view::{control::guard::Guarded, icon::icon, moment::moment},
};

/// The head.
#[component]
pub fn RunHead(
    /// The run's records.
    scene: Scene,
    /// The run.
    card: Signal<RunCard>,
    /// The number of steps that need attention.
    attention: Signal<usize>,
    /// Whether a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Sends the run a command.
    send: Callback<RunCommand>,
) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let stopping = RwSignal::new(false);
    let state = Memo::new(move |_| card.with(|card| card.state));
    let gone = move || card.with(|card| card.counts.get(&State::Gone).copied().unwrap_or_default());
    let total = move || card.with(|card| card.total);
    let elapsed = move || {
        card.with(|card| match card.ended {
            Some(ended) => ended.as_second() - card.started.as_second(),
            None => clock.since(card.started),
        })
    };
    let time = move || {
        if card.with(|card| card.ended.is_some()) {
            view! { <b>{text::run_result(gone(), elapsed())}</b> }.into_any()
        } else {
            view! { <span>{text::ELAPSED} " " <b>{text::duration(elapsed())}</b></span> }.into_any()
        }
    };
    // Stuck, and nothing else is in progress.
    let blocked = Memo::new(move |_| {
        card.with(|card| {
            let count = |state: State| card.counts.get(&state).copied().unwrap_or_default();
            let moving = State::ALL.into_iter().filter(|state| is_moving(*state));
            let all: usize = moving.map(count).sum();
            let stuck = count(State::Stuck);
            (card.state == RunState::Running && stuck > 0 && all == stuck).then_some(stuck)
        })
    });
    let badge = move || match blocked.get() {
        Some(stuck) => text::blocked(stuck),
        None => text::run_state(state.get()).to_owned(),
    };
    let is_open = Memo::new(move |_| matches!(state.get(), RunState::Running | RunState::Paused));
    // One button for both, so that it keeps the focus.
    let is_paused = move || state.get() == RunState::Paused;
    let buttons = move || {
        let turn = Callback::new(move |()| {
            send.run(if is_paused() { RunCommand::Resume } else { RunCommand::Pause });
        });
        let stop = Callback::new(move |()| stopping.set(true));
        let label = Signal::derive(move || if is_paused() { text::RESUME } else { text::PAUSE });
        is_open.get().then(|| {
            view! {
                <Guarded label busy act=turn/>
                <Guarded label=text::STOP busy act=stop class="danger"/>
            }
            .into_any()
        })
    };
    let halt = move || card.with(|card| card.halted_by.as_ref().map(text::halted_by));
    let class = move || match state.get() {
        RunState::Running if blocked.get().is_some() => "run-badge run-badge-blocked",
        RunState::Running => "run-badge run-badge-running",
        RunState::Paused => "run-badge run-badge-paused",
        RunState::Stopping => "run-badge run-badge-paused",
        RunState::Finished => "run-badge run-badge-finished",
        RunState::Stopped => "run-badge",
    };
    view! {
        <div class="run-head">
            <div class="run-head-line">
                <h1>{move || text::run_title(&card.with(|card| text::isolated(card.unit.as_str())), state.get())}</h1>
                <span class=class>{move || badge()}</span>
                <span class="grow"></span>
                <div class="tools">{move || buttons()}</div>
            </div>
            <p class="run-head-halt" role="status">{move || halt()}</p>
            <div class="run-head-line run-head-figures">
                <div class="run-head-progress">
                    <progress
                        max=move || total().max(1).to_string()
                        value=move || gone().to_string()
                        aria-label=text::PROGRESS
                    ></progress>
                    <span>{move || text::gone_of(gone(), total())}</span>
                </div>
                {move || time()}
                <a href="#kept-title" rel="external">{move || text::to_keep(card.with(|card| card.kept))}</a>
                {move || card.with(|card| (card.left_to_cluster > 0).then(|| view! {
                    <a href="#left-title" rel="external">{text::left_to_cluster(card.left_to_cluster)}</a>
                }.into_any()))}
                {move || (attention.get() > 0).then(|| view! {
                    <a class="run-attention" href="#attention" rel="external">
                        {icon("state-stuck")} {text::attention(attention.get())}
                    </a>
                }.into_any())}
                <span class="quiet">{move || card.with(|card| {
                    let ended = card.ended.map(|ended| view! { " · " {text::ENDED} " " {moment(ended)} }.into_any());
                    let recovered = (card.recovered > 0).then(|| format!(" · {}", text::recovered(card.recovered)));
                    view! {
                        {text::STARTED} " " {moment(card.started)} " " {text::by(&card.by)} {ended} {recovered}
                        " · " <a href=address::plan(&card.unit, &card.plan)>{text::SEE_PLAN}</a>
                    }.into_any()
                })}</span>
            </div>
            <Stop scene open=stopping busy send/>
        </div>
    }
}
