//! The keys that are meant for the page.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

/// Where the browser keeps that shortcuts are off.
const STORED: &str = "keys";

/// Whether shortcuts of a single key are on.
pub fn has_shortcuts() -> bool {
    let store = window().local_storage().ok().flatten();
    store.and_then(|store| store.get_item(STORED).ok().flatten()).is_none()
}

/// Turns shortcuts of a single key on or off.
pub fn set_shortcuts(on: bool) {
    // In a browser that stores nothing they stay on.
    if let Some(store) = window().local_storage().ok().flatten() {
        let _ = if on { store.remove_item(STORED) } else { store.set_item(STORED, "off") };
    }
}

/// Whether a key is meant for the page: not for a field, not for a dialog, and shortcuts are on.
pub fn is_command(event: &KeyboardEvent) -> bool {
    let has_dialog = document().query_selector("dialog[open]").ok().flatten().is_some();
    !has_dialog && !is_typing(event) && has_shortcuts()
}

/// Whether a key is meant for a field, or for the browser.
pub fn is_typing(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let is_field = target.is_some_and(|target| {
        matches!(target.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
            || target.is_content_editable()
    });
    is_field || event.ctrl_key() || event.meta_key() || event.alt_key()
}
