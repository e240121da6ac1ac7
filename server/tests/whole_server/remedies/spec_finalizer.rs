//! A finalizer in the spec of a namespace.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::json;
use teardown::remedy::{AttemptOutcome, RemedyAct};

use super::{
    delete, erase, has, label, li, modify,
    namespace::{HIDDEN, leave},
    race::{ANY, InTheLastMoment::Impossible, Race, refused, run},
};
use crate::setup::{Server, create};

fn namespace() -> Key {
    Key::new("", "namespaces", "", "shop")
}

/// A namespace whose controller has done its part, and which another program keeps.
fn kept(world: &mut ControlPlane) {
    let spec = json!({"finalizers": ["example.com/hold"]});
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}, "spec": spec}));
    world.run_until_idle();
    delete(world, &namespace());
    for _ in 0..30 {
        world.cluster.clock.advance(Duration::from_secs(1));
        world.run_until_idle();
    }
    let left = &world.cluster.get(&namespace()).unwrap()["spec"]["finalizers"];
    assert_eq!(*left, json!(["example.com/hold"]));
}

fn is_removal(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::RemoveSpecFinalizer { .. })
}

pub(super) const RACES: &[Race] = &[Race {
    act: "removeSpecFinalizer",
    is_it: ANY,
    set_up: kept,
    cases: &[
        refused("the namespace has changed", |world| label(world, &namespace())),
        // The request names all finalizers that stay, and would remove this one as well.
        refused("a second program keeps it", |world| {
            modify(world, &namespace(), "finalize", |it| {
                it["spec"]["finalizers"] = json!(["example.com/hold", "example.com/other"]);
            });
        }),
        refused("another namespace has its name", |world| {
            erase(world, "namespaces shop");
            let spec = json!({"finalizers": ["example.com/hold"]});
            let again = json!({"metadata": {"name": "shop"}, "spec": spec});
            create(world, "", "namespaces", "", again);
        }),
        HIDDEN,
        refused("an object is left in it", |world| leave(world, "ConfigMap", "configmaps", "shop"))
            .then(Impossible),
        refused("a Pod is left in it", |world| leave(world, "Pod", "pods", "shop"))
            .then(Impossible)
            .falsifying(&["noPodsInside"]),
    ],
}];

#[tokio::test(start_paused = true)]
async fn finalizer_in_a_spec_is_not_removed_on_a_false_premise() {
    run(RACES).await;
}

#[tokio::test(start_paused = true)]
async fn finalizer_in_a_spec_is_removed_as_a_person_asked() {
    let server = Server::start(li(), kept);
    let offer = server.offer(is_removal).await;
    let id = server.confirm(&offer).await;
    let outcome = server.outcome(&id).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert_eq!(server.effects(), ["update namespaces/shop"]);
    assert!(server.sandbox.with(|world| !has(world, "", "namespaces", "", "shop")));
}
