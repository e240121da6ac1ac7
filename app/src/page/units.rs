//! `/`: the units of the cluster, and the runs.

use leptos::prelude::*;
use teardown::message::{RunCard, Topic, UnitCard};

use crate::{
    address::Address,
    erased::{memo, now},
    scene,
    sorted::sorted,
    text,
    view::{
        banner, empty, run_row::run_row, search::Search, state_bar::state_links, unit_row::unit_row,
    },
};

/// The table of units.
#[component]
pub fn Units() -> impl IntoView {
    let scene = super::open(Signal::derive(|| Topic::Units));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let blind = super::blind(scene);
    let units = memo(move || {
        let sieve = address.sieve();
        scene.read(|records| {
            let matches = |card: &&UnitCard| {
                sieve.takes_any(&card.counts)
                    && (sieve.finds(card.id.as_str())
                        || card.namespaces.iter().any(|namespace| sieve.finds(namespace)))
            };
            scene::units(records).filter(matches).cloned().collect::<Vec<_>>()
        })
    });
    // Units, for an object can be in several of them.
    let counts = memo(move || {
        scene.read(|records| {
            let states = scene::units(records).flat_map(|card| &card.counts);
            scene::count(states.filter(|(_, count)| **count > 0).map(|(state, _)| state))
        })
    });
    let any = memo(move || scene.read_members(|records| scene::units(records).next().is_some()));
    let runs = memo(move || {
        let runs: Vec<RunCard> = scene.read(|records| scene::runs(records).cloned().collect());
        sorted(runs, |a, b| (a.state.is_ended(), b.started).cmp(&(b.state.is_ended(), a.started)))
    });
    let body = move || match (scene.is_known(), any.get()) {
        (false, _) => empty::loading().into_any(),
        (true, false) => empty::empty(
            "kind-unit",
            text::NO_UNITS,
            text::NO_UNITS_MEANS,
            view! { <code class="command">{text::NO_UNITS_DO}</code> }.into_any(),
        )
        .into_any(),
        (true, true) if units.with(Vec::is_empty) => empty::nothing_matches().into_any(),
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
                    <tbody>{now(move || units.get().iter().map(unit_row).collect_view())}</tbody>
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
            {now(move || counts.with(|counts| state_links(counts, address)))}
            {now(move || cluster.get().map(|card| banner::cluster(&card)))}
            {now(move || banner::blind(&blind.get()))}
            {now(body)}
            <section class="runs" id="runs" aria-labelledby="runs-title">
                <h2 id="runs-title">{text::OPEN_RUNS}</h2>
                {now(move || {
                    if runs.with(Vec::is_empty) {
                        view! { <p class="quiet">{text::NO_RUNS}</p> }.into_any()
                    } else {
                        view! { <ul class="run-list">{runs.get().iter().map(run_row).collect_view()}</ul> }.into_any()
                    }
                })}
            </section>
        </div>
    }
}
