//! A button that changes something: it works only while the page is live and the reader is known, and says why not.
//! While an order is on its way it does nothing, and keeps the focus: a button that is disabled loses it.

use leptos::prelude::*;

use crate::state::connection::Connection;

/// The button.
#[component]
pub fn Guarded(
    /// What it says.
    #[prop(into)]
    label: Signal<&'static str>,
    /// Whether it must not be pressed for the caller's own reason.
    #[prop(into)]
    busy: Signal<bool>,
    /// What it does.
    act: Callback<()>,
    /// How it looks.
    #[prop(optional)]
    class: &'static str,
) -> impl IntoView {
    let connection = expect_context::<Connection>();
    let hindrance = move || connection.hindrance();
    view! {
        <button
            type="button"
            class=format!("button {class}")
            disabled=move || hindrance().is_some()
            aria-disabled=move || busy.get().then_some("true")
            title=move || hindrance().unwrap_or_default()
            on:click=move |_| if !busy.get_untracked() { act.run(()) }
        >
            {move || label.get()}
        </button>
    }
}
