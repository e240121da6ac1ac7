//! Tests of objects that are newer than the plan.

use super::{script::transcript, *};

#[test]
fn late_pod_that_does_not_terminate_is_reported() {
    let cluster = "ns shop of=shop\n cronjob shop/report of=shop template=app:report uses=config:c
         cm shop/c of=shop";
    // A Pod may take some time.
    let script = "applied job shop/report-1 owner=cronjob/report
        applied pod shop/report-1-a owner=job/report-1 uses=config:c
        accepted cronjob:shop/report
        gone cronjob shop/report & gone job shop/report-1
        applied pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0
        +600";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE CronJob shop/report
    > applied job shop/report-1 owner=cronjob/report
    > applied pod shop/report-1-a owner=job/report-1 uses=config:c
    > accepted cronjob:shop/report
    > gone cronjob shop/report & gone job shop/report-1
    CronJob shop/report is gone
    > applied pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0
    > +600
    ConfigMap shop/c waits for Pod shop/report-1-a of CronJob shop/report
    ");
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
    assert_eq!(scenario.progress("cm:shop/c").hold.problem, None);
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
    let cluster = "ns shop of=shop
         Widget.example.com shop/w of=shop
         cm shop/c owner=Widget.example.com/w";
    let script = "pause first
        applied pod shop/late uses=config:c
        resume
        gone pod shop/late";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pod shop/late uses=config:c
    > resume
    Widget shop/w is used by Pod shop/late
    > gone pod shop/late
    DELETE Widget shop/w
    ");
}

#[test]
fn late_pod_that_goes_with_the_same_owner_blocks_nothing() {
    let cluster = "ns shop of=shop\n deploy shop/web of=shop selector=app:web";
    let script = "pause first
        applied rs shop/web-1 owner=deploy/web selector=app:web
        applied pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch
        applied pvc shop/web-1-a-scratch owner=pod/web-1-a
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied rs shop/web-1 owner=deploy/web selector=app:web
    > applied pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch
    > applied pvc shop/web-1-a-scratch owner=pod/web-1-a
    > resume
    DELETE Deployment shop/web
    ");
}

#[test]
fn late_claim_and_late_pod_of_one_owner_block_it() {
    let cluster = "ns shop of=shop\n Widget.example.com shop/w of=shop";
    // The collector would delete the claim while the Pod uses it, and nobody confirmed the deletion of the claim.
    let script = "pause first
        applied pvc shop/data owner=Widget.example.com/w
        applied pod shop/w-a owner=Widget.example.com/w uses=claim:data
        resume
        gone pod shop/w-a
        gone pvc shop/data";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pvc shop/data owner=Widget.example.com/w
    > applied pod shop/w-a owner=Widget.example.com/w uses=claim:data
    > resume
    Widget shop/w would take PersistentVolumeClaim shop/data along
    > gone pod shop/w-a
    > gone pvc shop/data
    DELETE Widget shop/w
    ");
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
fn object_that_a_dead_watch_hid_from_the_plan_blocks_what_it_needs() {
    let cluster = "ns shop of=shop\n svc shop/api of=shop\n svc shop/web of=shop";
    // The plan was made while the watch of Ingresses was dead, which takes more than a minute to notice.
    let script = "pause first
        applied ing shop/api of=bystander routes=api age=100
        applied ing shop/web of=bystander routes=web age=130
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied ing shop/api of=bystander routes=api age=100
    > applied ing shop/web of=bystander routes=web age=130
    > resume
    Service shop/api is used by Ingress shop/api
    DELETE Service shop/web
    ");
}

#[test]
fn unplanned_object_of_any_age_blocks_its_definition() {
    let cluster = "ns shop of=shop\n ns lab
         crd widgets.example.com of=shop defines=Widget.example.com\n Widget.example.com shop/w of=shop";
    // The clock of the API server that created it is ten minutes behind.
    let script = "applied Widget.example.com lab/x age=600
        accepted Widget.example.com:shop/w
        gone Widget.example.com shop/w
        gone Widget.example.com lab/x";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Widget shop/w
    > applied Widget.example.com lab/x age=600
    > accepted Widget.example.com:shop/w
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    CustomResourceDefinition widgets.example.com is used by Widget lab/x
    DELETE Namespace shop
    > gone Widget.example.com lab/x
    DELETE CustomResourceDefinition widgets.example.com
    ");
}

/// A watch that is behind shows nothing of it.
#[test]
fn object_that_only_a_list_shows_blocks_its_definition_until_it_is_gone() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cm shop/c of=shop\n ns lab
         crd widgets.example.com of=shop defines=Widget.example.com\n Widget.example.com shop/w of=shop",
    );
    scenario.reconcile();
    scenario.gone("Widget.example.com shop/w");
    _ = scenario.apply_input(&Input::Reconcile);
    let step = "crd:widgets.example.com";
    let mut read_after = |seconds, listed: &str| {
        scenario.pass(seconds);
        let sight = |object: crate::object::Object| crate::action::ContentSight {
            object: object.reference(),
            uid: object.uid,
        };
        let objects = fixture::objects(listed).into_iter().map(sight).collect();
        _ = scenario.apply_input(&Input::Reconcile);
        let Some(Call::Read) = scenario.progress(step).call else { return None };
        let unchanged = scenario.unchanged(scenario.id(step));
        scenario.answer(step, unchanged);
        assert_eq!(scenario.progress(step).call, Some(Call::ReadContent));
        scenario.answer(step, Outcome::Content { objects, unlisted: vec![] });
        Some((scenario.progress(step).call, scenario.progress(step).hold.problem.clone()))
    };
    let by = fixture::object("Widget.example.com lab/x").reference();
    let problem = Some(StepProblem::Unknown { reason: UnknownReason::InUse { by } });
    assert_eq!(read_after(0, "Widget.example.com lab/x"), Some((None, problem.clone())));
    assert_eq!(read_after(0, ""), None, "not at once");
    assert_eq!(read_after(1, "Widget.example.com lab/x"), Some((None, problem)));
    assert_eq!(read_after(2, "").unwrap().0, Some(Call::Delete));
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
    assert_eq!(scenario.progress("cm:shop/a").hold.problem, given_away(Some("other")));
    scenario.applied("cm shop/a");
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").hold.problem, given_away(None));
    scenario.applied("cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    assert_eq!(scenario.progress("cm:shop/a").hold.problem, None);
}
