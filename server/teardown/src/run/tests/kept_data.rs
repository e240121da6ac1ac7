//! Tests of the reads of the claims whose data is kept, at the end of a run.

use super::*;
use crate::plan::Choice;

const SHOP: &str = "
    ns shop of=shop
    cm shop/a of=shop
    pvc shop/one of=shop volume=pv-1
    pv pv-1 claim=shop/one reclaim=Delete
    pvc shop/two of=shop volume=pv-2
    pv pv-2 claim=shop/two
    pvc shop/pending of=shop
";

/// A run that keeps the data, and whose last object has just gone. For the index both claims are bound.
fn at_the_end() -> Scenario {
    let mut scenario = Scenario::with(SHOP, &[Choice::KeepData].into_iter().collect());
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    scenario.gone("cm shop/a of=shop");
    scenario
}

/// The transcript of the end of that run: answers, commands and time, one a line, each with the reads and the entries of the event
/// log that follow from it.
///
/// | line | meaning |
/// |---|---|
/// | `bound CLAIM`, `unbound CLAIM`, `going CLAIM`, `gone CLAIM` | the answer to the read of a claim |
/// | `silent CLAIM`, `refused CLAIM`, `recalled CLAIM` | a read that said nothing about it |
/// | `unreadable CLAIM` | the API server cannot decrypt it |
/// | `pause`, `resume`, `stop` | a person's command |
/// | `restart` | the server was restarted |
/// | `+30` | seconds pass |
fn transcript(script: &str) -> String {
    let mut scenario = at_the_end();
    let mut known = scenario.run.event_log().len();
    let mut lines = Vec::new();
    for line in std::iter::once("").chain(script.lines().map(str::trim)) {
        if !line.is_empty() {
            lines.push(format!("> {line}"));
            follow(&mut scenario, line);
        }
        let mut reads = Vec::new();
        loop {
            let decision = scenario.apply_input(&Input::Reconcile);
            if decision.is_empty() {
                break;
            }
            reads.extend(decision.actions.iter().map(|it| format!("GET {}", it.target().object)));
        }
        reads.sort();
        let log = scenario.run.event_log();
        lines.extend(log.iter().skip(known).filter_map(|entry| entry_of(&entry.event)));
        lines.extend(reads);
        known = log.len();
    }
    lines.join("\n")
}

fn follow(scenario: &mut Scenario, line: &str) {
    let claim =
        |phase: &str, terminating| Outcome::Claim { phase: Some(phase.into()), terminating };
    let (word, name) = line.split_once(' ').unwrap_or((line, ""));
    let outcome = match word {
        "bound" => claim("Bound", false),
        "unbound" => claim("Lost", false),
        "going" => claim("Bound", true),
        "gone" => Outcome::NotFound,
        "silent" => Outcome::Unanswered { message: "no answer".into(), after: None },
        "unreadable" => {
            let message = "Internal error occurred: unable to transform key \"/registry/x\": no matching prefix found";
            Outcome::Unanswered { message: message.into(), after: None }
        }
        "refused" => Outcome::Refused { code: 403, message: "no".into() },
        "recalled" => Outcome::Recalled,
        "pause" => return scenario.steer(&command(RunCommand::Pause)),
        "resume" => return scenario.steer(&command(RunCommand::Resume)),
        "stop" => return scenario.steer(&command(RunCommand::Stop)),
        "restart" => return scenario.steer(&Input::Recover),
        _ => return scenario.pass(line.trim_start_matches('+').parse().unwrap()),
    };
    let claim = fixture::object(&format!("pvc shop/{name}"));
    let (kind, object) = ((*claim.kind).clone(), claim.reference());
    let target = ActionTarget { kind, object, uid: claim.uid, version: None };
    let action = Action::ReadClaim { target };
    _ = scenario.apply_input(&Input::CallCompleted { action, outcome });
}

fn entry_of(event: &FeedEvent) -> Option<String> {
    let names = |objects: &[crate::object::ObjectRef]| match objects {
        [] => "none".to_owned(),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    match event {
        FeedEvent::ClaimUnread { object, problem } => {
            let why = match problem {
                StepProblem::Refused { code, .. } => format!("refused with {code}"),
                StepProblem::Retrying { attempts, .. } => format!("no answer to read {attempts}"),
                other => format!("{other:?}"),
            };
            Some(format!("{object}: {why}"))
        }
        FeedEvent::DataChecked { bound, lost, unknown } => {
            let (lost, unknown) = (names(lost), names(unknown));
            Some(format!("{bound} bound, lost: {lost}, unknown: {unknown}"))
        }
        FeedEvent::Finished => Some("the run has finished".to_owned()),
        FeedEvent::Stopped { .. } => Some("the run has stopped".to_owned()),
        _ => None,
    }
}

#[test]
fn run_ends_when_each_kept_claim_was_read_once_whatever_the_watch_shows() {
    insta::assert_snapshot!(transcript("bound one\n gone two"), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound one
    > gone two
    1 bound, lost: PersistentVolumeClaim shop/two, unknown: none
    the run has finished
    ");
    insta::assert_snapshot!(transcript("going one\n unbound two"), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > going one
    > unbound two
    0 bound, lost: PersistentVolumeClaim shop/one, PersistentVolumeClaim shop/two, unknown: none
    the run has finished
    ");
}

#[test]
fn read_without_an_answer_is_said_once_and_made_again_until_there_is_one() {
    let script = "bound one\n silent two\n +1\n silent two\n +1\n bound two";
    insta::assert_snapshot!(transcript(script), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound one
    > silent two
    PersistentVolumeClaim shop/two: no answer to read 1
    > +1
    GET PersistentVolumeClaim shop/two
    > silent two
    > +1
    GET PersistentVolumeClaim shop/two
    > bound two
    2 bound, lost: none, unknown: none
    the run has finished
    ");
}

#[test]
fn run_wakes_for_the_next_read_of_a_claim() {
    let mut scenario = at_the_end();
    for _ in 0..2 {
        _ = scenario.apply_input(&Input::Reconcile);
    }
    follow(&mut scenario, "bound one");
    follow(&mut scenario, "silent two");
    let next = scenario.now + jiff::SignedDuration::from_millis(250);
    assert_eq!(scenario.run.wake(scenario.now), Some(next));
}

#[test]
fn claim_whose_read_is_refused_again_and_again_keeps_no_run_open() {
    let script =
        "bound one\n refused two\n +5\n refused two\n +10\n refused two\n +20\n refused two";
    insta::assert_snapshot!(transcript(script), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound one
    > refused two
    PersistentVolumeClaim shop/two: refused with 403
    > +5
    GET PersistentVolumeClaim shop/two
    > refused two
    > +10
    GET PersistentVolumeClaim shop/two
    > refused two
    > +20
    GET PersistentVolumeClaim shop/two
    > refused two
    1 bound, lost: none, unknown: PersistentVolumeClaim shop/two
    the run has finished
    ");
}

#[test]
fn claim_that_cannot_be_decrypted_keeps_no_run_open() {
    let script = "bound one\n unreadable two\n +5\n silent two\n +5\n unreadable two\n +10\n unreadable two\n +20\n unreadable two";
    let transcript = transcript(script);
    assert!(
        transcript.contains("PersistentVolumeClaim shop/two: refused with 500"),
        "{transcript}"
    );
    assert!(
        transcript.ends_with("unknown: PersistentVolumeClaim shop/two\nthe run has finished"),
        "{transcript}"
    );
}

#[test]
fn answer_that_came_long_before_the_end_is_asked_for_again() {
    insta::assert_snapshot!(transcript("bound one\n silent two\n +120\n bound two\n gone one"), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound one
    > silent two
    PersistentVolumeClaim shop/two: no answer to read 1
    > +120
    GET PersistentVolumeClaim shop/two
    > bound two
    GET PersistentVolumeClaim shop/one
    > gone one
    1 bound, lost: PersistentVolumeClaim shop/one, unknown: none
    the run has finished
    ");
}

#[test]
fn person_who_resumes_a_run_has_its_claims_read_at_once() {
    insta::assert_snapshot!(transcript("bound one\n silent two\n resume\n bound two"), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound one
    > silent two
    PersistentVolumeClaim shop/two: no answer to read 1
    > resume
    GET PersistentVolumeClaim shop/two
    > bound two
    2 bound, lost: none, unknown: none
    the run has finished
    ");
}

#[test]
fn run_that_is_being_stopped_waits_for_no_second_read() {
    insta::assert_snapshot!(transcript("silent two\n stop\n bound one"), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > silent two
    PersistentVolumeClaim shop/two: no answer to read 1
    > stop
    > bound one
    1 bound, lost: none, unknown: PersistentVolumeClaim shop/two
    the run has finished
    ");
}

#[test]
fn read_that_was_not_made_is_made_again_at_once_and_after_a_restart() {
    insta::assert_snapshot!(transcript("pause\n recalled one\n restart\n bound one\n bound two"), @r"
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > pause
    > recalled one
    GET PersistentVolumeClaim shop/one
    > restart
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound one
    > bound two
    2 bound, lost: none, unknown: none
    the run has finished
    ");
}

#[test]
fn claims_are_not_read_where_nobody_chose_to_keep_data() {
    let mut scenario = Scenario::of(SHOP);
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert!(scenario.run.state().is_ended());
    let is_about_data = |event: &RunEvent| {
        matches!(event, RunEvent::KeptClaim { .. } | RunEvent::DataChecked { .. })
    };
    assert!(!scenario.journal.iter().any(|(_, event)| is_about_data(event)));
}

#[test]
fn answer_about_a_claim_that_is_not_being_read_is_impossible() {
    let mut scenario = at_the_end();
    for claim in ["pvc:shop/one", "pvc:shop/pending"] {
        let event = RunEvent::KeptClaim { claim: fixture::uid(claim), read: ClaimRead::Bound };
        let error = scenario.run.apply(scenario.now, &event).unwrap_err();
        assert!(matches!(error, ReplayError::ImpossibleForRun { .. }), "{error:?}");
    }
}

#[test]
fn shorter_journal_has_the_result_of_the_reads_alone() {
    let mut scenario = at_the_end();
    scenario.reconcile();
    let shorter = compact(&scenario.run.id, &scenario.run.plan, &scenario.journal).unwrap();
    let has = |is_one: fn(&RunEvent) -> bool| shorter.iter().any(|(_, event)| is_one(event));
    assert!(!has(|event| matches!(event, RunEvent::KeptClaim { .. })));
    assert!(has(|event| matches!(event, RunEvent::DataChecked { bound: 2, .. })));
}
