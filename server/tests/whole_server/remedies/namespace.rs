//! Namespaces that are finished without their controller, and created again.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::json;
use teardown::remedy::{Attempt, AttemptOutcome, PutBack, RemedyAct, SwitchedOff};

use super::{
    api::api,
    delete, erase, finalizer, has, in_use, incident, label, li, modify,
    race::{
        ANY, Case,
        InTheLastMoment::{Impossible, Unseen},
        Race, refused, reported, run,
    },
    schedule,
};
use crate::setup::{Server, create};

/// A namespace whose API is back, while its controller does not look again.
pub(super) fn left_behind(world: &mut ControlPlane) {
    incident(world, "s3");
    let script = "
        at 100s controller namespace-controller off
        at 101s change deployments.apps kube-system/metrics-server {\"spec\": {\"replicas\": 1}}";
    schedule(world, script);
}

pub(super) fn left() -> Key {
    Key::new("", "namespaces", "", "s3")
}

/// Puts an object into a namespace that is being deleted, as if it had been there all along: the API server lets nobody create it.
pub(super) fn leave(world: &mut ControlPlane, kind: &str, plural: &str, namespace: &str) {
    let metadata = json!({
        "name": "left", "namespace": namespace, "uid": format!("{plural}-left"),
        "creationTimestamp": "2026-11-21T07:00:00Z",
    });
    let spec = json!({"containers": [{"name": "it", "image": "it"}]});
    let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec});
    world.cluster.store.create(&Key::new("", plural, namespace, "left"), object);
}

/// A kind that the server may not list any more. The content was listed a moment before, and nothing is created in a namespace that
/// goes. The watch of the kind expires with the next change, and the list that it then begins with fails.
pub(super) const HIDDEN: Case = refused("a kind cannot be listed any more", |world| {
    schedule(world, "on list secrets as=li -> 503\non watch secrets as=li -> 410");
    create(world, "", "secrets", "kube-system", json!({"metadata": {"name": "late"}}));
})
.then(Unseen)
.falsifying(&["namespaceListable"])
.not_shown();

fn is_finalize(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::FinalizeNamespace)
}

const FINISHED: Race = Race {
    act: "finalizeNamespace",
    is_it: ANY,
    set_up: left_behind,
    cases: &[
        refused("the namespace has changed", |world| label(world, &left())),
        // The request empties the whole list, and would remove this one as well.
        refused("a second program keeps it", |world| {
            modify(world, &left(), "finalize", |it| {
                it["spec"]["finalizers"].as_array_mut().unwrap().push(json!("example.com/other"));
            });
        }),
        refused("another namespace has its name", |world| {
            erase(world, "namespaces s3");
            create(world, "", "namespaces", "", json!({"metadata": {"name": "s3"}}));
        }),
        reported("the API has gone again", |world| delete(world, &api())),
        HIDDEN,
        refused("an object is left in it", |world| leave(world, "ConfigMap", "configmaps", "s3"))
            .then(Impossible),
        refused("a Pod is left in it", |world| leave(world, "Pod", "pods", "s3"))
            .then(Impossible)
            .falsifying(&["noPodsInside"]),
    ],
};

#[tokio::test(start_paused = true)]
async fn namespace_is_finished_as_a_person_asked() {
    let server = Server::start(li(), left_behind);
    let offer = server.offer(is_finalize).await;
    let id = server.confirm(&offer).await;
    let outcome = server.outcome(&id).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert_eq!(server.effects(), ["update namespaces/s3"]);
    assert!(server.sandbox.with(|world| !has(world, "", "namespaces", "", "s3")));
}

pub(super) fn is_recreation(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::RecreateNamespace { .. })
}

fn make_again(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": {"name": "s4-forced"}}));
}

/// A claim with data is left in a namespace that somebody finished by force.
fn claim_in_gone_namespace(world: &mut ControlPlane) {
    finalizer::kept_claim(world);
    erase(world, "namespaces shop");
}

pub(super) const RACES: &[Race] = &[
    FINISHED,
    Race {
        act: "recreateNamespace",
        is_it: ANY,
        set_up: |world| incident(world, "s4-forced"),
        cases: &[
            refused("somebody else has created it", make_again),
            // An object of a namespace that does not exist cannot be changed, but it can be erased.
            refused("what was left in it has changed", |world| {
                erase(world, "mailboxes.mail.example s4-forced/sales");
            })
            .then(Unseen),
        ],
    },
    Race {
        act: "recreateNamespace",
        is_it: ANY,
        set_up: claim_in_gone_namespace,
        cases: &[
            refused("somebody else has created it", |world| {
                create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
            }),
            refused("the claim that was left in it is gone", |world| {
                erase(world, "persistentvolumeclaims shop/data");
            })
            .then(Unseen),
            in_use::POLICY_HAS_CHANGED,
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn namespace_is_not_finished_or_created_again_on_a_false_premise() {
    run(RACES).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_is_created_again_with_its_labels_and_goes_with_its_content() {
    let server = Server::start(li(), |world| {
        incident(world, "s4-forced");
        label(world, &Key::new("", "namespaces", "", "s4-forced"));
    });
    let offer = server.offer(is_recreation).await;
    let id = server.confirm(&offer).await;
    let outcome = server.outcome(&id).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert_eq!(server.effects(), ["create namespaces/", "delete namespaces/s4-forced"]);
    let made = Key::new("", "namespaces", "", "s4-forced");
    let labels = server
        .sandbox
        .with(|world| world.cluster.get(&made).map(|it| it["metadata"]["labels"]["moved"].clone()));
    assert_eq!(labels, Some(json!("yes")));
    assert_eq!(server.hub.switched_off().await.unwrap(), []);
    let is_empty = |world: &ControlPlane| {
        !has(world, "", "namespaces", "", "s4-forced")
            && !has(world, "mail.example", "mailboxes", "s4-forced", "sales")
    };
    server.until("the namespace goes with its content", is_empty).await;
}

/// A server whose second request, the DELETE of the namespace that it created, gets no answer; the attempt.
async fn interrupted() -> (Server, Attempt) {
    let server = Server::start(li(), |world| incident(world, "s4-forced"));
    let offer = server.offer(is_recreation).await;
    let faults = "on delete namespaces as=li 1x -> reset";
    server.sandbox.with(|world| schedule(world, faults));
    let id = server.confirm(&offer).await;
    let outcome = server.outcome(&id).await;
    assert!(matches!(outcome, AttemptOutcome::Unfinished { .. }), "{outcome:?}");
    for _ in 0..100 {
        if !server.hub.switched_off().await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let off = server.hub.switched_off().await.unwrap();
    let [PutBack { attempt, what: SwitchedOff::Namespace, by_unwind: true, line: Some(_), .. }] =
        &off[..]
    else {
        panic!("{off:?}")
    };
    let attempt = attempt.clone();
    (server, attempt)
}

async fn put_back(server: &Server, attempt: &Attempt) -> AttemptOutcome {
    let undone = server.hub.undo_remedy(attempt.id.clone(), "s4-forced".into(), "Li".into()).await;
    server.outcome(&undone.unwrap().unwrap()).await
}

pub(super) fn another_has_its_name(world: &mut ControlPlane) {
    erase(world, "namespaces s4-forced");
    make_again(world);
}

#[tokio::test(start_paused = true)]
async fn namespace_of_the_same_name_that_others_made_is_not_deleted_in_place_of_the_first() {
    let is_there = |world: &ControlPlane| has(world, "", "namespaces", "", "s4-forced");
    let (server, attempt) = interrupted().await;
    let before = server.effects();
    server.sandbox.with(another_has_its_name);
    let outcome = put_back(&server, &attempt).await;
    assert!(matches!(outcome, AttemptOutcome::Changed { .. }), "{outcome:?}");
    assert_eq!(server.effects(), before);

    let (server, attempt) = interrupted().await;
    server.interruption.arm(another_has_its_name);
    let outcome = put_back(&server, &attempt).await;
    assert!(!server.interruption.is_armed(), "nothing was sent: {outcome:?}");
    assert!(matches!(outcome, AttemptOutcome::Changed { .. }), "{outcome:?}");
    assert_eq!(server.effects(), before);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(server.sandbox.with(|world| is_there(world)));
    assert_eq!(server.hub.switched_off().await.unwrap(), [], "it is another one");
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_created_again_and_not_deleted_is_shown_until_somebody_deletes_it() {
    let (server, attempt) = interrupted().await;
    put_back(&server, &attempt).await;
    server
        .until("the namespace is gone", |world| !has(world, "", "namespaces", "", "s4-forced"))
        .await;
    assert_eq!(server.hub.switched_off().await.unwrap(), []);
}
