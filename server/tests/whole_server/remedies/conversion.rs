//! A definition whose conversion is turned off.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::json;
use teardown::remedy::{AttemptOutcome, PutBack, RemedyAct, SwitchedOff};

use super::{
    api::gets_an_endpoint,
    delete, erase, has, label, li, modify,
    race::{ANY, Case, Race, refused, reported, run},
    webhook::create_service,
};
use crate::setup::{Server, create, define};

/// A definition with a conversion webhook that nobody serves, and a namespace that waits for an object of it.
fn dead_converter(world: &mut ControlPlane) {
    define(world, "queue.example", "topics", "Topic");
    for name in ["shop", "ops"] {
        create(world, "", "namespaces", "", json!({"metadata": {"name": name}}));
    }
    let topic = json!({
        "metadata": {"name": "orders", "namespace": "shop"},
    });
    create(world, "queue.example", "topics", "shop", topic);
    modify(world, &definition(), "", |it| {
        let mut second = it["spec"]["versions"][0].clone();
        second["name"] = json!("v2");
        second["storage"] = json!(false);
        it["spec"]["versions"].as_array_mut().unwrap().push(second);
        it["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "ops", "name": "converter", "path": "/"}},
            },
        });
    });
    world.run_until_idle();
}

pub(super) fn definition() -> Key {
    Key::new("apiextensions.k8s.io", "customresourcedefinitions", "", "topics.queue.example")
}

/// The same, and the namespace is deleted.
pub(super) fn dead_conversion(world: &mut ControlPlane) {
    dead_converter(world);
    delete(world, &Key::new("", "namespaces", "", "shop"));
}

pub(super) fn is_stop(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::StopConversion)
}

/// The same with a Service that nobody serves.
fn unserved_conversion(world: &mut ControlPlane) {
    dead_converter(world);
    create_service(world, "converter");
    world.run_until_idle();
    delete(world, &Key::new("", "namespaces", "", "shop"));
}

const STORED_IN_TWO: Case = refused("objects are stored in two versions", |world| {
    modify(world, &definition(), "status", |it| {
        it["status"]["storedVersions"] = json!(["v1", "v2"]);
    });
})
.falsifying(&["oneStoredVersion"]);

pub(super) const RACES: &[Race] = &[
    Race {
        act: "stopConversion",
        is_it: ANY,
        set_up: dead_conversion,
        cases: &[
            STORED_IN_TWO,
            refused("the definition has changed", |world| label(world, &definition())),
            refused("another definition has its name", |world| {
                let again = world.cluster.get(&definition()).unwrap().clone();
                erase(world, "customresourcedefinitions.apiextensions.k8s.io topics.queue.example");
                let spec = again["spec"].clone();
                let again = json!({"metadata": {"name": "topics.queue.example"}, "spec": spec});
                let key = definition();
                create(world, &key.group, &key.plural, "", again);
            }),
            reported("its Service is there", |world| create_service(world, "converter")),
        ],
    },
    Race {
        act: "stopConversion",
        is_it: ANY,
        set_up: unserved_conversion,
        cases: &[
            STORED_IN_TWO,
            reported("its Service has changed", |world| {
                label(world, &Key::new("", "services", "ops", "converter"));
            }),
            reported("an endpoint is ready", |world| gets_an_endpoint(world, "ops", "converter")),
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn conversion_is_not_stopped_on_a_false_premise() {
    run(RACES).await;
}

#[tokio::test(start_paused = true)]
async fn conversion_that_was_stopped_is_shown_until_it_is_put_back() {
    let server = Server::start(li(), dead_conversion);
    let conversion = |server: &Server| {
        server
            .sandbox
            .with(|world| world.cluster.get(&definition()).unwrap()["spec"]["conversion"].clone())
    };
    let before = conversion(&server);
    let offer = server.offer(is_stop).await;
    let id = server.confirm(&offer).await;
    let outcome = server.outcome(&id).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    server.until("the namespace goes", |world| !has(world, "", "namespaces", "", "shop")).await;
    let off = server.hub.switched_off().await.unwrap();
    let [PutBack { attempt, what: SwitchedOff::Conversion, by_unwind: true, line: Some(_), .. }] =
        &off[..]
    else {
        panic!("{off:?}")
    };
    let name = "topics.queue.example".to_owned();
    let undone = server.hub.undo_remedy(attempt.id.clone(), name, "Li".into()).await;
    let outcome = server.outcome(&undone.unwrap().unwrap()).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert_eq!(conversion(&server), before);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(server.hub.switched_off().await.unwrap(), []);
}
