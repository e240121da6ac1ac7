//! The browser's clipboard.

use std::time::Duration;

use leptos::prelude::*;

/// For how long the page says that something was copied.
const SHOWN: Duration = Duration::from_secs(3);

/// Puts a text into the clipboard, and says so for a moment. Where the browser does not allow it, nothing is said.
pub fn put(text: String, copied: RwSignal<bool>) {
    leptos::task::spawn_local(async move {
        let write = window().navigator().clipboard().write_text(&text);
        if wasm_bindgen_futures::JsFuture::from(write).await.is_ok() {
            copied.set(true);
            let over = move || {
                // The page may have gone by then.
                let _ = copied.try_set(false);
            };
            set_timeout(over, SHOWN);
        }
    });
}
