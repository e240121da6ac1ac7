//! The events of a run, newest first.

use leptos::prelude::*;
use teardown::{
    message::{FeedEntry, State},
    run::{FeedEvent, RunId, StepProblem},
};

use crate::{
    navigation::address,
    state::scene::{self, Scene},
    text,
    view::{moment::time_of_day, rows::rows},
};

/// The event log.
#[component]
pub fn EventLog(
    /// The run's records.
    scene: Scene,
    /// The run.
    run: Memo<RunId>,
) -> impl IntoView {
    let lines = Memo::new(move |_| {
        scene.read(|records| {
            let mut lines: Vec<FeedEntry> = scene::events(records).cloned().collect();
            lines.reverse();
            lines
        })
    });
    // The lines are numbered from nothing: what is before the first that a page holds is not on it.
    let older = move || lines.with(|lines| lines.last().map_or(0, |line| line.number as usize));
    // Once a run is over nothing is left out any more, so a line that says how many stays true.
    let skipped = move || {
        scene.read(|records| {
            scene::steps(records).filter(|step| step.state == State::Skipped).count()
        })
    };
    view! {
        <section class="event-log" aria-labelledby="log-title">
            <div class="section-head">
                <h2 id="log-title">{text::EVENTS}</h2>
                <a href=move || address::event_log(&run.get()) rel="external">{text::ALL_EVENTS}</a>
            </div>
            {move || lines.with(Vec::is_empty).then(|| view! { <p class="quiet">{text::NO_EVENTS}</p> }.into_any())}
            <ol reversed=true tabindex="0" aria-labelledby="log-title">
                {rows(lines, key, move |card| Some(line(&card, untrack(skipped))))}
            </ol>
            {move || (older() > 0).then(|| view! { <p class="quiet">{text::more(older())}</p> }.into_any())}
        </section>
    }
}

/// The line of a refusal is drawn again when its count changes.
fn key(card: &FeedEntry) -> String {
    match &card.event {
        FeedEvent::Problem {
            problem: StepProblem::Refused { refusals: Some(refusals), .. },
            ..
        } => format!("{} {}", card.number, refusals.count),
        _ => card.number.to_string(),
    }
}

fn line(card: &FeedEntry, skipped: usize) -> AnyView {
    let class = match &card.event {
        FeedEvent::Problem { .. } | FeedEvent::ClaimUnread { .. } => "log-line log-problem",
        FeedEvent::DataChecked { lost, .. } if !lost.is_empty() => "log-line log-problem",
        FeedEvent::Gone { .. } | FeedEvent::DataChecked { .. } | FeedEvent::Finished => {
            "log-line log-gone"
        }
        FeedEvent::Suspended { .. }
        | FeedEvent::Requested { .. }
        | FeedEvent::Terminating { .. } => "log-line",
        FeedEvent::Started { .. }
        | FeedEvent::Recovered
        | FeedEvent::Paused { .. }
        | FeedEvent::Resumed { .. }
        | FeedEvent::Stopping { .. }
        | FeedEvent::Skipped { .. }
        | FeedEvent::TakenOn { .. }
        | FeedEvent::Stopped { .. } => "log-line log-person",
    };
    view! { <li class=class>{time_of_day(card.at)} <span>{text::event(&card.event, skipped)}</span></li> }.into_any()
}
