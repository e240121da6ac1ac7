//! Tests of objects that are newer than the plan.

use super::*;

#[test]
fn late_pod_that_does_not_terminate_is_reported() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cronjob shop/report of=shop template=app:report uses=config:c
         cm shop/c of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE CronJob shop/report"]);
    scenario.applied("job shop/report-1 owner=cronjob/report");
    scenario.applied("pod shop/report-1-a owner=job/report-1 uses=config:c");
    accepted(&mut scenario, "cronjob:shop/report");
    scenario.gone("cronjob shop/report");
    scenario.gone("job shop/report-1");
    scenario.applied("pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(scenario.progress("cm:shop/c").problem, None, "Pods may take some time");
    scenario.pass(600);
    assert!(scenario.reconcile().is_empty());
    let problem = &scenario.progress("cm:shop/c").problem;
    let Some(StepProblem::Unknown { reason: UnknownReason::PodsLeft { pod, of } }) = problem else {
        panic!()
    };
    assert_eq!(
        [pod, &**of].map(ObjectRef::to_string),
        ["Pod shop/report-1-a", "CronJob shop/report"]
    );
}

#[test]
fn objects_that_a_late_pod_refers_to_stay() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/c of=shop\n sa shop/web of=shop");
    scenario.applied("pod shop/late uses=config:c,account:web");
    scenario.applied("pod shop/done uses=config:c phase=Succeeded");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(user_of(&scenario, "cm:shop/c"), "Pod shop/late");
    scenario.gone("pod shop/late");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c", "DELETE ServiceAccount shop/web"]);
    assert_eq!(scenario.progress("cm:shop/c").problem, None);
}

#[test]
fn objects_that_select_a_late_pod_or_give_it_rights_stay() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n ns lab
         netpol shop/closed of=shop selector=
         svc shop/web of=shop selector=app:web
         svc shop/out of=shop selector=app:web type=LoadBalancer
         pdb shop/web of=shop selector=app:web
         sa shop/web of=shop
         role shop/reader of=shop
         rb shop/reads of=shop accounts=web role=role/reader
         crb reads of=shop accounts=shop/web role=clusterrole/view",
    );
    scenario.applied("pod shop/late labels=app:web uses=account:web");
    scenario.applied("pod shop/done labels=app:web uses=account:web phase=Succeeded");
    scenario.applied("pod lab/namesake labels=app:web uses=account:web");
    assert_eq!(scenario.reconcile(), ["DELETE Service shop/out"]);
    let held = ["netpol:shop/closed", "svc:shop/web", "pdb:shop/web", "rb:shop/reads", "crb:reads"];
    for step in held {
        assert_eq!(user_of(&scenario, step), "Pod shop/late", "{step}");
    }
    scenario.gone("pod shop/late");
    assert_eq!(scenario.reconcile().len(), held.len() + 1, "the account as well");
}

#[test]
fn owner_waits_while_a_late_pod_uses_its_dependent() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         Widget.example.com shop/w of=shop
         cm shop/c owner=Widget.example.com/w",
    );
    scenario.applied("pod shop/late uses=config:c");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(user_of(&scenario, "Widget.example.com:shop/w"), "Pod shop/late");
    scenario.gone("pod shop/late");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn late_pod_that_goes_with_the_same_owner_blocks_nothing() {
    let mut scenario = Scenario::of("ns shop of=shop\n deploy shop/web of=shop selector=app:web");
    scenario.applied("rs shop/web-1 owner=deploy/web selector=app:web");
    scenario.applied("pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch");
    scenario.applied("pvc shop/web-1-a-scratch owner=pod/web-1-a");
    assert_eq!(scenario.reconcile(), ["DELETE Deployment shop/web"]);
}

#[test]
fn late_claim_and_late_pod_of_one_owner_block_it() {
    let mut scenario = Scenario::of("ns shop of=shop\n Widget.example.com shop/w of=shop");
    scenario.applied("pvc shop/data owner=Widget.example.com/w");
    scenario.applied("pod shop/w-a owner=Widget.example.com/w uses=claim:data");
    assert!(
        scenario.reconcile().is_empty(),
        "the collector would delete the claim while the Pod uses it"
    );
    scenario.gone("pod shop/w-a");
    assert!(scenario.reconcile().is_empty(), "the deletion of the claim was not confirmed");
    assert_eq!(
        collected_with(&scenario, "Widget.example.com:shop/w"),
        "PersistentVolumeClaim shop/data"
    );
    scenario.gone("pvc shop/data");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn late_objects_other_than_pods_block_the_objects_they_need() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n ns lab\n svc shop/api of=shop\n pvc shop/data of=shop\n role shop/reader of=shop
         crd widgets.example.com of=shop defines=Widget.example.com\n cm shop/c of=shop
         Widget.example.com shop/w of=shop",
    );
    scenario.gone("Widget.example.com shop/w");
    let late_objects = [
        ("ing shop/x of=bystander routes=api age=0", "svc:shop/api"),
        ("cronjob shop/x of=bystander uses=claim:data age=0", "pvc:shop/data"),
        ("rb shop/x of=bystander people=yes role=role/reader age=0", "role:shop/reader"),
        ("Widget.example.com lab/x of=bystander age=0", "crd:widgets.example.com"),
    ];
    late_objects.iter().for_each(|(late_object, _)| scenario.applied(late_object));
    scenario.applied("ing lab/x routes=api age=0");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c"]);
    for (late_object, step) in late_objects {
        assert_eq!(user_of(&scenario, step), fixture::object(late_object).reference().to_string());
        scenario.gone(late_object);
        assert_eq!(scenario.reconcile().len(), 1, "{step}");
    }
}

#[test]
fn repeated_problem_has_one_entry_in_the_event_log() {
    let mut scenario = Scenario::of("ns shop of=shop\n pvc shop/data of=shop");
    let pod = fixture::object("pod shop/debug uses=claim:data");
    let sight = || crate::action::PodSight {
        uid: pod.uid.clone(),
        object: pod.reference(),
        labels: pod.labels.clone(),
        owners: pod.owners.clone(),
        claims: vec!["data".into()],
    };
    scenario.applied("pod shop/debug uses=claim:data");
    let mut reads = 0;
    for _ in 0..600 {
        reads += scenario.reconcile().len();
        scenario.answer("pvc:shop/data", Outcome::Pods(vec![sight()]));
        scenario.pass(1);
    }
    assert_eq!(reads, 10, "in ten minutes");
    let problems =
        scenario.run.event_log().iter().filter(|it| matches!(it.event, FeedEvent::Problem { .. }));
    assert_eq!(problems.count(), 1);
    scenario.gone("pod shop/debug");
    scenario.pass(1);
    assert_eq!(
        scenario.reconcile(),
        ["LIST pods in shop"],
        "it is read at once when the index has no user left"
    );
}

#[test]
fn object_that_was_given_to_another_unit_after_the_plan_is_not_deleted() {
    let mut scenario = Scenario::of(
        "
        ns shop of=shop
        cm shop/a of=shop
        cm shop/b of=shop
        ",
    );
    scenario.applied("cm shop/a of=other");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/b"]);
    let given_away = |to: Option<&str>| {
        let reason = UnknownReason::GivenAway { to: to.map(str::to_owned) };
        Some(StepProblem::Unknown { reason })
    };
    assert_eq!(scenario.progress("cm:shop/a").problem, given_away(Some("other")));
    scenario.applied("cm shop/a");
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").problem, given_away(None));
    scenario.applied("cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    assert_eq!(scenario.progress("cm:shop/a").problem, None);
}
