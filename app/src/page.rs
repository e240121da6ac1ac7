//! One file per route.

pub mod not_found;
pub mod plan;
pub mod run;
pub mod unit;
pub mod units;

use leptos::prelude::*;
use teardown::message::{BlindCard, ClusterCard, Topic};

use crate::{
    live,
    scene::{self, Scene},
    seed::Arrival,
    view::frame::Badge,
};

/// A page's scene: what arrived with the page, kept at its topic, and the cluster's card passed on to the frame.
fn open(topic: Signal<Topic>) -> Scene {
    let scene = Scene::new(expect_context::<Arrival>().take_message());
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

/// The kinds that cannot be seen.
fn blind(scene: Scene) -> Memo<Vec<BlindCard>> {
    Memo::new(move |_| scene.read_members(|records| scene::blind(records).cloned().collect()))
}
