//! Tests of storage and namespaces behind an object that lost a finalizer by hand.

use super::{script::transcript, *};
use crate::{index::UnconfirmedEnd, object::Object};

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

#[test]
fn object_that_lost_a_finalizer_by_hand_is_remembered_after_a_restart() {
    let cluster =
        "ns shop of=shop\n Topic.example.com shop/orders of=shop finalizers=example.com/t";
    let saw_it_go = "accepted Topic.example.com:shop/orders
        unfinalize Topic.example.com shop/orders & gone Topic.example.com shop/orders
        restart anew without Topic.example.com shop/orders & listed Topic.example.com:
        look at Topic.example.com:shop/orders & look at ns:shop";
    insta::assert_snapshot!(transcript(cluster, saw_it_go), @"
    DELETE Topic shop/orders
    > accepted Topic.example.com:shop/orders
    > unfinalize Topic.example.com shop/orders & gone Topic.example.com shop/orders
    Topic shop/orders is gone from the API alone
    Namespace shop waits for a report of Topic shop/orders
    > restart anew without Topic.example.com shop/orders & listed Topic.example.com:
    > look at Topic.example.com:shop/orders & look at ns:shop
    Topic shop/orders is gone, from the API alone
    Namespace shop waits for a report of Topic shop/orders
    ");
    let was_away = "accepted Topic.example.com:shop/orders
        unfinalize Topic.example.com shop/orders
        restart anew without Topic.example.com shop/orders & listed Topic.example.com: & unfinalize Topic.example.com shop/orders
        look at Topic.example.com:shop/orders & look at ns:shop";
    insta::assert_snapshot!(transcript(cluster, was_away), @"
    DELETE Topic shop/orders
    > accepted Topic.example.com:shop/orders
    > unfinalize Topic.example.com shop/orders
    > restart anew without Topic.example.com shop/orders & listed Topic.example.com: & unfinalize Topic.example.com shop/orders
    Topic shop/orders is gone from the API alone, as it is not listed
    Namespace shop waits for a report of Topic shop/orders
    > look at Topic.example.com:shop/orders & look at ns:shop
    Topic shop/orders is gone, from the API alone
    Namespace shop waits for a report of Topic shop/orders
    ");
}

/// The index alone knows what an earlier namespace of the name had in it, so there is no run here.
const STORAGE: &str = "
    ns shop of=shop
    node n1
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
";

/// The ends of these objects as an earlier process noted them, beside [`STORAGE`].
fn noted(objects: &[&str]) -> Vec<UnconfirmedEnd> {
    let index = fixture::index(&format!("{STORAGE}{}", objects.join("\n")));
    objects.iter().map(|line| index.end_of(&fixture::object(line))).collect()
}

/// A run that is planned in a process that has never seen these objects, in this world.
fn planned_later(world: &str, ends: &[UnconfirmedEnd]) -> Scenario {
    let mut scenario = Scenario::of(world);
    scenario.index.set_ends_by_hand(ends.to_vec());
    scenario
}

/// The objects for whose end a step waits.
fn waited_for(scenario: &mut Scenario, step: &str) -> Vec<String> {
    scenario.reconcile();
    let problem = scenario.progress(step).hold.problem.clone();
    match problem {
        Some(StepProblem::Unknown { reason: UnknownReason::Unconfirmed { objects } }) => {
            objects.iter().map(|it| it.object.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn run_that_is_planned_after_a_restart_waits_for_what_a_remedy_sent_away() {
    for (gone, step, expected) in [
        ("attachment a volume=pv-1 node=n1", "pvc:shop/data", vec!["VolumeAttachment a"]),
        ("attachment a volume=pv-2 node=n1", "pvc:shop/data", vec![]),
        ("pod shop/web node=n2 uses=claim:data", "pvc:shop/data", vec!["Pod shop/web"]),
        ("pod lab/web node=n2 uses=claim:data", "pvc:shop/data", vec![]),
        ("Topic.example.com shop/orders", "ns:shop", vec!["Topic shop/orders"]),
    ] {
        let world = if step == "ns:shop" { "ns shop of=shop" } else { STORAGE };
        let mut scenario = planned_later(world, &noted(&[gone]));
        assert_eq!(waited_for(&mut scenario, step), expected, "{gone}");
    }
}

#[test]
fn person_who_answers_for_what_a_remedy_sent_away_opens_the_storage() {
    let attachment = "attachment a volume=pv-1 node=n1";
    let mut scenario = planned_later(STORAGE, &noted(&[attachment]));
    assert_eq!(waited_for(&mut scenario, "pvc:shop/data"), ["VolumeAttachment a"]);
    let (step, pods) = (scenario.id("pvc:shop/data"), vec![fixture::object(attachment).uid]);
    scenario.steer(&Input::TakeOn { step, pods, by: "Li".to_owned() });
    assert_eq!(waited_for(&mut scenario, "pvc:shop/data"), [""; 0]);
}

#[test]
fn pod_that_a_remedy_sent_away_has_ended_once_its_silent_node_is_ready() {
    let pod = "pod shop/web node=n1 uses=claim:data";
    let silent = STORAGE.replace("node n1", "node n1 ready=no");
    let then = fixture::index(&format!("{silent}{pod}"));
    let end = vec![then.end_of(&fixture::object(pod))];
    let world = |node: &str| STORAGE.replace("node n1", node);
    for (node, expected) in [("node n1 ready=no", true), ("node n1", false), ("node n2", true)] {
        let mut scenario = planned_later(&world(node), &end);
        assert_eq!(!waited_for(&mut scenario, "pvc:shop/data").is_empty(), expected, "{node}");
        assert_eq!(scenario.index.is_end_open(&end[0]), expected, "{node}");
    }
    // A node that was ready when the Pod was forced proves nothing by being ready.
    let forced = noted(&[pod]);
    let mut scenario = planned_later(&world("node n1"), &forced);
    assert_eq!(waited_for(&mut scenario, "pvc:shop/data"), ["Pod shop/web"]);
    assert!(scenario.index.is_end_open(&forced[0]));
}

#[test]
fn end_that_nothing_is_left_behind_is_not_open_and_one_of_an_object_that_is_there_is() {
    let topic = "Topic.example.com shop/orders";
    let kept = "pv pv-1 claim=shop/data";
    for (gone, left, expected) in [
        ("attachment a volume=pv-1 node=n1", "pv pv-1 reclaim=Delete", true),
        ("attachment a volume=pv-1 node=n1", "pvc shop/data volume=pv-1", true),
        ("attachment a volume=pv-1 node=n1", "pv pv-2", false),
        ("pod shop/web node=n2 uses=claim:data", "pvc shop/data volume=pv-1", true),
        ("pod shop/web node=n2 uses=claim:data", kept, true),
        ("pod shop/web node=n2 uses=claim:data", "pvc shop/data uid=again volume=pv-9", false),
        (topic, "ns shop", true),
        (topic, "ns shop uid=again", false),
        (
            topic,
            "pvc lab/data owner=Topic.example.com/orders owner-uid=Topic.example.com:shop/orders",
            true,
        ),
        (topic, "pvc lab/data", false),
        (topic, topic, true),
    ] {
        let end = noted(&[gone]).remove(0);
        let mut index = fixture::index("ns lab\n node n1\n pvc lab/x\n pv pv-x");
        for object in fixture::objects(left) {
            index.apply([Observation::Applied(Box::new(object))], fixture::now());
        }
        assert_eq!(index.is_end_open(&end), expected, "{gone}: {left}");
    }
}

#[test]
fn end_that_this_process_saw_in_order_is_proven() {
    let pod = "pod shop/web node=n1 uses=claim:data";
    for (ended, expected) in [("phase=Succeeded containers=web:terminated", false), ("", true)] {
        let mut index = fixture::index(&format!("{STORAGE}{pod} {ended}"));
        let Object { kind, uid, .. } = fixture::object(pod);
        let end = index.end_of(&fixture::object(pod));
        index.set_ends_by_hand(vec![end.clone()]);
        index.apply([Observation::Deleted { kind, uid: uid.clone() }], fixture::now());
        assert_eq!(index.is_end_open(&end), expected, "{ended}");
        assert_eq!(index.is_unconfirmed(&uid, Some("n1")), expected, "{ended}");
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

#[test]
fn object_that_a_person_answered_for_in_another_run_is_asked_about_again_with_another_uid_alone() {
    for (answered, expected) in [
        ("attachment a volume=pv-1 node=n1", vec![]),
        ("attachment a uid=again volume=pv-1 node=n1", vec!["VolumeAttachment a"]),
    ] {
        let mut scenario = planned_later(STORAGE, &noted(&["attachment a volume=pv-1 node=n1"]));
        scenario.index.answer_for(&[fixture::object(answered).uid]);
        assert_eq!(waited_for(&mut scenario, "pvc:shop/data"), expected, "{answered}");
    }
}

/// Of the process that received the answer nothing is left but the journal.
#[test]
fn object_that_a_person_answered_for_at_one_step_is_not_asked_about_at_another_after_a_restart() {
    let gone = noted(&["attachment a volume=pv-1 node=n1"]);
    for (answered, expected) in
        [(gone[0].uid.clone(), vec![]), (fixture::uid("attachment:b"), vec!["VolumeAttachment a"])]
    {
        let mut scenario = planned_later(STORAGE, &gone);
        let (step, by) = (scenario.id("ns:shop"), "Li".to_owned());
        let taken_on = RunEvent::TakenOn { step, by, pods: vec![answered] };
        scenario.run.apply(fixture::now(), &taken_on).expect("a person may answer");
        assert_eq!(waited_for(&mut scenario, "pvc:shop/data"), expected);
    }
}
