//! Banners: what is wrong around the page, what it means and what to do.

use leptos::prelude::*;
use teardown::message::{ClusterCard, HiddenCause, HiddenKindCard};

use super::{icon::icon, moment::moment};
use crate::{state::command::Refusal, text};

/// The cluster does not answer, or has not been read to the end.
pub fn cluster(card: &ClusterCard) -> AnyView {
    if let Some(unreachable) = &card.unreachable {
        let message = text::api_problem(&unreachable.message);
        return view! {
            <div class="banner bad" role="alert">
                {icon("icon-warning")}
                <div>
                    <strong>{text::away(unreachable.cause)}</strong> " " {moment(unreachable.since)}
                    <p>{text::AWAY_MEANS}</p>
                    <p>{text::away_do(unreachable.cause)}</p>
                    <p class="quote">{message}</p>
                </div>
            </div>
        }
        .into_any();
    }
    (!card.synced)
        .then(|| {
            view! {
                <div class="banner" role="status">
                    {icon("icon-clock")}
                    <div><strong>{text::READING}</strong><p>{text::READING_MEANS}</p></div>
                </div>
            }
            .into_any()
        })
        .into_any()
}

/// Kinds that cannot be seen.
pub fn hidden_kinds(cards: &[HiddenKindCard]) -> AnyView {
    (!cards.is_empty())
        .then(|| {
            let rows = cards
                .iter()
                .map(|card| {
                    view! {
                        <li>
                            <code>{text::visible(&card.resource)}</code>
                            ": " {text::hidden_cause(card.cause)}
                            " " <span class="quote">{text::api_problem(&card.message)}</span>
                            " " {moment(card.since)}
                        </li>
                    }
                    .into_any()
                })
                .collect_view();
            let causes = [HiddenCause::Forbidden, HiddenCause::Discovery, HiddenCause::Failing];
            let advice = causes
                .into_iter()
                .filter(|cause| cards.iter().any(|card| card.cause == *cause))
                .map(|cause| view! { <p>{text::hidden_advice(cause)}</p> }.into_any())
                .collect_view();
            view! {
                <details class="banner warn">
                    <summary>{icon("state-unknown")} <strong>{text::hidden_kinds(cards)}</strong></summary>
                    <p>{text::HIDDEN_MEANS}</p>
                    <ul>{rows}</ul>
                    {advice}
                </details>
            }
            .into_any()
        })
        .into_any()
}

/// The server did not do what it was asked.
pub fn refusal(refusal: &Refusal) -> AnyView {
    let differences = refusal
        .differences
        .iter()
        .map(|one| view! { <li>{text::difference(one)}</li> }.into_any())
        .collect_view();
    let any = !refusal.differences.is_empty();
    let request = (!refusal.request.is_empty())
        .then(|| view! { <p class="quote">{refusal.request.clone()}</p> }.into_any());
    view! {
        <div class="banner bad" role="alert">
            {icon("icon-warning")}
            <div>
                <strong>{refusal.what.clone()}</strong>
                <p>{refusal.means.clone()}</p>
                <p>{refusal.remedy.clone()}</p>
                {any.then(|| view! { <ul class="differences">{differences}</ul> }.into_any())}
                {request}
            </div>
        </div>
    }
    .into_any()
}

/// The reader may not change anything.
pub fn read_only() -> AnyView {
    view! {
        <div class="banner" role="status">
            {icon("icon-lock")}
            <div><strong>{text::READ_ONLY}</strong><p>{text::NOT_SIGNED_IN}</p></div>
        </div>
    }
    .into_any()
}

/// The page, or something in it, is dead: seen once `start.js` finds it so, and made of nothing that has to live.
pub fn halted() -> AnyView {
    view! {
        <div class="banner-toast banner-halted" role="alert">
            <span>{text::HALTED}</span>
            <a class="button" href="" rel="external">{text::RELOAD}</a>
        </div>
    }
    .into_any()
}

/// The server serves another build.
pub fn outdated() -> AnyView {
    let reload = |_| {
        // Where reloading fails, the browser says so itself.
        let _ = window().location().reload();
    };
    view! {
        <div class="banner-toast" role="status">
            <span>{text::OUTDATED}</span>
            <button type="button" class="button" on:click=reload>{text::RELOAD}</button>
        </div>
    }
    .into_any()
}
