//! One file per route.

pub mod not_found;
pub mod plan;
pub mod run;
pub mod unit;
pub mod units;

use std::mem::discriminant;

use leptos::prelude::*;
use teardown::message::{ClusterCard, HiddenKindCard, Topic};

use crate::{
    clipboard, command,
    erased::{alive, memo},
    live,
    route::Route,
    scene::{self, Scene},
    seed::Arrival,
    view::frame::Badge,
};

/// The page of a route; it stays while only what it is about changes.
pub fn page(route: Memo<Route>) -> impl IntoView {
    let kind = memo(move || route.with(discriminant));
    move || {
        // Only a memo that is read follows what it is made of.
        let _ = kind.get();
        match route.get_untracked() {
            Route::Units => view! { <units::Units/> }.into_any(),
            Route::Unit(_) => view! { <unit::Unit route/> }.into_any(),
            Route::Plan(..) => view! { <plan::PlanPage route/> }.into_any(),
            Route::Run(_) => view! { <run::Run route/> }.into_any(),
            Route::Unknown => view! { <not_found::NotFound/> }.into_any(),
        }
    }
}

/// Copies a link that signs another browser in, and then says so.
pub fn share(copied: RwSignal<bool>) {
    leptos::task::spawn_local(async move {
        if let Ok(url) = command::session_link().await {
            clipboard::put(url, copied);
        }
    });
}

/// Ends the session of this browser. The page that is loaded then says so.
pub fn sign_out() {
    leptos::task::spawn_local(async move {
        if command::sign_out().await.is_ok() {
            // Where reloading fails, the browser says so itself.
            let _ = window().location().reload();
        }
    });
}

/// Plays, where the cluster is only played.
pub fn play(play: String) {
    leptos::task::spawn_local(async move {
        // What came of it is seen on the page, and so is that the server is away.
        drop(command::play(&play).await);
    });
}

/// What a page takes from its route. It stays what it was when the route is another page's, for this one is then about
/// to end.
fn taken<T: Clone + PartialEq + Send + Sync + 'static>(
    route: Memo<Route>,
    take: fn(&Route) -> Option<T>,
    otherwise: fn() -> T,
) -> Memo<T> {
    Memo::new(move |before: Option<&T>| {
        route.with(take).or_else(|| before.cloned()).unwrap_or_else(otherwise)
    })
}

/// A page's scene: what arrived with the page, kept at its topic, and the cluster's card passed on to the frame.
fn open(topic: Signal<Topic>) -> Scene {
    let arrival = expect_context::<Arrival>();
    let scene = Scene::new(arrival.take_message());
    if arrival.take_refusal().is_some_and(|code| live::is_unknown(&code)) {
        scene.empty();
    }
    let badge = expect_context::<Badge>();
    live::follow(topic, scene);
    alive(move || {
        if let Some(card) = scene.read(|records| scene::cluster(records).cloned()) {
            badge.show(card);
        }
    });
    scene
}

/// The cluster's card, woken only when it changes.
fn cluster(scene: Scene) -> Memo<Option<ClusterCard>> {
    memo(move || scene.read(|records| scene::cluster(records).cloned()))
}

/// The kinds that cannot be seen.
fn blind(scene: Scene) -> Memo<Vec<HiddenKindCard>> {
    memo(move || scene.read_members(|records| scene::blind(records).cloned().collect()))
}
