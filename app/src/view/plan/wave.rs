//! A column of a plan: the objects that can go at the same time.

use leptos::prelude::*;
use teardown::plan::Plan;

use super::step::{Terminating, step};
use crate::text;

/// The column.
pub fn wave(plan: &Plan, number: u32, terminating: &Terminating) -> AnyView {
    let steps: Vec<_> = plan
        .steps
        .iter()
        .filter(|step| step.wave == number)
        .map(|one| step(plan, one, terminating))
        .collect();
    let count = steps.len();
    let id = format!("wave-{number}");
    let heading = id.clone();
    view! {
        <section class="wave" aria-labelledby=id>
            <h3 id=heading>{text::wave(number)} " " <span class="count">{count}</span></h3>
            <ol>{steps}</ol>
        </section>
    }
    .into_any()
}
