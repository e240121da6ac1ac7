//! The steps that need attention, worst first, each with the cluster's own words as evidence.

use leptos::prelude::*;
use teardown::{
    message::{State, StepCard},
    object::Uid,
    plan::StepId,
    run::{RunCommand, StepProblem},
};

use super::{skip::Skip, take_on::TakeOn};
use crate::{
    navigation::address::Address,
    state::{
        clock::Clock,
        scene::{self, Scene},
    },
    text,
    view::{
        control::guard::Guarded,
        diagnosis::cause_of,
        moment::moment,
        object_name::{object_link, object_name},
        rows::rows,
        state_badge::state_badge,
    },
};

/// Whether a state needs a person's eye.
pub fn needs_attention(state: State) -> bool {
    matches!(state, State::Stuck | State::Refused | State::CameBack | State::Slow | State::Unknown)
}

/// Whether a step belongs here.
pub fn asks(step: &StepCard) -> bool {
    needs_attention(step.state)
        || (step.problem.is_some() && !matches!(step.state, State::Gone | State::Skipped))
}

/// The list.
#[component]
pub fn Attention(
    /// The run's records.
    scene: Scene,
    /// The page's address.
    address: Address,
    /// The steps, worst first.
    steps: Memo<Vec<StepId>>,
    /// Whether a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Sends the run a command.
    send: Callback<RunCommand>,
    /// Takes it on that the Pods of a step have ended; gets the step, what was typed and the Pods that were shown.
    take_on: Callback<(StepId, String, Vec<Uid>)>,
) -> impl IntoView {
    let asked = RwSignal::new(None);
    let open = RwSignal::new(false);
    let ask = Callback::new(move |step: StepId| {
        asked.set(Some(step));
        open.set(true);
    });
    let (claim, asks_claim) = (RwSignal::new(None), RwSignal::new(false));
    let ask_claim = Callback::new(move |step: StepCard| {
        claim.set(Some(step));
        asks_claim.set(true);
    });
    let list = move || {
        view! {
            <ul class="attention">
                {rows(steps, StepId::to_string, move |id| {
                    let step = scene.step(id)?;
                    Some(view! { {move || step.with(|step| card(step, scene, address, busy, ask, ask_claim))} }.into_any())
                })}
            </ul>
        }.into_any()
    };
    view! {
        <section id="attention" aria-labelledby="attention-title" hidden=move || steps.with(Vec::is_empty)>
            <h2 id="attention-title">{text::ATTENTION}</h2>
            {move || list()}
        </section>
        // Outside the section, which may vanish while the dialog is open.
        <Skip scene asked open busy send/>
        <TakeOn asked=claim open=asks_claim busy take_on/>
    }
}

/// The cause, the cluster's own words, and the advice.
fn why(problem: &StepProblem) -> AnyView {
    let lines = text::evidence(problem)
        .into_iter()
        .map(|line| view! { <li class="quote">{line}</li> }.into_any())
        .collect_view();
    view! {
        <p class="attention-cause">{text::step_problem(problem)}</p>
        <ul class="evidence">{lines}</ul>
        <p class="attention-do">{text::problem_advice(problem)}</p>
    }
    .into_any()
}

fn card(
    step: &StepCard,
    scene: Scene,
    address: Address,
    busy: Signal<bool>,
    ask: Callback<StepId>,
    ask_claim: Callback<StepCard>,
) -> AnyView {
    let id = step.id;
    let can_be_taken_on = step.problem.as_ref().is_some_and(StepProblem::can_be_taken_on);
    let take_on = can_be_taken_on.then(|| {
        let asked = step.clone();
        let act = Callback::new(move |()| ask_claim.run(asked.clone()));
        view! { <Guarded label=text::TAKE_ON busy act class="small danger"/> }.into_any()
    });
    // Of a deletion that takes long the step knows no more than that; its diagnosis knows why.
    let is_late = matches!(&step.problem, Some(StepProblem::Late { .. }));
    let cause = is_late.then(|| cause_of(scene, step.uid.clone()));
    let (uid, problem) = (step.uid.clone(), step.problem.clone());
    let is_diagnosed = Memo::new(move |_| {
        is_late && scene.read(|records| scene::diagnosis_of(records, &uid).is_some())
    });
    let why = move || problem.as_ref().filter(|_| !is_diagnosed.get()).map(why);
    let clock = expect_context::<Clock>();
    let since = match (&step.problem, step.requested) {
        (Some(StepProblem::Late { since, .. }), _) => {
            let since = *since;
            // The object's card knows what this cluster usually takes, the step does not.
            let expected = scene
                .object(&step.uid)
                .and_then(|card| card.get_untracked().due)
                .map(|due| due.duration_since(since).as_secs());
            let said = move || text::deleting_for(clock.since(since), expected);
            view! { <span class="quiet">{move || said()}</span> }.into_any()
        }
        (_, Some(at)) => {
            view! { <span class="quiet">{text::COLUMN_REQUESTED} " " {moment(at)}</span> }
                .into_any()
        }
        (_, None) => ().into_any(),
    };
    view! {
        <li class="attention-card">
            <div class="attention-head">
                {state_badge(step.state)} {object_link(object_name(&step.object), &step.uid, address)} {since}
                <span class="grow"></span>
                {take_on}
                <Guarded label=text::SKIP busy act=Callback::new(move |()| ask.run(id)) class="small"/>
            </div>
            {cause}
            {move || why()}
        </li>
    }
    .into_any()
}
