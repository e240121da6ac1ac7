//! How many objects are in each state: a stacked bar, and the same in words.

use leptos::prelude::*;
use teardown::message::{Counts, State};

use super::icon;
use crate::text;

/// The bar and its words, worst first.
pub fn state_bar(counts: &Counts) -> impl IntoView + use<> {
    let total = counts.values().sum::<usize>().max(1) as f64;
    let mut left = 0.0;
    let parts = worst_first(counts)
        .into_iter()
        .map(|(state, count)| {
            let width = count as f64 / total * 1000.0;
            let x = left;
            left += width;
            let class = format!("bar-part {}", icon::of_state(state));
            view! { <rect class=class x=format!("{x:.1}") y="0" width=format!("{width:.1}") height="8"></rect> }
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
    let mut parts: Vec<(State, usize)> = counts.iter().map(|(state, count)| (*state, *count)).collect();
    parts.retain(|(_, count)| *count > 0);
    parts.sort_by_key(|(state, _)| std::cmp::Reverse(state.severity()));
    parts
}
