//! The page.
use leptos::prelude::*;
#[component]
pub fn App() -> impl IntoView { view! { <p>"Unwind"</p> } }
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() { leptos::mount::hydrate_body(App); }
