//! A StatefulSet whose controller deletes the claims of the replicas that it removes.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, object, store::Key};
use serde_json::{Value, json};
use teardown::remedy::{AttemptOutcome, Harm, RemedyAct};

use super::{
    has, label, li, modify,
    race::{ANY, Case, InTheLastMoment::Unseen, Race, refused, reported, run},
    schedule,
};
use crate::setup::{Server, create};

pub(super) fn set() -> Key {
    Key::new("apps", "statefulsets", "shop", "db")
}

fn volume(replica: u32) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"},
        "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "by-hand",
        "claimRef": {"namespace": "shop", "name": format!("data-db-{replica}")},
        "nfs": {"server": "nfs.example", "path": format!("/data-{replica}")},
    });
    json!({"metadata": {"name": format!("disk-{replica}")}, "spec": spec})
}

/// Two replicas with a claim each, which go when the set is scaled down. Somebody deletes the claim of the first one, which waits for
/// its Pod.
pub(super) fn claim_deleted(world: &mut ControlPlane) {
    claim_deleted_of(world, &json!({"whenDeleted": "Retain", "whenScaled": "Delete"}));
}

/// The same where the claims go when the set is deleted.
fn claim_of_a_loose_set_deleted(world: &mut ControlPlane) {
    claim_deleted_of(world, &json!({"whenDeleted": "Delete", "whenScaled": "Retain"}));
}

fn claim_deleted_of(world: &mut ControlPlane, policy: &Value) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    for replica in 0..2 {
        create(world, "", "persistentvolumes", "", volume(replica));
    }
    let labels = json!({"app": "db"});
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "by-hand",
        },
    });
    let db = json!({
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {
            "replicas": 2, "serviceName": "db", "selector": {"matchLabels": labels},
            "persistentVolumeClaimRetentionPolicy": policy,
            "volumeClaimTemplates": [claim],
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{
                        "name": "it", "image": "it",
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }],
                },
            },
        },
    });
    create(world, "apps", "statefulsets", "shop", db);
    schedule(world, "at 60s delete persistentvolumeclaims shop/data-db-0");
    world.run_until_idle();
}

pub(super) fn is_keeping(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::ScaleDown { keeps_claims: true, .. })
}

fn is_losing(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::ScaleDown { keeps_claims: false, .. })
}

const SET_HAS_CHANGED: Case = refused("the set has changed", |world| label(world, &set()));

pub(super) fn set_claim_policy(world: &mut ControlPlane, when: &str, policy: &str) {
    let field = ["spec", "persistentVolumeClaimRetentionPolicy", when];
    modify(world, &set(), "", |it| object::set(it, &field, json!(policy)));
}

const KEEPS_ITS_CLAIMS: Case =
    refused("it keeps the claims of the replicas that it removes", |world| {
        set_claim_policy(world, "whenScaled", "Retain");
    });

const CLAIM_HAS_CHANGED: Case = refused("the claim has changed", |world| {
    label(world, &Key::new("", "persistentvolumeclaims", "shop", "data-db-0"));
})
.then(Unseen);

const OTHERS_USE_IT: Case = reported("another Pod uses the claim", |world| {
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}});
    let pod = json!({
        "metadata": {"name": "late", "namespace": "shop"},
        "spec": {
            "nodeName": "node-a", "containers": [{"name": "it", "image": "it"}],
            "volumes": [volume],
        },
    });
    create(world, "", "pods", "shop", pod);
});

fn set_policy(world: &mut ControlPlane, volume: &str) {
    let volume = Key::new("", "persistentvolumes", "", volume);
    let field = ["spec", "persistentVolumeReclaimPolicy"];
    modify(world, &volume, "", |it| object::set(it, &field, json!("Retain")));
}

const VOLUME_STAYS: Case =
    reported("the volume of the claim has another policy", |world| set_policy(world, "disk-0"));

const OTHER_VOLUME_STAYS: Case =
    reported("the volume of a claim that goes has another policy", |world| {
        set_policy(world, "disk-1");
    });

/// A set is scaled down and loses claims, or keeps them, and one that takes its claims along is deleted.
pub(super) const RACES: &[Race] = &[
    Race {
        act: "scaleDown",
        is_it: is_losing,
        set_up: claim_deleted,
        cases: &[
            SET_HAS_CHANGED,
            KEEPS_ITS_CLAIMS,
            CLAIM_HAS_CHANGED,
            OTHERS_USE_IT,
            VOLUME_STAYS,
            OTHER_VOLUME_STAYS,
        ],
    },
    Race {
        act: "scaleDown",
        is_it: is_keeping,
        set_up: claim_deleted,
        cases: &[SET_HAS_CHANGED, KEEPS_ITS_CLAIMS, CLAIM_HAS_CHANGED, OTHERS_USE_IT, VOLUME_STAYS],
    },
    Race {
        act: "deleteUser",
        is_it: ANY,
        set_up: claim_of_a_loose_set_deleted,
        cases: &[
            SET_HAS_CHANGED,
            refused("it keeps its claims", |world| {
                set_claim_policy(world, "whenDeleted", "Retain");
            }),
            CLAIM_HAS_CHANGED,
            OTHERS_USE_IT,
            VOLUME_STAYS,
            OTHER_VOLUME_STAYS,
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn set_is_not_ended_on_a_false_premise_about_its_claims() {
    run(RACES).await;
}

/// The claim of the other replica goes or stays as the remedy says, by the controller of the sandbox.
#[tokio::test(start_paused = true)]
async fn claims_of_the_replicas_go_only_with_the_remedy_that_says_so() {
    for (is_it, harm, stays) in [
        (is_keeping as fn(&RemedyAct) -> bool, Harm::Interruption, true),
        (is_losing, Harm::DataLoss, false),
    ] {
        let server = Server::start(li(), claim_deleted);
        let offer = server.offer(is_it).await;
        assert_eq!(offer.1.harm, harm);
        let going = offer.1.reaches.going.iter().map(|it| &*it.claim.name);
        let said: &[&str] = if stays { &[] } else { &["data-db-1"] };
        assert_eq!(going.collect::<Vec<_>>(), said);
        let id = server.confirm(&offer).await;
        assert_eq!(server.outcome(&id).await, AttemptOutcome::Accepted { meanwhile: None });
        for _ in 0..300 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let left = |plural: &str, name: &str| {
            server.sandbox.with(|world| has(world, "", plural, "shop", name))
        };
        assert!(!left("pods", "db-0") && !left("pods", "db-1"), "the Pods are there");
        assert!(!left("persistentvolumeclaims", "data-db-0"), "the deleted claim is there");
        assert_eq!(left("persistentvolumeclaims", "data-db-1"), stays);
    }
}
