//! Tests of the shorter journal of a run that has ended.
//!
//! A script makes the run. That its steps are the same after either journal is compared field by field.

use super::{script::played, wording::log_of, *};

const SHOP: &str = "
    ns shop of=shop
    node n1
    pod shop/web of=shop node=n1 uses=claim:data
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
    cm shop/a of=shop
    cm shop/b of=shop
";

fn shortened(scenario: &Scenario) -> Option<Vec<Recorded>> {
    compact(&scenario.run.id, &scenario.run.plan, &scenario.journal)
}

fn replayed(scenario: &Scenario, journal: &[Recorded]) -> Run {
    let mut run = Run::new(scenario.run.id.clone(), scenario.run.plan.clone());
    for (at, event) in journal {
        run.apply(*at, event).unwrap();
    }
    run
}

/// A run in which a map is refused for a while, another one stays refused, and a claim is read again and again.
fn stopped() -> Scenario {
    let script = format!(
        "{}accepted cm:shop/a & gone cm shop/a & refused cm:shop/b & pause & restart & resume
        refused cm:shop/b & stop
        accepted pod:shop/web & +700",
        "refused cm:shop/a & refused cm:shop/b & +700\n".repeat(20)
    );
    played(SHOP, &script).0
}

#[test]
fn journal_of_an_ended_run_is_shortened_to_its_outcome_with_the_number_of_refusals() {
    let scenario = stopped();
    insta::assert_snapshot!(log_of(&scenario.run, scenario.now).join("\n"), @"
    Li started the run
    ConfigMap shop/a is requested
    ConfigMap shop/b is requested
    Pod shop/web is requested
    ConfigMap shop/a was refused 20 times: 403, for 14700 s, with the next try due: no
    ConfigMap shop/b was refused 14 times: 403, for 14700 s, with the next try due: no
    Li paused the run
    the server was restarted
    Li resumed the run
    ConfigMap shop/a is gone
    Li stopped the run
    Pod shop/web is late
    the run has stopped: 4 untouched, 1 requested, 0 terminating before, 0 unknown, 1 gone
    ");
    let short = shortened(&scenario).unwrap();
    assert!(short.len() * 3 < scenario.journal.len(), "{} {short:?}", scenario.journal.len());
    let run = replayed(&scenario, &short);
    insta::assert_snapshot!(log_of(&run, scenario.now).join("\n"), @"
    Li started the run
    ConfigMap shop/a is requested
    ConfigMap shop/b is requested
    Pod shop/web is requested
    ConfigMap shop/a was refused 20 times: 403, for 14700 s, with the next try due: no
    ConfigMap shop/b was refused 14 times: 403, for 14700 s, with the next try due: no
    Li paused the run
    the server was restarted
    Li resumed the run
    ConfigMap shop/a is gone
    Li stopped the run
    Pod shop/web is late
    the run has stopped: 4 untouched, 1 requested, 0 terminating before, 0 unknown, 1 gone
    ");
    for (before, after) in scenario.run.steps().zip(run.steps()) {
        let (step, before, after) = (before.0, before.1, after.1);
        assert_eq!((after.phase, after.proof), (before.phase, before.proof), "{}", step.object);
        assert_eq!(after.hold.refusals(), before.hold.refusals(), "{}", step.object);
        assert_eq!(run.shown(step), scenario.run.shown(step), "{}", step.object);
    }
    let refusals = run.progress(scenario.id("cm:shop/b")).unwrap().hold.refusals().copied();
    assert!(refusals.is_some_and(|it| it.count > 5), "{refusals:?}");
    assert_eq!(compact(&run.id, &run.plan, &short), None, "it cannot be shortened again");
}

#[test]
fn journal_of_an_open_run_and_one_that_does_not_fit_are_left_alone() {
    assert_eq!(shortened(&played(SHOP, "").0), None);
    let mut torn = stopped();
    torn.journal.remove(0);
    torn.journal.insert(1, (torn.now, RunEvent::Finished));
    assert_eq!(shortened(&torn), None);
}
