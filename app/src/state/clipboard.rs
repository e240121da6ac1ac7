//! The browser's clipboard.

use std::time::Duration;

use leptos::prelude::*;

/// How long it is said that something was copied.
const SAID: Duration = Duration::from_secs(3);

/// Puts a text there, and says so for a moment. A browser that does not let us copy shows nothing copied.
pub fn put(text: String, copied: RwSignal<bool>) {
    leptos::task::spawn_local(async move {
        let write = window().navigator().clipboard().write_text(&text);
        if wasm_bindgen_futures::JsFuture::from(write).await.is_ok() {
            copied.set(true);
            let over = move || {
                // The page may have gone by then.
                let _ = copied.try_set(false);
            };
            set_timeout(over, SAID);
        }
    });
}
