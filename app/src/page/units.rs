//! `/`: the units of the cluster, and the runs.

use leptos::prelude::*;
use teardown::{
    message::{RunCard, Topic, UnitCard},
    unit::UnitOrigin,
};

use crate::{
    address::{self, Address},
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
    // Rows, for an object can be in several units, and a namespace that is listed with its application has no row.
    let counts = memo(move || {
        scene.read(|records| {
            let listed = scene::units(records).filter(|card| card.same_as.is_none());
            let states = listed.flat_map(|card| &card.counts);
            scene::count(states.filter(|(_, count)| **count > 0).map(|(state, _)| state))
        })
    });
    let any = memo(move || scene.read_members(|records| scene::units(records).next().is_some()));
    let runs = memo(move || {
        let runs: Vec<RunCard> = scene.read(|records| scene::runs(records).cloned().collect());
        sorted(runs, |a, b| (a.state.is_ended(), b.started).cmp(&(b.state.is_ended(), a.started)))
    });
    let applications = memo(move || part(&units.get(), |card| card.origin == UnitOrigin::PartOf));
    let namespaces = memo(move || part(&units.get(), |card| card.origin != UnitOrigin::PartOf));
    let is_empty = memo(move || units.with(Vec::is_empty));
    let has_applications = memo(move || !applications.with(Vec::is_empty));
    let has_namespaces = memo(move || !namespaces.with(Vec::is_empty));
    // A filter opens the group, so that no match is hidden.
    let is_open = memo(move || !address.sieve().is_open() || !has_applications.get());
    let groups = move || {
        view! {
            {now(move || has_applications.get().then(|| {
                view! { {now(move || applications.with(|units| table(text::COLUMN_UNIT, units)))} }
            }))}
            {now(move || has_namespaces.get().then(|| view! {
                <details class="unit-group" open=move || is_open.get()>
                    <summary>
                        <h2>{now(move || text::namespaces(namespaces.with(Vec::len)))}</h2>
                    </summary>
                    {now(move || namespaces.with(|units| namespace_rows(units)))}
                </details>
            }))}
        }
    };
    let body = move || match (scene.is_known(), any.get()) {
        (false, _) => empty::loading().into_any(),
        (true, false) => empty::empty(
            "kind-unit",
            text::NO_UNITS,
            text::NO_UNITS_MEANS,
            view! { <code class="command">{text::NO_UNITS_DO}</code> }.into_any(),
        )
        .into_any(),
        (true, true) if is_empty.get() => empty::nothing_matches().into_any(),
        (true, true) => groups().into_any(),
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
            {now(move || counts.with(|counts| state_links(counts, address, text::units_in_state)))}
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

fn part(units: &[UnitCard], belongs: fn(&UnitCard) -> bool) -> Vec<UnitCard> {
    units.iter().filter(|card| belongs(card)).cloned().collect()
}

/// The namespaces as rows, but for those that have the same objects as an application, which has its row already.
fn namespace_rows(units: &[UnitCard]) -> impl IntoView + use<> {
    let listed = part(units, |card| card.same_as.is_none());
    let same: Vec<_> = units
        .iter()
        .filter(|card| card.same_as.is_some())
        .map(|card| {
            let name = text::isolated(card.id.as_str());
            view! { <li><a href=address::unit(&card.id)>{name}</a></li> }
        })
        .collect();
    view! {
        {(!listed.is_empty()).then(|| table(text::NAMESPACE, &listed))}
        {(!same.is_empty()).then(|| view! {
            <p class="quiet">{text::LISTED_ABOVE}</p>
            <ul class="unit-group-same">{same}</ul>
        })}
    }
}

fn table(name: &'static str, units: &[UnitCard]) -> impl IntoView + use<> {
    let rows = units.iter().map(unit_row).collect_view();
    view! {
        <div class="table-frame">
            <table class="units">
                <thead>
                    <tr>
                        <th scope="col">{name}</th>
                        <th scope="col">{text::COLUMN_FOUND}</th>
                        <th scope="col">{text::COLUMN_NAMESPACES}</th>
                        <th scope="col" class="number">{text::COLUMN_OBJECTS}</th>
                        <th scope="col" class="wide">{text::COLUMN_STATES}</th>
                        <th scope="col" class="number">{text::COLUMN_SHARED}</th>
                        <th scope="col">{text::COLUMN_CHANGED}</th>
                        <th scope="col">{text::COLUMN_RUN}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}
