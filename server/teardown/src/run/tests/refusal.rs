//! Tests of when a refused call is tried again, and of the traces that it leaves.

use std::fmt::Write as _;

use jiff::SignedDuration;
use serde::Serialize;

use super::*;
use crate::fixture;

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

fn refused(code: u16, message: &str) -> Outcome {
    Outcome::Refused { code, message: message.into() }
}

/// A run whose only DELETE was refused with this message.
fn refused_with(code: u16, message: &str) -> Scenario {
    let mut scenario = Scenario::of(GUARDED);
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.pass(2);
    scenario.answer("cm:shop/a", refused(code, message));
    scenario
}

impl Scenario {
    /// Passes time second by second until a call is made, and returns the number of seconds.
    fn until_next_call(&mut self) -> i64 {
        for seconds in 0.. {
            if !self.reconcile().is_empty() {
                return seconds;
            }
            self.pass(1);
        }
        unreachable!("the loop has no end");
    }

    fn refusals(&self, uid: &str) -> Refusals {
        *self.progress(uid).hold.refusals().unwrap()
    }

    /// The problems in the event log.
    fn problems(&self) -> Vec<StepProblem> {
        let problem = |entry: &FeedEntry| match &entry.event {
            FeedEvent::Problem { problem, .. } => Some(problem.clone()),
            _ => None,
        };
        self.run.event_log().iter().filter_map(problem).collect()
    }
}

#[test]
fn delay_doubles_from_20_seconds_to_10_minutes_and_another_cause_starts_again() {
    let mut scenario = refused_with(403, &forbidden("a"));
    for delay in [20, 40, 80, 160, 320, 600, 600, 600] {
        assert_eq!(scenario.until_next_call(), delay);
        scenario.answer("cm:shop/a", refused(403, &forbidden("a")));
    }
    assert_eq!(scenario.refusals("cm:shop/a").count, 9);
    assert_eq!(scenario.until_next_call(), 600);
    scenario.answer("cm:shop/a", refused(422, INVALID));
    assert_eq!(scenario.refusals("cm:shop/a").count, 1);
    assert_eq!(scenario.until_next_call(), 20);
}

#[test]
fn refusals_of_one_cause_are_one_line_with_a_count() {
    let mut scenario = refused_with(500, DOWN);
    let since = scenario.now;
    let other = DOWN.replace("no endpoints available for service \"gate\"", "i/o timeout");
    for message in [DOWN, &other, &other] {
        scenario.until_next_call();
        scenario.answer("cm:shop/a", refused(500, message));
    }
    let next = scenario.now + SignedDuration::from_secs(160);
    let counted = StepProblem::Refused {
        code: 500,
        message: other.as_str().into(),
        refusals: Some(Refusals { count: 4, since, next }),
    };
    assert_eq!(scenario.problems(), [counted]);
    let requested = |entry: &&FeedEntry| matches!(entry.event, FeedEvent::Requested { .. });
    assert_eq!(scenario.run.event_log().iter().filter(requested).count(), 1);
    // Another cause is another line.
    scenario.until_next_call();
    scenario.answer("cm:shop/a", refused(403, DENIED));
    assert_eq!(scenario.problems().len(), 2);
}

/// For each cause: the changes that lead to the next try at once, and one that does not.
#[test]
fn change_of_the_cause_leads_to_the_next_try_at_once() {
    let webhook = "webhook gate guards=configmaps service=guard/gate";
    let backends = ["pod guard/gate-1 labels=app:gate", "svc guard/gate selector=app:gate"];
    let object = "cm shop/a of=shop";
    let cases: [(u16, &str, &[&str], &str); 4] = [
        (500, DOWN, &[webhook, backends[0], backends[1]], "pod guard/other labels=app:other"),
        (403, DENIED, &[webhook, object], "role shop/deleter"),
        (403, &forbidden("a"), &["role shop/deleter", "crb all role=ClusterRole/x"], webhook),
        (422, INVALID, &[object], webhook),
    ];
    for (code, message, changes, other) in cases {
        for change in changes {
            let mut scenario = refused_with(code, message);
            scenario.pass(6);
            assert!(scenario.reconcile().is_empty(), "{message}: nothing has changed");
            scenario.applied(change);
            assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"], "{message}: {change}");
        }
        let mut scenario = refused_with(code, message);
        scenario.pass(6);
        scenario.applied(other);
        assert!(scenario.reconcile().is_empty(), "{message}: {other}");
    }
    let mut scenario = refused_with(500, DOWN);
    scenario.pass(6);
    scenario.gone(webhook);
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"], "the configuration is gone");
}

#[test]
fn cause_that_changes_every_second_is_tried_ever_less_often() {
    let mut scenario = refused_with(422, INVALID);
    let mut tries = vec![];
    for second in 1..=3_600 {
        scenario.pass(1);
        scenario.applied("cm shop/a of=shop");
        if !scenario.reconcile().is_empty() {
            tries.push(second);
            scenario.answer("cm:shop/a", refused(422, INVALID));
        }
    }
    assert_eq!(tries[..5], [5, 15, 35, 75, 155]);
    assert!(tries.len() < 20, "{tries:?}");
}

#[test]
fn early_try_wakes_the_run_although_the_change_came_before_it_was_due() {
    let mut scenario = refused_with(422, INVALID);
    scenario.pass(1);
    scenario.applied("cm shop/a of=shop");
    assert!(scenario.reconcile().is_empty());
    let wake = scenario.run.wake(scenario.now).unwrap();
    assert_eq!(wake.duration_since(scenario.now), SignedDuration::from_secs(4));
    scenario.now = wake;
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
}

#[test]
fn person_asks_for_the_next_try_of_a_running_run() {
    let mut scenario = refused_with(422, INVALID);
    let lines = scenario.run.event_log().len();
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(scenario.run.event_log().len(), lines + 1, "nothing was left to ask for");
}

#[test]
fn call_that_gets_through_leads_to_the_others_at_once() {
    let mut scenario = Scenario::of("cm shop/a of=shop\n cm shop/b of=shop\n cm shop/c of=shop");
    scenario.reconcile();
    scenario.answer("cm:shop/a", refused(403, &forbidden("a")));
    scenario.pass(10);
    scenario.answer("cm:shop/b", refused(403, &forbidden("b")));
    scenario.answer("cm:shop/c", refused(422, INVALID));
    scenario.pass(10);
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.answer("cm:shop/a", Outcome::Accepted);
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/b"], "its right was missing too");
}

/// Nobody watched while the server was down, so the cause may have changed.
#[test]
fn restart_leads_to_one_try_and_keeps_the_count() {
    let mut scenario = refused_with(422, INVALID);
    for _ in 0..3 {
        scenario.until_next_call();
        scenario.answer("cm:shop/a", refused(422, INVALID));
    }
    scenario.pass(30);
    scenario.steer(&Input::Recover);
    scenario.index = Index::default();
    scenario.index.apply(fixture::listing(&fixture::objects(GUARDED)), scenario.now);
    assert_eq!(scenario.until_next_call(), 0);
    scenario.pass(2);
    scenario.answer("cm:shop/a", refused(422, INVALID));
    assert_eq!(scenario.refusals("cm:shop/a").count, 5);
    assert_eq!(scenario.until_next_call(), 320);
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
    assert_eq!(scenario.refusals("cm:shop/a").count, 2);
    assert_eq!(scenario.problems().len(), 1);
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
            let outcome = refused(403, &message(action.step().unwrap().0 as usize));
            write(&mut scenario, &Input::CallCompleted { action, outcome });
        }
        scenario.now = scenario.run.wake(scenario.now).unwrap();
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
