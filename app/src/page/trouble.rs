//! `/trouble`: every deletion that waits, by what it waits for.

use leptos::prelude::*;
use teardown::message::Topic;

use crate::{
    navigation::address::{Address, BY_AGE, BY_NAMESPACE, TROUBLE},
    state::subscription::Lasting,
    text,
    view::{
        banner,
        diagnosis::{diagnoses, in_time, remedy::RemedyDialog},
        empty,
        moment::moment,
    },
};

/// The page.
#[component]
pub fn Trouble() -> impl IntoView {
    let scene = super::open(Signal::derive(|| Topic::Trouble));
    let address = Address::current();
    let cluster = super::cluster(scene);
    let hidden = super::hidden_kinds(scene);
    let (in_trouble, adviser) = (super::is_in_trouble(scene), super::adviser());
    let is_read =
        Memo::new(move |_| cluster.with(|card| card.as_ref().is_none_or(|card| card.synced)));
    let is_away = Memo::new(move |_| {
        cluster.with(|card| card.as_ref().is_some_and(|card| card.unreachable.is_some()))
    });
    let count =
        Memo::new(move |_| cluster.with(|card| card.as_ref().map_or(0, |card| card.in_time)));
    // A memo, so that what a reader opened stays open while the number changes.
    let any_in_time = Memo::new(move |_| count.get() > 0);
    let by = move |href: &'static str, order: Option<&'static str>, name: &'static str| {
        view! {
            <a
                class="shape-link"
                href=href
                aria-current=move || (address.order.get().as_deref() == order).then_some("true")
                data-noscroll="noscroll"
            >{name}</a>
        }
        .into_any()
    };
    let body = move || match (scene.is_known() && is_read.get(), in_trouble.get()) {
        (false, _) => empty::loading(),
        // A deletion may have begun to wait since then.
        (true, false) if is_away.get() => cluster
            .get()
            .and_then(|card| card.unreachable)
            .map(|away| {
                let title = text::away(away.cause);
                empty::empty("state-unknown", title, text::AWAY_MEANS, moment(away.since))
            })
            .into_any(),
        (true, false) => {
            empty::empty("state-gone", text::NO_TROUBLE, text::NO_TROUBLE_MEANS, empty::to_units())
                .into_any()
        }
        (true, true) => view! {
            <h2 class="visually-hidden">{text::WHY_IT_WAITS}</h2>
            {diagnoses(scene, address, true, adviser)}
        }
        .into_any(),
    };
    view! {
        <div class="page">
            <div class="page-head">
                <div>
                    <h1>{text::TROUBLE}</h1>
                    <p class="lead">{text::TROUBLE_LEAD}</p>
                </div>
                <nav class="shape" aria-label=text::LIST_ORDER>
                    {by(TROUBLE, None, text::BY_HARM)}
                    {by("?by=age", Some(BY_AGE), text::BY_AGE)}
                    {by("?by=namespace", Some(BY_NAMESPACE), text::BY_NAMESPACE)}
                </nav>
            </div>
            {move || cluster.get().map(|card| banner::cluster(&card))}
            {move || banner::hidden_kinds(&hidden.get())}
            <RemedyDialog adviser/>
            {move || body()}
            {move || any_in_time.get().then(|| in_time(scene, Lasting::new(count)))}
        </div>
    }
}
