//! A run as a row.

use leptos::prelude::*;
use teardown::message::{RunCard, State};

use crate::{
    navigation::address,
    text,
    view::{moment::moment, state_bar::state_bar},
};

/// The row.
pub fn run_row(card: &RunCard) -> AnyView {
    let gone = card.counts.get(&State::Gone).copied().unwrap_or_default();
    let ended = card.state.is_ended();
    view! {
        <li class="run-row" class:ended=ended>
            <a href=address::run(&card.id)><bdi>{text::isolated(card.unit.as_str())}</bdi></a>
            <span class="run-state">{text::run_state(card.state)}</span>
            <span class="run-progress">{text::gone_of(gone, card.total)}</span>
            {state_bar(&card.counts)}
            <span class="quiet">{text::STARTED} " " {moment(card.started)} " " {text::by(&card.by)}</span>
        </li>
    }
    .into_any()
}
