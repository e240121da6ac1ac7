//! The confirmation: tick each volume whose data is destroyed, type the unit's name, then wait ten seconds in which nothing
//! is sent and Cancel has the focus. A deletion cannot be undone, so the undo comes before it.

use std::{sync::Arc, time::Duration};

use leptos::{html, leptos_dom::helpers::IntervalHandle, prelude::*};
use teardown::{
    advice::Advice,
    object::ObjectRef,
    plan::{DataFate, Fate, Plan},
    relation::EdgeKind,
};

use super::namespaces_go;
use crate::{
    state::{connection::Connection, production::is_production},
    text,
    view::{frame::Badge, icon::icon},
};

/// Seconds in which nothing is sent.
const HOLD: u32 = 10;

/// So many volumes are ticked one by one; more than that, all at once.
const TICKS: usize = 12;

/// The phase of the dialog.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The name is being typed.
    Typing,
    /// Nothing has been sent yet, for so many seconds more.
    Holding(u32),
}

/// The user of a volume’s data: the object that created its claim, else one that mounts it.
fn user_of<'a>(plan: &'a Plan, data: &DataFate) -> Option<&'a ObjectRef> {
    let claim = data.claim.as_ref()?;
    let step = plan.steps.iter().find(|step| step.object == *claim)?;
    let by = |kind: EdgeKind| step.after.iter().find(|blocker| blocker.has(kind));
    let blocker = by(EdgeKind::Claims).or_else(|| by(EdgeKind::Mounts))?;
    plan.step(blocker.step).map(|step| &step.object)
}

/// The dialog.
#[component]
pub fn Confirm(
    /// The plan that would be started.
    plan: StoredValue<Arc<Plan>>,
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Whether the request is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// The checks before the teardown, once they are known.
    checks: Memo<Option<Advice>>,
    /// Starts the plan; gets what was typed.
    start: Callback<String>,
) -> impl IntoView {
    let plan = plan.get_value();
    let dialog = NodeRef::<html::Dialog>::new();
    let cancel_button = NodeRef::<html::Button>::new();
    let form = NodeRef::<html::Form>::new();
    let typed = RwSignal::new(String::new());
    let ticked = RwSignal::new(0_usize);
    let phase = RwSignal::new(Phase::Typing);
    let timer = StoredValue::new(None::<IntervalHandle>);
    let release = move || {
        if let Some(timer) = timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    };
    on_cleanup(release);
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if open.get() {
            // One that is open already stays open.
            let _ = dialog.show_modal();
        } else {
            release();
            dialog.close();
            // Before it opens again: what is disabled by then does not take the focus.
            typed.set(String::new());
            ticked.set(0);
            if let Some(form) = form.get_untracked() {
                form.reset();
            }
            phase.set(Phase::Typing);
        }
    });
    let unit = StoredValue::new(plan.unit.to_string());
    let matches =
        Memo::new(move |_| unit.with_value(|unit| typed.with(|typed| typed.trim() == unit)));
    let mismatch = move || !matches.get() && typed.with(|typed| !typed.trim().is_empty());
    let connection = expect_context::<Connection>();
    let tick = move || {
        let Phase::Holding(left) = phase.get_untracked() else { return };
        // The page is not up to date, so the countdown waits until it is again.
        if left == 0 || !connection.is_live_untracked() {
            return;
        }
        phase.set(Phase::Holding(left - 1));
        if left == 1 {
            release();
            start.run(typed.get_untracked().trim().to_owned());
        }
    };
    let holding = move || phase.get() != Phase::Typing;
    let tick_box = move |label: String| {
        view! {
            <label class="dialog-tick">
                <input
                    type="checkbox"
                    disabled=holding
                    on:change:target=move |event| ticked.update(|ticked| {
                        if event.target().checked() { *ticked += 1 } else { *ticked -= 1 }
                    })
                />
                <bdi>{label}</bdi>
            </label>
        }
        .into_any()
    };
    let mut asked = 0;
    let mut lost = |fate: Fate, sentence: fn(usize) -> String| {
        let volumes: Vec<String> = plan
            .data
            .iter()
            .filter(|data| data.fate == fate)
            .map(|data| text::volume(data, user_of(&plan, data)))
            .collect();
        let count = volumes.len();
        let each = count <= TICKS;
        asked += if each { count } else { 1 };
        (count > 0).then(|| {
            let names = volumes
                .into_iter()
                .map(|name| {
                    let name = if each { tick_box(name).into_any() } else { name.into_any() };
                    view! { <li>{name}</li> }.into_any()
                })
                .collect_view();
            view! {
                <div class="banner bad">
                    {icon("icon-warning")}
                    <div>
                        <strong>{sentence(count)}</strong>
                        <ul>{names}</ul>
                        {(!each).then(|| tick_box(text::tick_all(count)))}
                    </div>
                </div>
            }
            .into_any()
        })
    };
    let lost =
        [lost(Fate::Destroyed, text::confirm_data), lost(Fate::Unknown, text::confirm_unseen_data)];
    // A claim that is ticked by its volume is not asked for twice.
    let is_ticked = |object: &&ObjectRef| {
        let of_it = |data: &&DataFate| data.claim.as_ref() == Some(*object);
        let is_lost = |data: &DataFate| matches!(data.fate, Fate::Destroyed | Fate::Unknown);
        plan.data.iter().filter(of_it).any(is_lost)
    };
    let by_name: Vec<_> = plan
        .by_name
        .iter()
        .filter(|object| !is_ticked(object))
        .map(|object| view! { <li>{tick_box(text::named(object)).into_any()}</li> }.into_any())
        .collect();
    let unproven: Vec<_> = plan
        .unproven()
        .map(|it| text::goes_unproven(&it))
        .chain(plan.unreported().map(|node| text::goes_unreported(node)))
        .map(|said| view! { <li>{tick_box(said)}</li> }.into_any())
        .collect();
    asked += by_name.len() + unproven.len();
    let only_volumes = by_name.is_empty() && unproven.is_empty();
    let unproven = (!unproven.is_empty()).then(|| {
        view! { <div class="banner warn">{icon("icon-warning")}<ul>{unproven}</ul></div> }
            .into_any()
    });
    let by_name = (!by_name.is_empty()).then(|| {
        view! { <div class="banner warn">{icon("icon-warning")}<div><strong>{text::BY_NAME}</strong><ul>{by_name}</ul></div></div> }.into_any()
    });
    let missing = move || {
        unit.with_value(|unit| {
            text::confirm_missing(
                &text::isolated(unit),
                asked - ticked.get().min(asked),
                only_volumes,
                !matches.get(),
            )
        })
    };
    let confirmed = Memo::new(move |_| matches.get() && ticked.get() == asked);
    let hold = move || {
        if !confirmed.get_untracked()
            || busy.get_untracked()
            || phase.get_untracked() != Phase::Typing
        {
            return;
        }
        phase.set(Phase::Holding(HOLD));
        timer.set_value(set_interval_with_handle(tick, Duration::from_secs(1)).ok());
        request_animation_frame(move || {
            if let Some(button) = cancel_button.get_untracked() {
                // A button that cannot take the focus is not shown.
                let _ = button.focus();
            }
        });
    };
    let namespaces = namespaces_go(&plan).map(|said| view! { <p>{said}</p> }.into_any());
    let cluster = expect_context::<Badge>().name();
    let place = cluster.map(|name| text::confirm_where(&name, is_production(&name)));
    let expected = move || checks.with(|checks| checks.as_ref().map(|it| it.expected.clone()));
    const SENT: Phase = Phase::Holding(0);
    let countdown = move || match phase.get() {
        Phase::Typing => text::CONFIRM_START.to_owned(),
        Phase::Holding(0) => text::STARTING.to_owned(),
        Phase::Holding(left) => text::starts_in(left),
    };
    let left = move || match phase.get() {
        Phase::Typing => HOLD,
        Phase::Holding(left) => left,
    };
    // The full count once, its half, and its end: a second is too short to be read aloud.
    let announced = Memo::new(move |_| match phase.get() {
        Phase::Holding(left @ (HOLD | 5 | 1..=3)) => text::starts_in(left),
        Phase::Holding(_) | Phase::Typing => String::new(),
    });
    // Escape closes a dialog whatever it says: one that is too late to be closed comes back.
    let closed = move |_| match dialog.get_untracked() {
        Some(dialog) if phase.get_untracked() == SENT => {
            let _ = dialog.show_modal();
        }
        _ => open.set(false),
    };
    view! {
        <dialog class="dialog" aria-labelledby="confirm-title" node_ref=dialog on:close=closed>
            <h2 id="confirm-title">{text::confirm_title(&text::subject(plan.unit.to_string(), plan.choices.unplanned().is_some()))}</h2>
            <p>{text::confirm_lead(plan.deletions())}</p>
            {namespaces}
            <p><strong>{place}</strong> " " {move || expected()}</p>
            <form method="dialog" node_ref=form on:submit=move |event| { event.prevent_default(); hold(); }>
                {lost}
                {by_name}
                {unproven}
                <label for="confirm-name">{text::confirm_type(&plan.unit.to_string())}</label>
                <input
                    id="confirm-name"
                    type="text"
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    aria-describedby="confirm-mismatch"
                    aria-invalid=move || if mismatch() { "true" } else { "false" }
                    disabled=holding
                    prop:value=move || typed.get()
                    on:input:target=move |event| typed.set(event.target().value())
                />
                <p id="confirm-mismatch" class="confirm-mismatch" aria-live="polite">
                    {move || mismatch().then_some(text::CONFIRM_MISMATCH)}
                </p>
                <div class="confirm-hold" hidden=move || !matches!(phase.get(), Phase::Holding(1..))>
                    <progress max=HOLD.to_string() value=move || left().to_string() aria-label=text::HOLDING></progress>
                    <p>{text::HOLDING}</p>
                </div>
                <div class="dialog-buttons">
                    <button
                        type="button"
                        class="button"
                        aria-disabled=move || (phase.get() == SENT).then_some("true")
                        node_ref=cancel_button
                        on:click=move |_| if phase.get_untracked() != SENT { open.set(false) }
                    >
                        {text::CANCEL}
                    </button>
                    <button
                        type="submit"
                        class="button danger"
                        aria-disabled=move || (!confirmed.get() || holding() || busy.get()).then_some("true")
                        aria-describedby="confirm-missing"
                    >
                        {move || countdown()}
                    </button>
                </div>
                <p id="confirm-missing" class="confirm-missing">{move || missing()}</p>
                <p class="visually-hidden" role="status">{move || announced.get()}</p>
            </form>
        </dialog>
    }
}
