//! Tests of stopping a run, and of how its objects are counted then.

use super::{script::transcript, *};

const TWO: &str = "ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop";
const ONE: &str = "ns shop of=shop\n cm shop/a of=shop";

#[test]
fn recalled_delete_does_not_count_as_requested() {
    let script = "stop
        recalled cm:shop/a
        accepted cm:shop/b";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > stop
    > recalled cm:shop/a
    > accepted cm:shop/b
    the run has stopped: 2 untouched, 1 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn stopping_run_ends_only_when_the_effect_of_each_delete_is_known() {
    let script = "silent cm:shop/a
        silent cm:shop/b
        stop
        +1
        there cm:shop/a
        going cm:shop/b";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > silent cm:shop/a
    ConfigMap shop/a is tried again after 1 tries
    > silent cm:shop/b
    ConfigMap shop/b is tried again after 1 tries
    > stop
    > +1
    GET ConfigMap shop/a
    GET ConfigMap shop/b
    > there cm:shop/a
    > going cm:shop/b
    the run has stopped: 2 untouched, 1 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn stop_does_not_count_objects_that_were_terminating_before_as_requested() {
    let cluster =
        "ns shop of=shop\n cm shop/a of=shop deleted=-5s fin=example.com/hold\n cm shop/b of=shop";
    let script = "accepted cm:shop/b
        stop";
    insta::assert_snapshot!(transcript(cluster, script), @"
    ConfigMap shop/a is terminating
    DELETE ConfigMap shop/b
    > accepted cm:shop/b
    > stop
    the run has stopped: 1 untouched, 1 requested, 1 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn refused_read_keeps_the_mark_that_a_delete_may_have_had_its_effect() {
    let script = "silent cm:shop/a
        +1
        refused cm:shop/a
        +30";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    DELETE ConfigMap shop/a
    > silent cm:shop/a
    ConfigMap shop/a is tried again after 1 tries
    > +1
    GET ConfigMap shop/a
    > refused cm:shop/a
    ConfigMap shop/a was refused: 403
    > +30
    GET ConfigMap shop/a
    ");
}

#[test]
fn stop_ends_with_effect_unknown_where_the_object_may_not_be_read() {
    let script = "silent cm:shop/a
        stop
        +1
        refused cm:shop/a";
    insta::assert_snapshot!(transcript(ONE, script), @"
    DELETE ConfigMap shop/a
    > silent cm:shop/a
    ConfigMap shop/a is tried again after 1 tries
    > stop
    > +1
    GET ConfigMap shop/a
    > refused cm:shop/a
    ConfigMap shop/a was refused: 403
    the run has stopped: 1 untouched, 0 requested, 0 terminating before, 1 unknown, 0 gone
    ");
}

#[test]
fn delete_on_its_way_at_a_restart_is_read_before_stop_calls_it_untouched() {
    let script = "stop
        restart
        there cm:shop/a";
    insta::assert_snapshot!(transcript(ONE, script), @"
    DELETE ConfigMap shop/a
    > stop
    > restart
    GET ConfigMap shop/a
    > there cm:shop/a
    the run has stopped: 2 untouched, 0 requested, 0 terminating before, 0 unknown, 0 gone
    ");
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
