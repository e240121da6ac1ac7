//! The ways out of a deletion that waits, the least harmful first and open, each with its commands to copy and, where the
//! server does it, the button to have it done.

use leptos::prelude::*;
use teardown::{
    advice::{Advice, Way, WayCommand, WayNeed},
    remedy::{Harm, Holds},
    right::Right,
};

use super::adviser::Question;
use crate::{
    navigation::address,
    state::{clipboard, connection::Connection},
    text,
    view::{control::guard::Guarded, frame::focus::lead_to, icon::icon},
};

/// The ways out of a diagnosis, with the attempts at them; `question` asks before one is done.
pub fn ways_out(advice: &Advice, opened: StoredValue<Vec<String>>, question: Question) -> AnyView {
    let done = advice.attempts.iter();
    let done = done.map(|line| view! { <li>{line.clone()}</li> }.into_any()).collect_view();
    let heading = view! {
        <h3>{text::WAYS_OUT}</h3>
        <ul class="way-attempts" role="status">{done}</ul>
    };
    list(heading.into_any(), &advice.ways, opened, Some(question))
}

/// Leads to the attempts at the ways out of a diagnosis, whose button may be gone by now.
pub fn show_attempts(diagnosis: &str) {
    let card = document().get_element_by_id(&address::card_of(diagnosis));
    if let Some(done) = card.and_then(|it| it.query_selector(".way-attempts").ok().flatten()) {
        lead_to(&done);
    }
}

/// The list under a heading. `opened` has the titles of those that the reader opened, at first the first one, so that they
/// stay open when the list is drawn again.
pub fn list(
    heading: AnyView,
    ways: &[Way],
    opened: StoredValue<Vec<String>>,
    question: Option<Question>,
) -> AnyView {
    if opened.with_value(Vec::is_empty) {
        opened.update_value(|opened| opened.extend(ways.first().map(|way| way.title.clone())));
    }
    let rows = ways.iter().map(|way| row(way, opened, question)).collect_view();
    view! { <section class="ways">{heading}<ol>{rows}</ol></section> }.into_any()
}

/// The objects that it hits, its losses, whether it can be taken back, and its preconditions.
pub fn warnings(way: &Way) -> AnyView {
    let needs = (!way.needs.is_empty()).then(|| {
        let needs = way.needs.iter().map(need).collect_view();
        view! { <ul class="way-needs" aria-label=text::NEEDS>{needs}</ul> }.into_any()
    });
    let lines = way.reaches.iter().chain(&way.loses).chain(&way.undo).cloned();
    let lines = lines.map(|line| view! { <li>{line}</li> }.into_any()).collect_view();
    view! {
        <ul class="way-warnings">{lines}</ul>
        {needs}
    }
    .into_any()
}

/// Why it cannot be chosen now.
pub fn withheld(way: &Way) -> Option<AnyView> {
    way.withheld.clone().map(locked)
}

fn locked(why: String) -> AnyView {
    view! { <p class="way-withheld">{icon("icon-lock")} <span>{why}</span></p> }.into_any()
}

fn row(way: &Way, opened: StoredValue<Vec<String>>, question: Option<Question>) -> AnyView {
    let class = match way.harm {
        Harm::None => "way-harm none",
        Harm::Reversible | Harm::Interruption | Harm::SwitchesOff | Harm::Deletion => {
            "way-harm some"
        }
        Harm::Leftovers | Harm::DataLoss => "way-harm much",
    };
    let title = way.title.clone();
    let is_open = opened.with_value(|opened| opened.contains(&title));
    // The click, because the list may be drawn again before the event `toggle` comes.
    let clicked = move |_| {
        opened.update_value(|opened| match opened.iter().position(|it| *it == title) {
            Some(place) => drop(opened.remove(place)),
            None => opened.push(title.clone()),
        });
    };
    let offer = question.filter(|_| way.offer.is_some()).map(|question| {
        let asked = way.clone();
        let act = Callback::new(move |()| question.ask(asked.clone()));
        // A session keeps its right, so a button that it can never press says so to everybody, not only to a pointer.
        let why = expect_context::<Connection>().right_hindrance(Right::Force);
        let why = why.map(|why| locked(why.to_owned()));
        view! {
            <Guarded label=text::ASK_REMEDY busy=question.open needs=Right::Force act class="small danger"/>
            {why}
        }
        .into_any()
    });
    let commands = way.commands.iter().map(command).collect_view();
    view! {
        <li>
            <details class="way" open=is_open>
                <summary on:click=clicked>
                    <span class="way-title">{way.title.clone()}</span>
                    " " <span class=class>{way.harms.clone()}</span>
                </summary>
                <p>{way.does.clone()}</p>
                {withheld(way)}
                {warnings(way)}
                {commands}
                {offer}
            </details>
        </li>
    }
    .into_any()
}

fn need(need: &WayNeed) -> AnyView {
    // A check mark says enough; whatever is not proven says so in words.
    let (symbol, class) = match need.holds {
        Holds::Yes => ("state-gone", "visually-hidden"),
        Holds::No => ("state-refused", "way-open"),
        Holds::Unknown => ("state-unknown", "way-open"),
    };
    view! {
        <li>
            {icon(symbol)} <span class=class>{text::holds(need.holds)} ": "</span>
            <span>{need.what.clone()}</span>
        </li>
    }
    .into_any()
}

/// A command with the button to copy it.
pub fn command(command: &WayCommand) -> AnyView {
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
