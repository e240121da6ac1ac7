//! A button that changes something: it works only while the page is live and the reader has the right, and says why not.
//! When it does nothing it is `aria-disabled`, for a button that becomes `disabled` loses the focus.

use leptos::prelude::*;
use teardown::right::Right;

use crate::state::{connection::Connection, subscription::end_with_owner};

/// The button.
#[component]
pub fn Guarded(
    /// The label.
    #[prop(into)]
    label: Signal<&'static str>,
    /// Whether it must not be pressed for the caller's own reason.
    #[prop(into)]
    busy: Signal<bool>,
    /// The action.
    act: Callback<()>,
    /// The right that the action needs.
    #[prop(default = Right::Act)]
    needs: Right,
    /// Further classes.
    #[prop(optional)]
    class: &'static str,
) -> impl IntoView {
    let connection = expect_context::<Connection>();
    let hindrance = move || connection.hindrance_of(needs);
    let works = move || untrack(hindrance).is_none() && !busy.get_untracked();
    view! {
        <button
            type="button"
            class=format!("button {class}")
            aria-disabled=move || {
                end_with_owner();
                (hindrance().is_some() || busy.get()).then_some("true")
            }
            title=move || {
                end_with_owner();
                hindrance().unwrap_or_default()
            }
            on:click=move |_| if works() { act.run(()) }
        >
            {move || {
                end_with_owner();
                label.get()
            }}
        </button>
    }
}
