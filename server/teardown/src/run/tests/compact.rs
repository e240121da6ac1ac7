//! Tests of the shorter journal of a run that has ended.

use super::*;

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

fn refused() -> Outcome {
    Outcome::Refused { code: 403, message: "no".into() }
}

/// A run in which a map is refused for a while, another one stays refused, and a claim is read again and again.
fn stopped() -> Scenario {
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    for _ in 0..20 {
        for map in ["cm:shop/a", "cm:shop/b"] {
            if scenario.progress(map).call.is_some() {
                scenario.answer(map, refused());
            }
        }
        scenario.pass(700);
        scenario.reconcile();
    }
    scenario.answer("cm:shop/a", Outcome::Accepted);
    scenario.gone("cm shop/a of=shop");
    scenario.answer("cm:shop/b", refused());
    scenario.steer(&command(RunCommand::Pause));
    scenario.steer(&Input::Recover);
    scenario.steer(&command(RunCommand::Resume));
    scenario.reconcile();
    scenario.answer("cm:shop/b", refused());
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    if scenario.progress("pod:shop/web").call.is_some() {
        accepted(&mut scenario, "pod:shop/web");
    }
    scenario.pass(700);
    scenario.reconcile();
    scenario
}

#[test]
fn journal_of_an_ended_run_is_shortened_to_its_outcome_with_the_number_of_refusals() {
    let scenario = stopped();
    assert_eq!(scenario.run.state(), RunState::Stopped, "{:?}", scenario.journal.last());
    let short = shortened(&scenario).unwrap();
    assert!(short.len() * 3 < scenario.journal.len(), "{} {short:?}", scenario.journal.len());
    let run = replayed(&scenario, &short);
    assert_eq!(run.state(), RunState::Stopped);
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
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    assert_eq!(shortened(&scenario), None);
    let mut torn = stopped();
    torn.journal.remove(0);
    torn.journal.insert(1, (torn.now, RunEvent::Finished));
    assert_eq!(shortened(&torn), None);
}
