//! Tests of what a run cannot see: hidden kinds, and an API server that does not answer.

use super::*;

#[test]
fn late_step_is_late_again_after_its_kind_was_hidden() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    accepted(&mut scenario, "cm:shop/a");
    scenario.applied("cm shop/a of=shop deleted=0 finalizers=x");
    scenario.pass(600);
    scenario.reconcile();
    assert!(matches!(scenario.progress("cm:shop/a").hold.problem, Some(StepProblem::Late { .. })));
    scenario.hidden("configmaps");
    scenario.reconcile();
    assert!(matches!(
        scenario.progress("cm:shop/a").hold.problem,
        Some(StepProblem::Unknown { .. })
    ));
    scenario.visible("configmaps");
    scenario.reconcile();
    let progress = scenario.progress("cm:shop/a");
    assert!(matches!(progress.hold.problem, Some(StepProblem::Late { .. })), "{progress:?}");
    assert_eq!(progress.hold.overdue, Overdue::Stuck);
}

#[test]
fn step_in_time_has_no_problem_after_its_kind_was_hidden() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    accepted(&mut scenario, "cm:shop/b");
    scenario.applied("cm shop/a of=shop deleted=0");
    scenario.reconcile();
    scenario.hidden("configmaps");
    scenario.reconcile();
    scenario.visible("configmaps");
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").hold.problem, None);
    assert_eq!(
        scenario.progress("cm:shop/b").hold.problem,
        None,
        "requested, but not terminating yet"
    );
}

#[test]
fn requested_step_of_a_hidden_kind_is_unknown() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    accepted(&mut scenario, "cm:shop/b");
    scenario.applied("cm shop/a of=shop deleted=0");
    scenario.reconcile();
    let shown = |scenario: &Scenario| {
        ["cm:shop/a", "cm:shop/b"]
            .map(|uid| scenario.run.shown(scenario.run.plan.step(scenario.id(uid)).unwrap()))
    };
    assert_eq!(shown(&scenario), [State::Terminating, State::Requested]);
    scenario.hidden("configmaps");
    scenario.reconcile();
    assert_eq!(shown(&scenario), [State::Unknown; 2]);
    scenario.visible("configmaps");
    scenario.reconcile();
    assert_eq!(shown(&scenario), [State::Terminating, State::Requested]);
}

#[test]
fn step_does_not_become_late_while_the_api_server_is_unreachable() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    scenario.applied("cm shop/a of=shop deleted=0");
    scenario.reconcile();
    scenario.see(Observation::Unreachable { cause: AwayCause::Silent, message: "refused".into() });
    scenario.pass(600);
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").hold.problem, None);
    scenario.see(Observation::Reached { version: "v1.36.3".into() });
    scenario.reconcile();
    assert!(matches!(scenario.progress("cm:shop/a").hold.problem, Some(StepProblem::Late { .. })));
}

#[test]
fn awaited_volume_is_late_again_after_its_kind_was_hidden() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv
         pv pv claim=shop/data reclaim=Delete of=shop",
    );
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
    scenario.answer("pvc:shop/data", Outcome::Pods(vec![]));
    accepted(&mut scenario, "pvc:shop/data");
    scenario.gone("pvc shop/data");
    scenario.reconcile();
    scenario.pass(600);
    scenario.reconcile();
    assert!(matches!(scenario.progress("pv:pv").hold.problem, Some(StepProblem::Late { .. })));
    scenario.hidden("persistentvolumes");
    scenario.reconcile();
    scenario.visible("persistentvolumes");
    scenario.reconcile();
    let problem = &scenario.progress("pv:pv").hold.problem;
    assert!(matches!(problem, Some(StepProblem::Late { .. })), "{problem:?}");
}

#[test]
fn binding_waits_until_pods_of_a_foreign_account_are_visible() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n ns watchers\n role shop/reader of=shop
         rb shop/reads of=shop accounts=watchers/prometheus role=role/reader
         crb reads of=shop accounts=watchers/prometheus role=clusterrole/view",
    );
    let pods = fixture::object("pod shop/none").kind;
    let namespace: std::sync::Arc<str> = "shop".into();
    let (namespaces, message) = (vec![namespace.clone()], "no".into());
    scenario.see(Observation::PerNamespace { kind: pods.clone(), namespaces, message });
    scenario.see(Observation::ListedIn { kind: pods.clone(), namespace, objects: vec![] });
    assert_eq!(scenario.reconcile(), [""; 0]);
    for step in ["rb:shop/reads", "crb:reads"] {
        let problem = &scenario.progress(step).hold.problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{step}: {problem:?}");
    }
    scenario.see(Observation::Listed { kind: pods, objects: vec![] });
    assert_eq!(
        scenario.reconcile(),
        ["DELETE ClusterRoleBinding reads", "DELETE RoleBinding shop/reads"]
    );
}

#[test]
fn definition_waits_until_its_kind_is_visible_everywhere() {
    let mut scenario = Scenario::of(
        "crd widgets.example.com of=shop defines=Widget.example.com
         Widget.example.com shop/w of=shop",
    );
    scenario.steer(&command(RunCommand::Pause));
    scenario.gone("Widget.example.com shop/w");
    scenario.reconcile();
    scenario.hidden("widgets.example.com");
    scenario.steer(&command(RunCommand::Resume));
    let waits = |scenario: &mut Scenario| {
        assert_eq!(scenario.reconcile(), [""; 0]);
        let problem = &scenario.progress("crd:widgets.example.com").hold.problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{problem:?}");
    };
    waits(&mut scenario);
    scenario.hidden("example.com/v1");
    scenario.visible("widgets.example.com");
    waits(&mut scenario);
    scenario.visible("example.com/v1");
    assert_eq!(scenario.reconcile(), ["DELETE CustomResourceDefinition widgets.example.com"]);
}

#[test]
fn objects_that_pods_need_stay_while_pods_are_hidden() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cm shop/c of=shop\n netpol shop/n of=shop\n ing shop/i of=shop",
    );
    scenario.hidden("pods");
    assert_eq!(scenario.reconcile(), ["DELETE Ingress shop/i"]);
    for step in ["cm:shop/c", "netpol:shop/n"] {
        let problem = &scenario.progress(step).hold.problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{step}: {problem:?}");
    }
    scenario.visible("pods");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c", "DELETE NetworkPolicy shop/n"]);
}

#[test]
fn claim_waits_while_its_new_volume_is_hidden() {
    let fixture = "ns shop of=shop\n pvc shop/data of=shop";
    let mut scenario = Scenario::of(fixture);
    scenario.applied("pvc shop/data of=shop volume=pv");
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"], "there is no such volume");
    let mut scenario = Scenario::of(fixture);
    scenario.hidden("persistentvolumes");
    scenario.applied("pvc shop/data of=shop volume=pv");
    assert_eq!(scenario.reconcile(), [""; 0]);
    let problem = &scenario.progress("pvc:shop/data").hold.problem;
    assert!(
        matches!(
            problem,
            Some(StepProblem::Unknown { reason: UnknownReason::WouldDestroyData { .. } })
        ),
        "{problem:?}"
    );
}
