//! The banner of a simulated cluster: it says that nothing real is touched, and has the fault switches.

use leptos::prelude::*;
use teardown::demo::{Demo, DemoCommand, DemoFault, FaultSwitch};

use crate::{
    state::{command, connection::Connection},
    text,
    view::{
        control::{ask::Ask, guard::Guarded},
        icon::icon,
        rows::rows,
    },
};

/// The banner with its fault switches. Nothing where the cluster is real.
pub fn demo(state: Memo<Option<Demo>>, run_command: fn(DemoCommand)) -> AnyView {
    let is_simulated = Memo::new(move |_| state.with(Option::is_some));
    let banner = move || {
        is_simulated.get().then(|| {
            let fast = Box::new(move || {
                state.with(|demo| demo.as_ref().is_some_and(|demo| demo.speed > 1))
            });
            let speed = Box::new(|fast| DemoCommand::Speed { times: if fast { 1 } else { 10 } });
            let asking = RwSignal::new(false);
            let ask = Callback::new(move |()| asking.set(true));
            let reset = Callback::new(move |()| run_command(DemoCommand::Reset {}));
            let title = Signal::stored(text::START_OVER_TITLE.to_owned());
            view! {
                <details class="demo">
                    <summary>
                        {icon("icon-run")} <strong>{text::SANDBOX}</strong> " " <span>{text::SIMULATED_MEANS}</span>
                    </summary>
                    {group(state, run_command, true)}
                    <div class="demo-switches">
                        {button(text::SPEED.to_owned(), String::new(), fast, false, speed, run_command)}
                        {button(text::REPAIR_ALL.to_owned(), String::new(), Box::new(|| false), false, Box::new(|_| DemoCommand::Repair {}), run_command)}
                        <Guarded label=text::START_OVER_ASK busy=false act=ask/>
                    </div>
                    // Last, because switches come while an incident runs.
                    {group(state, run_command, false)}
                </details>
                <Ask open=asking id="start-over-title" title label=text::START_OVER busy=false act=reset>
                    <p>{text::START_OVER_MEANS}</p>
                </Ask>
            }
            .into_any()
        })
    };
    view! { {move || banner()} }.into_any()
}

/// The incidents, or the other switches, under their heading.
fn group(state: Memo<Option<Demo>>, run_command: fn(DemoCommand), of_incidents: bool) -> AnyView {
    let (heading, class) = if of_incidents {
        (text::INCIDENTS, "demo-switches demo-incidents")
    } else {
        (text::SWITCHES, "demo-switches")
    };
    view! {
        <p class="demo-heading">{heading}</p>
        <div class=class>
            {rows(
                Memo::new(move |_| switches(state, of_incidents)),
                |fault| fault.label.clone(),
                move |fault| Some(switch(state, run_command, fault)),
            )}
        </div>
    }
    .into_any()
}

/// The switches as they are when they are on: the button of a switch stays the same while it is flipped.
fn switches(state: Memo<Option<Demo>>, of_incidents: bool) -> Vec<FaultSwitch> {
    let mut switches =
        state.with(|demo| demo.as_ref().map(|demo| demo.switches.clone()).unwrap_or_default());
    switches.retain(|fault| (fault.what == DemoFault::Incident) == of_incidents);
    switches.iter_mut().for_each(|fault| fault.on = true);
    switches
}

fn switch(state: Memo<Option<Demo>>, run_command: fn(DemoCommand), fault: FaultSwitch) -> AnyView {
    let (label, story) = (fault.label.clone(), fault.story.clone());
    let once = fault.what == DemoFault::Incident;
    let body = Box::new(command::switch(fault.what, &fault.subject));
    let is_on = Box::new(move || {
        state.with(|demo| demo.as_ref().is_some_and(|demo| demo.switches.contains(&fault)))
    });
    button(label, story, is_on, once, body, run_command)
}

/// A button that stays down while what it stands for is so, for good if it can happen only once; `body` says what is
/// asked of the server then.
fn button(
    label: String,
    story: String,
    is_down: Box<dyn Fn() -> bool + Send + Sync>,
    once: bool,
    body: Box<dyn Fn(bool) -> DemoCommand + Send>,
    run_command: fn(DemoCommand),
) -> AnyView {
    let down = Memo::new(move |_| is_down());
    let connection = expect_context::<Connection>();
    let hindrance = move || connection.hindrance();
    let is_over = move || once && down.get();
    let is_off = move || hindrance().is_some() || is_over();
    let act = move |_| {
        if !untrack(is_off) {
            run_command(body(down.get_untracked()));
        }
    };
    view! {
        <button
            type="button"
            class="button"
            aria-pressed=move || down.get().to_string()
            aria-disabled=move || is_off().then_some("true")
            title=move || hindrance().unwrap_or_default()
            on:click=act
        >
            {label} <small>{story}</small> <strong>{move || is_over().then_some(text::BEGAN)}</strong>
        </button>
    }
    .into_any()
}
