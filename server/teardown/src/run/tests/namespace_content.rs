//! Tests of the read of a namespace's content just before its DELETE.

use jiff::SignedDuration;

use super::*;
use crate::{action::ContentSight, object::Object};

const SHOP: &str = "ns shop of=shop\n cm shop/a of=shop\n cm shop/kube-root-ca.crt";
const NAMESPACE: &str = "ns:shop";

/// A run whose namespace alone is left, and was read at version 17.
fn with_only_the_namespace(text: &str) -> Scenario {
    let mut scenario = Scenario::of(text);
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    scenario.gone("cm shop/a of=shop");
    assert!(scenario.apply_input(&Input::Reconcile).actions.is_empty());
    assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
    let outcome = Outcome::Present {
        terminating: false,
        version: "17".into(),
        named: Some(UnitId::new("shop")),
    };
    let then = answer(&mut scenario, outcome);
    assert_eq!(then, ["LIST everything in shop at 17"]);
    scenario
}

fn named(decision: &Decision) -> Vec<String> {
    let calls = decision.actions.iter().map(|action| {
        let target = action.target();
        let at =
            format!("{} at {}", target.object.name, target.version.as_deref().unwrap_or("any"));
        match action {
            Action::ReadContent { .. } => format!("LIST everything in {at}"),
            Action::Delete { .. } => format!("DELETE {} {at}", target.object.kind),
            Action::Read { .. } => format!("GET {}", target.object),
            action => panic!("{action:?}"),
        }
    });
    calls.collect()
}

/// Answers the call that the namespace waits for, and returns the next ones.
fn answer(scenario: &mut Scenario, outcome: Outcome) -> Vec<String> {
    let step = scenario.run.plan.step(scenario.id(NAMESPACE)).unwrap();
    let (step, target) = (step.id, ActionTarget::of(step));
    let action = match scenario.progress(NAMESPACE).call {
        Some(Call::Read) => Action::Read { step, target },
        Some(Call::ReadContent) => {
            Action::ReadContent { step, target: target.at("17".into()), unproven: vec![] }
        }
        call => panic!("{call:?}"),
    };
    named(&scenario.apply_input(&Input::CallCompleted { action, outcome }))
}

fn content(lines: &str) -> Outcome {
    let sight = |object: Object| ContentSight { object: object.reference(), uid: object.uid };
    let objects = fixture::objects(lines).into_iter().map(sight).collect();
    Outcome::Content { objects, unlisted: vec![] }
}

/// The reason why the namespace is not deleted.
fn reason(scenario: &Scenario) -> UnknownReason {
    match &scenario.progress(NAMESPACE).hold.problem {
        Some(StepProblem::Unknown { reason }) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn namespace_goes_at_the_version_that_was_read_once_its_content_was_read() {
    let mut scenario = with_only_the_namespace(SHOP);
    let made_by_cluster = content("sa shop/default\n cm shop/kube-root-ca.crt");
    assert_eq!(answer(&mut scenario, made_by_cluster), ["DELETE Namespace shop at 17"]);
}

#[test]
fn claim_that_no_watch_has_shown_holds_its_namespace_until_the_next_read() {
    let mut scenario = with_only_the_namespace(SHOP);
    assert_eq!(answer(&mut scenario, content("pvc shop/new\n secret shop/new")), [""; 0]);
    let UnknownReason::NamespaceNotEmpty { by } = reason(&scenario) else { panic!() };
    assert_eq!(by.to_string(), "PersistentVolumeClaim shop/new");
    assert!(scenario.apply_input(&Input::Reconcile).is_empty(), "not at once");
    scenario.pass(1);
    assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
}

#[test]
fn claim_that_the_index_learns_of_during_the_read_holds_its_namespace() {
    let mut scenario = with_only_the_namespace(SHOP);
    scenario.applied("pvc shop/new");
    assert_eq!(answer(&mut scenario, content("")), [""; 0]);
    assert!(matches!(reason(&scenario), UnknownReason::NamespaceNotEmpty { .. }));
}

#[test]
fn rights_of_people_go_with_their_namespace_once_the_index_has_them() {
    const RIGHTS: &str = "rb shop/team role=role/edit people=yes";
    let mut scenario = with_only_the_namespace(SHOP);
    assert_eq!(answer(&mut scenario, content(RIGHTS)), [""; 0], "nobody knows whose rights");
    scenario.applied(RIGHTS);
    scenario.pass(1);
    _ = scenario.apply_input(&Input::Reconcile);
    let unchanged = scenario.unchanged(scenario.id(NAMESPACE));
    answer(&mut scenario, unchanged);
    assert_eq!(answer(&mut scenario, content(RIGHTS)), ["DELETE Namespace shop at 17"]);
}

#[test]
fn late_object_of_a_kind_without_the_verb_delete_does_not_hold_its_namespace() {
    let mut scenario = with_only_the_namespace(SHOP);
    scenario.see(Observation::Undeletable([String::from("reports.stats.example")].into()));
    scenario.applied("Report.stats.example shop/late");
    assert_eq!(answer(&mut scenario, content("")), ["DELETE Namespace shop at 17"]);
}

#[test]
fn kind_that_cannot_be_listed_holds_the_namespace_and_is_named() {
    let mut scenario = with_only_the_namespace(SHOP);
    let unlisted = || Outcome::Unlisted {
        resource: "widgets.example.com".into(),
        message: "forbidden".into(),
    };
    let mut delays = vec![];
    for _ in 0..8 {
        assert_eq!(answer(&mut scenario, unlisted()), [""; 0]);
        let UnknownReason::Hidden { resource, namespace, .. } = reason(&scenario) else { panic!() };
        assert_eq!((&*resource, namespace.as_deref()), ("widgets.example.com", Some("shop")));
        let window = scenario.progress(NAMESPACE).hold.retry_window.clone().unwrap();
        delays.push(window.end.duration_since(window.start).as_secs());
        scenario.now = window.end;
        assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
        let unchanged = scenario.unchanged(scenario.id(NAMESPACE));
        answer(&mut scenario, unchanged);
    }
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128]);
    assert_eq!(answer(&mut scenario, content("")), ["DELETE Namespace shop at 17"]);
}

/// The reads of a namespace's content, and the bytes of the journal, of a namespace that is held for 60 hours. Where it is
/// `restless`, an object that goes with the namespace comes and goes all the time.
fn weekend(restless: bool) -> (usize, usize) {
    let mut scenario = with_only_the_namespace(SHOP);
    let unlisted = || Outcome::Unlisted {
        resource: "widgets.example.com".into(),
        message: format!("forbidden: {}", "x".repeat(200)).as_str().into(),
    };
    answer(&mut scenario, unlisted());
    let start = scenario.now;
    let (mut reads, mut bytes, mut is_there) = (0, 0, false);
    while scenario.now.duration_since(start) < SignedDuration::from_hours(60) {
        if restless {
            is_there = !is_there;
            if is_there {
                scenario.applied("sa shop/default");
            } else {
                scenario.gone("sa shop/default");
            }
        }
        let mut open = vec![Input::Reconcile];
        while let Some(input) = open.pop() {
            let decision = scenario.apply_input(&input);
            bytes += decision
                .events
                .iter()
                .map(|it| serde_json::to_vec(it).unwrap().len() + 60)
                .sum::<usize>();
            for action in decision.actions {
                let outcome = match &action {
                    Action::Read { step, .. } => scenario.unchanged(*step),
                    Action::ReadContent { .. } => {
                        reads += 1;
                        unlisted()
                    }
                    action => panic!("{action:?}"),
                };
                open.push(Input::CallCompleted { action, outcome });
            }
        }
        scenario.now = match restless {
            true => scenario.now + SignedDuration::from_secs(2),
            false => scenario.run.wake(scenario.now).unwrap(),
        };
    }
    (reads, bytes)
}

#[test]
fn namespace_that_is_held_all_weekend_does_not_fill_the_journal() {
    for restless in [false, true] {
        let (reads, bytes) = weekend(restless);
        assert!(bytes < 1_000_000, "{bytes}");
        assert!((300..1_000).contains(&reads), "{reads}");
    }
}

#[test]
fn namespace_that_is_held_is_read_soon_after_something_in_it_went() {
    let mut scenario = with_only_the_namespace(SHOP);
    assert_eq!(answer(&mut scenario, content("pvc shop/new")), [""; 0]);
    for _ in 0..10 {
        scenario.now = scenario.progress(NAMESPACE).hold.retry_window.clone().unwrap().end;
        assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
        let unchanged = scenario.unchanged(scenario.id(NAMESPACE));
        answer(&mut scenario, unchanged);
        assert_eq!(answer(&mut scenario, content("pvc shop/new")), [""; 0]);
    }
    scenario.pass(2);
    assert!(scenario.apply_input(&Input::Reconcile).is_empty(), "nothing changed");
    scenario.applied("pvc shop/new");
    assert!(scenario.apply_input(&Input::Reconcile).actions.is_empty(), "it is there");
    scenario.pass(1);
    scenario.gone("pvc shop/new");
    _ = scenario.apply_input(&Input::Reconcile);
    assert_eq!(scenario.progress(NAMESPACE).call, Some(Call::Read), "the read is fresh");
}

#[test]
fn namespace_that_a_person_includes_goes_without_proof_of_the_kind_that_may_not_be_listed() {
    let choices = Choices::of_query([("unproven", "shop/widgets.example.com")]).unwrap();
    let mut scenario = Scenario::with(SHOP, &choices);
    scenario.hidden("widgets.example.com");
    scenario.hidden("gadgets.example.com");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    scenario.gone("cm shop/a of=shop");
    _ = scenario.apply_input(&Input::Reconcile);
    assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), [""; 0]);
    let UnknownReason::Hidden { resource, .. } = reason(&scenario) else { panic!() };
    assert_eq!(resource, "gadgets.example.com", "nobody chose that");

    scenario.visible("gadgets.example.com");
    assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
    let unchanged = scenario.unchanged(scenario.id(NAMESPACE));
    answer(&mut scenario, unchanged);
    let unlisted = vec!["widgets.example.com".to_owned()];
    let without = Outcome::Content { objects: vec![], unlisted: unlisted.clone() };
    assert_eq!(answer(&mut scenario, without), ["DELETE Namespace shop at 17"]);
    assert_eq!(scenario.progress(NAMESPACE).unproven, unlisted);
    accepted(&mut scenario, NAMESPACE);
    scenario.gone("ns shop of=shop");
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
    assert_eq!(scenario.progress(NAMESPACE).unproven, unlisted, "it stays said");
}

#[test]
fn kind_whose_api_is_down_holds_a_namespace_that_a_person_includes() {
    let choices = Choices::of_query([("unproven", "shop/widgets.example.com")]).unwrap();
    let mut scenario = Scenario::with(SHOP, &choices);
    let (resource, cause) = ("widgets.example.com".to_owned(), HiddenCause::Discovery);
    scenario.see(Observation::Hidden { resource, cause, message: "away".into() });
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    scenario.gone("cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), [""; 0]);
    assert!(matches!(reason(&scenario), UnknownReason::Hidden { .. }));
}

#[test]
fn read_of_content_is_no_more_than_a_read_while_the_run_is_paused() {
    let mut scenario = with_only_the_namespace(SHOP);
    scenario.steer(&command(RunCommand::Pause));
    assert_eq!(answer(&mut scenario, content("")), [""; 0]);
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
}

#[test]
fn restart_during_the_read_of_content_reads_the_namespace_again() {
    let mut scenario = with_only_the_namespace(SHOP);
    scenario.steer(&Input::Recover);
    assert!(!scenario.progress(NAMESPACE).effect_unknown, "no DELETE was on its way");
    assert_eq!(named(&scenario.apply_input(&Input::Reconcile)), ["GET Namespace shop"]);
}
