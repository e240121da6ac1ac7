//! The pages of a run that waits for objects outside its plan, and of the plan of those.

use super::*;

/// The run's page with these changes to its records.
fn run_with(right: Right, change: impl Fn(&mut Record)) -> String {
    let seed = PageSeed { right, ..consortium::run() };
    let seed = with_records(seed, |records| records.iter_mut().for_each(change));
    let html = render("run-unplanned", "/r/7", seed);
    check(&html);
    html
}

#[test]
fn objects_outside_the_plan_lead_to_a_plan_of_their_own() {
    let held = |record: &mut Record| {
        if let Record::Step(card) = record
            && matches!(card.state, State::CameBack | State::Stuck)
        {
            card.unplanned = vec![card.object.clone()];
        }
    };
    let link = "href=\"/u/consortium/plan?unplanned=7\"";
    let html = run_with(Right::Act, held);
    assert!(html.contains(link) && html.contains("Plan for the objects outside the plan"));
    assert!(!run_with(Right::Look, held).contains(link));
    assert!(!run_with(Right::Act, |_| {}).contains(link));
}

#[test]
fn plan_beside_an_open_run_can_be_started() {
    let mut seed = with_records(consortium::planned(), |records| {
        for record in records {
            if let Record::Unit(card) = record {
                card.run = Some(RunId::new("6"));
            }
        }
    });
    let plan = seed.plan.as_mut().unwrap();
    plan.choices = Choices::from_iter([Choice::Unplanned(RunId::new("6"))]);
    let html = render("plan-beside", PLAN, seed);
    check(&html);
    assert!(html.contains("Start teardown…") && !html.contains("Open the run"));
    assert!(html.contains("Tear down objects outside the plan of consortium?"));
    assert!(html.contains("name=\"unplanned\" value=\"6\""), "another choice keeps it");
}
