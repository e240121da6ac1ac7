//! Tests of storage and namespaces behind an object that lost a finalizer by hand.

use super::{script::transcript, *};
use crate::object::Object;

#[test]
fn namespace_waits_for_content_that_lost_a_finalizer_by_hand_and_not_for_other_content() {
    let cluster =
        "ns shop of=shop\n Topic.example.com shop/orders of=shop finalizers=example.com/t";
    let script = "accepted Topic.example.com:shop/orders
        unfinalize Topic.example.com shop/orders
        gone Topic.example.com shop/orders
        take on ns:shop";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Topic shop/orders
    > accepted Topic.example.com:shop/orders
    > unfinalize Topic.example.com shop/orders
    > gone Topic.example.com shop/orders
    Topic shop/orders is gone from the API alone
    Namespace shop waits for a report of Topic shop/orders
    > take on ns:shop
    Namespace shop is taken on
    DELETE Namespace shop
    ");
    let cleared = "accepted Topic.example.com:shop/orders\n gone Topic.example.com shop/orders";
    insta::assert_snapshot!(transcript(cluster, cleared), @"
    DELETE Topic shop/orders
    > accepted Topic.example.com:shop/orders
    > gone Topic.example.com shop/orders
    Topic shop/orders is gone
    DELETE Namespace shop
    ");
}

#[test]
fn claim_waits_for_the_custom_resource_that_names_it_and_lost_a_finalizer_by_hand() {
    let cluster = "pvc shop/data of=shop
         Database.example.com shop/db of=shop refs=pvc/data finalizers=example.com/db";
    let script = "accepted Database.example.com:shop/db
        unfinalize Database.example.com shop/db
        gone Database.example.com shop/db
        take on pvc:shop/data";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Database shop/db
    > accepted Database.example.com:shop/db
    > unfinalize Database.example.com shop/db
    > gone Database.example.com shop/db
    Database shop/db is gone from the API alone
    PersistentVolumeClaim shop/data waits for a report of Database shop/db
    > take on pvc:shop/data
    PersistentVolumeClaim shop/data is taken on
    LIST pods in shop
    ");
}

#[test]
fn storage_waits_for_an_attachment_that_lost_its_finalizer_by_hand() {
    let script = |step: &str| {
        format!(
            "pause first
            applied attachment a volume=pv-1 node=n1
            applied attachment b volume=pv-2 node=n1
            resume
            unfinalize attachment a
            gone attachment a
            take on {step}"
        )
    };
    let claim =
        "node n1\n pvc shop/data of=shop volume=pv-1\n pv pv-1 claim=shop/data reclaim=Delete";
    insta::assert_snapshot!(transcript(claim, &script("pvc:shop/data")), @"
    > pause first
    > applied attachment a volume=pv-1 node=n1
    > applied attachment b volume=pv-2 node=n1
    > resume
    > unfinalize attachment a
    > gone attachment a
    PersistentVolumeClaim shop/data waits for a report of VolumeAttachment a
    > take on pvc:shop/data
    PersistentVolumeClaim shop/data is taken on
    LIST pods in shop
    ");
    let volume = "node n1\n ns lab\n pvc lab/data volume=other\n pv other claim=lab/data
        pv pv-1 of=shop claim=lab/data";
    insta::assert_snapshot!(transcript(volume, &script("pv:pv-1")), @"
    > pause first
    > applied attachment a volume=pv-1 node=n1
    > applied attachment b volume=pv-2 node=n1
    > resume
    > unfinalize attachment a
    > gone attachment a
    PersistentVolume pv-1 waits for a report of VolumeAttachment a
    > take on pv:pv-1
    PersistentVolume pv-1 is taken on
    DELETE PersistentVolume pv-1
    ");
}

/// A run whose custom resource lost its finalizer by hand and is gone, with the index of a process that has not seen it go.
fn restarted(saw_it_go: bool) -> Scenario {
    let topic = "Topic.example.com shop/orders of=shop finalizers=example.com/t";
    let by_hand = || std::iter::once(fixture::object(topic).uid).collect();
    let mut scenario = Scenario::of(&format!("ns shop of=shop\n {topic}"));
    assert_eq!(scenario.reconcile(), ["DELETE Topic shop/orders"]);
    accepted(&mut scenario, "Topic.example.com:shop/orders");
    scenario.index.set_by_hand(by_hand());
    if saw_it_go {
        scenario.gone(topic);
        assert_eq!(scenario.reconcile(), [""; 0]);
    }
    // The definition's kind is listed, and has no object left.
    scenario.index = fixture::index("ns shop of=shop");
    let (kind, objects) = (fixture::object(topic).kind, vec![]);
    scenario.see(Observation::Listed { kind, objects });
    if !saw_it_go {
        scenario.index.set_by_hand(by_hand());
    }
    _ = scenario.apply_input(&Input::Recover);
    scenario
}

#[test]
fn object_that_lost_a_finalizer_by_hand_is_remembered_after_a_restart() {
    for saw_it_go in [true, false] {
        let mut scenario = restarted(saw_it_go);
        assert_eq!(scenario.reconcile(), [""; 0], "{saw_it_go}");
        assert!(scenario.progress("Topic.example.com:shop/orders").unconfirmed);
        let problem = scenario.progress("ns:shop").hold.problem.clone();
        let Some(StepProblem::Unknown { reason: UnknownReason::Unconfirmed { objects } }) = problem
        else {
            panic!("{problem:?}")
        };
        assert_eq!(objects.len(), 1);
    }
}

#[test]
fn namespace_of_the_same_name_does_not_wait_for_the_content_of_an_earlier_one() {
    let topic = "Topic.example.com shop/orders";
    let mut index = fixture::index(&format!("ns shop uid=earlier\n {topic}"));
    let Object { kind, uid, .. } = fixture::object(topic);
    index.set_by_hand(std::iter::once(uid.clone()).collect());
    index.apply([Observation::Deleted { kind, uid }], fixture::now());
    let namespace = fixture::object("ns shop").reference();
    let waits = |uid: &str| index.unconfirmed_users(&namespace, &fixture::uid(uid)).count();
    assert_eq!((waits("earlier"), waits("ns:shop")), (1, 0));
}
