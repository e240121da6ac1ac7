//! The number of objects in each state: a stacked bar, and the same in words.

use leptos::prelude::*;
use teardown::message::{Counts, State};

use super::icon;
use crate::{navigation::address::Address, state::mark, text};

/// The bar and its words, worst first.
pub fn state_bar(counts: &Counts) -> AnyView {
    let total = counts.values().sum::<usize>().max(1);
    let mut sum = 0;
    let parts = worst_first(counts)
        .into_iter()
        .map(|(state, count)| {
            let x = sum * 1000 / total;
            sum += count;
            let width = sum * 1000 / total - x;
            let class = format!("bar-part {}", icon::of_state(state));
            view! { <rect class=class x=x y="0" width=width height="8"></rect> }.into_any()
        })
        .collect_view();
    view! {
        <div class="state-bar">
            <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">{parts}</svg>
            {state_words(counts)}
        </div>
    }
    .into_any()
}

/// The words alone; no list where there is no word for it.
pub fn state_words(counts: &Counts) -> AnyView {
    let mut named = worst_first(counts);
    named.retain(|(state, _)| *state != State::Present);
    if named.is_empty() {
        return ().into_any();
    }
    let words = named
        .into_iter()
        .map(|(state, count)| {
            let name = icon::of_state(state);
            view! {
                <li class=format!("state {name}")>
                    {icon::icon(name)}
                    <span class="state-word">{text::state_count(state, count)}</span>
                </li>
            }
            .into_any()
        })
        .collect_view();
    view! { <ul class="state-words">{words}</ul> }.into_any()
}

/// The words as links that filter by a state; `say` is what a link says of its state and number.
pub fn state_links(counts: &Counts, address: Address, say: fn(State, usize) -> String) -> AnyView {
    let filter = address.filter();
    let mut shown = worst_first(counts);
    // The calm state is no exception, and the total stands beside it.
    shown.retain(|(state, _)| *state != State::Present);
    // A chosen state stays, so that it can be given up when nothing is in it any more.
    for state in State::ALL {
        if filter.selects_state(state) && shown.iter().all(|(other, _)| *other != state) {
            shown.push((state, 0));
        }
    }
    let links = shown
        .into_iter()
        .map(|(state, count)| {
            let class = icon::of_state(state);
            view! {
                <li class=format!("state {class}")>
                    <a
                        class="chip"
                        href=address.to_state(mark::name(state))
                        aria-current=filter.selects_state(state).then_some("true")
                        title=text::ONLY_STATE
                        data-noscroll="noscroll"
                    >
                        {icon::icon(class)}
                        <span class="state-word">{say(state, count)}</span>
                    </a>
                </li>
            }
            .into_any()
        })
        .collect_view();
    view! { <ul class="state-words">{links}</ul> }.into_any()
}

/// The states that occur with their numbers, worst first.
pub fn worst_first(counts: &Counts) -> Vec<(State, usize)> {
    let mut parts: Vec<(State, usize)> = Vec::new();
    for (state, count) in counts.iter().filter(|(_, count)| **count > 0) {
        let severity = state.severity();
        let place = parts.partition_point(|(other, _)| other.severity() >= severity);
        parts.insert(place, (*state, *count));
    }
    parts
}
