//! Objects that a GitOps parent in the plan declares.

use super::*;
use crate::remedy::{PutBack, SwitchedOff, put_backs};

const KUSTOMIZATION: &str = "Kustomization.kustomize.toolkit.fluxcd.io:shop/web";
const MAP: &str = "cm:shop/a";
const SHOP: &str = "
    ns shop of=shop
    Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
    crd kustomizations.kustomize.toolkit.fluxcd.io defines=Kustomization.kustomize.toolkit.fluxcd.io
    cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
    cm shop/free of=shop
";

fn parent(state: &str) -> String {
    format!("Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop state={state}")
}

fn suspended() -> Scenario {
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    scenario.answer(KUSTOMIZATION, Outcome::Suspended);
    scenario
}

fn problem(scenario: &Scenario, uid: &str) -> Option<UnknownReason> {
    match &scenario.progress(uid).hold.problem {
        Some(StepProblem::Unknown { reason }) => Some(reason.clone()),
        _ => None,
    }
}

#[test]
fn parent_is_suspended_before_its_first_object_goes_and_goes_after_the_last() {
    let mut scenario = Scenario::of(SHOP);
    assert_eq!(
        scenario.reconcile(),
        ["DELETE ConfigMap shop/free", "PATCH Kustomization shop/web",]
    );
    scenario.answer(KUSTOMIZATION, Outcome::Suspended);
    assert!(scenario.reconcile().is_empty(), "the watch has not shown it yet");
    scenario.applied(&parent("suspended"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.gone("cm shop/free");
    assert!(scenario.reconcile().is_empty());
    scenario.gone("cm shop/a");
    assert_eq!(scenario.reconcile(), ["DELETE Kustomization shop/web"]);
}

#[test]
fn parent_that_is_suspended_already_is_not_patched() {
    let mut scenario =
        Scenario::of(&SHOP.replace("web of=shop\n", "web of=shop state=suspended\n"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a", "DELETE ConfigMap shop/free"]);
    assert_eq!(scenario.run.suspensions().count(), 0);
}

#[test]
fn reconciliation_that_was_under_way_ends_first_or_takes_too_long() {
    let mut scenario = suspended();
    scenario.applied(&parent("suspended,applying"));
    assert!(scenario.reconcile().is_empty());
    let wakes = scenario.run.wake(scenario.now);
    assert!(wakes.is_some_and(|at| at <= scenario.now + jiff::SignedDuration::from_mins(2)));
    let mut other = Scenario {
        journal: vec![],
        run: scenario.run.clone(),
        index: scenario.index.clone(),
        now: scenario.now,
    };
    scenario.applied(&parent("suspended"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    other.pass(120);
    assert_eq!(other.reconcile(), ["DELETE ConfigMap shop/a"]);
}

#[test]
fn parent_that_somebody_made_active_again_holds_its_objects_until_it_is_suspended() {
    let mut scenario = suspended();
    scenario.applied(&parent("suspended"));
    scenario.applied(&parent("active"));
    scenario.pass(9);
    assert!(scenario.reconcile().is_empty());
    assert_eq!(problem(&scenario, MAP), None);
    scenario.pass(1);
    assert!(scenario.reconcile().is_empty(), "it is not suspended twice");
    let by_parent = Some(UnknownReason::ParentActive {
        parent: fixture::object(&parent("active")).reference(),
    });
    assert_eq!(problem(&scenario, MAP), by_parent);
    assert_eq!(problem(&scenario, KUSTOMIZATION), by_parent);
    scenario.applied(&parent("suspended"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    assert_eq!(problem(&scenario, MAP), None);
    assert_eq!(problem(&scenario, KUSTOMIZATION), None);
}

#[test]
fn objects_of_a_parent_that_a_person_skipped_wait_only_while_it_is_active() {
    let mut scenario = Scenario::of(SHOP);
    scenario.steer(&command(RunCommand::Skip(scenario.id(KUSTOMIZATION))));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/free"]);
    assert!(matches!(problem(&scenario, MAP), Some(UnknownReason::ParentActive { .. })));
    scenario.applied(&parent("suspended"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
}

#[test]
fn objects_of_an_active_parent_outside_the_plan_wait_until_a_person_suspends_it() {
    let outside =
        SHOP.replace("shop/web of=shop", "flux/web").replace("namespace:shop", "namespace:flux");
    let mut scenario = Scenario::of(&format!("ns flux\n{outside}"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/free"]);
    assert!(matches!(problem(&scenario, MAP), Some(UnknownReason::ParentActive { .. })));
    scenario.applied("Kustomization.kustomize.toolkit.fluxcd.io flux/web state=suspended");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
}

#[test]
fn nothing_that_a_parent_declares_goes_if_it_was_seen_when_the_plan_was_made_and_is_hidden_now() {
    let mut scenario = Scenario::of(SHOP);
    // A server that starts again finds the kind hidden.
    let shown: Vec<&str> = SHOP.lines().filter(|line| !line.contains("shop/web of=shop")).collect();
    scenario.index = fixture::index(&shown.join("\n"));
    scenario.hidden("kustomizations.kustomize.toolkit.fluxcd.io");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/free"]);
    assert!(matches!(problem(&scenario, MAP), Some(UnknownReason::Hidden { .. })));
}

#[test]
fn refused_suspension_is_retried_and_nothing_goes_meanwhile() {
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    scenario.answer(KUSTOMIZATION, Outcome::Refused { code: 403, message: "no".into() });
    assert!(scenario.reconcile().is_empty());
    assert!(matches!(
        scenario.progress(KUSTOMIZATION).hold.problem,
        Some(StepProblem::Refused { code: 403, .. })
    ));
    scenario.pass(25);
    assert_eq!(scenario.reconcile(), ["PATCH Kustomization shop/web"]);
}

#[test]
fn suspension_whose_answer_was_lost_is_seen_by_the_watch_or_sent_again() {
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    scenario.gone("cm shop/free");
    scenario.steer(&Input::Recover);
    let mut seen = Scenario {
        journal: vec![],
        run: scenario.run.clone(),
        index: scenario.index.clone(),
        now: scenario.now,
    };
    assert_eq!(scenario.reconcile(), ["PATCH Kustomization shop/web"]);
    seen.applied(&parent("suspended"));
    assert_eq!(seen.reconcile(), ["DELETE ConfigMap shop/a"]);
    let undo: Vec<_> = seen.run.suspensions().map(|it| it.undo.unwrap().body.to_string()).collect();
    assert_eq!(
        undo,
        [
            r#"[{"op":"test","path":"/metadata/uid","value":"Kustomization.kustomize.toolkit.fluxcd.io:shop/web"},{"op":"test","path":"/spec/suspend","value":true},{"op":"add","path":"/spec/suspend","value":false}]"#
        ]
    );
}

#[test]
fn stopped_run_says_what_is_left_suspended() {
    let mut scenario = suspended();
    scenario.applied(&parent("suspended"));
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    let left: Vec<_> = scenario.run.suspensions().collect();
    let off = put_backs(&left, &scenario.index, false, "prod");
    let [PutBack { what: SwitchedOff::Parent, by_unwind: true, line: Some(line), .. }] = &off[..]
    else {
        panic!("{off:?}")
    };
    assert_eq!(
        line,
        r#"kubectl --context=prod --namespace=shop patch kustomizations.kustomize.toolkit.fluxcd.io/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Kustomization.kustomize.toolkit.fluxcd.io:shop/web"},{"op":"test","path":"/spec/suspend","value":true},{"op":"add","path":"/spec/suspend","value":false}]'"#
    );
    scenario.applied(&parent("active"));
    assert!(put_backs(&left, &scenario.index, false, "prod").is_empty());
}

#[test]
fn only_an_application_of_argo_cd_that_was_as_it_is_known_is_suspended() {
    let mut scenario = Scenario::of(
        "
        ns shop of=shop
        Application.argoproj.io shop/web of=shop
        cm shop/a of=shop argocd=web
    ",
    );
    let decision = scenario.decide();
    let patch = decision.actions.iter().find_map(|action| match action {
        Action::Suspend { patch, .. } => Some(patch.to_string()),
        _ => None,
    });
    assert_eq!(
        patch.as_deref(),
        Some(
            r#"[{"op":"test","path":"/metadata/uid","value":"Application.argoproj.io:shop/web"},{"op":"test","path":"/spec/syncPolicy/automated","value":false},{"op":"remove","path":"/spec/syncPolicy/automated"}]"#
        )
    );
}

#[test]
fn application_of_argo_cd_stays_while_something_that_it_would_prune_is_there() {
    let application = "Application.argoproj.io shop/web of=shop state=suspended \
                       finalizers=resources-finalizer.argocd.argoproj.io";
    let mut scenario =
        Scenario::of(&format!("ns shop of=shop\n{application}\ncm shop/a of=shop argocd=web"));
    scenario.applied("cm other/late argocd=web");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.gone("cm shop/a");
    assert!(scenario.reconcile().is_empty());
    let it = fixture::object("cm other/late").reference();
    let step = "Application.argoproj.io:shop/web";
    assert_eq!(problem(&scenario, step), Some(UnknownReason::WouldCollect { it }));
    scenario.gone("cm other/late argocd=web");
    assert_eq!(scenario.reconcile(), ["DELETE Application shop/web"]);
}

#[test]
fn parent_of_a_parent_is_suspended_first() {
    let child = "Kustomization.kustomize.toolkit.fluxcd.io shop/child of=shop \
                 labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop";
    let mut scenario = Scenario::of(&format!("{SHOP}\n{child}"));
    assert_eq!(
        scenario.reconcile(),
        ["DELETE ConfigMap shop/free", "PATCH Kustomization shop/web",]
    );
    scenario.answer(KUSTOMIZATION, Outcome::Suspended);
    scenario.applied(&parent("suspended"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a", "PATCH Kustomization shop/child"]);
}

const KEEPS: &str = "
    ns shop of=shop
    Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
    crd kustomizations.kustomize.toolkit.fluxcd.io defines=Kustomization.kustomize.toolkit.fluxcd.io
    cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
    cm shop/stays of=shop keep=yes labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
";

#[test]
fn parent_of_something_that_stays_is_suspended_and_stays_so() {
    let mut scenario = Scenario::of(KEEPS);
    assert_eq!(scenario.reconcile(), ["PATCH Kustomization shop/web"]);
    scenario.answer(KUSTOMIZATION, Outcome::Suspended);
    assert!(scenario.reconcile().is_empty(), "the watch has not shown it yet");
    scenario.applied(&parent("suspended"));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    assert_eq!(scenario.progress(KUSTOMIZATION).end, Some(StepEnd::Suspended));
    scenario.gone("cm shop/a");
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
    assert_eq!(scenario.run.suspensions().count(), 1, "it is shown until it is put back");
}

#[test]
fn parent_that_stays_and_becomes_active_again_holds_its_objects_and_says_so() {
    let suspended = KEEPS.replace("web of=shop\n", "web of=shop state=suspended\n");
    let hold = "cm:shop/held";
    let held = format!(
        "{suspended}\n cm shop/held of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop\n \
         pod shop/user of=shop uses=config:held"
    );
    let mut scenario = Scenario::of(&held);
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a", "DELETE Pod shop/user"]);
    assert_eq!(scenario.progress(KUSTOMIZATION).end, Some(StepEnd::Suspended));
    assert_eq!(scenario.run.suspensions().count(), 0, "somebody else suspended it");
    scenario.applied(&parent("active"));
    scenario.reconcile();
    assert!(matches!(problem(&scenario, hold), Some(UnknownReason::ParentActive { .. })));
}

#[test]
fn parent_that_stays_and_that_somebody_replaces_holds_no_run_up() {
    let mut scenario = Scenario::of(KEEPS);
    scenario.reconcile();
    scenario.gone("Kustomization.kustomize.toolkit.fluxcd.io shop/web");
    scenario
        .applied("Kustomization.kustomize.toolkit.fluxcd.io shop/web uid=other state=suspended");
    scenario.reconcile();
    assert!(scenario.progress(KUSTOMIZATION).is_gone_for_good());
}

/// An ApplicationSet makes its Application active again, so it goes before that is suspended, and orphans it.
#[test]
fn owner_of_a_parent_goes_before_the_parent_is_suspended() {
    let own = "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop owner=ResourceSet.fluxcd.controlplane.io/all";
    let set = "ResourceSet.fluxcd.controlplane.io shop/all of=shop";
    let before = "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop";
    let mut scenario = Scenario::of(&format!("{}\n {set}", SHOP.replace(before, own)));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/free", "DELETE ResourceSet shop/all"]);
    accepted(&mut scenario, "ResourceSet.fluxcd.controlplane.io:shop/all");
    assert!(scenario.reconcile().is_empty());
    scenario.gone(set);
    assert_eq!(scenario.reconcile(), ["PATCH Kustomization shop/web"]);
}

#[test]
fn suspension_that_had_no_effect_is_not_shown_as_ours() {
    let refused = || Outcome::Refused { code: 403, message: "no".into() };
    let silent = || Outcome::Unanswered { message: "no answer".into(), after: None };
    for (answers, shown) in [
        (vec![refused()], 0),
        (vec![refused(), refused()], 0),
        (vec![Outcome::Recalled], 0),
        (vec![silent()], 1),
        (vec![silent(), refused()], 1),
    ] {
        let mut scenario = Scenario::of(SHOP);
        for answer in &answers {
            scenario.reconcile();
            scenario.answer(KUSTOMIZATION, answer.clone());
            scenario.pass(60);
        }
        assert_eq!(scenario.run.suspensions().count(), shown, "{answers:?}");
    }
}

/// An App of kapp-controller with what it applied, and the PackageInstall that made it.
const PACKAGE: &str = "
    PackageInstall.packaging.carvel.dev shop/web of=shop
    App.kappctrl.k14s.io shop/web of=shop mark=1701 owner=PackageInstall.packaging.carvel.dev/web
    cm shop/a of=shop labels=kapp.k14s.io/app:1701
    cm shop/namesake of=shop labels=kapp.k14s.io/app:1702
";

#[test]
fn package_install_is_suspended_first_and_goes_last_before_its_app() {
    let mut scenario = Scenario::of(PACKAGE);
    assert_eq!(
        scenario.reconcile(),
        ["DELETE ConfigMap shop/namesake", "PATCH PackageInstall shop/web"],
        "kapp alone applied the namesake, and the App follows its owner"
    );
    scenario.answer("PackageInstall.packaging.carvel.dev:shop/web", Outcome::Suspended);
    let state = |line: &str| format!("{} state=suspended", line.trim());
    let lines: Vec<&str> = PACKAGE.trim().lines().collect();
    scenario.applied(&state(lines[0]));
    assert!(scenario.reconcile().is_empty(), "the controller has not paused the App yet");
    scenario.applied(&state(lines[1]));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.gone("cm shop/namesake");
    scenario.gone("cm shop/a");
    assert_eq!(scenario.reconcile(), ["DELETE PackageInstall shop/web"]);
}

#[test]
fn app_is_paused_so_that_its_deletion_deletes_nothing_else_and_can_be_put_back() {
    let alone = "App.kappctrl.k14s.io shop/web of=shop mark=1701
                 cm shop/a of=shop labels=kapp.k14s.io/app:1701";
    let mut scenario = Scenario::of(alone);
    let decision = scenario.decide();
    let patch = decision.actions.iter().find_map(|action| match action {
        Action::Suspend { patch, .. } => Some(patch.to_string()),
        _ => None,
    });
    assert_eq!(
        patch.as_deref(),
        Some(
            r#"[{"op":"test","path":"/metadata/uid","value":"App.kappctrl.k14s.io:shop/web"},{"op":"add","path":"/spec/paused","value":true},{"op":"add","path":"/spec/noopDelete","value":true}]"#
        )
    );
    let object = fixture::object("App.kappctrl.k14s.io shop/web");
    let was = r#"{"paused":true,"noopDelete":false}"#;
    assert_eq!(
        crate::suspension::resume(&object.kind, &object.uid, was).to_string(),
        r#"[{"op":"test","path":"/metadata/uid","value":"App.kappctrl.k14s.io:shop/web"},{"op":"test","path":"/spec/paused","value":true},{"op":"test","path":"/spec/noopDelete","value":true},{"op":"add","path":"/spec/paused","value":true},{"op":"add","path":"/spec/noopDelete","value":false}]"#
    );
}
