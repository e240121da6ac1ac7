//! Finalizers of a Node, of a volume and of a claim, which go by hand.

use sandbox::{control_plane::ControlPlane, object};
use serde_json::json;
use teardown::remedy::RemedyAct;

use super::{
    Case, InTheLastMoment, delete, erase, gets_a_pod, in_use, incident, label, modify, node, race,
    renews_its_lease, reports_again,
};
use crate::setup::create;

fn is_removal(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::RemoveFinalizer { .. })
}

/// A silent Node that somebody deletes, and that its provisioner keeps.
fn kept_node(world: &mut ControlPlane) {
    incident("s5")(world);
    let field = ["metadata", "finalizers"];
    modify(world, &node(), "", |it| object::set(it, &field, json!(["karpenter.sh/termination"])));
    delete(world, &node());
}

#[tokio::test(start_paused = true)]
async fn finalizer_of_a_node_is_not_removed_on_a_false_premise() {
    race(
        || kept_node,
        is_removal,
        &[
            Case {
                name: "the node reports again",
                change: reports_again,
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "its program has removed it",
                change: |world| {
                    let field = ["metadata", "finalizers"];
                    modify(world, &node(), "", |it| object::set(it, &field, json!([])));
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "another node has its name",
                change: |world| {
                    erase(world, "nodes node-a");
                    create(world, "", "nodes", "", json!({"metadata": {"name": "node-a"}}));
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "its lease is renewed",
                change: renews_its_lease,
                // With the Node its lease goes, which then shows nothing any more.
                then: InTheLastMoment::Unseen,
            },
            Case {
                name: "a Pod has come to it",
                change: gets_a_pod,
                then: InTheLastMoment::Reported,
            },
        ],
    )
    .await;
}

/// Asks for an attachment of the volume, which stays although no Pod wants it.
fn attach(world: &mut ControlPlane) {
    let spec = json!({
        "attacher": "disk.example", "nodeName": "node-b",
        "source": {"persistentVolumeName": "disk"},
    });
    let metadata = json!({"name": "late", "finalizers": ["example.com/hold"]});
    let attachment = json!({"metadata": metadata, "spec": spec});
    create(world, "storage.k8s.io", "volumeattachments", "", attachment);
}

fn volume(finalizers: &[&str], policy: &str) -> serde_json::Value {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
        "persistentVolumeReclaimPolicy": policy, "storageClassName": "by-hand",
        "claimRef": {"namespace": "shop", "name": "data", "uid": "gone"},
        "csi": {"driver": "disk.example", "volumeHandle": "disk"},
    });
    json!({"metadata": {"name": "disk", "finalizers": finalizers}, "spec": spec})
}

/// A volume that is deleted, and whose storage its provisioner does not delete.
fn released_volume(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    let finalizer = "external-provisioner.volume.kubernetes.io/finalizer";
    create(world, "", "persistentvolumes", "", volume(&[finalizer], "Delete"));
    world.run_until_idle();
    delete(world, &in_use::volume());
}

#[tokio::test(start_paused = true)]
async fn finalizer_of_a_volume_is_not_removed_on_a_false_premise() {
    race(
        || released_volume,
        is_removal,
        &[
            Case {
                name: "the volume has changed",
                change: |world| label(world, &in_use::volume()),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "its policy is another one",
                change: |world| in_use::set_policy(world, "Retain"),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "another volume has its name",
                change: |world| {
                    erase(world, "persistentvolumes disk");
                    let finalizer = "external-provisioner.volume.kubernetes.io/finalizer";
                    create(world, "", "persistentvolumes", "", volume(&[finalizer], "Delete"));
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "a node has attached it",
                change: attach,
                then: InTheLastMoment::Reported,
            },
            Case {
                name: "its claim is there again",
                change: |world| create(world, "", "persistentvolumeclaims", "shop", claim(&[])),
                then: InTheLastMoment::Reported,
            },
        ],
    )
    .await;
}

fn claim(finalizers: &[&str]) -> serde_json::Value {
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "by-hand", "volumeName": "disk",
    });
    json!({"metadata": {"name": "data", "finalizers": finalizers}, "spec": spec})
}

/// A claim that is deleted, that no Pod uses, and that a program keeps which nobody knows.
fn kept_claim(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    create(world, "", "persistentvolumes", "", in_use::disk());
    create(world, "", "persistentvolumeclaims", "shop", claim(&["example.com/backup"]));
    world.run_until_idle();
    delete(world, &in_use::claim());
}

#[tokio::test(start_paused = true)]
async fn finalizer_of_a_claim_is_not_removed_on_a_false_premise() {
    race(
        || kept_claim,
        is_removal,
        &[
            Case {
                name: "the claim has changed",
                change: |world| label(world, &in_use::claim()),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "another claim has its name",
                change: |world| {
                    erase(world, "persistentvolumeclaims shop/data");
                    let again = claim(&["example.com/backup"]);
                    create(world, "", "persistentvolumeclaims", "shop", again);
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "the policy of its volume is another one",
                change: |world| in_use::set_policy(world, "Retain"),
                then: InTheLastMoment::Reported,
            },
            Case {
                name: "its volume has changed otherwise",
                change: |world| label(world, &in_use::volume()),
                // The volume is released with the claim.
                then: InTheLastMoment::Unseen,
            },
            Case {
                name: "a node has attached its volume",
                change: attach,
                then: InTheLastMoment::Reported,
            },
        ],
    )
    .await;
}
