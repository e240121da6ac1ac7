//! `/u/{unit}/plan/{plan}`: what would happen, in which order, and why; and the button that makes it happen.
//! `/u/{unit}/plan` makes a plan of the unit as it is now, with the choices in its query.

use std::{sync::Arc, time::Duration};

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_params_map, use_query_map},
};
use teardown::{
    advice::Advice,
    message::Topic,
    plan::{Choices, Plan, PlanId},
    right::Right,
    run::RunId,
    unit::UnitId,
};

use crate::{
    navigation::address,
    state::{
        advice::KnownAdvice,
        command::{self, Refusal},
        connection::Connection,
        scene,
        seed::InitialData,
    },
    text,
    view::{
        banner,
        control::guard::Guarded,
        empty,
        moment::moment,
        plan::{
            choices::choices_form, confirm::Confirm, plan_view, preflight::preflight,
            step::Terminating,
        },
    },
};

/// The time between two looks at checks that run.
const LOOK: Duration = Duration::from_secs(1);

/// Starts the checks of the plan, or looks at the last ones, until they are done.
fn check(plan: RwSignal<Option<Arc<Plan>>>, known: KnownAdvice, start: bool) {
    // The page may be gone by now, or make another plan.
    let id = plan.try_with_untracked(|plan| plan.as_ref().map(|it| it.id.clone()));
    let Some(id) = id.flatten() else { return };
    leptos::task::spawn_local(async move {
        // Without an answer the page keeps what it shows, and the button asks again.
        if let Ok(read) = command::preflight(&id, start).await {
            if read.note.is_empty() {
                set_timeout(move || check(plan, known, false), LOOK);
            }
            known.put(id.to_string(), read);
        }
    });
}

/// Reads the plan that the address names, or makes one with its choices, whenever it names another one.
fn follow_address(
    plan: RwSignal<Option<Arc<Plan>>>,
    missing: RwSignal<bool>,
    unit: Memo<UnitId>,
    id: Memo<Option<PlanId>>,
    choices: Memo<Choices>,
) {
    Effect::new(move |_| {
        let (wanted, of, chosen) = (id.get(), unit.get(), choices.get());
        let is_wanted = |plan: &Plan| match &wanted {
            Some(id) => plan.id == *id,
            None => plan.unit == of && plan.choices == chosen,
        };
        if plan.with_untracked(|plan| plan.as_deref().is_some_and(is_wanted)) {
            return;
        }
        plan.set(None);
        missing.set(false);
        leptos::task::spawn_local(async move {
            let read = match &wanted {
                Some(wanted) => command::read_plan(wanted).await,
                None => command::make_plan(&of, &chosen).await,
            };
            // Meanwhile the person may have gone on to another plan, or left the page.
            let is_current = id.try_get_untracked().as_ref() == Some(&wanted)
                && unit.try_get_untracked().as_ref() == Some(&of)
                && choices.try_get_untracked().as_ref() == Some(&chosen);
            match read {
                _ if !is_current => {}
                Ok(read) => plan.set(Some(read.into())),
                Err(_) => missing.set(true),
            }
        });
    });
}

/// Has the plan on the page checked, by somebody who may act, and follows the checks until they are done.
fn keep_checked(
    plan: RwSignal<Option<Arc<Plan>>>,
    checks: Memo<Option<Advice>>,
    known: KnownAdvice,
    may_plan: bool,
) {
    Effect::new(move |_| {
        if plan.with(Option::is_some) {
            match checks.with_untracked(|checks| checks.as_ref().map(|it| it.note.is_empty())) {
                None => check(plan, known, may_plan),
                Some(true) => check(plan, known, false),
                Some(false) => {}
            }
        }
    });
}

/// The plan's page.
#[component]
pub fn PlanPage() -> impl IntoView {
    let unit = super::parameter("unit", UnitId::new);
    let named = use_params_map();
    let id = Memo::new(move |_| named.with(|it| it.get("plan")).map(PlanId::new));
    let query = use_query_map();
    let choices = Memo::new(move |_| query.with(address::choices).unwrap_or_default());
    let initial = expect_context::<InitialData>();
    let plan = RwSignal::new(initial.take_plan().map(Arc::new));
    let missing = RwSignal::new(initial.take_refusal().is_some());
    let scene = super::open(Signal::derive(move || Topic::Unit(unit.get())));
    let cluster = super::cluster(scene);
    follow_address(plan, missing, unit, id, choices);

    let may_plan = expect_context::<Connection>().right() >= Right::Act;
    let known = expect_context::<KnownAdvice>();
    let checks = Memo::new(move |_| {
        let id = plan.with(|plan| plan.as_ref().map(|it| it.id.to_string()))?;
        known.of(&id)
    });
    keep_checked(plan, checks, known, may_plan);
    let opened = StoredValue::new(Vec::new());
    let check_again = Callback::new(move |()| check(plan, known, true));

    let asking = RwSignal::new(false);
    let requests = Requests { plan, busy: RwSignal::new(false), refusal: RwSignal::new(None) };
    let Requests { busy, refusal, .. } = requests;
    let navigate = use_navigate();
    let go = Callback::new(move |url: String| navigate(&url, NavigateOptions::default()));
    let start = requests.start(asking, go);
    let terminating: Memo<Terminating> = Memo::new(move |_| {
        scene.read(|records| {
            scene::objects(records)
                .filter_map(|card| Some((card.uid.clone(), card.deletion?.accepted())))
                .collect()
        })
    });
    let open_run = Memo::new(move |_| {
        scene.read(|records| scene::units(records).find_map(|card| card.run.clone()))
    });
    let body = move || match plan.get() {
        Some(plan) => terminating.with(|terminating| plan_view(&plan, terminating)),
        None if missing.get() => no_plan(unit, choices, may_plan),
        None => empty::loading(),
    };
    view! {
        <div class="page">
            <div class="page-head">
                <div class="grow">
                    <h1>{move || text::plan_title(&text::isolated(unit.get().as_str()))}</h1>
                    {move || plan.with(|plan| plan.as_deref().map(lead))}
                </div>
                <div class="tools">
                    {to_unit(unit)}
                    {next(requests, open_run, asking, requests.plan_again(unit, go))}
                </div>
            </div>
            {move || refusal.get().map(|error| banner::refusal(&error))}
            {move || cluster.get().map(|card| banner::cluster(&card))}
            {move || plan.with(|plan| plan.as_deref().map(choices_form))}
            {move || checks.with(|checks| checks.as_ref().map(|found| preflight(found, busy, check_again, opened)))}
            {move || body()}
            {move || plan.get().map(|plan| view! { <Confirm plan=StoredValue::new(plan) open=asking busy checks start/> }.into_any())}
        </div>
    }
}

/// The requests about the plan on the page.
#[derive(Clone, Copy)]
struct Requests {
    plan: RwSignal<Option<Arc<Plan>>>,
    /// Whether a request is on its way.
    busy: RwSignal<bool>,
    /// The refusal of the last one.
    refusal: RwSignal<Option<Refusal>>,
}

impl Requests {
    /// Starts the plan with what was typed, and goes to its run.
    fn start(self, asking: RwSignal<bool>, go: Callback<String>) -> Callback<String> {
        Callback::new(move |confirmed: String| {
            let Some(plan) = self.plan.get_untracked() else { return };
            self.busy.set(true);
            leptos::task::spawn_local(async move {
                let started = command::start_run(&plan, &confirmed).await;
                self.busy.set(false);
                asking.set(false);
                match started {
                    Ok(run) => go.run(address::run(&run)),
                    Err(error) => self.refusal.set(Some(error)),
                }
            });
        })
    }

    /// Makes a plan of the unit with the same choices, and goes to it.
    fn plan_again(self, unit: Memo<UnitId>, go: Callback<String>) -> Callback<()> {
        Callback::new(move |()| {
            self.busy.set(true);
            leptos::task::spawn_local(async move {
                let choices =
                    self.plan.with_untracked(|plan| plan.as_ref().map(|it| it.choices.clone()));
                let choices = choices.unwrap_or_default();
                let made = command::make_plan(&unit.get_untracked(), &choices).await;
                self.busy.set(false);
                match made {
                    Ok(made) => {
                        self.refusal.set(None);
                        go.run(address::chosen_plan(&made));
                    }
                    Err(error) => self.refusal.set(Some(error)),
                }
            });
        })
    }
}

/// The number and the age of the plan, and the way to save it.
fn lead(plan: &Plan) -> AnyView {
    view! {
        <p class="lead">
            {text::plan_lead(&plan.id.to_string())} " " {moment(plan.made)}
            " · " <a href=format!("/api/plans/{}", address::encoded(&plan.id.to_string())) rel="external">{text::EXPORT}</a>
        </p>
    }.into_any()
}

fn to_unit(unit: Memo<UnitId>) -> AnyView {
    view! { <a class="button" href=move || address::unit(&unit.get())>{text::BACK_TO_UNIT}</a> }
        .into_any()
}

/// The button that goes on: to the run that is open, to another plan where this one is stale, or to the confirmation.
fn next(
    requests: Requests,
    open_run: Memo<Option<RunId>>,
    asking: RwSignal<bool>,
    again: Callback<()>,
) -> AnyView {
    let Requests { plan, busy, refusal } = requests;
    let stale = Memo::new(move |_| {
        refusal.with(|error| error.as_ref().is_some_and(Refusal::is_stale_plan))
    });
    // A plan of what holds a run is for beside it.
    let is_beside = move || {
        plan.with(|plan| plan.as_ref().is_some_and(|plan| plan.choices.unplanned().is_some()))
    };
    let button = move || {
        let run = open_run.get().filter(|_| !is_beside());
        if let Some(run) = run {
            view! { <a class="button primary" href=address::run(&run)>{text::OPEN_THE_RUN}</a> }
                .into_any()
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
    };
    view! { {move || button()} }.into_any()
}

/// Says that the plan does not exist, with the ways on.
fn no_plan(unit: Memo<UnitId>, choices: Memo<Choices>, may_plan: bool) -> AnyView {
    let to_new_plan = may_plan.then(|| {
        let href = move || address::new_plan(&unit.get(), &choices.get());
        view! { <a class="button" href=href rel="external">{text::PLAN_AGAIN}</a> }.into_any()
    });
    let ways = view! {
        {to_new_plan}
        {to_unit(unit)}
    };
    let (title, means) = (text::NO_PLAN, text::NO_PLAN_MEANS);
    empty::empty("state-unknown", title, means, ways.into_any()).into_any()
}
