//! Commands that come twice, too late, or where there is nothing to command.

use super::{
    script::{played, transcript},
    *,
};

#[test]
fn command_is_the_end_of_its_address() {
    let text = |command: RunCommand| command.to_string();
    assert_eq!(text(RunCommand::Pause), "pause");
    assert_eq!(text(RunCommand::Resume), "resume");
    assert_eq!(text(RunCommand::Stop), "stop");
    assert_eq!(text(RunCommand::Skip(StepId(7))), "steps/7/skip");
}

#[test]
fn run_that_is_stopping_takes_a_second_stop_and_no_pause() {
    let script = "stop
        stop
        pause
        accepted cm:shop/a";
    insta::assert_snapshot!(transcript("ns shop of=shop\n cm shop/a of=shop", script), @"
    DELETE ConfigMap shop/a
    > stop
    > stop
    > pause
    refused: the run is over
    > accepted cm:shop/a
    the run has stopped: 1 untouched, 1 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn step_is_not_skipped_while_its_delete_is_in_flight() {
    let script = "skip cm:shop/a
        refused cm:shop/a
        skip cm:shop/a";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    DELETE ConfigMap shop/a
    > skip cm:shop/a
    refused: step 0 can no longer be skipped
    > refused cm:shop/a
    ConfigMap shop/a was refused: 403
    > skip cm:shop/a
    ConfigMap shop/a is skipped
    the run has finished
    ");
}

/// A late Pod uses the ConfigMap, and nobody can answer for that.
#[test]
fn step_that_waits_for_a_user_has_nothing_to_take_on() {
    let script = "pause first
        applied pod shop/debug uses=config:a age=0
        resume
        take on cm:shop/a for none";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    > pause first
    > applied pod shop/debug uses=config:a age=0
    > resume
    ConfigMap shop/a is used by Pod shop/debug
    > take on cm:shop/a for none
    refused: step 0 waits for nothing that a person could take on
    ");
}

/// Its DELETE cannot be taken back, whoever answers.
#[test]
fn step_whose_delete_was_accepted_has_nothing_to_take_on() {
    let script = "accepted cm:shop/a
        hidden configmaps
        take on cm:shop/a for none";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    > hidden configmaps
    ConfigMap shop/a cannot be told without configmaps
    > take on cm:shop/a for none
    refused: step 0 waits for nothing that a person could take on
    ");
}

/// Its next try comes by itself, and a person asked for nothing that it could bring forward.
#[test]
fn resume_of_a_running_run_leaves_a_call_without_an_answer_alone() {
    let script = "silent 100 cm:shop/a
        resume
        look at log
        until call";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    DELETE ConfigMap shop/a
    > silent 100 cm:shop/a
    ConfigMap shop/a is tried again after try 1
    > resume
    > look at log
      Li started the run
      ConfigMap shop/a is requested
      ConfigMap shop/a is tried again after try 1
    > until call
    100 s later
    GET ConfigMap shop/a
    ");
}

#[test]
fn run_is_stopped_although_no_read_says_whether_a_delete_had_its_effect() {
    let (mut scenario, _) = played("cm shop/a of=shop", "silent cm:shop/a\n +1");
    scenario.answer("cm:shop/a", Outcome::Unknown { message: "<html>".into() });
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Stopped);
}
