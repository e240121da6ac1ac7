//! `/r/{run}`: a run while it goes on, and what is left of it afterwards.

use std::time::Duration;

use leptos::prelude::*;
use teardown::{
    message::{Membership, ObjectCard, RunCard, State, StepCard, Topic},
    object::Uid,
    plan::{KeptReason, StepId},
    right::Right,
    run::{RunCommand, RunId},
};

use crate::{
    navigation::address::{self, Address, Shape},
    sort::sort,
    state::{
        command::{self, Refusal},
        connection::Connection,
        scene::{self, Scene},
    },
    text,
    view::{
        banner,
        control::search::Search,
        diagnosis::{diagnoses, remedy::RemedyDialog},
        empty,
        map::{drawer::Drawer, graph::Graph, shape::ShapeSwitch},
        plan::kept::{kept_cards, names, section},
        run::{
            attention::{Attention, asks},
            current::current,
            event_log::EventLog,
            head::RunHead,
            left_suspended::LeftSuspendedList,
            steps::Steps,
        },
        state_bar::state_links,
    },
};

/// The shortest time between two announcements of the progress.
const SUMMARY: Duration = Duration::from_secs(10);

/// Objects named in an alarm.
const ALARMED: usize = 3;

/// The run's page.
#[component]
pub fn Run() -> impl IntoView {
    let id = super::parameter("run", RunId::new);
    let scene = super::open(Signal::derive(move || Topic::Run(id.get())));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let card: Memo<Option<RunCard>> = Memo::new(move |_| {
        // A run that comes or goes has another signal.
        scene.read_members(|_| ());
        scene.run(&id.get()).map(|card| card.get())
    });
    let attention = steps_that_ask(scene);
    let attention_ids = Memo::new(move |_| {
        attention.with(|steps| steps.iter().map(|step| step.id).collect::<Vec<_>>())
    });
    let kept = kept_objects(scene, |why| *why != KeptReason::MadeByCluster);
    let left_to_cluster = kept_objects(scene, |why| *why == KeptReason::MadeByCluster);
    let is_open = Memo::new(move |_| {
        card.with(|card| card.as_ref().is_some_and(|card| !card.state.is_ended()))
    });
    let Commands { busy, refusal, send, take_on } = Commands::to(id);
    let (in_trouble, adviser) = (super::is_in_trouble(scene), super::adviser());
    let may_plan = expect_context::<Connection>().right() >= Right::Act;
    let count = Signal::derive(move || attention.with(Vec::len));
    let said = summary(card, count);
    let alarm = alarm(attention);
    let head = card;
    let body = move |card: RunCard| {
        let left_view = move || {
            let left = left_to_cluster.get();
            section("left-title", text::LEFT_TITLE, text::LEFT_LEAD, left.len(), names(&left))
        };
        view! {
            <RunHead scene card=Signal::derive(move || head.get().unwrap_or_else(|| card.clone())) attention=count busy send/>
            {move || refusal.get().map(|error| banner::refusal(&error))}
            {move || cluster.get().map(|card| banner::cluster(&card))}
            <div class="run-body">
                <div class="run-main">
                    {move || is_open.get().then(|| current(scene))}
                    // Not among what comes and goes: its effects read signals that stay.
                    <RemedyDialog adviser/>
                    {move || in_trouble.get().then(|| view! {
                        <section aria-labelledby="why-title">
                            <h2 id="why-title">{text::WHY_IT_WAITS}</h2>
                            {diagnoses(scene, address, true, adviser)}
                        </section>
                    }.into_any())}
                    <LeftSuspendedList scene/>
                    <Attention scene address steps=attention_ids busy send take_on/>
                    {move || plan_beside(id, head, attention, may_plan)}
                    {steps(scene, address, head)}
                    <section aria-labelledby="kept-title">
                        <h2 id="kept-title">{text::KEPT_TITLE}</h2>
                        {move || kept_cards(&kept.get())}
                    </section>
                    {move || left_view()}
                </div>
                <div class="run-side">
                    <Drawer scene address/>
                    <EventLog scene run=id/>
                </div>
            </div>
        }.into_any()
    };
    let present = Memo::new(move |_| card.with(Option::is_some));
    view! {
        <div class="page">
            {move || match (present.get(), scene.is_known()) {
                (true, _) => card.get_untracked().map(body).into_any(),
                (false, false) => empty::loading(),
                (false, true) => {
                    empty::empty_page("state-unknown", text::NO_RUN, text::NO_RUN_MEANS, empty::to_units()).into_any()
                }
            }}
            <p class="visually-hidden" aria-live="polite">{said}</p>
            <p class="visually-hidden" aria-live="assertive">{alarm}</p>
        </div>
    }
}

/// The steps that need attention, worst first.
fn steps_that_ask(scene: Scene) -> Memo<Vec<StepCard>> {
    Memo::new(move |_| {
        let mut steps: Vec<StepCard> = scene
            .read(|records| scene::steps(records).filter(|step| asks(step)).cloned().collect());
        sort(&mut steps, |a, b| (b.state.severity(), a.id).cmp(&(a.state.severity(), b.id)));
        steps
    })
}

/// The objects that are kept for such a reason.
fn kept_objects(scene: Scene, is_such: fn(&KeptReason) -> bool) -> Memo<Vec<ObjectCard>> {
    Memo::new(move |_| {
        let stays =
            |card: &&ObjectCard| matches!(&card.membership, Membership::Kept(why) if is_such(why));
        scene.read(|records| scene::objects(records).filter(stays).cloned().collect())
    })
}

/// The commands that the page sends to the run.
struct Commands {
    /// Whether one is on its way.
    busy: RwSignal<bool>,
    /// The refusal of the last one.
    refusal: RwSignal<Option<Refusal>>,
    send: Callback<RunCommand>,
    /// Gets the step, what was typed and the Pods that were shown.
    take_on: Callback<(StepId, String, Vec<Uid>)>,
}

impl Commands {
    fn to(id: Memo<RunId>) -> Self {
        let refusal = RwSignal::new(None::<Refusal>);
        let busy = RwSignal::new(false);
        let done = move |answer: Result<(), Refusal>| {
            busy.set(false);
            refusal.set(answer.err());
        };
        let send = Callback::new(move |command: RunCommand| {
            busy.set(true);
            leptos::task::spawn_local(async move {
                done(command::command_run(&id.get_untracked(), command).await);
            });
        });
        let take_on = Callback::new(move |(step, confirm, pods): (StepId, String, Vec<Uid>)| {
            busy.set(true);
            leptos::task::spawn_local(async move {
                done(command::take_on(&id.get_untracked(), step, &confirm, &pods).await);
            });
        });
        Self { busy, refusal, send, take_on }
    }
}

/// The link to a plan of the objects that hold the run; the steps above it name them.
fn plan_beside(
    id: Memo<RunId>,
    card: Memo<Option<RunCard>>,
    attention: Memo<Vec<StepCard>>,
    may_plan: bool,
) -> Option<AnyView> {
    let is_held = attention.with(|steps| steps.iter().any(|step| !step.unplanned.is_empty()));
    (is_held && may_plan).then(|| {
        let unit = card.with(|card| card.as_ref().map(|card| card.unit.clone()));
        let to = unit.map(|unit| address::plan_beside(&unit, &id.get()));
        view! { <a class="button" href=to rel="external">{text::PLAN_UNPLANNED}</a> }.into_any()
    })
}

/// The steps, as a list or as a map.
fn steps(scene: Scene, address: Address, card: Memo<Option<RunCard>>) -> AnyView {
    let shown = Memo::new(move |_| address.shape.get().unwrap_or(Shape::List));
    view! {
        <section aria-labelledby="steps-title">
            <div class="section-head">
                <h2 id="steps-title">{text::STEPS}</h2>
                <Search label=text::SEARCH_OBJECTS address/>
                <ShapeSwitch address otherwise=Shape::List/>
            </div>
            {move || card.with(|card| card.as_ref().map(|card| state_links(&card.counts, address, text::state_count)))}
            {move || match shown.get() {
                Shape::Map => view! { <div class="workspace map"><Graph scene address/></div> }.into_any(),
                Shape::List => view! { <Steps scene address/> }.into_any(),
            }}
        </section>
    }
    .into_any()
}

/// The first few steps that became stuck or refused a moment ago, by name, and the number of the others; announced at once.
/// Steps that were so when the page was loaded are not announced.
fn alarm(attention: Memo<Vec<StepCard>>) -> ReadSignal<String> {
    let (said, say) = signal(String::new());
    let known = StoredValue::new(None::<Vec<String>>);
    Effect::new(move |_| {
        let mut lines = Vec::new();
        attention.with(|steps| {
            for step in steps {
                if matches!(step.state, State::Stuck | State::Refused) {
                    lines.push(format!(
                        "{} {}",
                        text::named(&step.object),
                        text::state(step.state)
                    ));
                }
            }
        });
        if let Some(known) = known.try_update_value(|known| known.replace(lines.clone())).flatten()
        {
            lines.retain(|line| !known.contains(line));
            if !lines.is_empty() {
                say.set(text::some_of(&lines, ALARMED));
            }
        }
    });
    said
}

/// One sentence on where the run stands, renewed slowly and only when it changes.
fn summary(card: Memo<Option<RunCard>>, attention: Signal<usize>) -> ReadSignal<String> {
    let (said, say) = signal(String::new());
    Effect::new(move |_| {
        let renew = move || {
            let Some(card) = card.get_untracked() else { return };
            let gone = card.counts.get(&State::Gone).copied().unwrap_or_default();
            let text = text::summary(gone, card.total, attention.get_untracked());
            if said.with_untracked(|said| *said != text) {
                say.set(text);
            }
        };
        let timer = set_interval_with_handle(renew, SUMMARY).ok();
        on_cleanup(move || {
            if let Some(timer) = timer {
                timer.clear();
            }
        });
    });
    said
}
