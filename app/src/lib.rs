//! The page.
use leptos::prelude::*;

/// What the server knows for the first paint; it is in context before rendering begins.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The snapshot of the page's topic.
    pub message: Option<teardown::message::Message>,
    /// The plan the page shows.
    pub plan: Option<teardown::plan::Plan>,
    /// The code of the refusal, where the page's subject is not there.
    pub refusal: Option<String>,
    /// The server's clock.
    pub now: jiff::Timestamp,
    /// Names the build of the page; another one means that the server was replaced.
    pub hash: String,
    /// Whether the viewer is signed in.
    pub signed_in: bool,
}

/// The document around the page.
#[cfg(feature = "ssr")]
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head><HydrationScripts options/></head>
            <body><App/></body>
        </html>
    }
}

/// Everything inside the document.
#[component]
pub fn App() -> impl IntoView {
    use leptos_router::{
        components::{Route, Router, Routes},
        path,
    };
    let seed = use_context::<Seed>();
    let records = seed
        .as_ref()
        .and_then(|seed| seed.message.as_ref())
        .map(|message| message.revision().to_string());
    let refusal = seed.and_then(|seed| seed.refusal);
    view! {
        <Router>
            <p>"Unwind " {records} {refusal}</p>
            <Routes fallback=|| "not found">
                <Route path=path!("/") view=|| "units"/>
                <Route path=path!("/runs") view=|| "runs"/>
                <Route path=path!("/u/:unit") view=|| "unit"/>
                <Route path=path!("/u/:unit/plan/:plan") view=|| "plan"/>
                <Route path=path!("/r/:run") view=|| "run"/>
            </Routes>
        </Router>
    }
}

#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_body(App);
}
