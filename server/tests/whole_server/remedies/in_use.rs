//! A claim, its volume, and the workload or the Pod that uses them.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, object, store::Key};
use serde_json::{Value, json};

use super::{
    delete, erase, label, modify,
    race::{ANY, Case, InTheLastMoment::Unseen, Race, refused, reported, run},
    schedule,
};
use crate::setup::create;

pub(super) fn claim() -> Key {
    Key::new("", "persistentvolumeclaims", "shop", "data")
}

pub(super) fn volume() -> Key {
    Key::new("", "persistentvolumes", "", "disk")
}

pub(super) fn workload() -> Key {
    Key::new("apps", "deployments", "shop", "web")
}

fn pod() -> Key {
    Key::new("", "pods", "shop", "job")
}

pub(super) fn deployment() -> Value {
    let labels = json!({"app": "web"});
    json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{"name": "it", "image": "it"}],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
                },
            },
        },
    })
}

/// The volume, before it is bound to the claim.
pub(super) fn disk() -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"},
        "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "by-hand",
        "claimRef": {"namespace": "shop", "name": "data"},
        "nfs": {"server": "nfs.example", "path": "/data"},
    });
    json!({"metadata": {"name": "disk"}, "spec": spec})
}

/// A namespace with a claim and its volume. After a minute this is deleted; nothing else happens in this world.
fn shop(world: &mut ControlPlane, deleted: &str) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    create(world, "", "persistentvolumes", "", disk());
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "by-hand", "volumeName": "disk",
    });
    let data = json!({"metadata": {"name": "data"}, "spec": spec});
    create(world, "", "persistentvolumeclaims", "shop", data);
    schedule(world, &format!("at 60s delete {deleted}"));
}

/// A Deployment whose Pod runs on a claim, which is deleted and waits for the Pod.
pub(super) fn claim_deleted(world: &mut ControlPlane) {
    shop(world, "persistentvolumeclaims shop/data");
    create(world, "apps", "deployments", "shop", deployment());
    world.run_until_idle();
}

/// The same, but the volume is deleted, and waits for the claim, which nobody deletes.
pub(super) fn volume_deleted(world: &mut ControlPlane) {
    shop(world, "persistentvolumes disk");
    create(world, "apps", "deployments", "shop", deployment());
    world.run_until_idle();
}

/// A Pod that uses the claim.
fn create_pod(world: &mut ControlPlane, name: &str) {
    let pod = json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "nodeName": "node-a", "containers": [{"name": "it", "image": "it"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    });
    create(world, "", "pods", "shop", pod);
}

/// The claim is deleted, and waits for a Pod that no workload has made.
fn claim_of_a_pod_deleted(world: &mut ControlPlane) {
    shop(world, "persistentvolumeclaims shop/data");
    world.run_until_idle();
    create_pod(world, "job");
    world.run_until_idle();
}

fn complete_pod(world: &mut ControlPlane) {
    modify(world, &pod(), "status", |it| {
        it["status"]["phase"] = json!("Succeeded");
        for container in it["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
            container["state"] = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        }
    });
}

/// The same, and the Pod has run to completion.
fn claim_of_a_completed_pod_deleted(world: &mut ControlPlane) {
    claim_of_a_pod_deleted(world);
    for _ in 0..20 {
        world.cluster.clock.advance(Duration::from_secs(1));
        world.run_until_idle();
    }
    complete_pod(world);
}

fn scale(world: &mut ControlPlane, replicas: i64) {
    modify(world, &workload(), "", |it| object::set(it, &["spec", "replicas"], json!(replicas)));
}

pub(super) fn scale_up(world: &mut ControlPlane) {
    scale(world, 3);
}

pub(super) fn set_policy(world: &mut ControlPlane, policy: &str) {
    let field = ["spec", "persistentVolumeReclaimPolicy"];
    modify(world, &volume(), "", |it| object::set(it, &field, json!(policy)));
}

/// The claim waits for what the remedy ends, so that it changes with it.
const CLAIM_HAS_CHANGED: Case =
    refused("the claim has changed", |world| label(world, &claim())).then(Unseen);

/// The claim takes other data along than the person was shown.
pub(super) const POLICY_HAS_CHANGED: Case =
    reported("the policy of its volume is another one", |world| set_policy(world, "Retain"));

pub(super) const VOLUME_IS_OF_ANOTHER_CLAIM: Case =
    reported("its volume is bound to another claim", |world| {
        let field = ["spec", "claimRef", "name"];
        modify(world, &volume(), "", |it| object::set(it, &field, json!("other")));
    });

const OTHERS_USE_IT: Case =
    reported("another Pod uses the claim", |world| create_pod(world, "late"));

const WORKLOAD_HAS_CHANGED: Case =
    refused("the workload has changed", |world| label(world, &workload()));

const POD_IS_ANOTHER: Case = refused("another Pod has its name", |world| {
    erase(world, "pods shop/job");
    create_pod(world, "job");
});

/// A workload, a claim of a volume, a Pod, and a Pod that has run to completion.
const USERS: [Race; 4] = [
    Race {
        act: "deleteUser",
        is_it: ANY,
        set_up: claim_deleted,
        cases: &[
            WORKLOAD_HAS_CHANGED,
            refused("another workload has its name", |world| {
                delete(world, &workload());
                create(world, "apps", "deployments", "shop", deployment());
            }),
            CLAIM_HAS_CHANGED,
            POLICY_HAS_CHANGED,
            VOLUME_IS_OF_ANOTHER_CLAIM,
            OTHERS_USE_IT,
        ],
    },
    Race {
        act: "deleteUser",
        is_it: ANY,
        set_up: volume_deleted,
        cases: &[
            refused("the claim has changed", |world| label(world, &claim())),
            POLICY_HAS_CHANGED,
            // A volume that is being deleted goes at once where no claim is bound to it, and one that is gone holds no data.
            Case { then: Unseen, ..VOLUME_IS_OF_ANOTHER_CLAIM },
            OTHERS_USE_IT,
        ],
    },
    Race {
        act: "deleteUser",
        is_it: ANY,
        set_up: claim_of_a_pod_deleted,
        cases: &[
            refused("the Pod has completed", complete_pod),
            POD_IS_ANOTHER,
            CLAIM_HAS_CHANGED,
            POLICY_HAS_CHANGED,
            VOLUME_IS_OF_ANOTHER_CLAIM,
            OTHERS_USE_IT,
        ],
    },
    Race {
        act: "deleteUser",
        is_it: ANY,
        set_up: claim_of_a_completed_pod_deleted,
        cases: &[
            refused("the Pod has changed", |world| label(world, &pod())),
            POD_IS_ANOTHER,
            CLAIM_HAS_CHANGED,
            POLICY_HAS_CHANGED,
            VOLUME_IS_OF_ANOTHER_CLAIM,
            OTHERS_USE_IT,
        ],
    },
];

pub(super) const RACES: &[Race] = &[
    Race {
        act: "scaleDown",
        is_it: ANY,
        set_up: claim_deleted,
        cases: &[
            WORKLOAD_HAS_CHANGED,
            refused("somebody has scaled it", scale_up),
            CLAIM_HAS_CHANGED,
            POLICY_HAS_CHANGED,
            VOLUME_IS_OF_ANOTHER_CLAIM,
            OTHERS_USE_IT,
        ],
    },
    Race {
        act: "retainVolume",
        is_it: ANY,
        set_up: claim_deleted,
        cases: &[
            refused("the volume has changed", |world| label(world, &volume())),
            refused("its policy is another one", |world| set_policy(world, "Retain")),
            CLAIM_HAS_CHANGED,
        ],
    },
    USERS[0],
    USERS[1],
    USERS[2],
    USERS[3],
];

#[tokio::test(start_paused = true)]
async fn user_of_a_claim_is_not_ended_on_a_false_premise() {
    run(RACES).await;
}
