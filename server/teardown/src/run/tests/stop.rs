//! Tests of stopping a run, and of how its objects are counted then.

use super::*;

#[test]
fn recalled_delete_does_not_count_as_requested() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    assert_eq!(scenario.reconcile().len(), 2);
    scenario.steer(&command(RunCommand::Stop));
    scenario.answer("cm:shop/a", Outcome::Recalled);
    scenario.answer("cm:shop/b", Outcome::Accepted);
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").requested, None);
    assert_eq!(scenario.stopped(), Some((2, 1, 0)), "the namespace and a; b; none");
}

#[test]
fn stopping_run_ends_only_when_the_effect_of_each_delete_is_known() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    for step in ["cm:shop/a", "cm:shop/b"] {
        scenario.answer(step, Outcome::Unanswered { message: "no answer".into(), after: None });
    }
    scenario.steer(&command(RunCommand::Stop));
    assert!(scenario.reconcile().is_empty(), "postponed");
    assert_eq!(scenario.run.state(), RunState::Stopping);
    scenario.pass(1);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a", "GET ConfigMap shop/b"]);
    scenario.answer(
        "cm:shop/a",
        Outcome::Present { terminating: false, version: "1".into(), named: None },
    );
    scenario.answer(
        "cm:shop/b",
        Outcome::Present { terminating: true, version: "1".into(), named: None },
    );
    assert!(scenario.reconcile().is_empty(), "an object proven untouched is not read again");
    assert_eq!((scenario.run.state(), scenario.stopped()), (RunState::Stopped, Some((2, 1, 0))));
}

#[test]
fn stop_does_not_count_objects_that_were_terminating_before_as_requested() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cm shop/a of=shop deleted=-5s fin=example.com/hold\n cm shop/b of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/b"]);
    accepted(&mut scenario, "cm:shop/b");
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((1, 1, 0)), "the namespace is untouched, b was requested");
    assert_eq!(
        scenario.stopped_by_others_or_unknown(),
        Some((1, 0)),
        "a was terminating before the run"
    );
}

#[test]
fn refused_read_keeps_the_mark_that_a_delete_may_have_had_its_effect() {
    let mut scenario = Scenario::of("cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.answer("cm:shop/a", Outcome::Unanswered { message: "no answer".into(), after: None });
    scenario.pass(1);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a"]);
    scenario.answer("cm:shop/a", Outcome::Refused { code: 403, message: "no".into() });
    scenario.pass(30);
    assert_eq!(
        scenario.reconcile(),
        ["GET ConfigMap shop/a"],
        "it is read again before any DELETE"
    );
}

#[test]
fn stop_ends_with_effect_unknown_where_the_object_may_not_be_read() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    scenario.reconcile();
    scenario.answer("cm:shop/a", Outcome::Unanswered { message: "no answer".into(), after: None });
    scenario.steer(&command(RunCommand::Stop));
    scenario.pass(1);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a"]);
    assert_eq!(scenario.run.state(), RunState::Stopping, "the answer may still show the effect");
    scenario.answer("cm:shop/a", Outcome::Refused { code: 403, message: "no".into() });
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Stopped);
    assert_eq!(scenario.stopped(), Some((1, 0, 0)));
    assert_eq!(scenario.stopped_by_others_or_unknown(), Some((0, 1)));
}

#[test]
fn delete_on_its_way_at_a_restart_is_read_before_stop_calls_it_untouched() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.steer(&command(RunCommand::Stop));
    _ = scenario.apply_input(&Input::Recover);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a"]);
    scenario.answer(
        "cm:shop/a",
        Outcome::Present { terminating: false, version: "1".into(), named: None },
    );
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((2, 0, 0)));
}

#[test]
fn stop_does_not_count_collected_objects_as_untouched() {
    let mut scenario = Scenario::of(
        "deploy shop/web of=shop\n rs shop/web-1 owner=deploy/web\n pod shop/web-1-a owner=rs/web-1 uses=claim:data
         pvc shop/data of=shop volume=pv\n pv pv claim=shop/data reclaim=Delete\n cm shop/c of=shop",
    );
    scenario.reconcile();
    accepted(&mut scenario, "deploy:shop/web");
    accepted(&mut scenario, "cm:shop/c");
    let taken = |scenario: &Scenario, uid: &str| scenario.run.taken().contains(&scenario.id(uid));
    for (uid, is_taken) in [
        ("rs:shop/web-1", true),
        ("pod:shop/web-1-a", true),
        ("pvc:shop/data", false),
        ("pv:pv", false),
    ] {
        assert_eq!(taken(&scenario, uid), is_taken, "{uid}");
    }
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((2, 4, 0)));
}
