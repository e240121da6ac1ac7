//! The game, where the cluster is only played: that nothing real is touched, and what can be pulled to see what follows.

use leptos::prelude::*;
use teardown::message::{Demo, DemoFault, FaultSwitch};

use super::{
    each::{Row, each},
    icon::icon,
};
use crate::{
    command,
    erased::{memo, now},
    live::Connection,
    text,
};

/// What a button asks of the server: a [`teardown::demo::DemoCommand`].
const FAST: &str = r#"{"play":"speed","times":10}"#;
const SLOW: &str = r#"{"play":"speed","times":1}"#;
const REPAIR: &str = r#"{"play":"repair"}"#;
const RESET: &str = r#"{"play":"reset"}"#;

/// The banner with its levers. Nothing where the cluster is real.
pub fn demo(game: Memo<Option<Demo>>, play: fn(String)) -> AnyView {
    let is_played = memo(move || game.with(Option::is_some));
    now(move || {
        is_played.get().then(|| {
            let fast = Box::new(move || {
                game.with(|game| game.as_ref().is_some_and(|game| game.speed > 1))
            });
            let speed = Box::new(|fast| if fast { SLOW } else { FAST }.to_owned());
            view! {
                <details class="playground">
                    <summary>
                        {icon("icon-run")} <strong>{text::PLAYED}</strong> " " <span>{text::PLAYED_MEANS}</span>
                    </summary>
                    <div class="playground-levers">
                        {each(move || rows(game, play))}
                        {button(text::SPEED.to_owned(), fast, false, speed, play)}
                        {button(text::REPAIR_ALL.to_owned(), Box::new(|| false), false, Box::new(|_| REPAIR.to_owned()), play)}
                        {button(text::START_OVER.to_owned(), Box::new(|| false), false, Box::new(|_| RESET.to_owned()), play)}
                    </div>
                </details>
            }
        })
    })
}

fn rows(game: Memo<Option<Demo>>, play: fn(String)) -> Vec<Row> {
    let switches =
        game.with(|game| game.as_ref().map(|game| game.switches.clone()).unwrap_or_default());
    switches
        .into_iter()
        .map(|FaultSwitch { what, subject, .. }| row(game, play, what, subject))
        .collect()
}

fn row(game: Memo<Option<Demo>>, play: fn(String), what: DemoFault, subject: String) -> Row {
    let label = text::switch(what, &subject);
    Row::new(label.clone(), move || {
        let body = Box::new(command::switch(what, &subject));
        let is_pulled = Box::new(move || {
            let switch = FaultSwitch { what, subject: subject.clone(), on: true };
            game.with(|game| game.as_ref().is_some_and(|game| game.switches.contains(&switch)))
        });
        button(label, is_pulled, what == DemoFault::Incident, body, play)
    })
}

/// A button that stays down while what it stands for is so, for good if it can happen only once; `body` says what is
/// asked of the server then.
fn button(
    label: String,
    is_down: Box<dyn Fn() -> bool + Send + Sync>,
    once: bool,
    body: Box<dyn Fn(bool) -> String + Send>,
    play: fn(String),
) -> AnyView {
    let down = memo(is_down);
    let connection = expect_context::<Connection>();
    let act = move |_| play(body(down.get_untracked()));
    view! {
        <button
            type="button"
            class="button"
            aria-pressed=move || down.get().to_string()
            disabled=move || connection.hindrance().is_some() || (once && down.get())
            on:click=act
        >
            {label}
        </button>
    }
    .into_any()
}
