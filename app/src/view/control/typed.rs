//! A question that is answered by typing a name, because what follows cannot be taken back.

use leptos::prelude::*;
use teardown::right::Right;

use super::ask::Ask;
use crate::text;

/// The dialog.
#[component]
pub fn Typed(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// The id of its heading.
    id: &'static str,
    /// The question.
    #[prop(into)]
    title: Signal<String>,
    /// The label of the button that confirms.
    label: &'static str,
    /// The name to type.
    #[prop(into)]
    name: Signal<String>,
    /// Whether something else is missing, or a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// The right that it needs.
    #[prop(default = Right::Act)]
    needs: Right,
    /// The action; gets what was typed.
    act: Callback<String>,
    /// The consequences.
    children: Children,
) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    // The name is typed anew for each question.
    Effect::new(move |_| {
        if open.get() {
            typed.set(String::new());
        }
    });
    let holds = Signal::derive(move || {
        let is_typed = name.with(|name| typed.with(|typed| typed.trim() == name));
        busy.get() || !is_typed
    });
    let act = Callback::new(move |()| {
        act.run(typed.get_untracked());
    });
    view! {
        <Ask open id title label busy=holds needs act>
            {children()}
            <label>
                {move || text::confirm_type(&text::isolated(&name.get()))}
                <input
                    type="text"
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    prop:value=move || typed.get()
                    on:input:target=move |event| typed.set(event.target().value())
                />
            </label>
        </Ask>
    }
}
