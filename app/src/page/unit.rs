//! `/u/{unit}`: one unit with its graph, its list, and what is known of the selected object.

use leptos::prelude::*;
use teardown::{
    message::{RunCard, Topic, UnitCard},
    unit::UnitId,
};

use crate::{
    address::{self, Address},
    command::{self, Refusal},
    erased::{memo, now},
    route::{Place, Route},
    scene,
    sorted::sorted,
    text,
    view::{
        banner,
        drawer::Drawer,
        empty,
        graph::Graph,
        guard::Guarded,
        list::List,
        run_row::run_row,
        search::Search,
        shape::ShapeSwitch,
        unit_head::{Tally, unit_head},
    },
};

/// The unit's page.
#[component]
pub fn Unit(
    /// The route, which names the unit.
    route: Memo<Route>,
) -> impl IntoView {
    let id = super::taken(route, |route| route.unit().cloned(), || UnitId::new(""));
    let scene = super::open(Signal::derive(move || Topic::Unit(id.get())));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let blind = super::blind(scene);
    let card: Memo<Option<UnitCard>> = memo(move || {
        scene.read(|records| scene::units(records).find(|card| card.id == id.get()).cloned())
    });
    let empty =
        memo(move || scene.read_members(|records| scene::objects(records).next().is_none()));
    let tally = memo(move || scene.read(Tally::of));
    let runs: Memo<Vec<RunCard>> = memo(move || {
        let runs: Vec<RunCard> = scene.read(|records| scene::runs(records).cloned().collect());
        sorted(runs, |a, b| b.started.cmp(&a.started))
    });
    let open_run = memo(move || card.with(|card| card.as_ref().and_then(|card| card.run.clone())));
    let planning = RwSignal::new(false);
    let refusal = RwSignal::new(None::<Refusal>);
    let place = expect_context::<Place>();
    let plan = Callback::new(move |()| {
        planning.set(true);
        refusal.set(None);
        leptos::task::spawn_local(async move {
            let made = command::make_plan(&id.get_untracked()).await;
            planning.set(false);
            match made {
                Ok(plan) => place.go(&address::plan(&plan.unit, &plan.id)),
                Err(error) => refusal.set(Some(error)),
            }
        });
    });
    let is_read = memo(move || cluster.with(|card| card.as_ref().is_none_or(|card| card.synced)));
    let body = move || match (scene.is_known(), empty.get()) {
        (false, _) => empty::loading().into_any(),
        (true, true) if !is_read.get() => empty::loading().into_any(),
        (true, true) if card.with(Option::is_none) && !runs.with(Vec::is_empty) => {
            let rows = runs.get().iter().map(run_row).collect_view();
            view! {
                {empty::torn_down(id.get().as_str())}
                <section aria-labelledby="unit-runs-title">
                    <h2 id="unit-runs-title">{text::RUNS_OF_UNIT}</h2>
                    <ul class="run-list">{rows}</ul>
                </section>
            }
            .into_any()
        }
        (true, true) if card.with(Option::is_none) => {
            empty::empty("state-unknown", text::NO_UNIT, text::NO_UNIT_MEANS, empty::to_units())
                .into_any()
        }
        (true, true) => {
            empty::empty("state-gone", text::NO_OBJECTS, text::NO_OBJECTS_MEANS, empty::to_units())
                .into_any()
        }
        (true, false) => view! {
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
        .into_any(),
    };
    view! {
        <div class="page full">
            <div class="page-head">
                <div class="grow">
                    <h1><bdi>{now(move || text::isolated(id.get().as_str()))}</bdi></h1>
                    {now(move || card.get().map(|card| unit_head(&card, &tally.get(), address)))}
                </div>
                <div class="tools">
                    {now(move || (!empty.get()).then(|| view! {
                        <Search label=text::SEARCH_OBJECTS address/>
                        <ShapeSwitch address/>
                    }))}
                    {now(move || match (open_run.get(), card.with(Option::is_some)) {
                        (Some(run), _) => {
                            view! { <a class="button primary" href=address::run(&run)>{text::OPEN_THE_RUN}</a> }.into_any()
                        }
                        (None, true) => {
                            let label = Signal::derive(move || {
                                if planning.get() { text::PLANNING } else { text::PLAN_TEARDOWN }
                            });
                            view! { <Guarded label busy=planning act=plan class="primary"/> }.into_any()
                        }
                        (None, false) => ().into_any(),
                    })}
                </div>
            </div>
            {now(move || refusal.get().map(|error| banner::refusal(&error)))}
            {now(move || cluster.get().map(|card| banner::cluster(&card)))}
            {now(move || banner::blind(&blind.get()))}
            {now(body)}
        </div>
    }
}
