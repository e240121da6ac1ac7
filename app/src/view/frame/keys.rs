//! The keyboard: what a key does wherever nobody types, the list of all keys, and the link to what is seen.

use leptos::{html, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};
use web_sys::KeyboardEvent;

use crate::{
    navigation::address::{Address, Shape},
    state::{
        clipboard,
        keyboard::{has_shortcuts, is_command, set_shortcuts},
    },
    text,
    view::icon::icon,
};

/// The two buttons of the top bar, with the dialog that lists the keys.
#[component]
pub fn Keys() -> impl IntoView {
    let navigate = StoredValue::new(use_navigate());
    let address = Address::current();
    let open = RwSignal::new(false);
    let copied = RwSignal::new(false);
    let dialog = NodeRef::<html::Dialog>::new();
    let copy = move || clipboard::put(location().href().unwrap_or_default(), copied);
    let going = StoredValue::new(false);
    let go = move |url| navigate.with_value(|navigate| navigate(url, NavigateOptions::default()));
    let press = move |event: &KeyboardEvent| {
        let went = going.get_value();
        going.set_value(event.key() == "g");
        match event.key().as_str() {
            "u" if went => go("/"),
            "r" if went => go("/#runs"),
            "?" => open.set(true),
            "1" => address.show(Shape::Map),
            "2" => address.show(Shape::List),
            "c" => copy(),
            _ => {}
        }
    };
    Effect::new(move |_| {
        let listener = window_event_listener(leptos::ev::keydown, move |event| {
            if is_command(&event) {
                press(&event);
            }
        });
        on_cleanup(move || listener.remove());
    });
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get()
            && open.get()
        {
            // One that is open already stays open.
            let _ = dialog.show_modal();
        }
    });
    let rows = text::KEYS
        .into_iter()
        .map(|(key, does)| {
            view! { <div class="pair"><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div> }.into_any()
        })
        .collect_view();
    view! {
        <button type="button" class="tool wide" title=text::COPY_LINK aria-label=text::COPY_LINK on:click=move |_| copy()>
            {icon("icon-copy")}
        </button>
        <button type="button" class="tool wide" title=text::KEYS_TITLE aria-label=text::KEYS_TITLE on:click=move |_| open.set(true)>
            {icon("icon-keys")}
        </button>
        {move || copied.get().then(|| view! { <div class="banner-toast" role="status">{text::COPIED}</div> }.into_any())}
        <dialog class="dialog" aria-labelledby="keys-title" node_ref=dialog on:close=move |_| open.set(false)>
            <h2 id="keys-title">{text::KEYS_TITLE}</h2>
            <dl>{rows}</dl>
            <form method="dialog">
                {move || open.get().then(|| view! {
                    <label class="dialog-tick">
                        <input type="checkbox" checked=has_shortcuts() on:change:target=move |event| set_shortcuts(event.target().checked())/>
                        <span>{text::KEYS_ON}</span>
                    </label>
                }.into_any())}
                <div class="dialog-buttons">
                    <button type="submit" class="button" autofocus=true>{text::CLOSE}</button>
                </div>
            </form>
        </dialog>
    }
}
