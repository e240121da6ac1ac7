//! Events that cannot follow are refused, and change nothing.

use super::*;
use crate::proof::Proof;

const STEP: StepId = StepId(0);

fn started() -> Run {
    Scenario::of("cm shop/a of=shop").run
}

fn gone() -> RunEvent {
    RunEvent::Gone { step: STEP, proof: Proof::DeletedEvent, unconfirmed: false }
}

fn sent() -> RunEvent {
    RunEvent::CallStarted { step: STEP, call: Call::Delete }
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
    insta::assert_snapshot!(refused(&[RunEvent::Accepted { step: STEP }]), @"accepted cannot follow for step 0, which is Waiting");
}

/// A record of the journal is lost between the two.
#[test]
fn second_delete_is_refused() {
    insta::assert_snapshot!(refused(&[sent(), sent()]), @"callStarted cannot follow for step 0, which is Calling(Delete)");
}

#[test]
fn object_that_is_gone_is_not_deleted() {
    insta::assert_snapshot!(refused(&[gone(), sent()]), @"callStarted cannot follow for step 0, which is Gone");
}

#[test]
fn step_of_another_plan_is_refused() {
    let other = RunEvent::Accepted { step: StepId(7) };
    insta::assert_snapshot!(refused(&[other]), @"step 7 is not in the plan");
}

#[test]
fn run_that_has_ended_takes_nothing_more() {
    insta::assert_snapshot!(refused(&[gone(), RunEvent::Finished, RunEvent::Recovered]), @"recovered cannot follow in a run that is Finished");
    insta::assert_snapshot!(refused(&[RunEvent::Stopped]), @"stopped cannot follow in a run that is Running");
}
