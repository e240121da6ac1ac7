//! Tests of claims and volumes.

use super::*;

#[test]
fn claim_waits_if_its_deletion_destroys_unlisted_data() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data\n pvc shop/new of=shop",
    );
    scenario.applied("pv pv claim=shop/data reclaim=Delete");
    scenario.applied("pv late claim=shop/new reclaim=Recycle");
    scenario.applied("pvc shop/new of=shop volume=late");
    assert!(scenario.reconcile().is_empty());
    for (claim, volume) in [("pvc:shop/data", "pv"), ("pvc:shop/new", "late")] {
        match &scenario.progress(claim).hold.problem {
            Some(StepProblem::Unknown {
                reason: UnknownReason::WouldDestroyData { volume: it },
            }) => {
                assert_eq!(&*it.name, volume)
            }
            other => panic!("{claim}: {other:?}"),
        }
    }
    scenario.applied("pv pv claim=shop/data");
    scenario.applied("pv late claim=shop/new");
    assert_eq!(scenario.reconcile(), ["LIST pods in shop", "LIST pods in shop"]);
}

#[test]
fn volume_waits_for_the_claim_it_names() {
    let mut scenario = Scenario::of("ns lab\n cm shop/c of=shop\n pv pv of=shop claim=lab/data");
    scenario.applied("pvc lab/data");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c"]);
    assert_eq!(user_of(&scenario, "pv:pv"), "PersistentVolumeClaim lab/data");
    scenario.gone("pvc lab/data");
    scenario.hidden("persistentvolumeclaims");
    assert_eq!(scenario.reconcile(), [""; 0]);
    let problem = &scenario.progress("pv:pv").hold.problem;
    assert!(
        matches!(problem, Some(StepProblem::Unknown { reason: UnknownReason::Hidden { .. } })),
        "{problem:?}"
    );
    scenario.visible("persistentvolumeclaims");
    assert_eq!(scenario.reconcile(), ["DELETE PersistentVolume pv"]);
}

/// A Pod of a StatefulSet may write to its storage even if it mounts no claim, so its owner and its labels count.
#[test]
fn claim_waits_for_pods_of_its_statefulset_that_mount_nothing() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db templates=data
         pvc shop/data-db-0 of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE StatefulSet shop/db"]);
    accepted(&mut scenario, "sts:shop/db");
    scenario.gone("sts shop/db");
    let sight = |line: &str| {
        let pod = fixture::object(line);
        crate::action::PodSight {
            uid: pod.uid.clone(),
            object: pod.reference(),
            labels: pod.labels.clone(),
            owners: pod.owners.clone(),
            claims: vec![],
        }
    };
    for pod in ["pod shop/db-0 owner=sts/db labels=role:old", "pod shop/db-1 labels=app:db"] {
        assert_eq!(scenario.reconcile(), ["LIST pods in shop"], "{pod}");
        scenario.answer("pvc:shop/data-db-0", Outcome::Pods(vec![sight(pod)]));
        let problem = &scenario.progress("pvc:shop/data-db-0").hold.problem;
        assert!(problem.is_some(), "{pod}");
        assert_eq!(scenario.progress("pvc:shop/data-db-0").requested, None, "{pod}");
        scenario.pass(120);
    }
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
    scenario
        .answer("pvc:shop/data-db-0", Outcome::Pods(vec![sight("pod shop/other labels=app:web")]));
    assert_ne!(scenario.progress("pvc:shop/data-db-0").requested, None);
}

/// A custom resource has no template that shows what its Pods use, so it may re-create them as long as it exists.
#[test]
fn claim_of_a_pod_waits_for_the_owner_that_would_recreate_the_pod() {
    let fixture = "ns shop of=shop
         Database.example.com shop/db of=shop
         pod shop/db-0 owner=Database.example.com/db labels=app:db uses=claim:data deleted=0
         pvc shop/data of=shop";
    let refused = || {
        let mut scenario = Scenario::of(fixture);
        assert_eq!(scenario.reconcile(), ["DELETE Database shop/db"]);
        let refused = Outcome::Refused { code: 403, message: "no".into() };
        scenario.answer("Database.example.com:shop/db", refused);
        scenario
    };
    let mut scenario = refused();
    scenario.gone("pod shop/db-0 owner=Database.example.com/db");
    assert!(scenario.reconcile().is_empty(), "the operator may be about to make another one");
    let (database, claim) =
        (scenario.id("Database.example.com:shop/db"), scenario.id("pvc:shop/data"));
    let step = scenario.run.plan.step(claim).unwrap();
    assert_eq!(
        scenario.run.waits_for(step, &scenario.index, &mut PodsLeft::default()),
        [database],
        "the page names the owner"
    );
    scenario.gone("Database.example.com shop/db");
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);

    let mut scenario = refused();
    scenario.steer(&command(RunCommand::Skip(database)));
    assert!(scenario.progress("pvc:shop/data").skipped_by().is_some());
    scenario.gone("pod shop/db-0 owner=Database.example.com/db");
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
}

#[test]
fn claim_is_not_blocked_by_the_volume_of_another_claim() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=lab/data reclaim=Delete",
    );
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
}

#[test]
fn volume_does_not_wait_for_a_claim_bound_to_another_volume() {
    let mut scenario = Scenario::of(
        "ns lab\n pvc lab/data volume=other\n pv other claim=lab/data\n pv pv of=shop claim=lab/data",
    );
    assert_eq!(scenario.reconcile(), ["DELETE PersistentVolume pv"]);
}
