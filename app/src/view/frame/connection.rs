//! The pill that says how fresh the page is.

use leptos::prelude::*;

use crate::{
    state::{
        connection::{Connection, Link},
        live::try_now,
    },
    text,
    view::moment::time_of_day,
};

/// The pill.
#[component]
pub fn ConnectionPill() -> impl IntoView {
    let connection = expect_context::<Connection>();
    let class = move || match connection.link() {
        Link::Connecting => "pill connecting",
        Link::Live => "pill live",
        Link::Reconnecting { .. } => "pill reconnecting",
        Link::Offline => "pill offline",
        Link::Stale { .. } => "pill stale",
        Link::Unreadable { .. } => "pill stale",
    };
    let said = move || match connection.link() {
        Link::Connecting => text::CONNECTING.to_owned(),
        Link::Live => text::LIVE.to_owned(),
        Link::Reconnecting { seconds, .. } => text::reconnecting(seconds),
        Link::Offline => text::OFFLINE.to_owned(),
        Link::Stale { .. } => text::STALE.to_owned(),
        Link::Unreadable { .. } => text::UNREADABLE.to_owned(),
    };
    // The time is drawn once, and not with every second of the countdown.
    let has_age = Memo::new(move |_| {
        !matches!(connection.link(), Link::Connecting | Link::Live | Link::Offline)
    });
    let age = move || {
        if !has_age.get() {
            return None;
        }
        let (Link::Reconnecting { since, .. } | Link::Stale { since } | Link::Unreadable { since }) =
            connection.link_untracked()
        else {
            return None;
        };
        let at = jiff::Timestamp::from_second(since).ok()?;
        Some(view! { {text::DATA_AS_OF} " " {time_of_day(at)} }.into_any())
    };
    // A memo wakes only when the sentence differs, so each is announced once.
    let announced = Memo::new(move |_| match connection.link() {
        Link::Offline => text::OFFLINE_SAID,
        Link::Stale { .. } => text::STALE_SAID,
        Link::Unreadable { .. } => text::UNREADABLE,
        Link::Connecting | Link::Live | Link::Reconnecting { .. } => "",
    });
    // A memo, so that the button stays the same while the seconds go by.
    let broken = Memo::new(move |_| !matches!(connection.link(), Link::Connecting | Link::Live));
    let again = move || {
        broken.get().then(|| {
            view! { <button type="button" class="button small" on:click=move |_| try_now()>{text::TRY_NOW}</button> }.into_any()
        })
    };
    view! {
        <span class=class>
            <span class="pill-dot" aria-hidden="true"></span>
            <span>{move || said()}</span>
            <span class="pill-age">{move || age()}</span>
        </span>
        <span class="visually-hidden" role="status">{move || announced.get()}</span>
        {move || again()}
    }
}
