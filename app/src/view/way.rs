//! The ways out of a deletion that waits, the least harmful first and open, each with its commands to copy.

use leptos::prelude::*;
use teardown::{
    advice::{Way, WayCommand, WayNeed},
    remedy::{Harm, Holds},
};

use super::icon::icon;
use crate::{state::clipboard, text};

/// The list with its heading.
pub fn ways_out(ways: &[Way]) -> AnyView {
    list(view! { <h3>{text::WAYS_OUT}</h3> }.into_any(), ways)
}

/// The list under another heading.
pub fn list(heading: AnyView, ways: &[Way]) -> AnyView {
    let rows = ways.iter().enumerate().map(|(place, way)| row(way, place == 0)).collect_view();
    view! { <section class="ways">{heading}<ol>{rows}</ol></section> }.into_any()
}

fn row(way: &Way, is_first: bool) -> AnyView {
    let class = match way.harm {
        Harm::None => "way-harm none",
        Harm::Reversible | Harm::Interruption | Harm::Deletion => "way-harm some",
        Harm::Leftovers | Harm::DataLoss => "way-harm much",
    };
    let withheld = way.withheld.clone().map(|why| {
        view! { <p class="way-withheld">{icon("icon-lock")} <span>{why}</span></p> }.into_any()
    });
    let needs = (!way.needs.is_empty()).then(|| {
        let needs = way.needs.iter().map(need).collect_view();
        view! { <ul class="way-needs" aria-label=text::NEEDS>{needs}</ul> }.into_any()
    });
    let warnings: Vec<String> =
        way.reaches.iter().chain(&way.loses).chain(&way.undo).cloned().collect();
    let warnings = (!warnings.is_empty()).then(|| {
        let lines =
            warnings.into_iter().map(|line| view! { <li>{line}</li> }.into_any()).collect_view();
        view! { <ul class="way-warnings">{lines}</ul> }.into_any()
    });
    let commands = way.commands.iter().map(command).collect_view();
    view! {
        <li>
            <details class="way" open=is_first>
                <summary>
                    <span class="way-title">{way.title.clone()}</span>
                    " " <span class=class>{way.harms.clone()}</span>
                </summary>
                <p>{way.does.clone()}</p>
                {withheld}
                {needs}
                {warnings}
                {commands}
            </details>
        </li>
    }
    .into_any()
}

fn need(need: &WayNeed) -> AnyView {
    let symbol = match need.holds {
        Holds::Yes => "state-gone",
        Holds::No => "state-refused",
        Holds::Unknown => "state-unknown",
    };
    view! {
        <li>
            {icon(symbol)} <span class="visually-hidden">{text::holds(need.holds)} ": "</span>
            <span>{need.what.clone()}</span>
        </li>
    }
    .into_any()
}

fn command(command: &WayCommand) -> AnyView {
    let copied = RwSignal::new(false);
    let line = command.line.clone();
    let copy = move |_| clipboard::put(line.clone(), copied);
    view! {
        <div class="way-command">
            <span class="way-place">{command.what.clone()}</span>
            <pre tabindex="0"><code>{command.line.clone()}</code></pre>
            <button type="button" class="button small" on:click=copy>
                {move || if copied.get() { text::COMMAND_COPIED } else { text::COPY_COMMAND }}
            </button>
        </div>
    }
    .into_any()
}
