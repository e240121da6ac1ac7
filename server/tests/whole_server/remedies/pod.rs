//! A Pod that is removed from the API without its kubelet.

use sandbox::{control_plane::ControlPlane, object, store::Key};
use serde_json::{Value, json};

use super::{
    delete, incident, label, modify, node,
    race::{ANY, Case, InTheLastMoment::Reported, Race, refused, reported, run},
    schedule,
};
use crate::setup::create;

/// The Pods of a namespace that somebody deletes.
fn deleted(world: &ControlPlane, namespace: &str) -> Vec<(Key, Value)> {
    let pods = world.cluster.list("", "pods", Some(namespace));
    let pods = pods.filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null());
    let with_key = |pod: &Value| (Key::new("", "pods", namespace, object::name(pod)), pod.clone());
    pods.map(|pod| with_key(pod)).collect()
}

fn change_pods(world: &mut ControlPlane, namespace: &str) {
    for (pod, _) in deleted(world, namespace) {
        label(world, &pod);
    }
}

/// A Pod on a node of which there is no Node. Nobody collects it.
fn lost(world: &mut ControlPlane) {
    schedule(world, "at 0s controller pod-garbage-collector-controller off");
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    world.run_until_idle();
    let pod = json!({
        "metadata": {"name": "lost", "namespace": "shop"},
        "spec": {"nodeName": "node-z", "containers": [{"name": "it", "image": "it"}]},
    });
    create(world, "", "pods", "shop", pod);
    delete(world, &lost_pod());
    world.run_until_idle();
}

fn lost_pod() -> Key {
    Key::new("", "pods", "shop", "lost")
}

fn run_again(world: &mut ControlPlane) {
    for (pod, _) in deleted(world, "s2") {
        modify(world, &pod, "status", |it| {
            for container in it["status"]["containerStatuses"].as_array_mut().unwrap() {
                container["state"] = json!({"running": {"startedAt": "2026-11-21T08:00:00Z"}});
            }
        });
    }
}

fn change_nodes(world: &mut ControlPlane) {
    for (_, pod) in deleted(world, "s2") {
        let node = pod["spec"]["nodeName"].as_str().unwrap();
        label(world, &Key::new("", "nodes", "", node));
    }
}

/// On a silent node, on a node that is gone, and on one that reports and has not unmounted a volume.
pub(super) const RACES: &[Race] = &[
    Race {
        act: "forceDeletePod",
        is_it: ANY,
        set_up: |world| incident(world, "s5"),
        cases: &[
            refused("the Pods have changed", |world| change_pods(world, "s5")),
            Case { then: Reported, ..node::REPORTS },
            Case { then: Reported, ..node::RUNS_CONTROL_PLANE },
            Case { then: Reported, ..node::IS_ANOTHER },
            node::RENEWS_ITS_LEASE,
            node::ANOTHER_IS_SILENT,
        ],
    },
    Race {
        act: "forceDeletePod",
        is_it: ANY,
        set_up: lost,
        cases: &[
            refused("the Pod has changed", |world| label(world, &lost_pod())),
            reported("its node is there again", |world| {
                create(world, "", "nodes", "", json!({"metadata": {"name": "node-z"}}));
            }),
        ],
    },
    Race {
        act: "forceDeletePod",
        is_it: ANY,
        set_up: |world| incident(world, "s2"),
        cases: &[
            refused("the Pod has changed", |world| change_pods(world, "s2")),
            refused("its containers run again", run_again).falsifying(&["containersEnded"]),
            reported("its node has changed", change_nodes),
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn pod_is_not_forced_on_a_false_premise() {
    run(RACES).await;
}
