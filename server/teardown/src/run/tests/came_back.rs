//! Objects that something creates again under a planned name.

use super::*;

const SHOP: &str = "
    ns shop of=shop
    cm shop/leader of=shop
    svc shop/web of=shop
";

/// A run whose objects are gone, except for the namespace; then these came back.
fn with(lines: &[&str]) -> Scenario {
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    scenario.gone("cm shop/leader");
    scenario.gone("svc shop/web");
    for line in lines {
        scenario.applied(&format!("{line} uid=again"));
    }
    scenario
}

#[test]
fn config_map_that_came_back_goes_with_its_namespace() {
    let mut scenario = with(&["cm shop/leader"]);
    assert_eq!(scenario.reconcile(), ["DELETE Namespace shop"]);
    assert_eq!(scenario.progress("cm:shop/leader").stage, Stage::CameBack);
    accepted(&mut scenario, "ns:shop");
    scenario.gone("cm shop/leader uid=again");
    scenario.gone("ns shop");
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/leader").stage, Stage::Gone);
    assert_eq!(scenario.run.state(), RunState::Finished);
}

#[test]
fn what_is_somebodys_holds_the_namespace() {
    for line in ["svc shop/web", "cm shop/leader finalizers=example.com/hold"] {
        let mut scenario = with(&[line]);
        assert!(scenario.reconcile().is_empty(), "{line}");
    }
    let mut under_another_name = with(&["cm shop/other"]);
    assert!(under_another_name.reconcile().is_empty());
}

#[test]
fn config_map_that_something_else_waits_for_holds_it() {
    let mut scenario = Scenario::of(
        "
        ns shop of=shop
        sa shop/web of=shop
        role shop/web of=shop
        rb shop/web of=shop role=role/web accounts=web
        ",
    );
    scenario.reconcile();
    scenario.gone("rb shop/web");
    scenario.applied("rb shop/web role=role/web accounts=web uid=again");
    scenario.gone("sa shop/web");
    assert!(scenario.reconcile().is_empty(), "the role waits for its binding");
}
