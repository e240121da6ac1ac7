//! The page: rendered by the server, then alive in the browser.
//!
//! Reading order: [`state`] has the records of a topic as signals, the connection that keeps them at the server's revision
//! and the requests that a person sets off; [`navigation`] has the addresses of the pages; [`layout`] turns a graph into
//! positions; [`text`] has every sentence; [`page`] has one file per route and [`mod@view`] one per thing seen. Nothing in
//! `view` asks the network for anything, and nothing that the first render shows differs between server and browser.

// The type of a view holds the types of all it contains.
#![recursion_limit = "256"]

#[cfg(all(feature = "ssr", feature = "hydrate"))]
compile_error!("`ssr` is the server's build and `hydrate` the browser's: choose one");

#[cfg(not(erase_components))]
compile_error!(
    "build with --cfg=erase_components, as .cargo/config.toml does; RUSTFLAGS replaced it"
);

pub mod layout;
pub mod navigation;
pub mod page;
mod sort;
pub mod state;
pub mod text;
pub mod view;

use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};
use leptos_router::{
    components::{FlatRoutes, Route, Router},
    path,
};
pub use state::seed::PageSeed;
use state::{
    advice::KnownAdvice,
    clock,
    connection::Connection,
    live,
    seed::{InitialData, PackedSeed},
};
use view::frame::Frame;

/// The path of the sprite with all icons; it holds a hash of the content.
pub const ICONS: &str = env!("UNWIND_ICONS");
/// The path of the page's own icon; it holds a hash of the content.
pub const FAVICON: &str = env!("UNWIND_FAVICON");

/// The names of the built files, as the server found them.
#[derive(Clone, Debug, Default)]
pub struct Assets {
    /// The path of the script.
    pub script: String,
    /// The path of the module.
    pub module: String,
    /// The path of the style.
    pub style: String,
}

/// The document around the page. The server puts a [`PageSeed`] and [`Assets`] in context; the nonce, where there is one,
/// is put on every script.
pub fn shell() -> impl IntoView {
    let Assets { script, module, style } = use_context().unwrap_or_default();
    let nonce = leptos::nonce::use_nonce();
    provide_context(PackedSeed::new(&use_context::<PageSeed>().unwrap_or_default()));
    view! {
        <!DOCTYPE html>
        <html lang=text::LANGUAGE>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="robots" content="noindex"/>
                <script nonce=nonce.clone()>{include_str!(concat!(env!("OUT_DIR"), "/theme.js"))}</script>
                <link rel="stylesheet" href=style/>
                <link rel="icon" type="image/svg+xml" href=FAVICON/>
                <link rel="modulepreload" href=script nonce=nonce.clone()/>
                <link rel="preload" href=module r#as="fetch" r#type="application/wasm" crossorigin="anonymous"/>
                <script type="module" nonce=nonce>{include_str!(concat!(env!("OUT_DIR"), "/start.js"))}</script>
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
}

/// The page itself.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let seed = PageSeed::load();
    provide_context(clock::Clock::new(seed.now));
    provide_context(Connection::new(&seed));
    provide_context(KnownAdvice::new(seed.advice.clone()));
    provide_context(InitialData::new(seed));
    clock::start();
    live::start();
    view! {
        <Router>
            <Frame invite=page::invite load=page::load_advice run_command=page::run_demo_command sign_out=page::sign_out>
                <FlatRoutes fallback=page::not_found::NotFound>
                    <Route path=path!("/") view=page::units::Units/>
                    <Route path=path!("/u/:unit") view=page::unit::Unit/>
                    <Route path=path!("/u/:unit/plan") view=page::plan::PlanPage/>
                    <Route path=path!("/u/:unit/plan/:plan") view=page::plan::PlanPage/>
                    <Route path=path!("/r/:run") view=page::run::Run/>
                    <Route path=path!("/trouble") view=page::trouble::Trouble/>
                </FlatRoutes>
            </Frame>
        </Router>
    }
}

/// Brings the server's HTML to life.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}
