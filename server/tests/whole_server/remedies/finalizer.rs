//! Finalizers that go by hand: of custom resources, a Node, a volume, a claim, an attachment, and of an owner of claims.

use sandbox::{control_plane::ControlPlane, demo::Demo, object, store::Key};
use serde_json::json;
use teardown::remedy::RemedyAct;

use super::{
    delete, erase, in_use, incident, label, modify, node,
    race::{ANY, Case, InTheLastMoment::Unseen, Race, refused, reported, run},
    schedule,
};
use crate::setup::create;

fn topic(name: &str) -> Key {
    Key::new("queue.example", "topics", "s4", name)
}

fn operator() -> Key {
    Key::new("apps", "deployments", "s4", "queue-operator")
}

const TOPICS: [&str; 3] = ["orders", "payments", "audit"];

const TOPICS_HAVE_CHANGED: Case = refused("every object of the kind has changed", |world| {
    for name in TOPICS {
        label(world, &topic(name));
    }
});

fn install(world: &mut ControlPlane) {
    let labels = json!({"app": "queue-operator"});
    let deployment = json!({
        "metadata": {"name": "queue-operator", "namespace": "s4"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "it", "image": "it"}]},
            },
        },
    });
    create(world, "apps", "deployments", "s4", deployment);
}

/// The operator is installed and does not run.
fn stopped_operator(world: &mut ControlPlane) {
    Demo::named("s4").unwrap().unwrap().set_up(world).unwrap();
    let script = "
        at 5s change deployments.apps s4/queue-operator {\"spec\": {\"replicas\": 0}}
        at 30s delete topics.queue.example s4/orders";
    schedule(world, script);
}

/// A silent Node that somebody deletes, and that its provisioner keeps.
fn kept_node(world: &mut ControlPlane) {
    incident(world, "s5");
    let field = ["metadata", "finalizers"];
    modify(world, &node::node(), "", |it| {
        object::set(it, &field, json!(["karpenter.sh/termination"]));
    });
    delete(world, &node::node());
}

/// Asks for an attachment of the volume, which stays although no Pod wants it.
fn attach(world: &mut ControlPlane) {
    create_attachment(world, "late", "example.com/hold");
}

fn create_attachment(world: &mut ControlPlane, name: &str, finalizer: &str) {
    let spec = json!({
        "attacher": "disk.example", "nodeName": "node-b",
        "source": {"persistentVolumeName": "disk"},
    });
    let metadata = json!({"name": name, "finalizers": [finalizer]});
    let attachment = json!({"metadata": metadata, "spec": spec});
    create(world, "storage.k8s.io", "volumeattachments", "", attachment);
}

fn attachment() -> Key {
    Key::new("storage.k8s.io", "volumeattachments", "", "detached")
}

fn create_detached(world: &mut ControlPlane) {
    create_attachment(world, "detached", "external-attacher/disk-example");
}

fn is_attached(world: &mut ControlPlane, attached: bool) {
    modify(world, &attachment(), "status", |it| it["status"] = json!({"attached": attached}));
}

/// An attachment that is deleted and that its driver reports as detached. The driver is away.
fn detached(world: &mut ControlPlane) {
    requested(world, false);
}

/// One that is still attached by its record, and whose driver is away for good.
fn still_attached(world: &mut ControlPlane) {
    requested(world, true);
}

fn requested(world: &mut ControlPlane, attached: bool) {
    schedule(world, "at 0s controller external-attacher off");
    create(world, "", "persistentvolumes", "", volume(&[], "Retain"));
    world.run_until_idle();
    create_detached(world);
    is_attached(world, attached);
    delete(world, &attachment());
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

const PROVISIONER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// A volume that is deleted, and whose storage its provisioner does not delete.
fn released_volume(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    create(world, "", "persistentvolumes", "", volume(&[PROVISIONER], "Delete"));
    world.run_until_idle();
    delete(world, &in_use::volume());
}

fn claim(finalizers: &[&str]) -> serde_json::Value {
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "by-hand", "volumeName": "disk",
    });
    json!({"metadata": {"name": "data", "finalizers": finalizers}, "spec": spec})
}

/// A namespace with a volume.
fn shop(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    create(world, "", "persistentvolumes", "", in_use::disk());
}

/// A claim that is deleted, that no Pod uses, and that a program keeps which nobody knows.
pub(super) fn kept_claim(world: &mut ControlPlane) {
    shop(world);
    create(world, "", "persistentvolumeclaims", "shop", claim(&["example.com/backup"]));
    world.run_until_idle();
    delete(world, &in_use::claim());
}

fn settings() -> Key {
    Key::new("", "configmaps", "shop", "settings")
}

fn set_finalizers(world: &mut ControlPlane, finalizers: &[&str]) {
    modify(world, &settings(), "", |it| it["metadata"]["finalizers"] = json!(finalizers));
}

/// An object that is deleted, and that two programs keep which nobody knows.
fn kept_by_two(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
    let metadata = json!({"name": "settings", "finalizers": ["example.com/a", "example.com/b"]});
    create(world, "", "configmaps", "shop", json!({"metadata": metadata}));
    world.run_until_idle();
    delete(world, &settings());
}

fn owner() -> Key {
    Key::new("", "configmaps", "shop", "database")
}

/// An object that is deleted, that owns a claim, and that a program keeps which nobody knows.
fn kept_owner(world: &mut ControlPlane) {
    shop(world);
    let metadata = json!({"name": "database", "finalizers": ["example.com/backup"]});
    create(world, "", "configmaps", "shop", json!({"metadata": metadata}));
    let uid = object::uid(world.cluster.get(&owner()).unwrap()).to_owned();
    let mut owned = claim(&[]);
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "database", "uid": uid}]);
    create(world, "", "persistentvolumeclaims", "shop", owned);
    world.run_until_idle();
    delete(world, &owner());
}

/// Of the Topics, where their operator is deleted and where it does not run.
const OF_TOPICS: [Race; 2] = [
    Race {
        act: "removeFinalizer",
        is_it: ANY,
        set_up: |world| incident(world, "s4"),
        cases: &[TOPICS_HAVE_CHANGED, reported("the program is installed again", install)],
    },
    Race {
        act: "removeFinalizer",
        is_it: ANY,
        set_up: stopped_operator,
        cases: &[
            TOPICS_HAVE_CHANGED,
            reported("the program is started again", |world| {
                modify(world, &operator(), "", |it| it["spec"]["replicas"] = json!(1));
            }),
            reported("the program is deleted", |world| delete(world, &operator())),
        ],
    },
];

/// Of a Node, which takes the lease along, which then shows nothing any more.
const OF_A_NODE: Race = Race {
    act: "removeFinalizer",
    is_it: ANY,
    set_up: kept_node,
    cases: &[
        node::REPORTS,
        node::RUNS_CONTROL_PLANE,
        refused("its program has removed it", |world| {
            let field = ["metadata", "finalizers"];
            modify(world, &node::node(), "", |it| object::set(it, &field, json!([])));
        }),
        node::IS_ANOTHER,
        node::RENEWS_ITS_LEASE.then(Unseen),
        node::GETS_A_POD,
        node::ANOTHER_IS_SILENT.not_shown(),
    ],
};

const OF_A_VOLUME: Race = Race {
    act: "removeFinalizer",
    is_it: ANY,
    set_up: released_volume,
    cases: &[
        refused("the volume has changed", |world| label(world, &in_use::volume())),
        refused("its policy is another one", |world| in_use::set_policy(world, "Retain")),
        refused("another volume has its name", |world| {
            erase(world, "persistentvolumes disk");
            create(world, "", "persistentvolumes", "", volume(&[PROVISIONER], "Delete"));
        }),
        reported("a node has attached it", attach).falsifying(&["notAttached"]),
        reported("its claim is there again", |world| {
            create(world, "", "persistentvolumeclaims", "shop", claim(&[]));
        }),
    ],
};

const OF_A_CLAIM: Race = Race {
    act: "removeFinalizer",
    is_it: ANY,
    set_up: kept_claim,
    cases: &[
        refused("the claim has changed", |world| label(world, &in_use::claim())),
        refused("another claim has its name", |world| {
            erase(world, "persistentvolumeclaims shop/data");
            let again = claim(&["example.com/backup"]);
            create(world, "", "persistentvolumeclaims", "shop", again);
        }),
        reported("the policy of its volume is another one", |world| {
            in_use::set_policy(world, "Retain");
        }),
        // The volume is released with the claim.
        refused("its volume has changed otherwise", |world| label(world, &in_use::volume()))
            .then(Unseen),
        reported("a node has attached its volume", attach),
    ],
};

const ITS_NODE_USES_THE_VOLUME: Case = reported("its node uses the volume", |world| {
    let node = Key::new("", "nodes", "", "node-b");
    modify(world, &node, "status", |it| {
        it["status"]["volumesInUse"] = json!(["kubernetes.io/csi/disk.example^disk"]);
    });
});

const ANOTHER_HAS_ITS_NAME: Case = refused("another attachment has its name", |world| {
    erase(world, "volumeattachments.storage.k8s.io detached");
    create_detached(world);
});

const OF_AN_ATTACHMENT: Race = Race {
    act: "removeFinalizer",
    is_it: ANY,
    set_up: detached,
    cases: &[
        refused("the volume is attached", |world| is_attached(world, true)),
        ITS_NODE_USES_THE_VOLUME,
        ANOTHER_HAS_ITS_NAME,
    ],
};

const OF_AN_ATTACHED_VOLUME: Race = Race {
    act: "removeFinalizer",
    is_it: ANY,
    set_up: still_attached,
    cases: &[
        refused("its driver is back and has detached the volume", |world| {
            is_attached(world, false);
        }),
        ITS_NODE_USES_THE_VOLUME,
        ANOTHER_HAS_ITS_NAME,
    ],
};

/// Of an object with two, of which the request names the place in the list. Nobody can add one to an object that is deleted.
const OF_TWO: Race = Race {
    act: "removeFinalizer",
    is_it: |act| matches!(act, RemedyAct::RemoveFinalizer { finalizer } if &**finalizer == "example.com/b"),
    set_up: kept_by_two,
    cases: &[
        refused("the other program has removed its own", |world| {
            set_finalizers(world, &["example.com/b"]);
        }),
        refused("they are in another order", |world| {
            set_finalizers(world, &["example.com/b", "example.com/a"]);
        }),
        refused("its program has removed it", |world| {
            set_finalizers(world, &["example.com/a"]);
        }),
    ],
};

/// Of an object whose claim goes with it.
const OF_AN_OWNER: Race = Race {
    act: "removeFinalizer",
    is_it: ANY,
    set_up: kept_owner,
    cases: &[
        refused("the owner has changed", |world| label(world, &owner())),
        in_use::POLICY_HAS_CHANGED,
        in_use::VOLUME_IS_OF_ANOTHER_CLAIM,
    ],
};

pub(super) const RACES: &[Race] = &[
    OF_TOPICS[0],
    OF_TOPICS[1],
    OF_A_NODE,
    OF_A_VOLUME,
    OF_A_CLAIM,
    OF_AN_ATTACHMENT,
    OF_AN_ATTACHED_VOLUME,
    OF_TWO,
    OF_AN_OWNER,
];

#[tokio::test(start_paused = true)]
async fn finalizer_is_not_removed_on_a_false_premise() {
    run(RACES).await;
}
