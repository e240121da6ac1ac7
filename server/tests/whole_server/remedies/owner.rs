//! An owner that the garbage collector holds, and whose DELETE is sent again.

use sandbox::{
    cluster::{Actor, DeleteOptions, Propagation},
    control_plane::ControlPlane,
    object,
    store::Key,
};
use serde_json::json;

use super::{
    erase, incident, label, modify,
    race::{ANY, InTheLastMoment::Unseen, Race, refused, run},
    schedule,
};
use crate::setup::create;

fn parent() -> Key {
    Key::new("", "configmaps", "shop", "parent")
}

fn child() -> Key {
    Key::new("", "configmaps", "shop", "child")
}

fn create_parent(world: &mut ControlPlane) {
    create(world, "", "configmaps", "shop", json!({"metadata": {"name": "parent"}}));
}

fn create_dependent(world: &mut ControlPlane, name: &str) {
    let uid = object::uid(world.cluster.get(&parent()).unwrap()).to_owned();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid});
    let metadata = json!({"name": name, "ownerReferences": [owner]});
    create(world, "", "configmaps", "shop", json!({"metadata": metadata}));
}

/// An owner that somebody deletes without its dependent, while the garbage collector is away.
fn orphaning(world: &mut ControlPlane) {
    schedule(world, "at 0s controller garbage-collector-controller off");
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    create_parent(world);
    create_dependent(world, "child");
    world.run_until_idle();
    let orphan =
        DeleteOptions { propagation: Some(Propagation::Orphan), ..DeleteOptions::default() };
    world.cluster.delete(&Actor::admin(), &parent(), &orphan).map(drop).unwrap();
}

/// With `foregroundDeletion`, and with `orphan`.
pub(super) const RACES: &[Race] = &[
    Race {
        act: "deleteAgain",
        is_it: ANY,
        set_up: |world| incident(world, "s4"),
        cases: &[
            refused("the owner has changed", |world| {
                label(world, &Key::new("", "configmaps", "s4", "tenant"));
            }),
            refused("its dependent has changed", |world| {
                label(world, &Key::new("queue.example", "topics", "s4", "audit"));
            })
            .then(Unseen),
        ],
    },
    Race {
        act: "deleteAgain",
        is_it: ANY,
        set_up: orphaning,
        cases: &[
            refused("the owner has changed", |world| label(world, &parent())),
            refused("the collector has finished with it", |world| {
                modify(world, &parent(), "", |it| it["metadata"]["finalizers"] = json!([]));
            }),
            refused("another object has its name", |world| {
                erase(world, "configmaps shop/parent");
                create_parent(world);
            }),
            refused("its dependent has no owner any more", |world| {
                modify(world, &child(), "", |it| it["metadata"]["ownerReferences"] = json!([]));
            })
            .then(Unseen),
            refused("another dependent has come", |world| create_dependent(world, "late"))
                .then(Unseen),
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn owner_is_not_deleted_again_on_a_false_premise() {
    run(RACES).await;
}
