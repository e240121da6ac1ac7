//! An annotation that has a controller look again. It harms nobody, so that a change of the same object does not keep it from being
//! written.

use serde_json::json;

use super::{
    api::api,
    delete, erase, label,
    namespace::{left, left_behind},
    race::{ANY, InTheLastMoment::Unseen, Race, refused, reported, run},
    schedule,
    webhook::{dead_webhook, gate, shop},
};
use crate::setup::create;

/// Where a person says that the cause is removed, and where the cluster shows it.
pub(super) const RACES: &[Race] = &[
    Race {
        act: "nudge",
        is_it: ANY,
        set_up: dead_webhook,
        cases: &[
            refused("the namespace has changed", |world| label(world, &shop())).then(Unseen),
            reported("the configuration of the webhook has changed", |world| {
                label(world, &gate());
            }),
            refused("another namespace has its name", |world| {
                erase(world, "namespaces shop");
                create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
            }),
        ],
    },
    Race {
        act: "nudge",
        is_it: ANY,
        set_up: left_behind,
        cases: &[
            refused("the namespace has changed", |world| {
                label(world, &left());
            })
            .then(Unseen),
            // It blocks nothing then.
            reported("the API is not registered any more", |world| delete(world, &api())),
            reported("the server of the API has died", |world| {
                schedule(world, "at 0s api v1beta1.metrics.k8s.io dead");
                world.run_until_idle();
            })
            .falsifying(&["causeRemoved"]),
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn annotation_is_not_written_on_a_false_premise() {
    run(RACES).await;
}
