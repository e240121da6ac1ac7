//! `/u/{unit}`: one unit with its graph, its list, and what is known of the selected object.

use leptos::prelude::*;
use leptos_router::hooks::{use_navigate, use_params_map};
use teardown::{
    message::{Topic, UnitCard},
    unit::UnitId,
};

use crate::{
    address::{self, Address},
    command::{self, Refusal},
    scene, text,
    view::{
        banner, drawer::Drawer, empty, graph::Graph, guard::Guarded, list::List, search::Search, shape::ShapeSwitch,
        unit_head::unit_head,
    },
};

/// The unit's page.
#[component]
pub fn Unit() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| UnitId::new(params.with(|params| params.get("unit")).unwrap_or_default()));
    let scene = super::open(Signal::derive(move || Topic::Unit(id.get())));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let blind = super::blind(scene);
    let card: Memo<Option<UnitCard>> =
        Memo::new(move |_| scene.read(|records| scene::units(records).find(|card| card.id == id.get()).cloned()));
    let empty = Memo::new(move |_| scene.read_members(|records| scene::objects(records).next().is_none()));
    let planning = RwSignal::new(false);
    let refusal = RwSignal::new(None::<Refusal>);
    let navigate = StoredValue::new(use_navigate());
    let plan = Callback::new(move |()| {
        planning.set(true);
        refusal.set(None);
        leptos::task::spawn_local(async move {
            let made = command::make_plan(&id.get_untracked()).await;
            planning.set(false);
            match made {
                Ok(plan) => navigate.with_value(|go| go(&address::plan(&plan.unit, &plan.id), Default::default())),
                Err(error) => refusal.set(Some(error)),
            }
        });
    });
    let body = move || match (scene.is_known(), empty.get()) {
        (false, _) => empty::loading().into_any(),
        (true, true) if card.with(Option::is_none) => {
            empty::empty("state-unknown", text::NO_UNIT, text::NO_UNIT_MEANS, empty::to_units()).into_any()
        }
        (true, true) => {
            empty::empty("state-gone", text::NO_OBJECTS, text::NO_OBJECTS_MEANS, empty::to_units()).into_any()
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
                    <h1>{move || id.get().to_string()}</h1>
                    {move || card.get().map(|card| unit_head(&card))}
                </div>
                <div class="tools">
                    <Search label=text::SEARCH_OBJECTS value=address.search find=address.find/>
                    <ShapeSwitch address/>
                    <Guarded label=Signal::derive(move || {
                        if planning.get() { text::PLANNING } else { text::PLAN_TEARDOWN }
                    }) busy=planning act=plan class="primary"/>
                </div>
            </div>
            {move || refusal.get().map(|error| banner::refusal(&error))}
            {move || cluster.get().map(|card| banner::cluster(&card))}
            {move || banner::blind(&blind.get())}
            {body}
        </div>
    }
}
