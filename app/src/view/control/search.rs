//! The search field: `/` leads to it, what it holds is in the URL, and without JavaScript it is a form.

use leptos::{html, prelude::*};

use crate::{navigation::address::Address, state::keyboard::is_command, view::icon::icon};

/// The field.
#[component]
pub fn Search(
    /// The label, which names the things to search.
    label: &'static str,
    /// The address that keeps the search.
    address: Address,
) -> impl IntoView {
    let field = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        let listener = window_event_listener(leptos::ev::keydown, move |event| {
            if event.key() == "/"
                && is_command(&event)
                && let Some(field) = field.get_untracked()
            {
                event.prevent_default();
                // A field that cannot take the focus is not shown.
                let _ = field.focus();
            }
        });
        on_cleanup(move || listener.remove());
    });
    view! {
        <form class="search" role="search" method="get" on:submit=move |event| event.prevent_default()>
            {icon("icon-search")}
            <input
                type="search"
                name="q"
                autocomplete="off"
                spellcheck="false"
                aria-label=label
                placeholder=label
                node_ref=field
                prop:value=move || address.search.get().unwrap_or_default()
                value=address.search.get_untracked().unwrap_or_default()
                on:input:target=move |event| address.find(&event.target().value())
            />
            <kbd aria-hidden="true">"/"</kbd>
        </form>
    }
}
