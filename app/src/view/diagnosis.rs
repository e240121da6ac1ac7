//! Why deletions wait, a card for each cause: first what somebody needs who was woken by it, then the chain and the evidence.
//! A card is made of `<details>`, so that it opens without a script.

use leptos::prelude::*;
use teardown::{
    advice::{Advice, Way},
    diagnosis::{Diagnosis, Evidence},
    message::{DiagnosisCard, Key, Record},
    object::Uid,
};

use super::{
    adviser::Adviser,
    banner,
    icon::icon,
    moment::moment,
    object_name::{object_link, object_name},
    remedy::RemedyDialog,
    rows::rows,
    way::ways_out,
};
use crate::{
    navigation::address::{self, Address},
    state::{
        advice::KnownAdvice,
        clipboard,
        scene::{self, Scene},
    },
    text,
};

/// The cards, the worst first. `open` shows the first one whole from the start.
pub fn diagnoses(scene: Scene, address: Option<Address>, open: bool, adviser: Adviser) -> AnyView {
    let (asked, asks) = (RwSignal::new(None), RwSignal::new(false));
    let ask = Callback::new(move |question: (String, Way)| {
        asked.set(Some(question));
        asks.set(true);
    });
    let ids = Memo::new(move |_| {
        let cards = scene.read(scene::diagnoses_by_harm);
        cards.into_iter().map(|card| card.diagnosis.id).collect::<Vec<String>>()
    });
    view! {
        {move || adviser.refusal.get().map(|refusal| banner::refusal(&refusal))}
        <ul class="diagnosis-list">
            {rows(ids, String::clone, move |id| {
                let is_first = ids.with_untracked(|ids| ids.first() == Some(&id));
                Some(row(scene, id, address, open && is_first, (adviser.load, ask)))
            })}
        </ul>
        <RemedyDialog asked open=asks adviser/>
    }
    .into_any()
}

fn row(
    scene: Scene,
    id: String,
    address: Option<Address>,
    open: bool,
    (load, ask): (Callback<String>, Callback<(String, Way)>),
) -> AnyView {
    let place = address::card_of(&id);
    let known = expect_context::<KnownAdvice>();
    let (of_card, loaded, asked) = (id.clone(), id.clone(), id.clone());
    let is_open = RwSignal::new(open);
    let card = Memo::new(move |_| {
        scene.read(|records| match records.get(&Key::Diagnosis(id.clone())) {
            Some(Record::Diagnosis(card)) => Some(card.clone()),
            _ => None,
        })
    });
    let head = move || card.with(|card| card.as_ref().map(|card| summary(&card.diagnosis)));
    // The preconditions of a remedy change with the cluster.
    Effect::new(move |before: Option<()>| {
        let is_there = card.with(Option::is_some);
        if is_there && is_open.get() && (before.is_some() || !known.take_fresh(&loaded)) {
            load.run(loaded.clone());
        }
    });
    let read = Memo::new(move |_| known.of(&of_card));
    let advice = Memo::new(move |_| read.with(|read| read.as_ref()?.as_ref().ok().cloned()));
    let opened = StoredValue::new(None);
    let ask = Callback::new(move |way: Way| ask.run((asked.clone(), way)));
    let out = move || {
        read.with(|read| match read.as_ref()? {
            Ok(advice) => Some(ways_out(advice, opened, ask)),
            Err(why) => Some(view! { <p class="quiet">{why.clone()}</p> }.into_any()),
        })
    };
    let inside = move || card.with(|card| card.as_ref().map(|card| body(card, advice)));
    let proof =
        move || card.with(|card| card.as_ref().map(|card| proof(card, advice, scene, address)));
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
            </details>
        </li>
    }
    .into_any()
}

fn summary(diagnosis: &Diagnosis) -> AnyView {
    let (symbol, class) =
        if diagnosis.stuck { ("state-stuck", "state-stuck") } else { ("state-slow", "state-slow") };
    let harm = (!diagnosis.impact.is_none())
        .then(|| view! { <span class="diagnosis-harm">{text::HARM}</span> }.into_any());
    view! {
        <span class=format!("diagnosis-head {class}")>
            {icon(symbol)}
            <span class="diagnosis-cause">{text::cause(diagnosis)}</span>
            <span class="diagnosis-facts">
                {harm} <span>{text::objects_wait(diagnosis.total)}</span> {moment(diagnosis.since)}
            </span>
        </span>
    }
    .into_any()
}

/// The part that somebody needs first.
fn body(card: &DiagnosisCard, advice: Memo<Option<Advice>>) -> AnyView {
    let DiagnosisCard { diagnosis, contact, .. } = card;
    let harm = text::harm(&diagnosis.impact)
        .into_iter()
        .map(|line| view! { <p>{line}</p> }.into_any())
        .collect_view();
    let next = move || advice.with(|advice| advice.as_ref().map(|it| it.if_nobody_acts.clone()));
    let mistake = move || {
        let mistake = advice.with(|advice| advice.as_ref()?.do_not.clone());
        mistake.map(|mistake| {
            view! { <div class="diagnosis-not"><dt>{text::DO_NOT}</dt><dd>{mistake}</dd></div> }
                .into_any()
        })
    };
    let whose = (!contact.is_empty()).then(|| {
        let pairs = contact
            .iter()
            .map(|(name, value)| {
                view! { <p><code>{text::visible(name)}</code> " " {text::isolated(value)}</p> }
                    .into_any()
            })
            .collect_view();
        view! { <div><dt>{text::WHOSE}</dt><dd>{pairs}</dd></div> }.into_any()
    });
    view! {
        <dl class="diagnosis-first">
            <div><dt>{text::HARM}</dt><dd>{harm}</dd></div>
            <div><dt>{text::IF_NOBODY_ACTS}</dt><dd>{move || next()}</dd></div>
            {move || mistake()}
            {whose}
        </dl>
    }
    .into_any()
}

/// The chain and the evidence.
fn proof(
    card: &DiagnosisCard,
    advice: Memo<Option<Advice>>,
    scene: Scene,
    address: Option<Address>,
) -> AnyView {
    let diagnosis = &card.diagnosis;
    let sure = move || advice.with(|advice| advice.as_ref().map(|it| it.confidence.clone()));
    view! {
        <div class="diagnosis-proof">
            <section>
                <h3>{text::WAITING}</h3>
                {chain(diagnosis, scene, address)}
            </section>
            <section>
                <h3>{text::EVIDENCE}</h3>
                <p>{move || sure()}</p>
                {evidence(&diagnosis.evidence)}
            </section>
        </div>
        {tools(diagnosis, advice)}
    }
    .into_any()
}

/// The objects that wait, nearest to the root first, each with what it waits for.
fn chain(diagnosis: &Diagnosis, scene: Scene, address: Option<Address>) -> AnyView {
    let lines = diagnosis
        .waiting
        .iter()
        .map(|held| {
            let name = object_name(&held.object);
            let name = match address.filter(|_| scene.object(&held.uid).is_some()) {
                Some(address) => object_link(name, &held.uid, address),
                None => name,
            };
            let on = held.on.and_then(|(at, link)| {
                Some(text::waits_for(&diagnosis.waiting.get(at)?.object, link))
            });
            view! { <li>{name} " " <span class="quiet">{on} " " {moment(held.since)}</span></li> }
                .into_any()
        })
        .collect_view();
    let rest = diagnosis.total.saturating_sub(diagnosis.waiting.len());
    let rest =
        (rest > 0).then(|| view! { <li class="quiet">{text::and_more(rest)}</li> }.into_any());
    view! { <ol class="diagnosis-chain">{lines} {rest}</ol> }.into_any()
}

fn evidence(facts: &[Evidence]) -> AnyView {
    let lines = facts
        .iter()
        .map(|fact| {
            let at = fact.at.map(moment);
            view! { <li><span class="quote">{text::fact(fact)}</span> " " {at}</li> }.into_any()
        })
        .collect_view();
    view! { <ul class="evidence">{lines}</ul> }.into_any()
}

fn tools(diagnosis: &Diagnosis, advice: Memo<Option<Advice>>) -> AnyView {
    let copied = RwSignal::new(false);
    let link = address::diagnosis(&diagnosis.id);
    let target = link.clone();
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
            let (cause, link) = (text::cause(&card.diagnosis), address::diagnosis(&card.diagnosis.id));
            view! {
                <p class="diagnosis-of">
                    {icon("icon-warning")} <span>{cause} " " <a href=link rel="external">{text::WHY}</a></span>
                </p>
            }.into_any()
        }))}
    }
    .into_any()
}
