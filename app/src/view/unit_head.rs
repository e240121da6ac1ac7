//! What is said of a unit at the top of its page.

use leptos::prelude::*;
use teardown::message::UnitCard;

use super::{icon::icon, state_bar::state_links};
use crate::{
    navigation::address::{self, Address},
    text,
};

/// How it was found, its size, its states, and the run that concerns it.
pub fn unit_head(card: &UnitCard, address: Address) -> impl IntoView + use<> {
    let total: usize = card.counts.values().sum();
    let run = card.run.as_ref().map(|run| {
        view! { <a class="chip run" href=address::run(run)>{icon("icon-run")} {text::COLUMN_RUN} " " {run.to_string()}</a> }
    });
    let shared = (card.shared > 0).then(|| {
        view! { <span class="chip" title=text::SHARED_HINT>{icon("icon-lock")} {text::shared(card.shared)}</span> }
    });
    view! {
        <div class="unit-head">
            <span class="chip" title=text::found_hint(card.origin)>{text::found(card.origin)}</span>
            <span class="chip">{text::objects(total)}</span>
            {shared}
            {state_links(&card.counts, address)}
            {run}
        </div>
    }
}
