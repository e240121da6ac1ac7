//! A Pod whose preStop hook hangs for as long as its grace period lasts, which is shortened.

use std::time::Duration;

use sandbox::{
    cluster::{Actor, DeleteOptions},
    control_plane::ControlPlane,
    store::Key,
};
use serde_json::json;
use teardown::remedy::{AttemptOutcome, RemedyAct};

use super::{
    erase, label, li,
    race::{ANY, Race, refused, reported, run},
    schedule,
};
use crate::setup::{Server, create};

/// The grace period of the Pod.
const HOUR: i64 = 3_600;

fn broker() -> Key {
    Key::new("", "pods", "shop", "broker")
}

fn create_pod(world: &mut ControlPlane) {
    let hook = json!({"exec": {"command": ["hand-over"]}});
    let pod = json!({
        "metadata": {"name": "broker", "namespace": "shop", "annotations": {"unwind.test/pre-stop": "hangs"}},
        "spec": {
            "nodeName": "node-a",
            "terminationGracePeriodSeconds": HOUR,
            "containers": [{"name": "it", "image": "it", "lifecycle": {"preStop": hook}}],
        },
    });
    create(world, "", "pods", "shop", pod);
}

/// A namespace that waits for the Pod, from half a minute after its start.
fn hanging(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    world.run_until_idle();
    create_pod(world);
    schedule(world, "at 30s delete namespaces shop");
}

/// The seconds of the period that the Pod has; `None` once it is gone.
fn period(world: &ControlPlane) -> Option<i64> {
    world.cluster.get(&broker())?["metadata"]["deletionGracePeriodSeconds"].as_i64()
}

fn shorten(world: &mut ControlPlane) {
    let options = DeleteOptions { grace_period_seconds: Some(600), ..DeleteOptions::default() };
    world.cluster.delete(&Actor::admin(), &broker(), &options).map(drop).unwrap();
}

pub(super) const RACES: &[Race] = &[Race {
    act: "shortenGrace",
    is_it: ANY,
    set_up: hanging,
    cases: &[
        refused("the Pod has changed", |world| label(world, &broker())),
        refused("its period is shorter already", shorten),
        refused("the Pod is gone", |world| erase(world, "pods shop/broker")),
        reported("its node has changed", |world| {
            label(world, &Key::new("", "nodes", "", "node-a"));
        }),
    ],
}];

#[tokio::test(start_paused = true)]
async fn grace_period_is_not_shortened_on_a_false_premise() {
    run(RACES).await;
}

/// As on a real node: the kubelet that runs the hook does not hear of the second DELETE, and one that was restarted does.
#[tokio::test(start_paused = true)]
async fn hook_that_hangs_is_cut_off_once_a_kubelet_starts_with_the_shorter_period() {
    let server = Server::start(li(), hanging);
    let offer = server.offer(|act| matches!(act, RemedyAct::ShortenGrace { .. })).await;
    assert_eq!(server.sandbox.with(|world| period(world)), Some(HOUR));
    let id = server.confirm(&offer).await;
    assert_eq!(server.outcome(&id).await, AttemptOutcome::Accepted { meanwhile: None });
    assert_eq!(server.effects(), ["delete pods/broker"]);
    let shorter = server.sandbox.with(|world| period(world)).unwrap();
    assert!((60..300).contains(&shorter), "{shorter} s");

    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(server.sandbox.with(|world| period(world)), Some(shorter), "the hook still runs");
    let shown = server.shown().await;
    let is_restart = |act: &RemedyAct| matches!(act, RemedyAct::RestartKubelet { .. });
    assert!(shown.iter().any(|it| is_restart(&it.act)), "{shown:?}");

    server.sandbox.with(|world| {
        schedule(world, "at 0s controller kubelet off\nat 1s controller kubelet on");
    });
    server.sandbox.wake();
    let seconds = u64::try_from(shorter).unwrap();
    tokio::time::sleep(Duration::from_secs(seconds - 5)).await;
    assert_eq!(server.sandbox.with(|world| period(world)), Some(shorter), "it counts anew");
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(server.sandbox.with(|world| period(world)), None, "long before the hour is over");
    assert_eq!(server.effects(), ["delete pods/broker"], "nothing is sent twice");
}
