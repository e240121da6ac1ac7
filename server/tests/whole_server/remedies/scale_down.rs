//! A StatefulSet whose controller deletes the claims of the replicas that it removes.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, object, store::Key};
use serde_json::{Value, json};
use teardown::remedy::{AttemptOutcome, Harm, RemedyAct};

use super::{Case, InTheLastMoment, has, label, li, modify, race};
use crate::setup::{Server, create};

fn set() -> Key {
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

/// Two replicas with a claim each. Somebody deletes the claim of the first one, which waits for its Pod.
fn claim_deleted(world: &mut ControlPlane) {
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
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain", "whenScaled": "Delete",
            },
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
    let faults = world.parse_faults("at 60s delete persistentvolumeclaims shop/data-db-0").unwrap();
    world.cluster.faults.extend(faults);
    world.run_until_idle();
}

fn is_keeping(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::ScaleDown { keeps_claims: true, .. })
}

fn is_losing(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::ScaleDown { keeps_claims: false, .. })
}

const SET_HAS_CHANGED: Case = Case {
    name: "the set has changed",
    change: |world| label(world, &set()),
    then: InTheLastMoment::Refused,
};

const KEEPS_ITS_CLAIMS: Case = Case {
    name: "it keeps the claims of the replicas that it removes",
    change: |world| {
        let field = ["spec", "persistentVolumeClaimRetentionPolicy", "whenScaled"];
        modify(world, &set(), "", |it| object::set(it, &field, json!("Retain")));
    },
    then: InTheLastMoment::Refused,
};

#[tokio::test(start_paused = true)]
async fn set_is_not_scaled_down_on_a_false_premise_about_its_claims() {
    let volume_stays = Case {
        name: "the volume of a claim that goes has another policy",
        change: |world| {
            let volume = Key::new("", "persistentvolumes", "", "disk-1");
            let field = ["spec", "persistentVolumeReclaimPolicy"];
            modify(world, &volume, "", |it| object::set(it, &field, json!("Retain")));
        },
        then: InTheLastMoment::Reported,
    };
    race(|| claim_deleted, is_losing, &[SET_HAS_CHANGED, KEEPS_ITS_CLAIMS, volume_stays]).await;
    race(|| claim_deleted, is_keeping, &[SET_HAS_CHANGED, KEEPS_ITS_CLAIMS]).await;
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
