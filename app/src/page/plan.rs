//! `/u/{unit}/plan/{plan}`: what would happen, in which order, and why; and the button that makes it happen.

use leptos::prelude::*;
use teardown::{
    message::Topic,
    plan::{Plan, PlanId},
    unit::UnitId,
};

use crate::{
    address,
    command::{self, Refusal},
    erased::{alive, memo, now},
    route::{Place, Route},
    scene,
    seed::Arrival,
    text,
    view::{
        banner,
        confirm::Confirm,
        empty,
        guard::Guarded,
        plan::{Terminating, plan_view},
    },
};

/// The plan's page.
#[component]
pub fn PlanPage(
    /// The route, which names the unit and the plan.
    route: Memo<Route>,
) -> impl IntoView {
    let unit = super::taken(route, |route| route.unit().cloned(), || UnitId::new(""));
    let plan_of = |route: &Route| match route {
        Route::Plan(_, plan) => Some(plan.clone()),
        Route::Units | Route::Unit(_) | Route::Run(_) | Route::Unknown => None,
    };
    let id = super::taken(route, plan_of, || PlanId::new(""));
    let arrival = expect_context::<Arrival>();
    let plan = RwSignal::new(arrival.take_plan());
    let missing = RwSignal::new(arrival.take_refusal().is_some());
    let scene = super::open(Signal::derive(move || Topic::Unit(unit.get())));
    let cluster = super::cluster(scene);
    alive(move || {
        let wanted = id.get();
        if plan.with_untracked(|plan| plan.as_ref().is_some_and(|plan| plan.id == wanted)) {
            return;
        }
        plan.set(None);
        leptos::task::spawn_local(async move {
            match command::read_plan(&wanted).await {
                Ok(read) => {
                    missing.set(false);
                    plan.set(Some(read));
                }
                Err(_) => missing.set(true),
            }
        });
    });

    let asking = RwSignal::new(false);
    let busy = RwSignal::new(false);
    let refusal = RwSignal::new(None::<Refusal>);
    let place = expect_context::<Place>();
    let start = Callback::new(move |confirmed: String| {
        let Some(plan) = plan.get_untracked() else { return };
        busy.set(true);
        leptos::task::spawn_local(async move {
            let started = command::start_run(&plan, &confirmed).await;
            busy.set(false);
            asking.set(false);
            match started {
                Ok(run) => place.go(&address::run(&run)),
                Err(error) => refusal.set(Some(error)),
            }
        });
    });
    let again = Callback::new(move |()| {
        busy.set(true);
        leptos::task::spawn_local(async move {
            let made = command::make_plan(&unit.get_untracked()).await;
            busy.set(false);
            match made {
                Ok(made) => {
                    refusal.set(None);
                    place.go(&address::plan(&made.unit, &made.id));
                }
                Err(error) => refusal.set(Some(error)),
            }
        });
    });
    let stale =
        memo(move || refusal.with(|error| error.as_ref().is_some_and(Refusal::is_stale_plan)));
    let terminating: Memo<Terminating> = memo(move || {
        scene.read(|records| {
            scene::objects(records)
                .filter_map(|card| Some((card.uid.clone(), card.deletion?.accepted())))
                .collect()
        })
    });
    let open_run =
        memo(move || scene.read(|records| scene::units(records).find_map(|card| card.run.clone())));
    let to_unit = move || address::unit(&unit.get());
    let body = move || match plan.get() {
        Some(plan) => terminating.with(|terminating| plan_view(&plan, terminating)).into_any(),
        None if missing.get() => empty::empty(
            "state-unknown",
            text::NO_PLAN,
            text::NO_PLAN_MEANS,
            view! { <a class="button" href=to_unit>{text::BACK_TO_UNIT}</a> }.into_any(),
        )
        .into_any(),
        None => empty::loading().into_any(),
    };
    let lead = move |plan: &Plan| {
        view! {
            <p class="lead">
                {text::plan_lead(&plan.id.to_string())} " " {crate::view::moment::moment(plan.made)}
                " · " <a href=format!("/api/plans/{}", address::encoded(&plan.id.to_string())) rel="external">{text::EXPORT}</a>
            </p>
        }
    };
    view! {
        <div class="page">
            <div class="page-head">
                <div class="grow">
                    <h1>{now(move || text::plan_title(&text::isolated(unit.get().as_str())))}</h1>
                    {now(move || plan.with(|plan| plan.as_ref().map(lead)))}
                </div>
                <div class="tools">
                    <a class="button" href=to_unit>{text::BACK_TO_UNIT}</a>
                    {now(move || {
                        if let Some(run) = open_run.get() {
                            view! { <a class="button primary" href=address::run(&run)>{text::OPEN_THE_RUN}</a> }.into_any()
                        } else if stale.get() {
                            view! { <Guarded label=text::PLAN_AGAIN busy act=again class="primary"/> }.into_any()
                        } else {
                            let open = Callback::new(move |()| asking.set(true));
                            let nothing = Signal::derive(move || {
                                busy.get()
                                    || plan.with(|plan| plan.as_ref().is_none_or(|plan| plan.steps.is_empty()))
                            });
                            view! { <Guarded label=text::START busy=nothing act=open class="danger"/> }.into_any()
                        }
                    })}
                </div>
            </div>
            {now(move || refusal.get().map(|error| banner::refusal(&error)))}
            {now(move || cluster.get().map(|card| banner::cluster(&card)))}
            {now(body)}
            {now(move || plan.get().map(|plan| view! { <Confirm plan=StoredValue::new(plan) open=asking busy start/> }))}
        </div>
    }
}
