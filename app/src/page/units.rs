//! `/`: the units of the cluster, and the runs.

use std::cmp::Reverse;

use leptos::prelude::*;
use teardown::{
    message::{RunCard, Topic, UnitCard},
    run::RunId,
    unit::UnitId,
};

use crate::{
    navigation::address::Address,
    state::scene,
    text,
    view::run_row::run_row,
    view::search::Search,
    view::state_bar::state_links,
    view::unit_row::unit_row,
    view::{banner, empty},
};

/// The table of units.
#[component]
pub fn Units() -> impl IntoView {
    let scene = super::open(Signal::derive(|| Topic::Units));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let blind = super::blind(scene);
    let units = Memo::new(move |_| {
        let filter = address.filter();
        scene.read(|records| {
            let matches = |card: &&UnitCard| {
                filter.matches_any_state(&card.counts)
                    && (filter.matches_text(card.id.as_str())
                        || card.namespaces.iter().any(|namespace| filter.matches_text(namespace)))
            };
            scene::units(records).filter(matches).map(|card| card.id.clone()).collect::<Vec<_>>()
        })
    });
    // Units, for an object can be in several of them.
    let counts = Memo::new(move |_| {
        scene.read(|records| {
            let states = scene::units(records).flat_map(|card| &card.counts);
            scene::count(states.filter(|(_, count)| **count > 0).map(|(state, _)| state))
        })
    });
    let any =
        Memo::new(move |_| scene.read_members(|records| scene::units(records).next().is_some()));
    let runs = Memo::new(move |_| {
        scene.read(|records| {
            let mut runs: Vec<&RunCard> = scene::runs(records).collect();
            runs.sort_by_key(|run| (run.state.is_ended(), Reverse(run.started)));
            runs.into_iter().map(|run| run.id.clone()).collect::<Vec<RunId>>()
        })
    });
    // Memos, so that a table stays while only its rows change.
    let is_none_shown = Memo::new(move |_| units.with(Vec::is_empty));
    let is_without_runs = Memo::new(move |_| runs.with(Vec::is_empty));
    let body = move || match (scene.is_known(), any.get()) {
        (false, _) => empty::loading().into_any(),
        (true, false) => empty::empty(
            "kind-unit",
            text::NO_UNITS,
            text::NO_UNITS_MEANS,
            view! { <code class="command">{text::NO_UNITS_DO}</code> }.into_any(),
        )
        .into_any(),
        (true, true) if is_none_shown.get() => empty::nothing_matches().into_any(),
        (true, true) => view! {
            <div class="table-frame">
                <table class="units">
                    <thead>
                        <tr>
                            <th scope="col">{text::COLUMN_UNIT}</th>
                            <th scope="col">{text::COLUMN_FOUND}</th>
                            <th scope="col">{text::COLUMN_NAMESPACES}</th>
                            <th scope="col" class="number">{text::COLUMN_OBJECTS}</th>
                            <th scope="col" class="wide">{text::COLUMN_STATES}</th>
                            <th scope="col" class="number">{text::COLUMN_SHARED}</th>
                            <th scope="col">{text::COLUMN_CHANGED}</th>
                            <th scope="col">{text::COLUMN_RUN}</th>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=move || units.get() key=UnitId::clone let:id>
                            {scene.unit(&id).map(|card| move || card.with(unit_row))}
                        </For>
                    </tbody>
                </table>
            </div>
        }
        .into_any(),
    };
    view! {
        <div class="page">
            <div class="page-head">
                <div>
                    <h1>{text::UNITS}</h1>
                    <p class="lead">{text::UNITS_LEAD}</p>
                </div>
                <Search label=text::SEARCH_UNITS address/>
            </div>
            {move || counts.with(|counts| state_links(counts, address))}
            {move || cluster.get().map(|card| banner::cluster(&card))}
            {move || banner::blind(&blind.get())}
            {body}
            <section class="runs" id="runs" aria-labelledby="runs-title">
                <h2 id="runs-title">{text::OPEN_RUNS}</h2>
                {move || {
                    if is_without_runs.get() {
                        view! { <p class="quiet">{text::NO_RUNS}</p> }.into_any()
                    } else {
                        view! {
                            <ul class="run-list">
                                <For each=move || runs.get() key=RunId::clone let:id>
                                    {scene.run(&id).map(|card| move || card.with(run_row))}
                                </For>
                            </ul>
                        }
                        .into_any()
                    }
                }}
            </section>
        </div>
    }
}
