//! A claim, its volume, and the workload that uses them.

use sandbox::{control_plane::ControlPlane, object, store::Key};
use serde_json::{Value, json};
use teardown::remedy::RemedyAct;

use super::{Case, InTheLastMoment, delete, label, modify, race};
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

/// A Deployment whose Pod runs on a claim. Once the Pod has started, this is deleted; nothing else happens in this world.
fn shop(world: &mut ControlPlane, deleted: &str) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    create(world, "", "persistentvolumes", "", disk());
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "by-hand", "volumeName": "disk",
    });
    let data = json!({"metadata": {"name": "data"}, "spec": spec});
    create(world, "", "persistentvolumeclaims", "shop", data);
    create(world, "apps", "deployments", "shop", deployment());
    let faults = world.parse_faults(&format!("at 60s delete {deleted}")).unwrap();
    world.cluster.faults.extend(faults);
    world.run_until_idle();
}

/// The claim is deleted, and waits for the Pod.
pub(super) fn claim_deleted(world: &mut ControlPlane) {
    shop(world, "persistentvolumeclaims shop/data");
}

/// The volume is deleted, and waits for the claim, which nobody deletes.
pub(super) fn volume_deleted(world: &mut ControlPlane) {
    shop(world, "persistentvolumes disk");
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
const CLAIM_HAS_CHANGED: Case = Case {
    name: "the claim has changed",
    change: |world| label(world, &claim()),
    then: InTheLastMoment::Unseen,
};

/// The claim takes other data along than the person was shown.
const POLICY_HAS_CHANGED: Case = Case {
    name: "the policy of its volume is another one",
    change: |world| set_policy(world, "Retain"),
    then: InTheLastMoment::Reported,
};

const VOLUME_IS_OF_ANOTHER_CLAIM: Case = Case {
    name: "its volume is bound to another claim",
    change: |world| {
        let field = ["spec", "claimRef", "name"];
        modify(world, &volume(), "", |it| object::set(it, &field, json!("other")));
    },
    then: InTheLastMoment::Reported,
};

const OTHERS_USE_IT: Case = Case {
    name: "another Pod uses the claim",
    change: |world| {
        let pod = json!({
            "metadata": {"name": "late", "namespace": "shop"},
            "spec": {
                "nodeName": "node-a", "containers": [{"name": "it", "image": "it"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        });
        create(world, "", "pods", "shop", pod);
    },
    then: InTheLastMoment::Reported,
};

#[tokio::test(start_paused = true)]
async fn workload_is_not_scaled_down_on_a_false_premise() {
    race(
        || claim_deleted,
        |act| matches!(act, RemedyAct::ScaleDown { .. }),
        &[
            Case {
                name: "the workload has changed",
                change: |world| label(world, &workload()),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "somebody has scaled it",
                change: scale_up,
                then: InTheLastMoment::Refused,
            },
            CLAIM_HAS_CHANGED,
            POLICY_HAS_CHANGED,
            VOLUME_IS_OF_ANOTHER_CLAIM,
            OTHERS_USE_IT,
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn workload_that_uses_a_claim_is_not_deleted_on_a_false_premise() {
    race(
        || claim_deleted,
        |act| matches!(act, RemedyAct::DeleteUser),
        &[
            Case {
                name: "the workload has changed",
                change: |world| label(world, &workload()),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "another workload has its name",
                change: |world| {
                    delete(world, &workload());
                    create(world, "apps", "deployments", "shop", deployment());
                },
                then: InTheLastMoment::Refused,
            },
            CLAIM_HAS_CHANGED,
            POLICY_HAS_CHANGED,
            VOLUME_IS_OF_ANOTHER_CLAIM,
            OTHERS_USE_IT,
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn claim_that_uses_a_volume_is_not_deleted_on_a_false_premise() {
    race(
        || volume_deleted,
        |act| matches!(act, RemedyAct::DeleteUser),
        &[
            Case {
                name: "the claim has changed",
                change: |world| label(world, &claim()),
                then: InTheLastMoment::Refused,
            },
            POLICY_HAS_CHANGED,
            // A volume that is being deleted goes at once where no claim is bound to it, and one that is gone holds no data.
            Case { then: InTheLastMoment::Unseen, ..VOLUME_IS_OF_ANOTHER_CLAIM },
            OTHERS_USE_IT,
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn policy_of_a_volume_is_not_changed_on_a_false_premise() {
    race(
        || claim_deleted,
        |act| matches!(act, RemedyAct::RetainVolume { .. }),
        &[
            Case {
                name: "the volume has changed",
                change: |world| label(world, &volume()),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "its policy is another one",
                change: |world| set_policy(world, "Retain"),
                then: InTheLastMoment::Refused,
            },
            CLAIM_HAS_CHANGED,
        ],
    )
    .await;
}
