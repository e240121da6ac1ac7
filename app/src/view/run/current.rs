//! The place where a run is: the deletions in progress, the objects that come next, and what those wait for.

use leptos::prelude::*;
use teardown::message::{State, StepCard};

use crate::{
    state::scene::{self, Records, Scene},
    text,
};

/// Objects named in a line.
const NAMED: usize = 3;

/// The three lines, each with its objects by name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Current {
    now: Vec<String>,
    next: Vec<String>,
    waiting_for: Vec<String>,
}

impl Current {
    fn of(records: &Records) -> Self {
        let name = |step: &StepCard| text::named(&step.object);
        let steps = || scene::steps(records);
        let waits = || steps().filter(|step| matches!(step.state, State::Waiting | State::Planned));
        let first = waits().map(|step| step.wave).min();
        let next: Vec<&StepCard> = waits().filter(|step| Some(step.wave) == first).collect();
        let is_awaited = |step: &&StepCard| next.iter().any(|one| one.waits_for.contains(&step.id));
        Self {
            now: steps().filter(|step| is_moving(step.state)).map(name).collect(),
            waiting_for: steps().filter(is_awaited).map(name).collect(),
            next: next.into_iter().map(name).collect(),
        }
    }
}

/// Whether a deletion is in progress, however slowly.
pub fn is_moving(state: State) -> bool {
    matches!(
        state,
        State::Requested | State::Terminating | State::Finalizing | State::Slow | State::Stuck
    )
}

/// The lines.
pub fn current(scene: Scene) -> AnyView {
    let lines = Memo::new(move |_| scene.read(Current::of));
    let line = move |name: &'static str, of: fn(&Current) -> &Vec<String>, none: &'static str| {
        let said = move || {
            lines.with(|lines| match of(lines).as_slice() {
                [] => none.to_owned(),
                names => text::some_of(names, NAMED),
            })
        };
        view! { <div class="pair"><dt>{name}</dt><dd>{move || said()}</dd></div> }.into_any()
    };
    view! {
        <dl class="current">
            {line(text::NOW, |lines| &lines.now, text::NOTHING_NOW)}
            {line(text::NEXT, |lines| &lines.next, text::NOTHING_NEXT)}
            {line(text::WAITING_FOR, |lines| &lines.waiting_for, text::NONE)}
        </dl>
    }
    .into_any()
}
