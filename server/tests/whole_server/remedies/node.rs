//! A silent node that is given up: the taint, and the deletion of its Node.

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::json;

use super::{
    erase, incident, modify,
    race::{ANY, Case, InTheLastMoment, Race, refused, reported, run},
    schedule,
};
use crate::setup::create;

pub(super) fn node() -> Key {
    Key::new("", "nodes", "", "node-a")
}

fn is_ready(world: &mut ControlPlane, node: &Key, status: &str) {
    modify(world, node, "status", |node| {
        for condition in node["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = json!(status);
            }
        }
    });
}

fn renews_its_lease(world: &mut ControlPlane) {
    let lease = Key::new("coordination.k8s.io", "leases", "kube-node-lease", "node-a");
    modify(world, &lease, "", |lease| {
        lease["spec"]["renewTime"] = json!("2026-11-21T09:59:59.000000Z");
    });
}

fn gets_a_pod(world: &mut ControlPlane) {
    let pod = json!({
        "metadata": {"name": "late", "namespace": "s5"},
        "spec": {"nodeName": "node-a", "containers": [{"name": "it", "image": "it"}]},
    });
    create(world, "", "pods", "s5", pod);
}

fn is_another(world: &mut ControlPlane) {
    erase(world, "nodes node-a");
    create(world, "", "nodes", "", json!({"metadata": {"name": "node-a"}}));
}

/// The node is the object that the request changes. Its kubelet is off, so the controller of nodes would take the report back at once.
pub(super) const REPORTS: Case = refused("the node reports again", |world| {
    schedule(world, "at 0s controller node-lifecycle-controller off");
    world.run_until_idle();
    is_ready(world, &node(), "True");
})
.falsifying(&["nodeSilent"]);

pub(super) const RUNS_CONTROL_PLANE: Case = refused("it runs the control plane", |world| {
    modify(world, &node(), "", |it| {
        it["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = json!("");
    });
})
.falsifying(&["notControlPlane"]);

pub(super) const IS_ANOTHER: Case = refused("another node has its name", is_another);

pub(super) const RENEWS_ITS_LEASE: Case =
    reported("its lease is renewed", renews_its_lease).falsifying(&["leaseStill"]);

pub(super) const GETS_A_POD: Case = reported("a Pod has come to it", gets_a_pod);

/// The network may be broken.
pub(super) const ANOTHER_IS_SILENT: Case = reported("another node falls silent", |world| {
    is_ready(world, &Key::new("", "nodes", "", "node-b"), "Unknown");
})
.falsifying(&["onlySilentNode"]);

/// The remedies for the node itself. With the Node its lease goes, which then shows nothing any more.
pub(super) const RACES: &[Race] = &[
    Race {
        act: "outOfServiceTaint",
        is_it: ANY,
        set_up: |world| incident(world, "s5"),
        cases: &[
            REPORTS,
            RUNS_CONTROL_PLANE,
            IS_ANOTHER,
            RENEWS_ITS_LEASE,
            GETS_A_POD,
            ANOTHER_IS_SILENT,
        ],
    },
    Race {
        act: "deleteNode",
        is_it: ANY,
        set_up: |world| incident(world, "s5"),
        cases: &[
            REPORTS,
            RUNS_CONTROL_PLANE,
            IS_ANOTHER,
            RENEWS_ITS_LEASE.then(InTheLastMoment::Unseen),
            GETS_A_POD,
            ANOTHER_IS_SILENT,
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn node_is_not_given_up_on_a_false_premise() {
    run(RACES).await;
}
