//! A message in place of content: why there is none and the way on, or that the content is loading.

use leptos::prelude::*;

use super::icon::icon;
use crate::text;

/// Nothing in a part of a page, with its meaning and a way on.
pub fn empty(symbol: &str, title: &'static str, means: &'static str, more: AnyView) -> AnyView {
    shown(symbol, view! { <h2>{title}</h2> }.into_any(), means, more)
}

/// A page that is nothing but this.
pub fn empty_page(
    symbol: &str,
    title: &'static str,
    means: &'static str,
    more: AnyView,
) -> AnyView {
    shown(symbol, view! { <h1>{title}</h1> }.into_any(), means, more)
}

fn shown(symbol: &str, title: AnyView, means: &'static str, more: AnyView) -> AnyView {
    view! {
        <div class="empty">
            {icon(symbol)}
            {title}
            <p>{means}</p>
            {more}
        </div>
    }
    .into_any()
}

/// A unit of which nothing is left.
pub fn torn_down(unit: &str) -> AnyView {
    let title = text::torn_down(&text::isolated(unit));
    let title = view! { <h2>{title}</h2> }.into_any();
    shown("state-gone", title, text::TORN_DOWN_MEANS, to_units())
}

/// A link to all units.
pub fn to_units() -> AnyView {
    view! { <a class="button" href="/">{text::TO_UNITS}</a> }.into_any()
}

/// A search without an answer.
pub fn nothing_matches() -> AnyView {
    empty(
        "icon-search",
        text::NOTHING_MATCHES,
        "",
        view! { <a class="button" href="?">{text::CLEAR_SEARCH}</a> }.into_any(),
    )
}

/// Data is on its way; of a fixed height, so that nothing jumps.
pub fn loading() -> AnyView {
    view! {
        <div class="empty-loading" role="status">
            <span class="visually-hidden">{text::LOADING}</span>
            <div class="empty-bone" aria-hidden="true"></div>
            <div class="empty-bone" aria-hidden="true"></div>
            <div class="empty-bone" aria-hidden="true"></div>
        </div>
    }
    .into_any()
}
