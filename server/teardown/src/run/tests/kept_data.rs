//! Tests of the last look at the claims whose data is kept.

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

/// The entry about the kept data when a run ends, after these observations.
fn checked(choices: &[Choice], more: impl Fn(&mut Scenario)) -> Option<FeedEvent> {
    let mut scenario = Scenario::with(SHOP, &choices.iter().cloned().collect());
    more(&mut scenario);
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert!(scenario.run.state().is_ended());
    let mut events = scenario.run.event_log().iter().map(|entry| entry.event.clone());
    events.find(|event| matches!(event, FeedEvent::DataChecked { .. }))
}

#[test]
fn kept_claims_are_looked_at_when_the_run_ends() {
    let keep = [Choice::KeepData];
    let all = checked(&keep, |_| {});
    assert_eq!(all, Some(FeedEvent::DataChecked { bound: 2, lost: vec![], unknown: vec![] }));
    let two = || vec![fixture::object("pvc shop/two").reference()];
    let gone = checked(&keep, |scenario| scenario.gone("pvc shop/two"));
    assert_eq!(gone, Some(FeedEvent::DataChecked { bound: 1, lost: two(), unknown: vec![] }));
    let going = checked(&keep, |scenario| scenario.applied("pvc shop/two volume=pv-2 deleted=1"));
    assert_eq!(going, Some(FeedEvent::DataChecked { bound: 1, lost: two(), unknown: vec![] }));
    let hidden = checked(&keep, |scenario| scenario.hidden("persistentvolumeclaims"));
    let Some(FeedEvent::DataChecked { bound: 0, lost, unknown }) = hidden else { panic!() };
    assert_eq!((lost.len(), unknown.len()), (0, 2));
    assert_eq!(checked(&[], |_| {}), None, "nobody asked for it");
}
