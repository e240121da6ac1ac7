//! A finalizer in the spec of a namespace.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::json;
use teardown::remedy::{AttemptOutcome, RemedyAct};

use super::{Case, InTheLastMoment, delete, has, label, li, modify, race};
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

#[tokio::test(start_paused = true)]
async fn finalizer_in_a_spec_is_not_removed_on_a_false_premise() {
    race(
        || kept,
        is_removal,
        &[
            Case {
                name: "the namespace has changed",
                change: |world| label(world, &namespace()),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "a second program keeps it",
                // The request names all finalizers that stay, and would remove this one as well.
                change: |world| {
                    modify(world, &namespace(), "finalize", |it| {
                        it["spec"]["finalizers"] = json!(["example.com/hold", "example.com/other"]);
                    });
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "a kind cannot be listed any more",
                change: |world| {
                    let faults = world.parse_faults("on list secrets as=li -> 503").unwrap();
                    world.cluster.faults.extend(faults);
                },
                // The content was listed a moment before, and nothing is created in a namespace that goes.
                then: InTheLastMoment::Unseen,
            },
        ],
    )
    .await;
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
