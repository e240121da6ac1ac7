//! `/u/{unit}`: one unit with its graph, its list, and what is known of the selected object.

use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};
use teardown::{
    message::{RunCard, Topic, UnitCard},
    plan::Choices,
    run::RunId,
    unit::UnitId,
};

use crate::{
    navigation::address::{self, Address},
    state::{
        command::{self, Refusal},
        scene::{self, Scene},
    },
    text,
    view::{
        banner,
        control::{guard::Guarded, search::Search},
        diagnosis::{diagnoses, remedy::RemedyDialog},
        empty,
        map::{drawer::Drawer, graph::Graph, list::List, shape::ShapeSwitch},
        run::row::run_row,
        unit::head::{Tally, unit_head},
    },
};

/// The unit's page.
#[component]
pub fn Unit() -> impl IntoView {
    let id = super::parameter("unit", UnitId::new);
    let scene = super::open(Signal::derive(move || Topic::Unit(id.get())));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let hidden = super::hidden_kinds(scene);
    let card: Memo<Option<UnitCard>> = Memo::new(move |_| {
        // A unit that comes or goes has another signal.
        scene.read_members(|_| ());
        scene.unit(&id.get()).map(|card| card.get())
    });
    let empty =
        Memo::new(move |_| scene.read_members(|records| scene::objects(records).next().is_none()));
    let (in_trouble, adviser) = (super::is_in_trouble(scene), super::adviser());
    let tally = Memo::new(move |_| scene.read(Tally::of));
    let runs: Memo<Vec<RunCard>> = Memo::new(move |_| {
        scene.read(|records| scene::latest_runs(records).into_iter().cloned().collect())
    });
    let open_run =
        Memo::new(move |_| card.with(|card| card.as_ref().and_then(|card| card.run.clone())));
    // The card changes with each object.
    let is_listed = Memo::new(move |_| card.with(Option::is_some));
    let planning = RwSignal::new(false);
    let refusal = RwSignal::new(None::<Refusal>);
    let plan = make_plan(id, planning, refusal);
    let is_read =
        Memo::new(move |_| cluster.with(|card| card.as_ref().is_none_or(|card| card.synced)));
    let body = move || match (scene.is_known(), empty.get()) {
        (false, _) => empty::loading(),
        (true, true) if !is_read.get() => empty::loading(),
        (true, true) if card.with(Option::is_none) && !runs.with(Vec::is_empty) => {
            torn_down(&id.get(), &runs.get())
        }
        (true, true) if card.with(Option::is_none) => {
            empty::empty("state-unknown", text::NO_UNIT, text::NO_UNIT_MEANS, empty::to_units())
                .into_any()
        }
        (true, true) => {
            empty::empty("state-gone", text::NO_OBJECTS, text::NO_OBJECTS_MEANS, empty::to_units())
                .into_any()
        }
        (true, false) => workspace(scene, address),
    };
    view! {
        <div class="page full">
            <div class="page-head">
                <div class="grow">
                    <h1><bdi>{move || text::isolated(id.get().as_str())}</bdi></h1>
                    {move || card.get().map(|card| unit_head(&card, &tally.get(), address))}
                </div>
                <div class="tools">
                    {move || (!empty.get()).then(|| view! {
                        <Search label=text::SEARCH_OBJECTS address/>
                        <ShapeSwitch address/>
                    }.into_any())}
                    {move || next(open_run.get(), is_listed.get(), planning, plan)}
                </div>
            </div>
            {move || refusal.get().map(|error| banner::refusal(&error))}
            {move || cluster.get().map(|card| banner::cluster(&card))}
            {move || banner::hidden_kinds(&hidden.get())}
            // Not among what comes and goes: its effects read signals that stay.
            <RemedyDialog adviser/>
            {move || in_trouble.get().then(|| view! {
                <h2 class="visually-hidden">{text::WHY_IT_WAITS}</h2>
                {diagnoses(scene, address, false, adviser)}
            }.into_any())}
            {move || body()}
        </div>
    }
}

/// Makes a plan of the unit, and goes to it.
fn make_plan(
    id: Memo<UnitId>,
    planning: RwSignal<bool>,
    refusal: RwSignal<Option<Refusal>>,
) -> Callback<()> {
    let navigate = use_navigate();
    Callback::new(move |()| {
        planning.set(true);
        refusal.set(None);
        let navigate = navigate.clone();
        leptos::task::spawn_local(async move {
            let made = command::make_plan(&id.get_untracked(), &Choices::default()).await;
            planning.set(false);
            match made {
                Ok(plan) => navigate(&address::chosen_plan(&plan), NavigateOptions::default()),
                Err(error) => refusal.set(Some(error)),
            }
        });
    })
}

/// The way on: to the run that is open, or to a plan.
fn next(
    open_run: Option<RunId>,
    is_listed: bool,
    planning: RwSignal<bool>,
    plan: Callback<()>,
) -> AnyView {
    match (open_run, is_listed) {
        (Some(run), _) => {
            view! { <a class="button primary" href=address::run(&run)>{text::OPEN_THE_RUN}</a> }
                .into_any()
        }
        (None, true) => {
            let label =
                Signal::derive(
                    move || {
                        if planning.get() { text::PLANNING } else { text::PLAN_TEARDOWN }
                    },
                );
            view! { <Guarded label busy=planning act=plan class="primary"/> }.into_any()
        }
        (None, false) => ().into_any(),
    }
}

/// Says that nothing is left of the unit, with its runs.
fn torn_down(id: &UnitId, runs: &[RunCard]) -> AnyView {
    let rows = runs.iter().map(run_row).collect_view();
    view! {
        {empty::torn_down(id.as_str())}
        <section aria-labelledby="unit-runs-title">
            <h2 id="unit-runs-title">{text::RUNS_OF_UNIT}</h2>
            <ul class="run-list">{rows}</ul>
        </section>
    }
    .into_any()
}

/// The map, the list and the selected object. The stylesheet shows the shape that the address names.
fn workspace(scene: Scene, address: Address) -> AnyView {
    view! {
        <div class=move || match address.shape.get() {
            None => "workspace auto",
            Some(address::Shape::Map) => "workspace map",
            Some(address::Shape::List) => "workspace list",
        }>
            <Graph scene address/>
            <List scene address/>
            <Drawer scene address/>
        </div>
    }
    .into_any()
}
