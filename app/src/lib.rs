//! The page: rendered by the server, then alive in the browser.
//!
//! Reading order: [`seed`] is what the server hands over with the page, [`scene`] mirrors a topic's records as signals,
//! [`live`] keeps the scene at the server's revision, [`command`] asks the server to do something, [`layout`] and
//! [`drawing`] turn objects and edges into positions, [`text`] has every sentence; `page` has one file per route and
//! `view` one per thing seen. Nothing in `view` asks the network for anything, and nothing that the first render shows
//! differs between server and browser.

// The type of a view holds the types of all it contains.
#![recursion_limit = "256"]

#[cfg(all(feature = "ssr", feature = "hydrate"))]
compile_error!("`ssr` is the server's build and `hydrate` the browser's: choose one");

#[cfg(not(erase_components))]
compile_error!(
    "build with --cfg=erase_components, as .cargo/config.toml does; RUSTFLAGS replaced it"
);

pub mod address;
pub mod calendar;
pub mod clipboard;
pub mod clock;
pub mod command;
pub mod drawing;
pub mod erased;
pub mod layout;
pub mod live;
pub mod mark;
pub mod page;
mod production;
pub mod reach;
pub mod route;
pub mod scene;
pub mod seed;
pub mod sieve;
pub mod sorted;
pub mod text;
pub mod view;
pub mod wire;

use leptos::prelude::*;
pub use route::Requested;
pub use seed::Seed;

/// The document around the page. Needs a [`Requested`] and a [`Seed`] in context; the nonce, where there is one, is
/// put on every script.
#[expect(clippy::needless_pass_by_value, reason = "the server hands over a clone for each page")]
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let seed = use_context::<Seed>().unwrap_or_default();
    provide_context(seed::Luggage::pack(&seed));
    let hash: String = seed.hash.chars().filter(char::is_ascii_alphanumeric).collect();
    let Requested(address) = use_context().unwrap_or_default();
    let path = address.split('?').next().unwrap_or_default().to_owned();
    let asset =
        |path: &str| if hash.is_empty() { path.to_owned() } else { format!("{path}?v={hash}") };
    let package = format!("/{}/{}", options.site_pkg_dir, options.output_name);
    let script = asset(&format!("{package}.js"));
    // Whoever builds with cargo-leptos gets the module under the page's own name.
    let suffix = if option_env!("LEPTOS_OUTPUT_NAME").is_some() { "" } else { "_bg" };
    let module = asset(&format!("{package}{suffix}.wasm"));
    let nonce = leptos::nonce::use_nonce();
    view! {
        <!DOCTYPE html>
        <html lang=text::LANGUAGE>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="robots" content="noindex"/>
                <title>{view::frame::title(&path)}</title>
                <script src=asset("/theme.js") nonce=nonce.clone()></script>
                <link rel="stylesheet" href=asset(&format!("{package}.css"))/>
                <link rel="icon" type="image/svg+xml" href=asset("/favicon.svg")/>
                <link rel="modulepreload" href=script nonce=nonce.clone()/>
                <link rel="preload" href=module r#as="fetch" r#type="application/wasm" crossorigin="anonymous"/>
                <script type="module" nonce=nonce>{include_str!("../start.js")}</script>
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
    let seed = seed::Luggage::carry();
    let clock = clock::Clock::new(seed.now);
    provide_context(clock);
    provide_context(live::Connection::new(&seed, clock));
    provide_context(seed::Arrival::new(seed));
    let place = route::Place::new();
    provide_context(place);
    clock::start();
    live::start();
    route::start();
    view! { <view::frame::Frame share=page::share play=page::play sign_out=page::sign_out>{page::page(place.route())}</view::frame::Frame> }
}

/// Brings the server's HTML to life.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    // In the page as it is served a panic is a trap and says nothing: see snip.mjs.
    if cfg!(debug_assertions) {
        std::panic::set_hook(Box::new(|panic| leptos::logging::error!("{panic}")));
    }
    leptos::mount::hydrate_body(App);
}
