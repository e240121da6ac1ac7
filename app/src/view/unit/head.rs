//! The head of a unit’s page.

use leptos::prelude::*;
use teardown::{
    message::{Counts, Membership, State, UnitCard},
    plan::KeptReason,
};

use crate::{
    navigation::address::{self, Address},
    state::scene::{self, Records},
    text,
    view::{icon::icon, state_bar::state_links},
};

/// The objects of a unit by their place in a plan and by state. The sums equal the objects on the map and in the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Objects that a plan deletes.
    pub delete: usize,
    /// Objects that a plan keeps.
    pub keep: usize,
    /// Objects that the cluster removes by itself.
    pub leave: usize,
    counts: Counts,
}

impl Tally {
    /// Counts the objects of the unit among these records.
    pub fn of(records: &Records) -> Self {
        let mut tally = Self::default();
        for card in scene::objects(records) {
            match &card.membership {
                Membership::Outside => continue,
                Membership::Member => tally.delete += 1,
                Membership::Kept(KeptReason::MadeByCluster) => tally.leave += 1,
                Membership::Kept(_) => tally.keep += 1,
            }
            *tally.counts.entry(card.state).or_default() += 1;
        }
        // Kept objects have a filter of their own.
        tally.counts.remove(&State::Kept);
        tally
    }
}

/// How it was found, its size, its states, and the run that concerns it.
pub fn unit_head(card: &UnitCard, tally: &Tally, address: Address) -> AnyView {
    let total = tally.delete + tally.keep + tally.leave;
    let run = card.run.as_ref().map(|run| {
        view! { <a class="chip chip-run" href=address::run(run)>{icon("icon-run")} {text::RUN} " " {run.to_string()}</a> }.into_any()
    });
    let filter = |word: &'static str, said: String, hint: &'static str| {
        view! {
            <a
                class="chip"
                href=address.to_state(word)
                aria-current=address.filter().selects(word).then_some("true")
                title=hint
                data-noscroll="noscroll"
            >{said}</a>
        }
        .into_any()
    };
    view! {
        <div class="unit-head">
            <span class="chip" title=text::found_hint(card.origin)>{text::found(card.origin)}</span>
            <span>{text::objects(total)} ":"</span>
            {filter("to-delete", text::to_delete(tally.delete), text::ONLY_STATE)}
            {filter("to-keep", text::to_keep(tally.keep), text::SHARED_HINT)}
            {filter("to-leave", text::left_to_cluster(tally.leave), text::LEFT_TO_CLUSTER_HINT)}
            {state_links(&tally.counts, address, text::state_count)}
            {run}
        </div>
    }
    .into_any()
}
