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

use super::{namespaces_go, taken_on};
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

impl Phase {
    /// The countdown is over, and the request is on its way.
    const SENT: Self = Self::Holding(0);
}

/// The answers of the person, and the countdown that follows them.
#[derive(Clone, Copy)]
struct Answers {
    typed: RwSignal<String>,
    /// The unit’s name is typed.
    matches: Memo<bool>,
    /// The number of boxes that are ticked.
    ticked: RwSignal<usize>,
    phase: RwSignal<Phase>,
    timer: StoredValue<Option<IntervalHandle>>,
}

impl Answers {
    fn new(unit: String) -> Self {
        let typed = RwSignal::new(String::new());
        Self {
            typed,
            matches: Memo::new(move |_| typed.with(|typed| typed.trim() == unit)),
            ticked: RwSignal::new(0),
            phase: RwSignal::new(Phase::Typing),
            timer: StoredValue::new(None),
        }
    }

    fn is_mismatch(self) -> bool {
        !self.matches.get() && self.typed.with(|typed| !typed.trim().is_empty())
    }

    fn is_holding(self) -> bool {
        self.phase.get() != Phase::Typing
    }

    fn is_sent_untracked(self) -> bool {
        self.phase.get_untracked() == Phase::SENT
    }

    /// Counts down to the start of the plan.
    fn start_countdown(self, connection: Connection, start: Callback<String>) {
        let tick = move || {
            let Phase::Holding(left) = self.phase.get_untracked() else { return };
            // The page is not up to date, so the countdown waits until it is again.
            if left == 0 || !connection.is_live_untracked() {
                return;
            }
            self.phase.set(Phase::Holding(left - 1));
            if left == 1 {
                self.stop_countdown();
                start.run(self.typed.get_untracked().trim().to_owned());
            }
        };
        self.phase.set(Phase::Holding(HOLD));
        self.timer.set_value(set_interval_with_handle(tick, Duration::from_secs(1)).ok());
    }

    fn stop_countdown(self) {
        if let Some(timer) = self.timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    }
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
    let unit = plan.unit.to_string();
    let dialog = NodeRef::<html::Dialog>::new();
    let cancel_button = NodeRef::<html::Button>::new();
    let form = NodeRef::<html::Form>::new();
    let connection = expect_context::<Connection>();
    let answers = Answers::new(unit.clone());
    on_cleanup(move || answers.stop_countdown());
    follow_open(open, dialog, form, answers);
    let Boxes { lost, by_name, unproven, count, only_volumes } = Boxes::of(&plan, answers);
    let confirmed = Memo::new(move |_| answers.matches.get() && answers.ticked.get() == count);
    let hold = move || {
        if confirmed.get_untracked()
            && !busy.get_untracked()
            && answers.phase.get_untracked() == Phase::Typing
        {
            answers.start_countdown(connection, start);
            focus_soon(cancel_button);
        }
    };
    let missing = {
        let name = text::isolated(&unit);
        move || {
            let left = count - answers.ticked.get().min(count);
            text::confirm_missing(&name, left, only_volumes, !answers.matches.get())
        }
    };
    let announced = announcement(answers.phase);
    let namespaces = namespaces_go(&plan).map(|said| view! { <p>{said}</p> }.into_any());
    // Escape closes a dialog whatever it says: one that is too late to be closed comes back.
    let closed = move |_| match dialog.get_untracked() {
        Some(dialog) if answers.is_sent_untracked() => {
            let _ = dialog.show_modal();
        }
        _ => open.set(false),
    };
    let title =
        text::confirm_title(&text::subject(unit.clone(), plan.choices.unplanned().is_some()));
    view! {
        <dialog class="dialog" aria-labelledby="confirm-title" node_ref=dialog on:close=closed>
            <h2 id="confirm-title">{title}</h2>
            <p>{text::confirm_lead(plan.deletions())}</p>
            {namespaces}
            {place(checks)}
            <form method="dialog" node_ref=form on:submit=move |event| { event.prevent_default(); hold(); }>
                {lost}
                {by_name}
                {unproven}
                <label for="confirm-name">{text::confirm_type(&unit)}</label>
                {name_input(answers)}
                <p id="confirm-mismatch" class="confirm-mismatch" aria-live="polite">
                    {move || answers.is_mismatch().then_some(text::CONFIRM_MISMATCH)}
                </p>
                {countdown(answers.phase)}
                <div class="dialog-buttons">
                    {cancel(answers, open, cancel_button)}
                    {submit(answers, confirmed, busy)}
                </div>
                <p id="confirm-missing" class="confirm-missing">{move || missing()}</p>
                <p class="visually-hidden" role="status">{move || announced.get()}</p>
            </form>
        </dialog>
    }
}

/// Shows the dialog while it is open, and empties it when it closes.
fn follow_open(
    open: RwSignal<bool>,
    dialog: NodeRef<html::Dialog>,
    form: NodeRef<html::Form>,
    answers: Answers,
) {
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if open.get() {
            // One that is open already stays open.
            let _ = dialog.show_modal();
        } else {
            answers.stop_countdown();
            dialog.close();
            // Before it opens again: what is disabled by then does not take the focus.
            answers.typed.set(String::new());
            answers.ticked.set(0);
            if let Some(form) = form.get_untracked() {
                form.reset();
            }
            answers.phase.set(Phase::Typing);
        }
    });
}

/// Gives the button the focus once it is drawn.
fn focus_soon(button: NodeRef<html::Button>) {
    request_animation_frame(move || {
        if let Some(button) = button.get_untracked() {
            // A button that cannot take the focus is not shown.
            let _ = button.focus();
        }
    });
}

/// The boxes to tick, one by one, before the plan can be started.
struct Boxes {
    /// The volumes whose data is destroyed, and those that are hidden.
    lost: [Option<AnyView>; 2],
    /// The objects that a person confirms by name.
    by_name: Option<AnyView>,
    /// The deletions without proof, and those by which others lose something.
    unproven: Option<AnyView>,
    /// The number of boxes.
    count: usize,
    /// All of them are for volumes.
    only_volumes: bool,
}

impl Boxes {
    fn of(plan: &Plan, answers: Answers) -> Self {
        let (destroyed, of_destroyed) = volumes(plan, Fate::Destroyed, text::confirm_data, answers);
        let (unknown, of_unknown) =
            volumes(plan, Fate::Unknown, text::confirm_unseen_data, answers);
        let by_name = by_name(plan, answers);
        let unproven = unproven(plan, answers);
        Self {
            count: of_destroyed + of_unknown + by_name.len() + unproven.len(),
            only_volumes: by_name.is_empty() && unproven.is_empty(),
            lost: [destroyed, unknown],
            by_name: (!by_name.is_empty()).then(|| {
                view! { <div class="banner warn">{icon("icon-warning")}<div><strong>{text::BY_NAME}</strong><ul>{by_name}</ul></div></div> }.into_any()
            }),
            unproven: (!unproven.is_empty()).then(|| {
                view! { <div class="banner warn">{icon("icon-warning")}<ul>{unproven}</ul></div> }
                    .into_any()
            }),
        }
    }
}

/// The volumes with this fate, and the number of their boxes.
fn volumes(
    plan: &Plan,
    fate: Fate,
    sentence: fn(usize) -> String,
    answers: Answers,
) -> (Option<AnyView>, usize) {
    let volumes: Vec<String> = plan
        .data
        .iter()
        .filter(|data| data.fate == fate)
        .map(|data| text::volume(data, user_of(plan, data)))
        .collect();
    let count = volumes.len();
    let each = count <= TICKS;
    let view = (count > 0).then(|| {
        let names = volumes
            .into_iter()
            .map(|name| {
                let name = if each { tick_box(answers, name) } else { name.into_any() };
                view! { <li>{name}</li> }.into_any()
            })
            .collect_view();
        view! {
            <div class="banner bad">
                {icon("icon-warning")}
                <div>
                    <strong>{sentence(count)}</strong>
                    <ul>{names}</ul>
                    {(!each).then(|| tick_box(answers, text::tick_all(count)))}
                </div>
            </div>
        }
        .into_any()
    });
    (view, if each { count } else { 1 })
}

/// The user of a volume’s data: the object that created its claim, else one that mounts it.
fn user_of<'a>(plan: &'a Plan, data: &DataFate) -> Option<&'a ObjectRef> {
    let claim = data.claim.as_ref()?;
    let step = plan.steps.iter().find(|step| step.object == *claim)?;
    let by = |kind: EdgeKind| step.after.iter().find(|blocker| blocker.has(kind));
    let blocker = by(EdgeKind::Claims).or_else(|| by(EdgeKind::Mounts))?;
    plan.step(blocker.step).map(|step| &step.object)
}

/// The boxes of the objects that a person confirms by name.
fn by_name(plan: &Plan, answers: Answers) -> Vec<AnyView> {
    // A claim that is ticked by its volume is not asked for twice.
    let is_ticked = |object: &&ObjectRef| {
        let of_it = |data: &&DataFate| data.claim.as_ref() == Some(*object);
        let is_lost = |data: &DataFate| matches!(data.fate, Fate::Destroyed | Fate::Unknown);
        plan.data.iter().filter(of_it).any(is_lost)
    };
    plan.by_name
        .iter()
        .filter(|object| !is_ticked(object))
        .map(|object| view! { <li>{tick_box(answers, text::named(object))}</li> }.into_any())
        .collect()
}

/// The boxes of the deletions without proof, and of those by which others lose something.
fn unproven(plan: &Plan, answers: Answers) -> Vec<AnyView> {
    taken_on(plan)
        .into_iter()
        .map(|said| view! { <li>{tick_box(answers, said)}</li> }.into_any())
        .collect()
}

fn tick_box(answers: Answers, label: String) -> AnyView {
    view! {
        <label class="dialog-tick">
            <input
                type="checkbox"
                disabled=move || answers.is_holding()
                on:change:target=move |event| answers.ticked.update(|ticked| {
                    if event.target().checked() { *ticked += 1 } else { *ticked -= 1 }
                })
            />
            <bdi>{label}</bdi>
        </label>
    }
    .into_any()
}

/// The cluster, and whether the checks expect a refusal.
fn place(checks: Memo<Option<Advice>>) -> AnyView {
    let cluster = expect_context::<Badge>().name();
    let place = cluster.map(|name| text::confirm_where(&name, is_production(&name)));
    let expected = move || checks.with(|checks| checks.as_ref().map(|it| it.expected.clone()));
    view! { <p><strong>{place}</strong> " " {move || expected()}</p> }.into_any()
}

fn name_input(answers: Answers) -> AnyView {
    let typed = answers.typed;
    view! {
        <input
            id="confirm-name"
            type="text"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            aria-describedby="confirm-mismatch"
            aria-invalid=move || if answers.is_mismatch() { "true" } else { "false" }
            disabled=move || answers.is_holding()
            prop:value=move || typed.get()
            on:input:target=move |event| typed.set(event.target().value())
        />
    }
    .into_any()
}

/// The time that is left to cancel.
fn countdown(phase: RwSignal<Phase>) -> AnyView {
    let left = move || match phase.get() {
        Phase::Typing => HOLD,
        Phase::Holding(left) => left,
    };
    view! {
        <div class="confirm-hold" hidden=move || !matches!(phase.get(), Phase::Holding(1..))>
            <progress max=HOLD.to_string() value=move || left().to_string() aria-label=text::HOLDING></progress>
            <p>{text::HOLDING}</p>
        </div>
    }
    .into_any()
}

fn cancel(answers: Answers, open: RwSignal<bool>, button: NodeRef<html::Button>) -> AnyView {
    view! {
        <button
            type="button"
            class="button"
            aria-disabled=move || (answers.phase.get() == Phase::SENT).then_some("true")
            node_ref=button
            on:click=move |_| if !answers.is_sent_untracked() { open.set(false) }
        >
            {text::CANCEL}
        </button>
    }
    .into_any()
}

fn submit(answers: Answers, confirmed: Memo<bool>, busy: Signal<bool>) -> AnyView {
    let label = move || match answers.phase.get() {
        Phase::Typing => text::CONFIRM_START.to_owned(),
        Phase::Holding(0) => text::STARTING.to_owned(),
        Phase::Holding(left) => text::starts_in(left),
    };
    view! {
        <button
            type="submit"
            class="button danger"
            aria-disabled=move || (!confirmed.get() || answers.is_holding() || busy.get()).then_some("true")
            aria-describedby="confirm-missing"
        >
            {move || label()}
        </button>
    }
    .into_any()
}

/// The full count once, its half, and its end: a second is too short to be read aloud.
fn announcement(phase: RwSignal<Phase>) -> Memo<String> {
    Memo::new(move |_| match phase.get() {
        Phase::Holding(left @ (HOLD | 5 | 1..=3)) => text::starts_in(left),
        Phase::Holding(_) | Phase::Typing => String::new(),
    })
}
