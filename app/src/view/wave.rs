//! A column of a plan: the steps of one rank.

use leptos::prelude::*;
use teardown::{message::State, plan::Plan};

use super::{state_badge::state_badge, step::step};
use crate::text;

/// The column.
pub fn wave(plan: &Plan, number: u32) -> impl IntoView + use<> {
    let steps: Vec<_> =
        plan.steps.iter().filter(|step| step.wave == number).map(|one| step(plan, one)).collect();
    let count = steps.len();
    let id = format!("wave-{number}");
    let heading = id.clone();
    view! {
        <section class="wave" aria-labelledby=id>
            <h3 id=heading>{text::wave(number)} {state_badge(State::Planned)} <span class="count">{count}</span></h3>
            <ol>{steps}</ol>
        </section>
    }
}
