//! One file per route.

pub mod not_found;
pub mod plan;
pub mod run;
pub mod trouble;
pub mod unit;
pub mod units;

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use teardown::{
    demo::DemoCommand,
    message::{ClusterCard, HiddenKindCard, Topic},
};

use crate::{
    state::{
        advice::KnownAdvice,
        clipboard, command, live,
        scene::{self, Scene},
        seed::InitialData,
    },
    view::{
        adviser::{Adviser, RemedyOrder},
        frame::Badge,
        invite::{Invitations, InviteCommand},
    },
};

/// Does what the dialog of links asks for, and reads the list of links again.
pub fn invite(asked: InviteCommand, shown: Invitations) {
    shown.busy.set(true);
    leptos::task::spawn_local(async move {
        let done = match asked {
            InviteCommand::List => Ok(()),
            InviteCommand::Make(name, right) => command::session_link(&name, right)
                .await
                .map(|url| clipboard::put(url, shown.copied)),
            InviteCommand::TakeBack(id) => command::take_back(&id).await,
        };
        let refused = match command::session_links().await {
            Ok(links) => {
                shown.links.set(links);
                done.err()
            }
            Err(unread) => Some(done.err().unwrap_or(unread)),
        };
        shown.refusal.set(refused);
        shown.busy.set(false);
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

/// Changes the simulated cluster, where the cluster is one.
pub fn play(play: DemoCommand) {
    leptos::task::spawn_local(async move {
        // The page shows what came of it, and whether the server is away.
        drop(command::play(&play).await);
    });
}

/// A parameter of the route's path, such as `unit`.
fn parameter<T: PartialEq + Send + Sync + 'static>(
    name: &'static str,
    new: fn(String) -> T,
) -> Memo<T> {
    let parameters = use_params_map();
    Memo::new(move |_| new(parameters.with(|parameters| parameters.get(name)).unwrap_or_default()))
}

/// A page's scene: the records that came with the page, kept at its topic, and the cluster's card passed on to the frame.
fn open(topic: Signal<Topic>) -> Scene {
    let initial = expect_context::<InitialData>();
    let scene = Scene::new(initial.take_message());
    if initial.take_refusal().is_some_and(|code| live::is_unknown(&code)) {
        scene.empty();
    }
    let badge = expect_context::<Badge>();
    live::follow(topic, scene);
    Effect::new(move |_| {
        if let Some(card) = scene.read(|records| scene::cluster(records).cloned()) {
            badge.show(card);
        }
    });
    scene
}

/// The cluster's card, woken only when it changes.
fn cluster(scene: Scene) -> Memo<Option<ClusterCard>> {
    Memo::new(move |_| scene.read(|records| scene::cluster(records).cloned()))
}

/// The requests of the cards of diagnoses: for advice, and for a remedy.
fn adviser() -> Adviser {
    let known = expect_context::<KnownAdvice>();
    // The diagnosis that is read now, and whether to read it again then: a card may change faster than it can be read.
    let reading = StoredValue::new(BTreeMap::<String, bool>::new());
    let load = Callback::new(move |id: String| {
        let is_read = reading.with_value(|reading| reading.contains_key(&id));
        reading.update_value(|reading| _ = reading.insert(id.clone(), is_read));
        if is_read {
            return;
        }
        leptos::task::spawn_local(async move {
            loop {
                let read = command::read_advice(&id).await.map_err(|refusal| refusal.what);
                known.put(id.clone(), read);
                let again = reading.try_update_value(|reading| {
                    let again = reading.remove(&id) == Some(true);
                    if again {
                        reading.insert(id.clone(), false);
                    }
                    again
                });
                if again != Some(true) {
                    break;
                }
            }
        });
    });
    let (busy, refusal) = (RwSignal::new(false), RwSignal::new(None));
    let act = Callback::new(move |order: RemedyOrder| {
        busy.set(true);
        leptos::task::spawn_local(async move {
            let RemedyOrder { diagnosis, hash, name, statement } = &order;
            let done = command::remedy(diagnosis, hash, name, statement).await;
            busy.set(false);
            refusal.set(done.err());
            load.run(order.diagnosis);
        });
    });
    Adviser { load, act, busy, refusal }
}

/// Takes back what a remedy switched off, and tells the refusal, if there is one.
pub fn undo_remedy(attempt: String, refused: RwSignal<Option<command::Refusal>>) {
    leptos::task::spawn_local(async move {
        refused.set(command::undo_remedy(&attempt).await.err());
    });
}

/// Whether a deletion waits.
fn is_in_trouble(scene: Scene) -> Memo<bool> {
    Memo::new(move |_| scene.read(|records| scene::diagnoses(records).next().is_some()))
}

/// The kinds that cannot be seen.
fn blind(scene: Scene) -> Memo<Vec<HiddenKindCard>> {
    Memo::new(move |_| scene.read_members(|records| scene::blind(records).cloned().collect()))
}
