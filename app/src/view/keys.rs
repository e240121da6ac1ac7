//! The keyboard: what a key does wherever nobody types, the list of all keys, and the link to what is seen.

use leptos::{html, prelude::*};
use web_sys::KeyboardEvent;

use super::{icon::icon, search::is_typing};
use crate::{
    address::{Address, Shape},
    clipboard,
    erased::{alive, now},
    route::Place,
    text,
};

/// The key in the browser’s storage that turns shortcuts off.
const STORED: &str = "keys";
/// The two buttons of the top bar, with the dialog that lists the keys.
#[component]
pub fn Keys() -> impl IntoView {
    let place = expect_context::<Place>();
    let address = Address::current();
    let open = RwSignal::new(false);
    let copied = RwSignal::new(false);
    let dialog = NodeRef::<html::Dialog>::new();
    let copy = move || clipboard::put(location().href().unwrap_or_default(), copied);
    let going = StoredValue::new(false);
    let press = move |event: &KeyboardEvent| {
        let went = going.get_value();
        going.set_value(event.key() == "g");
        match event.key().as_str() {
            "u" if went => place.go("/"),
            "r" if went => place.go("/#runs"),
            "?" => open.set(true),
            "1" => address.show(Shape::Map),
            "2" => address.show(Shape::List),
            "c" => copy(),
            _ => {}
        }
    };
    alive(move || {
        let listener = window_event_listener(leptos::ev::keydown, move |event| {
            if is_command(&event) {
                press(&event);
            }
        });
        on_cleanup(move || listener.remove());
    });
    alive(move || {
        if let Some(dialog) = dialog.get()
            && open.get()
        {
            // One that is open already stays open.
            let _ = dialog.show_modal();
        }
    });
    let switch = |on: bool| {
        // A browser that keeps nothing has them on.
        if let Some(store) = window().local_storage().ok().flatten() {
            let _ = if on { store.remove_item(STORED) } else { store.set_item(STORED, "off") };
        }
    };
    let rows = text::KEYS
        .into_iter()
        .map(|(key, does)| view! { <div class="pair"><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div> })
        .collect_view();
    view! {
        <button type="button" class="tool wide" title=text::COPY_LINK aria-label=text::COPY_LINK on:click=move |_| copy()>
            {icon("icon-copy")}
        </button>
        <button type="button" class="tool wide" title=text::KEYS_TITLE aria-label=text::KEYS_TITLE on:click=move |_| open.set(true)>
            {icon("icon-keys")}
        </button>
        {now(move || copied.get().then(|| view! { <div class="toast" role="status">{text::COPIED}</div> }))}
        <dialog class="dialog" aria-labelledby="keys-title" node_ref=dialog on:close=move |_| open.set(false)>
            <h2 id="keys-title">{text::KEYS_TITLE}</h2>
            <dl>{rows}</dl>
            <form method="dialog">
                {now(move || open.get().then(|| view! {
                    <label class="tick">
                        <input type="checkbox" checked=are_on() on:change:target=move |event| switch(event.target().checked())/>
                        <span>{text::KEYS_ON}</span>
                    </label>
                }))}
                <div class="dialog-buttons">
                    <button type="submit" class="button" autofocus=true>{text::CLOSE}</button>
                </div>
            </form>
        </dialog>
    }
}

/// Whether single letters do something.
fn are_on() -> bool {
    let store = window().local_storage().ok().flatten();
    store.and_then(|store| store.get_item(STORED).ok().flatten()).is_none()
}

/// Whether a key is meant for the page: not for a field, not for a dialog, and letters are not switched off.
pub fn is_command(event: &KeyboardEvent) -> bool {
    let asked = document().query_selector("dialog[open]").ok().flatten().is_some();
    !asked && !is_typing(event) && are_on()
}
