//! Tests of when a refused call is tried again, and of the traces that it leaves.
//!
//! Causes that change all the time, and the weekends, stay loops: the number of tries counts, and the size of the journal. An earlier
//! journal is events.

use std::fmt::Write as _;

use jiff::SignedDuration;
use serde::Serialize;

use super::{
    script::{endings, played, transcript},
    wording::log_of,
    *,
};

const DOWN: &str = r#"Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: Post "https://gate.guard.svc:443/?timeout=10s": no endpoints available for service "gate""#;
const DENIED: &str = r#"admission webhook "gate.example.com" denied the request: protected"#;
const INVALID: &str = "ConfigMap \"a\" is invalid: metadata.finalizers: Invalid value";
const GUARDED: &str = "
    cm shop/a of=shop
    webhook gate guards=configmaps service=guard/gate
    svc guard/gate selector=app:gate
    pod guard/gate-1 labels=app:gate
    pod guard/other labels=app:other
    role shop/deleter
";

fn forbidden(name: &str) -> String {
    format!(
        r#"configmaps "{name}" is forbidden: User "li" cannot delete resource "configmaps" in API group "" in the namespace "shop""#
    )
}

/// The words for the messages in these scripts.
fn messages() -> [(&'static str, String); 6] {
    [
        ("DOWN", DOWN.to_owned()),
        ("SLOW", DOWN.replace("no endpoints available for service \"gate\"", "i/o timeout")),
        ("DENIED", DENIED.to_owned()),
        ("INVALID", INVALID.to_owned()),
        ("FORBIDDEN_A", forbidden("a")),
        ("FORBIDDEN_B", forbidden("b")),
    ]
}

fn in_full(script: &str) -> String {
    messages().iter().fold(script.to_owned(), |it, (word, message)| it.replace(word, message))
}

/// The transcript with a word for each message.
fn in_short(transcript: &str) -> String {
    messages().iter().fold(transcript.to_owned(), |it, (word, message)| it.replace(message, word))
}

fn guarded(script: &str) -> String {
    in_short(&transcript(GUARDED, &in_full(script)))
}

/// The first line of a script: the only DELETE is refused.
fn refused(code: &str, message: &str) -> String {
    format!("+2\n refused {code} cm:shop/a: {message}\n")
}

#[test]
fn delay_doubles_from_20_seconds_to_10_minutes_and_another_cause_starts_again() {
    let again = "until call\n refused 403 cm:shop/a: FORBIDDEN_A\n".repeat(8);
    let script = format!(
        "{}{again} look at cm:shop/a
        until call
        refused 422 cm:shop/a: INVALID
        look at cm:shop/a
        until call",
        refused("403", "FORBIDDEN_A")
    );
    insta::assert_snapshot!(guarded(&script), @"
    DELETE ConfigMap shop/a
    > +2
    > refused 403 cm:shop/a: FORBIDDEN_A
    ConfigMap shop/a was refused: 403
    > until call
    20 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    40 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    80 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    160 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    320 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    600 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    600 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > until call
    600 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: FORBIDDEN_A
    > look at cm:shop/a
    ConfigMap shop/a was refused 9 times: 403, for 2420 s, with the next try in 600 s: FORBIDDEN_A
    > until call
    600 s later
    DELETE ConfigMap shop/a
    > refused 422 cm:shop/a: INVALID
    ConfigMap shop/a was refused: 422
    > look at cm:shop/a
    ConfigMap shop/a was refused: 422, for 0 s, with the next try in 20 s: INVALID
    > until call
    20 s later
    DELETE ConfigMap shop/a
    ");
}

#[test]
fn refusals_of_one_cause_are_one_line_with_a_count() {
    // Another cause is another line.
    let script = refused("500", "DOWN")
        + "until call
        refused 500 cm:shop/a: DOWN
        until call
        refused 500 cm:shop/a: SLOW
        until call
        refused 500 cm:shop/a: SLOW
        look at log
        until call
        refused 403 cm:shop/a: DENIED
        look at log";
    insta::assert_snapshot!(guarded(&script), @"
    DELETE ConfigMap shop/a
    > +2
    > refused 500 cm:shop/a: DOWN
    ConfigMap shop/a was refused: 500
    > until call
    20 s later
    DELETE ConfigMap shop/a
    > refused 500 cm:shop/a: DOWN
    > until call
    40 s later
    DELETE ConfigMap shop/a
    > refused 500 cm:shop/a: SLOW
    > until call
    80 s later
    DELETE ConfigMap shop/a
    > refused 500 cm:shop/a: SLOW
    > look at log
      Li started the run
      ConfigMap shop/a is requested
      ConfigMap shop/a was refused 4 times: 500, for 140 s, with the next try in 160 s: SLOW
    > until call
    160 s later
    DELETE ConfigMap shop/a
    > refused 403 cm:shop/a: DENIED
    ConfigMap shop/a was refused: 403
    > look at log
      Li started the run
      ConfigMap shop/a is requested
      ConfigMap shop/a was refused 4 times: 500, for 300 s, with the next try due: SLOW
      ConfigMap shop/a was refused: 403, for 0 s, with the next try in 20 s: DENIED
    ");
}

/// For each cause: the changes that lead to the next try at once, and one that does not.
#[test]
fn change_of_the_cause_leads_to_the_next_try_at_once() {
    let webhook = "webhook gate guards=configmaps service=guard/gate";
    let service = "svc guard/gate selector=app:gate";
    let object = "cm shop/a of=shop";
    let cells = [
        ("500 DOWN", "applied", webhook),
        ("500 DOWN", "applied", "pod guard/gate-1 labels=app:gate"),
        ("500 DOWN", "applied", service),
        ("500 DOWN", "gone", webhook),
        ("500 DOWN", "applied", "pod guard/other labels=app:other"),
        ("403 DENIED", "applied", webhook),
        ("403 DENIED", "applied", object),
        ("403 DENIED", "applied", "role shop/deleter"),
        ("403 FORBIDDEN_A", "applied", "role shop/deleter"),
        ("403 FORBIDDEN_A", "applied", "crb all role=ClusterRole/x"),
        ("403 FORBIDDEN_A", "applied", webhook),
        ("422 INVALID", "applied", object),
        ("422 INVALID", "applied", webhook),
    ]
    .map(|(refusal, word, change)| format!("{refusal}, {word} {change}"));
    let script = |cell: &str| {
        let (refusal, change) = cell.split_once(", ").unwrap();
        let (code, message) = refusal.split_once(' ').unwrap();
        in_full(&format!("{}+6\n {change}", refused(code, message)))
    };
    insta::assert_snapshot!(endings(GUARDED, cells, script), @"
    500 DOWN, applied webhook gate guards=configmaps service=guard/gate
        DELETE ConfigMap shop/a
    500 DOWN, applied pod guard/gate-1 labels=app:gate
        DELETE ConfigMap shop/a
    500 DOWN, applied svc guard/gate selector=app:gate
        DELETE ConfigMap shop/a
    500 DOWN, gone webhook gate guards=configmaps service=guard/gate
        DELETE ConfigMap shop/a
    500 DOWN, applied pod guard/other labels=app:other
    403 DENIED, applied webhook gate guards=configmaps service=guard/gate
        DELETE ConfigMap shop/a
    403 DENIED, applied cm shop/a of=shop
        DELETE ConfigMap shop/a
    403 DENIED, applied role shop/deleter
    403 FORBIDDEN_A, applied role shop/deleter
        DELETE ConfigMap shop/a
    403 FORBIDDEN_A, applied crb all role=ClusterRole/x
        DELETE ConfigMap shop/a
    403 FORBIDDEN_A, applied webhook gate guards=configmaps service=guard/gate
    422 INVALID, applied cm shop/a of=shop
        DELETE ConfigMap shop/a
    422 INVALID, applied webhook gate guards=configmaps service=guard/gate
    ");
}

#[test]
fn cause_that_changes_every_second_is_tried_ever_less_often() {
    let mut scenario = played(GUARDED, &in_full(&refused("422", "INVALID"))).0;
    let mut tries = vec![];
    for second in 1..=3_600 {
        scenario.pass(1);
        scenario.applied("cm shop/a of=shop");
        if !scenario.reconcile().is_empty() {
            tries.push(second);
            scenario.answer("cm:shop/a", Outcome::Refused { code: 422, message: INVALID.into() });
        }
    }
    assert_eq!(tries[..5], [5, 15, 35, 75, 155]);
    assert!(tries.len() < 20, "{tries:?}");
}

#[test]
fn early_try_wakes_the_run_although_the_change_came_before_it_was_due() {
    let script = refused("422", "INVALID")
        + "+1 & applied cm shop/a of=shop
        look at clock
        +4";
    insta::assert_snapshot!(guarded(&script), @"
    DELETE ConfigMap shop/a
    > +2
    > refused 422 cm:shop/a: INVALID
    ConfigMap shop/a was refused: 422
    > +1 & applied cm shop/a of=shop
    > look at clock
    the run wakes in 4000 ms
    > +4
    DELETE ConfigMap shop/a
    ");
}

#[test]
fn person_asks_for_the_next_try_of_a_running_run() {
    // The second time nothing is left to ask for.
    let script = refused("422", "INVALID")
        + "resume
        resume
        look at log";
    insta::assert_snapshot!(guarded(&script), @"
    DELETE ConfigMap shop/a
    > +2
    > refused 422 cm:shop/a: INVALID
    ConfigMap shop/a was refused: 422
    > resume
    DELETE ConfigMap shop/a
    > resume
    > look at log
      Li started the run
      ConfigMap shop/a is requested
      ConfigMap shop/a was refused: 422, for 0 s, with the next try in 20 s: INVALID
      Li resumed the run
    ");
}

#[test]
fn call_that_gets_through_leads_to_the_others_at_once() {
    // The right was missing for the second one too.
    let script = "refused 403 cm:shop/a: FORBIDDEN_A
        +10 & refused 403 cm:shop/b: FORBIDDEN_B & refused 422 cm:shop/c: INVALID
        +10
        accepted cm:shop/a";
    let cluster = "cm shop/a of=shop\n cm shop/b of=shop\n cm shop/c of=shop";
    insta::assert_snapshot!(in_short(&transcript(cluster, &in_full(script))), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    DELETE ConfigMap shop/c
    > refused 403 cm:shop/a: FORBIDDEN_A
    ConfigMap shop/a was refused: 403
    > +10 & refused 403 cm:shop/b: FORBIDDEN_B & refused 422 cm:shop/c: INVALID
    ConfigMap shop/b was refused: 403
    ConfigMap shop/c was refused: 422
    > +10
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    DELETE ConfigMap shop/b
    ");
}

/// Nobody watched while the server was down, so the cause may have changed.
#[test]
fn restart_leads_to_one_try_and_keeps_the_count() {
    let script = format!(
        "{}{}+30 & restart anew
        +2 & refused 422 cm:shop/a: INVALID
        look at cm:shop/a
        until call",
        refused("422", "INVALID"),
        "until call\n refused 422 cm:shop/a: INVALID\n".repeat(3)
    );
    insta::assert_snapshot!(guarded(&script), @"
    DELETE ConfigMap shop/a
    > +2
    > refused 422 cm:shop/a: INVALID
    ConfigMap shop/a was refused: 422
    > until call
    20 s later
    DELETE ConfigMap shop/a
    > refused 422 cm:shop/a: INVALID
    > until call
    40 s later
    DELETE ConfigMap shop/a
    > refused 422 cm:shop/a: INVALID
    > until call
    80 s later
    DELETE ConfigMap shop/a
    > refused 422 cm:shop/a: INVALID
    > +30 & restart anew
    DELETE ConfigMap shop/a
    > +2 & refused 422 cm:shop/a: INVALID
    > look at cm:shop/a
    ConfigMap shop/a was refused 5 times: 422, for 172 s, with the next try in 320 s: INVALID
    > until call
    320 s later
    DELETE ConfigMap shop/a
    ");
}

/// Journals of this version have one event with the whole problem for each refusal.
#[test]
fn refusals_of_an_earlier_journal_are_counted() {
    let text = r#"{"event":"postponed","step":0,"until":"2027-01-15T09:00:20Z","effect_unknown":false,"problem":{"refused":{"code":403,"message":{"quoted":"no"}}}}"#;
    let mut scenario = Scenario::of("cm shop/a of=shop");
    let event: RunEvent = serde_json::from_str(text).unwrap();
    for _ in 0..2 {
        scenario.record(&RunEvent::CallStarted { step: StepId(0), call: Call::Delete });
        scenario.record(&event);
    }
    let log = log_of(&scenario.run, scenario.now).join("\n");
    insta::assert_snapshot!(log, @"
    Li started the run
    ConfigMap shop/a is requested
    ConfigMap shop/a was refused 2 times: 403, for 0 s, with the next try in 3620 s: no
    ");
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
}

/// An event as the journal stores it.
#[derive(Serialize)]
struct Entry<'a> {
    at: Timestamp,
    event: &'a RunEvent,
}

/// The tries of each step, and the bytes of the journal, of a run whose 50 steps are refused for 60 hours.
///
/// Where the cause is `restless`, a right changes before each try.
fn weekend(message: impl Fn(usize) -> String, restless: bool) -> (Vec<u32>, usize) {
    const STEPS: usize = 50;
    let mut objects = String::new();
    for number in 0..STEPS {
        writeln!(objects, "cm shop/settings-of-a-component-{number} of=shop").unwrap();
    }
    let mut scenario = Scenario::of(&objects);
    let (start, mut bytes) = (scenario.now, 0);
    let mut write = |scenario: &mut Scenario, input: &Input| {
        let decision = scenario.apply_input(input);
        for event in &decision.events {
            bytes += serde_json::to_vec(&Entry { at: scenario.now, event }).unwrap().len() + 20;
        }
        decision.actions
    };
    while scenario.now.duration_since(start) < SignedDuration::from_hours(60) {
        if restless {
            scenario.applied("role shop/deleter");
        }
        for action in write(&mut scenario, &Input::Reconcile) {
            scenario.now += SignedDuration::from_millis(7);
            let message = message(action.step().unwrap().0 as usize);
            let outcome = Outcome::Refused { code: 403, message: message.as_str().into() };
            write(&mut scenario, &Input::CallCompleted { action, outcome });
        }
        scenario.now = scenario.run.wake(&scenario.index, scenario.now).unwrap();
    }
    let tries = scenario.run.steps().map(|(_, it)| it.hold.refusals().unwrap().count).collect();
    (tries, bytes)
}

#[test]
fn journal_of_a_refused_weekend_stays_below_a_megabyte() {
    let own = |step| format!("ConfigMap {step} is protected: {}", "x".repeat(100));
    for message in [&own as &dyn Fn(usize) -> String, &|_| DOWN.to_owned(), &|_| DENIED.to_owned()]
    {
        let (tries, bytes) = weekend(message, false);
        assert!(bytes < 1_000_000, "{bytes}");
        assert!(tries.iter().all(|tries| (35..50).contains(tries)), "{tries:?}");
        assert!(tries.iter().sum::<u32>() > 60 * 30, "one try in two minutes: {tries:?}");
    }
}

#[test]
fn cause_that_changes_all_weekend_does_not_fill_the_journal() {
    let (tries, bytes) = weekend(|step| forbidden(&step.to_string()), true);
    assert!(bytes < 1_000_000, "{bytes}");
    assert!(tries.iter().all(|tries| (35..200).contains(tries)), "{tries:?}");
}

/// The same text with another code, and another webhook with the same code.
#[test]
fn refusal_for_another_cause_is_another_line() {
    let script = refused("500", "DOWN")
        + "until call
        refused 503 cm:shop/a: DOWN
        until call
        refused 503 cm:shop/a: OTHER";
    let other = DOWN.replace("gate.example.com", "other.example.com");
    let transcript = transcript(GUARDED, &in_full(&script).replace("OTHER", &other));
    insta::assert_snapshot!(in_short(&transcript).replace(&other, "OTHER"), @"
    DELETE ConfigMap shop/a
    > +2
    > refused 500 cm:shop/a: DOWN
    ConfigMap shop/a was refused: 500
    > until call
    20 s later
    DELETE ConfigMap shop/a
    > refused 503 cm:shop/a: DOWN
    ConfigMap shop/a was refused: 503
    > until call
    20 s later
    DELETE ConfigMap shop/a
    > refused 503 cm:shop/a: OTHER
    ConfigMap shop/a was refused: 503
    ");
}

/// Only refused calls take turns, so that one webhook is not asked by all of them at once.
#[test]
fn step_that_waits_for_another_reason_is_no_turn_of_a_refused_one() {
    let script = format!(
        "throttled 3600 cm:shop/b
        {}look at cm:shop/a",
        "refused cm:shop/a\n until call\n".repeat(5) + "refused cm:shop/a\n"
    );
    let transcript = transcript("cm shop/a of=shop\n cm shop/b of=shop", &script);
    insta::assert_snapshot!(transcript.lines().last().unwrap(), @"ConfigMap shop/a was refused 6 times: 403, for 605 s, with the next try in 600 s: no");
}
