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
    ConfigMap shop/a is tried again after try 1
    > silent cm:shop/b
    ConfigMap shop/b is tried again after try 1
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
    ConfigMap shop/a is tried again after try 1
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
    ConfigMap shop/a is tried again after try 1
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
    let cluster = "
        deploy shop/web of=shop
        rs shop/web-1 owner=deploy/web
        pod shop/web-1-a owner=rs/web-1 uses=claim:data
        pvc shop/data of=shop volume=pv
        pv pv claim=shop/data reclaim=Delete
        cm shop/c of=shop";
    let script = "accepted deploy:shop/web & accepted cm:shop/c
        look at taken
        stop";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/c
    DELETE Deployment shop/web
    > accepted deploy:shop/web & accepted cm:shop/c
    > look at taken
    along with another goes: ReplicaSet shop/web-1, Pod shop/web-1-a
    > stop
    the run has stopped: 2 untouched, 4 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn change_during_a_remedy_pauses_a_run_that_is_running_until_a_person_resumes_it() {
    let object = fixture::object("cm shop/a").reference();
    let changed = || Input::Changed { object: object.clone(), by: "Li".into() };
    let paused = || RunEvent::Paused { by: "Li".into(), changed: Some(object.clone()) };
    let mut scenario = Scenario::of(ONE);
    assert_eq!(scenario.apply_input(&changed()).events, [paused()]);
    assert_eq!(scenario.run.state(), RunState::Paused);
    assert_eq!(scenario.run.halted_by(), Some(&object));
    assert!(scenario.decide().is_empty(), "a paused run deletes nothing");
    assert!(scenario.apply_input(&changed()).is_empty(), "it is paused already");
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(scenario.run.halted_by(), None);
    assert!(!scenario.decide().actions.is_empty());
    scenario.steer(&command(RunCommand::Pause));
    assert_eq!(scenario.run.halted_by(), None, "a person paused it");
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(scenario.apply_input(&changed()).events, [paused()]);
    scenario.steer(&command(RunCommand::Stop));
    assert_eq!(scenario.run.halted_by(), None, "nobody resumes it");
    assert!(scenario.apply_input(&changed()).is_empty(), "nothing pauses the end of a run");
}

/// The object was seen as terminating before the answer came.
#[test]
fn stop_counts_an_object_as_requested_whether_or_not_the_watch_has_shown_it() {
    let script = "accepted cm:shop/a & applied cm shop/a deleted=0 finalizers=example.com/hold
        accepted cm:shop/b
        stop";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > accepted cm:shop/a & applied cm shop/a deleted=0 finalizers=example.com/hold
    ConfigMap shop/a is terminating
    > accepted cm:shop/b
    > stop
    the run has stopped: 1 untouched, 2 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}
