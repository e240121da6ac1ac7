//! Tests of the objects that a run waits for outside its plan, and of the plan of those alone.

use super::*;
use crate::{
    action::PodSight,
    plan::{Choice, KeptReason},
};

/// A claim in a namespace, and a ConfigMap.
const SHOP: &str = "
    ns shop of=shop
    pvc shop/data of=shop
    cm shop/settings of=shop
";

/// Each object with the step that it holds, and the plan of them: the deletions, the objects that stay with the reasons, the
/// fates of data, and the objects that a person confirms by name.
fn unplanned(scenario: &Scenario) -> String {
    let Scenario { run, index, now, .. } = scenario;
    let graph = Graph::of(index);
    let found = run.unplanned(index, &graph, &[run]);
    let mut lines: Vec<String> = found
        .iter()
        .map(|it| {
            format!("{} holds {}", it.object.reference(), run.plan.step(it.step).unwrap().object)
        })
        .collect();
    let unit = run.unplanned_unit(index, &graph, &[run]);
    let choices: Choices = [Choice::Unplanned(run.id.clone())].into_iter().collect();
    match plan(index, &graph, &unit, &choices, *now) {
        Ok(plan) => {
            lines.extend(plan.steps.iter().map(|step| format!("delete {}", step.object)));
            lines.extend(plan.kept.iter().map(|kept| match &kept.reason {
                KeptReason::UsedBy { user, .. } => format!("keep {}: used by {user}", kept.object),
                other => format!("keep {}: {other:?}", kept.object),
            }));
            let data =
                plan.data.iter().map(|data| format!("data {}: {:?}", data.volume, data.fate));
            lines.extend(data);
            lines.extend(plan.by_name.iter().map(|object| format!("by name {object}")));
        }
        Err(error) => lines.push(format!("no plan: {error:?}")),
    }
    lines.join("\n")
}

fn sight(line: &str) -> PodSight {
    let pod = fixture::object(line);
    let claims = vec!["data".into()];
    let (object, labels, owners) = (pod.reference(), pod.labels.clone(), pod.owners.clone());
    PodSight { uid: pod.uid, object, labels, owners, claims }
}

/// A run whose claim is held by this Pod, which a consistent read shows.
fn held_by(pod: &str) -> Scenario {
    let mut scenario = Scenario::of(SHOP);
    scenario.applied(pod);
    scenario.reconcile();
    scenario.answer("pvc:shop/data", Outcome::Pods(vec![sight(pod)]));
    scenario
}

#[test]
fn pod_by_hand_on_a_claim_is_planned_alone() {
    let pod = "pod shop/debug uses=claim:data age=0";
    let mut scenario = held_by(pod);
    insta::assert_snapshot!(unplanned(&scenario), @"
    Pod shop/debug holds PersistentVolumeClaim shop/data
    delete Pod shop/debug
    ");
    scenario.gone(pod);
    insta::assert_snapshot!(unplanned(&scenario), @"no plan: Empty");
    scenario.pass(30);
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
}

#[test]
fn workload_goes_in_place_of_its_pod_with_all_that_belongs_to_it() {
    let pod = "pod shop/report-1-a owner=rs/report-1 labels=app:report uses=claim:data age=0";
    let mut scenario = held_by(pod);
    assert_eq!(unplanned(&scenario).lines().count(), 2, "its owner is not known yet");
    scenario.applied("rs shop/report-1 owner=deploy/report selector=app:report age=0");
    scenario.applied(
        "deploy shop/report selector=app:report template=app:report uses=claim:data age=0",
    );
    scenario.applied("hpa shop/report target=deploy/report age=0");
    insta::assert_snapshot!(unplanned(&scenario), @"
    Deployment shop/report holds PersistentVolumeClaim shop/data
    delete HorizontalPodAutoscaler shop/report
    delete Deployment shop/report
    delete ReplicaSet shop/report-1
    delete Pod shop/report-1-a
    ");
}

#[test]
fn config_map_that_nobody_planned_holds_the_namespace() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/settings of=shop");
    scenario.applied("cm shop/late age=0");
    scenario.applied("pvc shop/late age=0 volume=late");
    scenario.applied("pv late claim=shop/late reclaim=Delete age=0");
    scenario.applied("cm shop/other of=other age=0");
    scenario.reconcile();
    assert_eq!(unplanned(&scenario), "no plan: Empty", "the namespace waits for its content first");
    scenario.gone("cm shop/settings");
    scenario.reconcile();
    insta::assert_snapshot!(unplanned(&scenario), @"
    ConfigMap shop/late holds Namespace shop
    PersistentVolumeClaim shop/late holds Namespace shop
    delete ConfigMap shop/late
    delete PersistentVolumeClaim shop/late
    delete PersistentVolume late
    data PersistentVolume late: Destroyed
    by name PersistentVolumeClaim shop/late
    ");
}

#[test]
fn deployment_that_gitops_made_again_is_planned() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         deploy shop/web of=shop selector=app:web template=app:web uses=config:settings
         cm shop/settings of=shop",
    );
    scenario.reconcile();
    accepted(&mut scenario, "deploy:shop/web");
    scenario.gone("deploy shop/web");
    for line in [
        "deploy shop/web of=shop selector=app:web template=app:web uses=config:settings uid=again age=0",
        "rs shop/web-2 owner=deploy/web owner-uid=again selector=app:web template=app:web age=0",
    ] {
        scenario.applied(line);
    }
    scenario.reconcile();
    assert!(scenario.progress("deploy:shop/web").has_come_back());
    insta::assert_snapshot!(unplanned(&scenario), @"
    Deployment shop/web holds Deployment shop/web
    delete Deployment shop/web
    delete ReplicaSet shop/web-2
    ");
}

#[test]
fn object_goes_with_its_controller_while_that_is_an_open_step() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n Widget.example.com shop/w of=shop finalizers=example.com/w\n svc shop/c of=shop",
    );
    scenario.reconcile();
    scenario.gone("svc shop/c");
    scenario.applied("svc shop/c owner=Widget.example.com/w uid=again age=0");
    scenario.reconcile();
    assert!(scenario.progress("svc:shop/c").has_come_back());
    assert_eq!(unplanned(&scenario), "no plan: Empty");
    scenario.gone("Widget.example.com shop/w");
    scenario.reconcile();
    insta::assert_snapshot!(unplanned(&scenario), @"
    Service shop/c holds Service shop/c
    delete Service shop/c
    ");
}

#[test]
fn object_that_a_pod_of_the_open_run_needs_is_kept() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         pod shop/web of=shop labels=app:web finalizers=example.com/hold
         svc shop/out of=shop type=LoadBalancer selector=app:web
         svc shop/plain of=shop",
    );
    scenario.reconcile();
    scenario.gone("svc shop/out");
    scenario.gone("svc shop/plain");
    // Somebody creates both again, and one of them now serves the Pod, which is not gone yet.
    scenario.applied("svc shop/out of=shop selector=app:web uid=out-again age=0");
    scenario.applied("svc shop/plain of=shop uid=plain-again age=0");
    scenario.reconcile();
    insta::assert_snapshot!(unplanned(&scenario), @"
    Service shop/out holds Service shop/out
    Service shop/plain holds Service shop/plain
    delete Service shop/plain
    keep Service shop/out: used by Pod shop/web
    ");
}

#[test]
fn objects_that_go_with_the_namespace_are_not_planned() {
    let mut scenario =
        Scenario::of("ns shop of=shop\n cm shop/leader of=shop\n svc shop/web of=shop");
    scenario.reconcile();
    scenario.gone("cm shop/leader");
    scenario.gone("svc shop/web");
    scenario.applied("cm shop/leader uid=again age=0");
    scenario.applied("svc shop/web uid=svc-again age=0");
    scenario.reconcile();
    insta::assert_snapshot!(unplanned(&scenario), @"
    Service shop/web holds Service shop/web
    delete Service shop/web
    ");
}

#[test]
fn what_another_open_run_deletes_is_not_planned_again() {
    let scenario = held_by("pod shop/debug uses=claim:data age=0");
    let graph = Graph::of(&scenario.index);
    let unit = scenario.run.unplanned_unit(&scenario.index, &graph, &[&scenario.run]);
    let choices: Choices = [Choice::Unplanned(scenario.run.id.clone())].into_iter().collect();
    let second = plan(&scenario.index, &graph, &unit, &choices, scenario.now).unwrap();
    let second = Run::new(RunId::new("s"), Arc::new(second));
    let runs = [&second, &scenario.run];
    assert!(scenario.run.unplanned(&scenario.index, &graph, &runs).is_empty());
}

#[test]
fn plan_of_unplanned_objects_has_the_run_in_its_hash() {
    let scenario = held_by("pod shop/debug uses=claim:data age=0");
    let graph = Graph::of(&scenario.index);
    let unit = scenario.run.unplanned_unit(&scenario.index, &graph, &[&scenario.run]);
    let hash = |run: &str| {
        let choices: Choices = [Choice::Unplanned(RunId::new(run))].into_iter().collect();
        plan(&scenario.index, &graph, &unit, &choices, scenario.now).unwrap().hash
    };
    assert_ne!(hash("r"), hash("s"));
}
