//! Why deletions wait, a card for each cause: first what somebody needs who was woken by it, then the chain and the evidence.
//! A card is made of `<details>`, so that it opens without a script.

pub mod way;
pub mod adviser;
mod order;
pub mod remedy;

use leptos::prelude::*;
use teardown::{
    advice::{Advice, Fact, LogBox},
    diagnosis::Diagnosis,
    message::{DiagnosisCard, Key, Record},
    object::Uid,
};

use self::{
    adviser::Adviser,
    order::HEADING,
    way::{command, ways_out},
};
use super::{
    icon::icon,
    moment::{countdown, moment, time_of_day},
    object_name::{object_link, object_name},
    rows::rows,
};
use crate::{
    navigation::address::{self, Address},
    state::{
        clipboard,
        scene::{self, Scene},
        subscription::Lasting,
    },
    text,
};

/// The cards, the worst first, or in the order that the address names. `open` shows the first one whole from the start.
pub fn diagnoses(scene: Scene, address: Address, open: bool, adviser: Adviser) -> AnyView {
    let ids = Memo::new(move |_| {
        let order = address.order.get();
        scene.read(|records| order::ordered(records, order.as_deref()))
    });
    view! {
        <ul class="diagnosis-list">
            {rows(ids, String::clone, move |id| {
                if let Some(names) = id.strip_prefix(HEADING) {
                    return Some(view! { <li><h3>{names.to_owned()}</h3></li> }.into_any());
                }
                let first = |ids: &Vec<String>| {
                    ids.iter().find(|id| !id.starts_with(HEADING)) == Some(&id)
                };
                let is_first = ids.with_untracked(first);
                Some(row(scene, id, address, open && is_first, adviser))
            })}
        </ul>
    }
    .into_any()
}

/// The objects that are being deleted and are within their expected time, folded; `count` is the number of all.
pub fn in_time(scene: Scene, count: Lasting<Memo<usize>>) -> AnyView {
    let uids = Memo::new(move |_| scene.read_members(order::in_time));
    view! {
        <details>
            <summary>{move || text::in_time(count.get())}</summary>
            <ul class="diagnosis-chain">
                {rows(uids, Uid::to_string, move |uid| {
                    let card = scene.object(&uid)?.get_untracked();
                    Some(view! {
                        <li>
                            {object_name(&card.object)} " "
                            <span class="quiet">
                                {card.deletion.map(|deletion| moment(deletion.accepted()))}
                                {text::DUE} {card.due.map(time_of_day)}
                            </span>
                        </li>
                    }.into_any())
                })}
                {move || {
                    let rest = count.get().saturating_sub(uids.with(Vec::len));
                    (rest > 0).then(|| view! { <li class="quiet">{text::and_more(rest)}</li> }.into_any())
                }}
            </ul>
        </details>
    }
    .into_any()
}

fn row(scene: Scene, id: String, address: Address, open: bool, adviser: Adviser) -> AnyView {
    let place = address::card_of(&id);
    let known = adviser.known;
    let (of_card, loaded, shown, of_tools) = (id.clone(), id.clone(), id.clone(), id.clone());
    on_cleanup(move || known.forget(&shown));
    let is_open = RwSignal::new(open);
    let card = Memo::new(move |_| {
        scene.read(|records| match records.get(&Key::Diagnosis(id.clone())) {
            Some(Record::Diagnosis(card)) => Some(card.clone()),
            _ => None,
        })
    });
    let head = move || card.with(|card| card.as_ref().map(summary));
    // The preconditions of a remedy change with the cluster.
    Effect::new(move |before: Option<()>| {
        let is_there = card.with(Option::is_some);
        if is_there && is_open.get() && (before.is_some() || !known.take_fresh(&loaded)) {
            (adviser.load)(known, loaded.clone());
        }
    });
    // Parts of the card are drawn again and again, and read it each time.
    let advice = Lasting::new(Memo::new(move |_| known.of(&of_card)));
    let opened = StoredValue::new(Vec::new());
    let out = move || {
        advice
            .with(|advice| advice.as_ref().map(|advice| ways_out(advice, opened, adviser.question)))
    };
    let inside = move || advice.with(|advice| advice.as_ref().map(body));
    let proof =
        move || card.with(|card| card.as_ref().map(|card| proof(card, advice, scene, address)));
    // Apart from the evidence, so that news does not empty it under the hands of a person.
    let log = Memo::new(move |_| advice.with(|advice| advice.as_ref()?.log.clone()));
    let toggled = move |event: leptos::ev::Event| {
        let now = event_target::<web_sys::Element>(&event).has_attribute("open");
        if is_open.get_untracked() != now {
            is_open.set(now);
        }
    };
    view! {
        <li>
            <details class="diagnosis" id=place open=open on:toggle=toggled>
                <summary>{move || head()}</summary>
                {move || inside()}
                {move || out()}
                {move || proof()}
                {tools(&of_tools, advice)}
                {move || log.with(|log| log.as_ref().map(log_box))}
            </details>
        </li>
    }
    .into_any()
}

fn summary(card: &DiagnosisCard) -> AnyView {
    let diagnosis = &card.diagnosis;
    let (symbol, class) =
        if diagnosis.stuck { ("state-stuck", "state-stuck") } else { ("state-slow", "state-slow") };
    let (explains, does_harm, ..) = card.harm();
    let (mark, of) = match explains {
        true => (text::SOLVE_FIRST, "diagnosis-harm explains"),
        false => (text::HARM, "diagnosis-harm"),
    };
    let harm = (explains || does_harm).then(|| view! { <span class=of>{mark}</span> }.into_any());
    view! {
        <span class=format!("diagnosis-head {class}")>
            {icon(symbol)}
            <span class="diagnosis-cause">{card.said.clone()}</span>
            <span class="diagnosis-facts">
                {harm} <span>{text::objects_wait(diagnosis.total)}</span>
                <span>{text::DELETION_BEGAN} " " {moment(diagnosis.since)}</span>
            </span>
        </span>
    }
    .into_any()
}

/// The part that somebody needs first.
fn body(advice: &Advice) -> AnyView {
    let lines = |lines: &[Fact]| {
        let line = |line: &Fact| {
            let left = line.at.map(|at| view! { <strong>{countdown(at)}</strong> " " });
            view! { <p>{left}{line.text.clone()}</p> }.into_any()
        };
        lines.iter().map(line).collect_view()
    };
    let first = advice
        .first
        .iter()
        .map(|line| {
            let class = match &*line.name {
                text::IF_NOBODY_ACTS => "diagnosis-course",
                _ if line.warns => "diagnosis-not",
                _ => "",
            };
            view! { <div class=class><dt>{line.name.clone()}</dt><dd>{lines(&line.said)}</dd></div> }
                .into_any()
        })
        .collect_view();
    view! { <dl class="diagnosis-first">{first}</dl> }.into_any()
}

/// The chain and the evidence.
fn proof(
    card: &DiagnosisCard,
    advice: Lasting<Memo<Option<Advice>>>,
    scene: Scene,
    address: Address,
) -> AnyView {
    let diagnosis = &card.diagnosis;
    let facts = move || advice.with(|advice| advice.as_ref().map(evidence));
    view! {
        <div class="diagnosis-proof">
            <section>
                <h3>{text::WAITING}</h3>
                {chain(diagnosis, advice, scene, address)}
            </section>
            <section>
                <h3>{text::EVIDENCE}</h3>
                {move || facts()}
            </section>
        </div>
    }
    .into_any()
}

/// The objects that wait, nearest to the root first, each with what it waits for.
fn chain(
    diagnosis: &Diagnosis,
    advice: Lasting<Memo<Option<Advice>>>,
    scene: Scene,
    address: Address,
) -> AnyView {
    let lines = diagnosis
        .waiting
        .iter()
        .enumerate()
        .map(|(place, held)| {
            let name = object_name(&held.object);
            let name = if scene.object(&held.uid).is_some() {
                object_link(name, &held.uid, address)
            } else {
                name
            };
            let on = move || advice.with(|advice| advice.as_ref()?.chain.get(place).cloned());
            view! { <li>{name} " " <span class="quiet">{move || on()} " " {moment(held.since)}</span></li> }
                .into_any()
        })
        .collect_view();
    let rest = diagnosis.total.saturating_sub(diagnosis.waiting.len());
    let rest =
        (rest > 0).then(|| view! { <li class="quiet">{text::and_more(rest)}</li> }.into_any());
    view! { <ol class="diagnosis-chain">{lines} {rest}</ol> }.into_any()
}

fn evidence(advice: &Advice) -> AnyView {
    view! { <p>{advice.confidence.clone()}</p> {facts(advice)} }.into_any()
}

/// The facts of an advice.
pub fn facts(advice: &Advice) -> AnyView {
    let lines = advice
        .evidence
        .iter()
        .map(|fact| {
            let at = fact.at.map(moment);
            view! { <li><span class="quote">{fact.text.clone()}</span> " " {at}</li> }.into_any()
        })
        .collect_view();
    view! { <ul class="evidence">{lines}</ul> }.into_any()
}

/// The form for lines of the kubelet's log.
fn log_box(log: &LogBox) -> AnyView {
    let commands = log.commands.iter().map(command).collect_view();
    view! {
        <details class="way">
            <summary>{text::KUBELET_LOG}</summary>
            <form class="diagnosis-log" method="post" action="/trouble/kubelet-log">
                <p>{log.label.clone()}</p>
                {commands}
                <input type="hidden" name="diagnosis" value=log.diagnosis.clone()/>
                <textarea name="lines" rows="6" required aria-label=text::KUBELET_LOG></textarea>
                <button class="button small">{log.button.clone()}</button>
            </form>
        </details>
    }
    .into_any()
}

/// Drawn once, so that news from the cluster does not take back what a button has just said.
fn tools(id: &str, advice: Lasting<Memo<Option<Advice>>>) -> AnyView {
    let copied = RwSignal::new(false);
    let link = address::lasting("card", id);
    let target = link.clone();
    let note = address::lasting("note.txt", id);
    let copy = move |_| {
        let Some(advice) = advice.get_untracked() else { return };
        let origin = location().origin().unwrap_or_default();
        clipboard::put(format!("{}{origin}{target}\n", advice.note), copied);
    };
    view! {
        <div class="diagnosis-tools">
            <button type="button" class="button small" on:click=copy>
                {move || if copied.get() { text::NOTE_COPIED } else { text::COPY_NOTE }}
            </button>
            <a class="button small" href=note rel="external">{text::NOTE}</a>
            <a class="button small" href=link rel="external">{text::LINK_TO_CARD}</a>
        </div>
    }
    .into_any()
}

/// The cause for which one object waits, with a link to its card.
pub fn cause_of(scene: Scene, uid: Uid) -> AnyView {
    let card =
        Memo::new(move |_| scene.read(|records| scene::diagnosis_of(records, &uid).cloned()));
    view! {
        {move || card.with(|card| card.as_ref().map(|card| {
            let (cause, link) = (card.said.clone(), address::diagnosis(&card.diagnosis.id));
            view! {
                <p class="diagnosis-of">
                    {icon("icon-warning")} <span>{cause} " " <a href=link rel="external">{text::WHY}</a></span>
                </p>
            }.into_any()
        }))}
    }
    .into_any()
}
