//! Tests of kinds whose version changes while a run goes on.

use jiff::SignedDuration;

use super::*;
use crate::object::{Kind, Object};

const SHOP: &str = "
    ns shop of=shop
    Widget.example.com shop/main of=shop
    cm shop/settings of=shop
";

/// Has the widgets listed in another version.
fn change_version(scenario: &mut Scenario) {
    change_version_of(scenario, "Widget.example.com:shop/main");
}

/// Has the only object of a kind listed in another version.
fn change_version_of(scenario: &mut Scenario, only: &str) {
    let mut object = Object::clone(scenario.index.get(&fixture::uid(only)).unwrap());
    let kind = Arc::new(Kind { version: "v9".into(), ..(*object.kind).clone() });
    object.kind = kind.clone();
    let seen =
        [Observation::Watching(kind.clone()), Observation::Listed { kind, objects: vec![object] }];
    scenario.index.apply(seen, scenario.now);
}

/// The DELETEs of widgets among the calls.
fn deletes(decision: &Decision) -> Vec<Action> {
    let is_one = |it: &&Action| matches!(it, Action::Delete { target, .. } if target.kind.is("example.com", "Widget"));
    decision.actions.iter().filter(is_one).cloned().collect()
}

fn version(action: &Action) -> &str {
    &action.target().kind.version
}

#[test]
fn calls_go_to_the_version_that_is_watched_now() {
    let mut scenario = Scenario::of(SHOP);
    change_version(&mut scenario);
    let decision = scenario.decide();
    assert_eq!(deletes(&decision).iter().map(version).collect::<Vec<_>>(), ["v9"]);
    let mut reads = scenario.calls.iter().filter(|it| matches!(it, Action::Read { .. }));
    assert!(reads.clone().count() > 0 && reads.all(|read| version(read) == "v9"));
}

#[test]
fn suspension_goes_to_the_version_that_is_watched_now() {
    const PARENT: &str = "Kustomization.kustomize.toolkit.fluxcd.io";
    let mut scenario = Scenario::of(&format!("ns shop of=shop\n{PARENT} shop/web of=shop"));
    change_version_of(&mut scenario, &format!("{PARENT}:shop/web"));
    let decision = scenario.decide();
    let is_patch = |it: &&Action| matches!(it, Action::Suspend { .. });
    let patches: Vec<&str> = decision.actions.iter().filter(is_patch).map(version).collect();
    assert_eq!(patches, ["v9"]);
}

#[test]
fn delete_that_its_version_does_not_allow_is_tried_early_in_the_next_version() {
    let mut scenario = Scenario::of(SHOP);
    let action = deletes(&scenario.decide()).remove(0);
    let planned = version(&action).to_owned();
    assert_ne!(planned, "v9");
    let message = "the server does not allow this method on the requested resource".into();
    let outcome = Outcome::Refused { code: 405, message };
    let _ = scenario.apply_input(&Input::CallCompleted { action, outcome });
    scenario.now += SignedDuration::from_secs(1);
    change_version(&mut scenario);
    assert_eq!(deletes(&scenario.decide()), []);
    scenario.now += SignedDuration::from_secs(5);
    let again = deletes(&scenario.decide());
    assert_eq!(again.iter().map(version).collect::<Vec<_>>(), ["v9"], "long before 20 s");
}
