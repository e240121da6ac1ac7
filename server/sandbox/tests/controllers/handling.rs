use jiff::SignedDuration;
use sandbox::cluster::Propagation::Background;
use sandbox::controller::Condition;
use sandbox::object;
use sandbox::store::Key;

use crate::world::{World, config_map, csi_class, deployment, stateful_set};

#[test]
fn a_slow_controller_does_the_same_later() {
    let mut world = World::new();
    world.namespace("shop");
    world.set("deployment-controller", Condition::Slow(SignedDuration::from_secs(20)));
    world.create([deployment("web", 1, &[])]);
    world.run(19);
    assert!(world.list("apps/replicasets").is_empty());
    world.until(10, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn a_failing_controller_tries_again_until_it_is_let() {
    let mut world = World::new();
    world.namespace("shop");
    world.set("replicaset-controller", Condition::Failing);
    world.create([deployment("web", 1, &[])]);
    world.run(30);
    assert!(world.pods("web").is_empty());
    world.on("replicaset-controller");
    world.until(70, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn a_controller_that_comes_back_finds_what_it_missed() {
    let mut world = World::new();
    world.namespace("shop");
    world.off("replicaset-controller");
    world.create([deployment("web", 1, &[])]);
    world.run(30);
    assert!(world.pods("web").is_empty());
    world.on("replicaset-controller");
    world.until(5, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn every_controller_has_its_own_name() {
    let mut world = World::new();
    let names: std::collections::BTreeSet<_> =
        world.controllers.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), world.controllers.iter().count());
    assert!(!world.controllers.set("nobody", Condition::Off));
}

#[test]
fn what_its_owner_insists_on_comes_back() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([config_map("settings", &serde_json::json!({}))]);
    world.run(1);
    let first = object::uid(world.at("configmaps/shop/settings")).to_owned();
    world.controllers.breakage.recreated.insert(Key::new("", "configmaps", "shop", "settings"));
    world.delete("configmaps/shop/settings", Background);
    world.until(3, "another", |it| {
        it.get("configmaps/shop/settings").is_some_and(|it| object::uid(it) != first)
    });
    world.controllers.breakage.repair();
    world.delete("configmaps/shop/settings", Background);
    world.run(10);
    assert!(!world.has("configmaps/shop/settings"));
}

/// All that happened in the life and death of an application, as text.
fn story(seed: u64) -> String {
    let mut world = World::with_seed(seed);
    world.namespace("shop");
    world.create(csi_class());
    world.create([deployment("web", 3, &[]), stateful_set("db", 2)]);
    world.run(20);
    world.delete("namespaces//shop", Background);
    world.run(90);
    assert!(!world.has("namespaces//shop"));
    let events = world.cluster.store.since(1).unwrap();
    events
        .map(|it| format!("{:?} {} {}", it.change, it.key, it.object))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_same_seed_tells_the_same_story_and_another_another() {
    let first = story(7);
    assert!(first == story(7));
    assert!(first != story(8));
}
