//! Events that cannot follow are refused, and change nothing.
//!
//! No decision leads to such events, only a damaged journal, so that no script can write them.

use super::*;
use crate::proof::Proof;

const STEP: StepId = StepId(0);

fn started() -> Run {
    Scenario::of("cm shop/a of=shop\n cm shop/b of=shop").run
}

fn gone(step: StepId) -> RunEvent {
    RunEvent::Gone { step, proof: Proof::DeletedEvent, unconfirmed: false }
}

fn sent(call: Call) -> RunEvent {
    RunEvent::CallStarted { step: STEP, call }
}

fn skipped() -> RunEvent {
    RunEvent::Skipped { step: STEP, by: "Li".into() }
}

fn stopping() -> RunEvent {
    RunEvent::Stopping { by: "Li".into() }
}

/// The error of the last event after the others.
fn refused(events: &[RunEvent]) -> String {
    let mut run = started();
    let (last, before) = events.split_last().unwrap();
    for event in before {
        run.apply(fixture::now(), event).unwrap();
    }
    let as_it_was = format!("{run:?}");
    let error = run.apply(fixture::now(), last).unwrap_err();
    assert_eq!(format!("{run:?}"), as_it_was);
    error.to_string()
}

#[test]
fn answer_without_a_call_is_refused() {
    insta::assert_snapshot!(refused(&[RunEvent::Accepted { step: STEP }]), @"accepted cannot follow for step 0, which is Present with the call None and the end None");
}

/// A record of the journal is lost between the two.
#[test]
fn second_delete_is_refused() {
    insta::assert_snapshot!(refused(&[sent(Call::Delete), sent(Call::Delete)]), @"callStarted cannot follow for step 0, which is Present with the call Some(Delete) and the end None");
}

/// The reads come before the DELETE, each in its place.
#[test]
fn call_out_of_its_sequence_is_refused() {
    for (before, call) in [
        (Call::Read, Call::Read),
        (Call::ReadPods, Call::Read),
        (Call::Delete, Call::ReadPods),
        (Call::Suspend, Call::Delete),
    ] {
        let error = refused(&[sent(before), sent(call)]);
        assert!(error.starts_with("callStarted cannot follow"), "{before:?} {call:?}: {error}");
    }
    let mut run = started();
    for call in [Call::Read, Call::ReadPods, Call::Delete] {
        run.apply(fixture::now(), &sent(call)).unwrap();
    }
}

#[test]
fn object_that_is_gone_is_not_deleted() {
    insta::assert_snapshot!(refused(&[gone(STEP), sent(Call::Delete)]), @"callStarted cannot follow for step 0, which is Gone with the call None and the end None");
}

#[test]
fn step_that_was_skipped_takes_nothing_more() {
    insta::assert_snapshot!(refused(&[skipped(), sent(Call::Delete)]), @r#"callStarted cannot follow for step 0, which is Present with the call None and the end Some(Skipped { by: "Li" })"#);
    insta::assert_snapshot!(refused(&[skipped(), gone(STEP)]), @r#"gone cannot follow for step 0, which is Present with the call None and the end Some(Skipped { by: "Li" })"#);
}

#[test]
fn step_of_another_plan_is_refused() {
    let other = RunEvent::Accepted { step: StepId(7) };
    insta::assert_snapshot!(refused(&[other]), @"step 7 is not in the plan");
}

#[test]
fn run_that_has_ended_takes_nothing_more() {
    let ended = [gone(STEP), skipped_other(), RunEvent::Finished, RunEvent::Recovered];
    insta::assert_snapshot!(refused(&ended), @"recovered cannot follow in a run that is Finished");
    insta::assert_snapshot!(refused(&[RunEvent::Stopped]), @"stopped cannot follow in a run that is Running");
}

fn skipped_other() -> RunEvent {
    RunEvent::Skipped { step: StepId(1), by: "Li".into() }
}

/// The record that the second object is gone is lost.
#[test]
fn end_of_a_run_with_an_open_step_is_refused() {
    insta::assert_snapshot!(refused(&[gone(STEP), RunEvent::Finished]), @"finished cannot follow while step 1 is open");
}

/// A stopped run leaves steps open, but waits for the answer of each call.
#[test]
fn end_of_a_stopped_run_with_a_call_in_flight_is_refused() {
    let stopped = [stopping(), RunEvent::Stopped];
    insta::assert_snapshot!(refused(&[&[sent(Call::Delete)][..], &stopped].concat()), @"stopped cannot follow while step 0 is open");
    let mut run = started();
    for event in &stopped {
        run.apply(fixture::now(), event).unwrap();
    }
}

#[test]
fn command_that_changes_nothing_is_refused() {
    let paused = || RunEvent::Paused { by: "Li".into(), changed: None };
    let resumed = || RunEvent::Resumed { by: "Li".into() };
    for events in [
        vec![paused(), paused()],
        vec![stopping(), paused()],
        vec![stopping(), resumed()],
        vec![stopping(), stopping()],
    ] {
        let error = refused(&events);
        assert!(error.contains("cannot follow in a run that is"), "{error}");
    }
}

#[test]
fn change_of_an_object_that_was_recorded_before_is_refused() {
    let terminating = || RunEvent::Terminating { step: STEP, since: fixture::now(), grace: 0 };
    let again = || RunEvent::CameBack { step: STEP, uid: fixture::uid("again"), by: None };
    for events in [
        vec![terminating(), terminating()],
        vec![gone(STEP), terminating()],
        vec![again(), again()],
        vec![skipped(), again()],
    ] {
        let error = refused(&events);
        assert!(error.contains("cannot follow for step 0"), "{error}");
    }
}

#[test]
fn step_with_a_call_in_flight_or_that_is_gone_is_not_skipped() {
    for before in [sent(Call::Delete), gone(STEP)] {
        let error = refused(&[before, skipped()]);
        assert!(error.starts_with("skipped cannot follow"), "{error}");
    }
}
