//! One file per route.

pub mod not_found;
pub mod plan;
pub mod run;
pub mod trouble;
pub mod unit;
pub mod units;

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use teardown::{
    advice::WayOffer,
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
        diagnosis::{
            adviser::{Adviser, Question},
            way::show_attempts,
        },
        frame::{
            Badge,
            invite::{Invitations, InviteCommand},
        },
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
pub fn run_demo_command(command: DemoCommand) {
    leptos::task::spawn_local(async move {
        // The page shows what came of it, and whether the server is away.
        drop(command::run_demo_command(&command).await);
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
    Adviser {
        known: expect_context::<KnownAdvice>(),
        load: load_advice,
        act: do_remedy,
        busy: RwSignal::new(false),
        refusal: RwSignal::new(None),
        question: Question::default(),
    }
}

/// Reads the advice about a diagnosis anew.
pub fn load_advice(known: KnownAdvice, id: String) {
    if !known.begin(&id) {
        return;
    }
    leptos::task::spawn_local(async move {
        loop {
            let answer = command::read_advice(&id).await;
            match answer {
                _ if !known.is_wanted(&id) => {}
                Ok(read) => known.put(id.clone(), read),
                Err(refusal) => known.fail(&id, refusal.what),
            }
            if !known.end(&id) {
                break;
            }
        }
        if known.take_expected(&id) {
            // Once it is drawn.
            request_animation_frame(move || show_attempts(&id));
        }
    });
}

/// Has a remedy done, and reads what came of it.
fn do_remedy(adviser: Adviser, offer: WayOffer, statement: String) {
    adviser.busy.set(true);
    leptos::task::spawn_local(async move {
        let done = command::remedy(&offer, &statement).await;
        adviser.busy.set(false);
        if done.is_ok() {
            adviser.known.expect_attempt(offer.diagnosis.clone());
        }
        adviser.refusal.set(done.err());
        load_advice(adviser.known, offer.diagnosis);
    });
}

/// Whether a deletion waits.
fn is_in_trouble(scene: Scene) -> Memo<bool> {
    Memo::new(move |_| scene.read(|records| scene::diagnoses(records).next().is_some()))
}

/// The kinds that cannot be seen.
fn hidden_kinds(scene: Scene) -> Memo<Vec<HiddenKindCard>> {
    Memo::new(move |_| {
        scene.read_members(|records| scene::hidden_kinds(records).cloned().collect())
    })
}
