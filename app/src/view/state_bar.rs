//! How many objects are in each state: a stacked bar, and the same in words.

use leptos::prelude::*;
use teardown::message::{Counts, State};

use super::icon;
use crate::{sorted::sorted, text};

/// The bar and its words, worst first.
pub fn state_bar(counts: &Counts) -> impl IntoView + use<> {
    let total = counts.values().sum::<usize>().max(1);
    let mut sum = 0;
    let parts = worst_first(counts)
        .into_iter()
        .map(|(state, count)| {
            let x = sum * 1000 / total;
            sum += count;
            let width = sum * 1000 / total - x;
            let class = format!("bar-part {}", icon::of_state(state));
            view! { <rect class=class x=x y="0" width=width height="8"></rect> }
        })
        .collect_view();
    view! {
        <div class="state-bar">
            <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">{parts}</svg>
            {state_words(counts)}
        </div>
    }
}

/// The words alone.
pub fn state_words(counts: &Counts) -> impl IntoView + use<> {
    let words = worst_first(counts)
        .into_iter()
        .map(|(state, count)| {
            let name = icon::of_state(state);
            view! {
                <li class=format!("state {name}")>
                    {icon::icon(name)}
                    <span class="state-word">{text::state_count(state, count)}</span>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="state-words">{words}</ul> }
}

fn worst_first(counts: &Counts) -> Vec<(State, usize)> {
    let mut parts: Vec<(State, usize)> =
        counts.iter().map(|(state, count)| (*state, *count)).collect();
    parts.retain(|(_, count)| *count > 0);
    sorted(parts, |a, b| b.0.severity().cmp(&a.0.severity()))
}
