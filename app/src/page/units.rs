//! `/`: the units of the cluster, and the runs.

use leptos::prelude::*;
use teardown::{
    message::{Counts, Topic, UnitCard},
    run::RunId,
    unit::{UnitId, UnitOrigin},
};

use crate::{
    navigation::address::{self, Address},
    state::scene::{self, Scene},
    text,
    view::{
        banner, control::search::Search, empty, rows::rows, run::row::run_row,
        state_bar::state_links, unit::row::unit_row,
    },
};

/// The table of units.
#[component]
pub fn Units() -> impl IntoView {
    let scene = super::open(Signal::derive(|| Topic::Units));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let hidden = super::hidden_kinds(scene);
    let units = listed(scene, address);
    let counts = row_counts(scene);
    let any =
        Memo::new(move |_| scene.read_members(|records| scene::units(records).next().is_some()));
    let is_empty = Memo::new(move |_| units.with(Vec::is_empty));
    let groups = Groups::of(units, address);
    let body = move || match (scene.is_known(), any.get()) {
        (false, _) => empty::loading(),
        (true, false) => empty::empty(
            "kind-unit",
            text::NO_UNITS,
            text::NO_UNITS_MEANS,
            view! { <code class="empty-command">{text::NO_UNITS_DO}</code> }.into_any(),
        )
        .into_any(),
        (true, true) if is_empty.get() => empty::nothing_matches(),
        (true, true) => groups.view(scene),
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
            {move || counts.with(|counts| state_links(counts, address, text::units_in_state))}
            {move || cluster.get().map(|card| banner::cluster(&card))}
            {move || banner::hidden_kinds(&hidden.get())}
            {move || body()}
            {runs(scene)}
        </div>
    }
}

/// The units that the filter finds.
fn listed(scene: Scene, address: Address) -> Memo<Vec<Listed>> {
    Memo::new(move |_| {
        let filter = address.filter();
        scene.read(|records| {
            let matches = |card: &&UnitCard| {
                filter.matches_any_state(&card.counts)
                    && (filter.matches_text(card.id.as_str())
                        || card.namespaces.iter().any(|namespace| filter.matches_text(namespace)))
            };
            scene::units(records).filter(matches).map(Listed::of).collect::<Vec<_>>()
        })
    })
}

/// The number of rows that have objects in each state. It counts rows, for an object can be in several units, and a namespace
/// that is listed with its application has no row.
fn row_counts(scene: Scene) -> Memo<Counts> {
    Memo::new(move |_| {
        scene.read(|records| {
            let listed = scene::units(records).filter(|card| card.same_as.is_none());
            let states = listed.flat_map(|card| &card.counts);
            scene::count(states.filter(|(_, count)| **count > 0).map(|(state, _)| state))
        })
    })
}

/// A unit's name, and the part of the page that lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    id: UnitId,
    part: Part,
}

impl Listed {
    fn of(card: &UnitCard) -> Self {
        let part = match (card.origin, &card.same_as) {
            (UnitOrigin::Namespace, None) => Part::Namespaces,
            (UnitOrigin::Namespace, Some(_)) => Part::Same,
            _ => Part::Applications,
        };
        Self { id: card.id.clone(), part }
    }
}

/// The parts of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Applications,
    Namespaces,
    /// Namespaces with the same objects as an application, which has a row already.
    Same,
}

impl Part {
    fn of(self, units: &[Listed]) -> Vec<UnitId> {
        units.iter().filter(|unit| unit.part == self).map(|unit| unit.id.clone()).collect()
    }
}

/// The groups of the list. Memos, so that a table stays while only its rows change.
#[derive(Clone, Copy)]
struct Groups {
    applications: Memo<Vec<UnitId>>,
    namespaces: Memo<Vec<UnitId>>,
    same: Memo<Vec<UnitId>>,
    has_applications: Memo<bool>,
    has_own_namespaces: Memo<bool>,
    has_same: Memo<bool>,
    has_namespaces: Memo<bool>,
    /// Whether the group of the namespaces is open.
    is_open: Memo<bool>,
}

impl Groups {
    fn of(units: Memo<Vec<Listed>>, address: Address) -> Self {
        let part = move |part: Part| Memo::new(move |_| units.with(|units| part.of(units)));
        let (applications, namespaces, same) =
            (part(Part::Applications), part(Part::Namespaces), part(Part::Same));
        let has_applications = Memo::new(move |_| !applications.with(Vec::is_empty));
        let has_own_namespaces = Memo::new(move |_| !namespaces.with(Vec::is_empty));
        let has_same = Memo::new(move |_| !same.with(Vec::is_empty));
        Self {
            applications,
            namespaces,
            same,
            has_applications,
            has_own_namespaces,
            has_same,
            has_namespaces: Memo::new(move |_| has_own_namespaces.get() || has_same.get()),
            // A filter opens the group, so that no match is hidden.
            is_open: Memo::new(move |_| !address.filter().is_empty() || !has_applications.get()),
        }
    }

    fn view(self, scene: Scene) -> AnyView {
        let Self { applications, namespaces, same, is_open, .. } = self;
        view! {
            {move || self.has_applications.get().then(|| table(text::COLUMN_UNIT, scene, applications))}
            {move || self.has_namespaces.get().then(|| view! {
                <details class="unit-group" open=move || is_open.get()>
                    <summary>
                        <h2>{move || text::namespaces(namespaces.with(Vec::len) + same.with(Vec::len))}</h2>
                    </summary>
                    {move || self.has_own_namespaces.get().then(|| table(text::NAMESPACE, scene, namespaces))}
                    {move || self.has_same.get().then(|| view! {
                        <p class="quiet">{text::LISTED_ABOVE}</p>
                        <ul class="unit-group-same">
                            {rows(same, UnitId::to_string, |id| Some(view! {
                                <li><a href=address::unit(&id)>{text::isolated(id.as_str())}</a></li>
                            }.into_any()))}
                        </ul>
                    }.into_any())}
                </details>
            }.into_any())}
        }
        .into_any()
    }
}

/// The runs, open ones first.
fn runs(scene: Scene) -> AnyView {
    let runs = Memo::new(move |_| {
        scene.read(|records| {
            scene::latest_runs(records)
                .into_iter()
                .map(|run| run.id.clone())
                .collect::<Vec<RunId>>()
        })
    });
    // A memo, so that the list stays while only its rows change.
    let is_without_runs = Memo::new(move |_| runs.with(Vec::is_empty));
    view! {
        <section class="runs" id="runs" aria-labelledby="runs-title">
            <h2 id="runs-title">{text::OPEN_RUNS}</h2>
            {move || {
                if is_without_runs.get() {
                    view! { <p class="quiet">{text::NO_RUNS}</p> }.into_any()
                } else {
                    view! {
                        <ul class="run-list">
                            {rows(runs, RunId::to_string, move |id| {
                                let card = scene.run(&id)?;
                                Some(view! { {move || card.with(run_row)} }.into_any())
                            })}
                        </ul>
                    }
                    .into_any()
                }
            }}
        </section>
    }
    .into_any()
}

fn table(name: &'static str, scene: Scene, units: Memo<Vec<UnitId>>) -> AnyView {
    view! {
        <div class="table-frame">
            <table class="units">
                <thead>
                    <tr>
                        <th scope="col">{name}</th>
                        <th scope="col">{text::COLUMN_FOUND}</th>
                        <th scope="col">{text::COLUMN_NAMESPACES}</th>
                        <th scope="col" class="number">{text::COLUMN_OBJECTS}</th>
                        <th scope="col">{text::COLUMN_STATES}</th>
                        <th scope="col" class="number">{text::COLUMN_SHARED}</th>
                        <th scope="col">{text::COLUMN_CHANGED}</th>
                        <th scope="col">{text::COLUMN_RUN}</th>
                    </tr>
                </thead>
                <tbody>
                    {rows(units, UnitId::to_string, move |id| {
                        let card = scene.unit(&id)?;
                        Some(view! { {move || card.with(unit_row)} }.into_any())
                    })}
                </tbody>
            </table>
        </div>
    }
    .into_any()
}
