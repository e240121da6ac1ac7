//! Automatic, light or dark. The choice is an attribute of the document that a script sets before the first paint, so
//! the page itself renders the same in all three.

use leptos::prelude::*;

use crate::{text, view::icon::icon};

/// The button that goes round.
#[component]
pub fn ThemeButton() -> impl IntoView {
    let turn = |_| {
        let Some(root) = document().document_element() else { return };
        let next = match root.get_attribute("data-theme").as_deref() {
            None => Some("light"),
            Some("light") => Some("dark"),
            Some(_) => None,
        };
        // A browser that keeps nothing still changes for now.
        let store = window().local_storage().ok().flatten();
        let _ = match next {
            Some(theme) => {
                if let Some(store) = store {
                    let _ = store.set_item("theme", theme);
                }
                root.set_attribute("data-theme", theme)
            }
            None => {
                if let Some(store) = store {
                    let _ = store.remove_item("theme");
                }
                root.remove_attribute("data-theme")
            }
        };
    };
    view! {
        <button type="button" class="tool" title=text::THEME aria-label=text::THEME on:click=turn>
            {icon("icon-theme")}
        </button>
    }
}
