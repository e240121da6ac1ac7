//! Tests of the objects that a run waits for outside its plan, and of the plan of those alone.
//!
//! Tests over several runs, or of the hash of a plan, are no scripts: a script has one run.

use super::{
    script::{played, transcript},
    *,
};
use crate::plan::Choice;

/// A claim in a namespace, and a ConfigMap.
const SHOP: &str = "
    ns shop of=shop
    pvc shop/data of=shop
    cm shop/settings of=shop
";

/// A claim is held by a Pod that somebody made by hand, which a consistent read shows.
const HELD: &str = "pause first
    applied pod shop/debug uses=claim:data age=0
    resume
    pods pvc:shop/data: pod shop/debug uses=claim:data";

#[test]
fn pod_by_hand_on_a_claim_is_planned_alone() {
    let script = format!(
        "{HELD}
        look at unplanned
        gone pod shop/debug & look at unplanned & +30"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    > pause first
    > applied pod shop/debug uses=claim:data age=0
    > resume
    DELETE ConfigMap shop/settings
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    PersistentVolumeClaim shop/data is used by Pod shop/debug
    > look at unplanned
      Pod shop/debug holds PersistentVolumeClaim shop/data
      delete Pod shop/debug
    > gone pod shop/debug & look at unplanned & +30
      nothing to plan
    LIST pods in shop
    ");
}

#[test]
fn workload_goes_in_place_of_its_pod_with_all_that_belongs_to_it() {
    // At first its owner is not known.
    let pod = "pod shop/report-1-a owner=rs/report-1 labels=app:report uses=claim:data age=0";
    let script = format!(
        "pause first
        applied {pod}
        resume
        pods pvc:shop/data: {pod}
        look at unplanned
        applied rs shop/report-1 owner=deploy/report selector=app:report age=0
        applied deploy shop/report selector=app:report template=app:report uses=claim:data age=0
        applied hpa shop/report target=deploy/report age=0
        look at unplanned"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    > pause first
    > applied pod shop/report-1-a owner=rs/report-1 labels=app:report uses=claim:data age=0
    > resume
    DELETE ConfigMap shop/settings
    LIST pods in shop
    > pods pvc:shop/data: pod shop/report-1-a owner=rs/report-1 labels=app:report uses=claim:data age=0
    PersistentVolumeClaim shop/data is used by Pod shop/report-1-a
    > look at unplanned
      Pod shop/report-1-a holds PersistentVolumeClaim shop/data
      nothing to plan
    > applied rs shop/report-1 owner=deploy/report selector=app:report age=0
    > applied deploy shop/report selector=app:report template=app:report uses=claim:data age=0
    > applied hpa shop/report target=deploy/report age=0
    > look at unplanned
      Deployment shop/report holds PersistentVolumeClaim shop/data
      delete HorizontalPodAutoscaler shop/report
      delete Deployment shop/report
      delete ReplicaSet shop/report-1
      delete Pod shop/report-1-a
    ");
}

#[test]
fn config_map_that_nobody_planned_holds_the_namespace() {
    // The namespace waits for its content first.
    let script = "pause first
        applied cm shop/late age=0
        applied pvc shop/late age=0 volume=late
        applied pv late claim=shop/late reclaim=Delete age=0
        applied cm shop/other of=other age=0
        resume
        look at unplanned
        gone cm shop/settings
        look at unplanned";
    insta::assert_snapshot!(transcript("ns shop of=shop\n cm shop/settings of=shop", script), @"
    > pause first
    > applied cm shop/late age=0
    > applied pvc shop/late age=0 volume=late
    > applied pv late claim=shop/late reclaim=Delete age=0
    > applied cm shop/other of=other age=0
    > resume
    DELETE ConfigMap shop/settings
    > look at unplanned
      nothing to plan
    > gone cm shop/settings
    ConfigMap shop/settings is gone
    Namespace shop has ConfigMap shop/late in it
    > look at unplanned
      ConfigMap shop/late holds Namespace shop
      PersistentVolumeClaim shop/late holds Namespace shop
      delete ConfigMap shop/late
      delete PersistentVolumeClaim shop/late
      delete PersistentVolume late
      data of PersistentVolume late is destroyed
      by name PersistentVolumeClaim shop/late
    ");
}

#[test]
fn deployment_that_gitops_made_again_is_planned() {
    let cluster = "
        ns shop of=shop
        deploy shop/web of=shop selector=app:web template=app:web uses=config:settings
        cm shop/settings of=shop";
    let script = "accepted deploy:shop/web
        gone deploy shop/web & applied deploy shop/web of=shop selector=app:web template=app:web uses=config:settings uid=again age=0 & applied rs shop/web-2 owner=deploy/web owner-uid=again selector=app:web template=app:web age=0
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Deployment shop/web
    > accepted deploy:shop/web
    > gone deploy shop/web & applied deploy shop/web of=shop selector=app:web template=app:web uses=config:settings uid=again age=0 & applied rs shop/web-2 owner=deploy/web owner-uid=again selector=app:web template=app:web age=0
    Deployment shop/web came back as again
    > look at unplanned
      Deployment shop/web holds Deployment shop/web
      delete Deployment shop/web
      delete ReplicaSet shop/web-2
    ");
}

#[test]
fn object_goes_with_its_controller_while_that_is_an_open_step() {
    let cluster = "
        ns shop of=shop
        Widget.example.com shop/w of=shop finalizers=example.com/w
        svc shop/c of=shop";
    let script = "gone svc shop/c & applied svc shop/c owner=Widget.example.com/w uid=again age=0
        look at unplanned
        gone Widget.example.com shop/w
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Service shop/c
    DELETE Widget shop/w
    > gone svc shop/c & applied svc shop/c owner=Widget.example.com/w uid=again age=0
    Service shop/c came back as again, made by Widget shop/w
    > look at unplanned
      nothing to plan
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    > look at unplanned
      Service shop/c holds Service shop/c
      delete Service shop/c
    ");
}

/// The Service that a planned operator makes, and that came back.
const OPERATED: &str = "
    ns shop of=shop
    deploy shop/queue-operator of=shop selector=app:operator template=app:operator
    svc shop/c of=shop";

/// The operator makes it again until its last Pod has gone.
#[test]
fn object_waits_for_the_operator_that_made_it_while_that_is_an_open_step() {
    let script = "pause first
        applied pod shop/queue-operator-1 labels=app:operator age=0
        resume
        gone svc shop/c & applied svc shop/c creator=queue-operator uid=again age=0
        look at unplanned
        accepted deploy:shop/queue-operator & gone deploy shop/queue-operator
        look at unplanned
        gone pod shop/queue-operator-1
        look at unplanned";
    insta::assert_snapshot!(transcript(OPERATED, script), @"
    > pause first
    > applied pod shop/queue-operator-1 labels=app:operator age=0
    > resume
    DELETE Deployment shop/queue-operator
    DELETE Service shop/c
    > gone svc shop/c & applied svc shop/c creator=queue-operator uid=again age=0
    Service shop/c came back as again, made by queue-operator
    > look at unplanned
      nothing to plan
    > accepted deploy:shop/queue-operator & gone deploy shop/queue-operator
    Deployment shop/queue-operator is gone
    > look at unplanned
      nothing to plan
    > gone pod shop/queue-operator-1
    > look at unplanned
      Service shop/c holds Service shop/c
      delete Service shop/c
    ");
}

/// Everything else that made it is not on its way out: a person's tool, a program that is not in the plan, or one that a person
/// skipped. A name that many programs have says nothing.
#[test]
fn object_that_no_open_step_made_is_planned_at_once() {
    let planned = |creator: &str, before: &str| {
        let script = format!(
            "pause first
            {before}
            resume
            gone svc shop/c & applied svc shop/c {creator} uid=again age=0
            look at unplanned"
        );
        let transcript = transcript(OPERATED, &script);
        transcript
            .rsplit_once("> look at unplanned\n")
            .unwrap()
            .1
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(planned("creator=queue-operator", "+1"), "  nothing to plan");
    for creator in ["", "creator=other-operator", "creator=operator", "creator=kubectl-create"] {
        assert_eq!(planned(creator, "+1"), "  delete Service shop/c", "{creator}");
    }
    let skipped = planned("creator=queue-operator", "skip deploy:shop/queue-operator");
    assert_eq!(skipped, "  delete Service shop/c");
}

/// The operator clears the finalizers of its objects, so that it goes after them: neither would go before the other.
#[test]
fn object_that_its_operator_waits_for_is_planned_at_once() {
    let cluster = "
        crd topics.queue.example of=shop defines=Topic.queue.example
        ns shop of=shop
        Topic.queue.example shop/orders of=shop finalizers=queue.example/topic
        deploy shop/queue-operator of=shop selector=app:operator template=app:operator";
    let script = "gone Topic.queue.example shop/orders & applied Topic.queue.example shop/orders creator=queue-operator finalizers=queue.example/topic uid=again age=0
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Topic shop/orders
    > gone Topic.queue.example shop/orders & applied Topic.queue.example shop/orders creator=queue-operator finalizers=queue.example/topic uid=again age=0
    Topic shop/orders came back as again, made by queue-operator
    > look at unplanned
      Topic shop/orders holds Topic shop/orders
      delete Topic shop/orders
      by name Topic shop/orders
    ");
}

#[test]
fn object_that_a_pod_of_the_open_run_needs_is_kept() {
    let cluster = "
        ns shop of=shop
        pod shop/web of=shop labels=app:web finalizers=example.com/hold
        svc shop/out of=shop type=LoadBalancer selector=app:web
        svc shop/plain of=shop";
    // Somebody creates both again, and one of them now serves the Pod, which is not gone yet.
    let script = "gone svc shop/out & gone svc shop/plain & applied svc shop/out of=shop selector=app:web uid=out-again age=0 & applied svc shop/plain of=shop uid=plain-again age=0
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Service shop/out
    DELETE Service shop/plain
    > gone svc shop/out & gone svc shop/plain & applied svc shop/out of=shop selector=app:web uid=out-again age=0 & applied svc shop/plain of=shop uid=plain-again age=0
    Service shop/out came back as out-again
    Service shop/plain came back as plain-again
    > look at unplanned
      Service shop/out holds Service shop/out
      Service shop/plain holds Service shop/plain
      delete Service shop/plain
      keep Service shop/out: used by Pod shop/web
    ");
}

#[test]
fn objects_that_go_with_the_namespace_are_not_planned() {
    let cluster = "ns shop of=shop\n cm shop/leader of=shop\n svc shop/web of=shop";
    let script = "gone cm shop/leader & gone svc shop/web & applied cm shop/leader uid=again age=0 & applied svc shop/web uid=svc-again age=0
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/leader
    DELETE Service shop/web
    > gone cm shop/leader & gone svc shop/web & applied cm shop/leader uid=again age=0 & applied svc shop/web uid=svc-again age=0
    ConfigMap shop/leader came back as again
    Service shop/web came back as svc-again
    > look at unplanned
      Service shop/web holds Service shop/web
      delete Service shop/web
    ");
}

#[test]
fn what_another_open_run_deletes_is_not_planned_again() {
    let (scenario, _) = played(SHOP, HELD);
    let graph = Graph::of(&scenario.index);
    let unit = scenario.run.unplanned_unit(&scenario.index, &graph, &[&scenario.run]);
    let choices: Choices = [Choice::Unplanned(scenario.run.id.clone())].into_iter().collect();
    let second = plan(&scenario.index, &graph, &unit, &choices, scenario.now).unwrap();
    let second = Run::new(RunId::new("s"), Arc::new(second));
    let runs = [&second, &scenario.run];
    assert!(scenario.run.unplanned(&scenario.index, &graph, &runs).is_empty());
    let mut ended = second.clone();
    for event in [RunEvent::Stopping { by: "Li".into() }, RunEvent::Stopped] {
        ended.apply(scenario.now, &event).unwrap();
    }
    assert_eq!(scenario.run.unplanned(&scenario.index, &graph, &[&ended]).len(), 1);
}

#[test]
fn plan_of_unplanned_objects_has_the_run_in_its_hash() {
    let (scenario, _) = played(SHOP, HELD);
    let graph = Graph::of(&scenario.index);
    let unit = scenario.run.unplanned_unit(&scenario.index, &graph, &[&scenario.run]);
    let hash = |run: &str| {
        let choices: Choices = [Choice::Unplanned(RunId::new(run))].into_iter().collect();
        plan(&scenario.index, &graph, &unit, &choices, scenario.now).unwrap().hash
    };
    assert_ne!(hash("r"), hash("s"));
}

#[test]
fn run_that_was_stopped_waits_for_nothing_outside_its_plan() {
    let script = format!("{HELD}\n stop\n recalled cm:shop/settings\n look at unplanned");
    let transcript = transcript(SHOP, &script);
    let (_, end) = transcript.split_once("> look at unplanned\n").unwrap();
    insta::assert_snapshot!(end, @"  nothing to plan");
}

/// Its label says that it belongs to the unit.
#[test]
fn claim_that_names_the_unit_is_not_confirmed_by_name() {
    let script = "pause first
        applied pvc shop/late of=shop age=0
        applied pvc shop/theirs age=0
        resume
        gone cm shop/settings
        look at unplanned";
    insta::assert_snapshot!(transcript("ns shop of=shop\n cm shop/settings of=shop", script), @"
    > pause first
    > applied pvc shop/late of=shop age=0
    > applied pvc shop/theirs age=0
    > resume
    DELETE ConfigMap shop/settings
    > gone cm shop/settings
    ConfigMap shop/settings is gone
    Namespace shop has PersistentVolumeClaim shop/late in it
    > look at unplanned
      PersistentVolumeClaim shop/late holds Namespace shop
      PersistentVolumeClaim shop/theirs holds Namespace shop
      delete PersistentVolumeClaim shop/late
      delete PersistentVolumeClaim shop/theirs
      by name PersistentVolumeClaim shop/theirs
    ");
}

/// A late Ingress has to go before its Service.
#[test]
fn late_objects_and_pods_that_need_a_step_hold_it() {
    let cluster = "svc shop/web of=shop selector=app:web\n cm shop/settings of=shop";
    let script = "pause first
        applied ing shop/late routes=web age=0
        applied ing shop/other routes=other age=0
        applied pod shop/debug uses=config:settings age=0
        applied pod shop/second uses=config:settings age=0
        applied pod shop/third uses=config:other age=0
        resume
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied ing shop/late routes=web age=0
    > applied ing shop/other routes=other age=0
    > applied pod shop/debug uses=config:settings age=0
    > applied pod shop/second uses=config:settings age=0
    > applied pod shop/third uses=config:other age=0
    > resume
    ConfigMap shop/settings is used by Pod shop/debug
    Service shop/web is used by Ingress shop/late
    > look at unplanned
      Pod shop/debug holds ConfigMap shop/settings
      Pod shop/second holds ConfigMap shop/settings
      Ingress shop/late holds Service shop/web
      delete Pod shop/debug
      delete Pod shop/second
      delete Ingress shop/late
    ");
}

#[test]
fn pods_that_are_left_of_a_workload_hold_what_waits_for_its_last_pod() {
    let cluster = "
        sts shop/db of=shop selector=app:db template=app:db templates=data
        pvc shop/data-db-0 of=shop";
    let script = "accepted sts:shop/db
        applied pod shop/db-0 labels=app:db age=0 & applied pod shop/other labels=app:web age=0
        gone sts shop/db
        +600
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE StatefulSet shop/db
    > accepted sts:shop/db
    > applied pod shop/db-0 labels=app:db age=0 & applied pod shop/other labels=app:web age=0
    > gone sts shop/db
    StatefulSet shop/db is gone
    > +600
    PersistentVolumeClaim shop/data-db-0 waits for Pod shop/db-0 of StatefulSet shop/db
    > look at unplanned
      Pod shop/db-0 holds PersistentVolumeClaim shop/data-db-0
      delete Pod shop/db-0
    ");
}

/// It is not of this run: nothing in its unit or its namespaces waits for it.
#[test]
fn object_of_another_unit_or_an_untouched_namespace_is_not_planned() {
    let cluster = "Widget.example.com shop/main of=shop\n clusterrole web of=shop\n ns lab";
    let script = "pause first
        applied crb theirs of=other role=clusterrole/web age=0
        applied Gadget.example.com shop/theirs of=other refs=Widget.example.com/main age=0
        applied Gadget.example.com lab/far refs=Widget.example.com/shop/main age=0
        resume
        look at unplanned
        applied Gadget.example.com shop/ours of=shop refs=Widget.example.com/main age=0
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied crb theirs of=other role=clusterrole/web age=0
    > applied Gadget.example.com shop/theirs of=other refs=Widget.example.com/main age=0
    > applied Gadget.example.com lab/far refs=Widget.example.com/shop/main age=0
    > resume
    Widget shop/main is used by Gadget lab/far
    ClusterRole web is used by ClusterRoleBinding theirs
    > look at unplanned
      nothing to plan
    > applied Gadget.example.com shop/ours of=shop refs=Widget.example.com/main age=0
    > look at unplanned
      Gadget shop/ours holds Widget shop/main
      delete Gadget shop/ours
    ");
}

/// Neither is late, so that only the one that the read found is known to hold the step.
#[test]
fn older_object_that_has_begun_to_use_a_step_is_planned_alone() {
    let cluster = "
        Widget.example.com shop/main of=shop
        Gadget.example.com shop/a
        Gadget.example.com shop/b";
    let script = "each call
        pause first
        applied Gadget.example.com shop/a refs=Widget.example.com/main
        applied Gadget.example.com shop/b refs=Widget.example.com/main
        resume
        there Widget.example.com:shop/main
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > each call
    > pause first
    > applied Gadget.example.com shop/a refs=Widget.example.com/main
    > applied Gadget.example.com shop/b refs=Widget.example.com/main
    > resume
    GET Widget shop/main
    > there Widget.example.com:shop/main
    Widget shop/main is used by Gadget shop/a
    > look at unplanned
      Gadget shop/a holds Widget shop/main
      delete Gadget shop/a
      by name Gadget shop/a
    ");
}

#[test]
fn unit_of_a_namespace_has_its_content_of_other_units() {
    let script = "unit ns:shop
        applied cm shop/late of=other age=0
        gone cm shop/settings
        look at unplanned";
    insta::assert_snapshot!(transcript("ns shop\n cm shop/settings", script), @"
    > unit ns:shop
    DELETE ConfigMap shop/settings
    > applied cm shop/late of=other age=0
    > gone cm shop/settings
    ConfigMap shop/settings is gone
    Namespace shop has ConfigMap shop/late in it
    > look at unplanned
      ConfigMap shop/late holds Namespace shop
      delete ConfigMap shop/late
    ");
}
