//! Tests of when a call is repeated.

use super::*;

#[test]
fn retry_after_is_respected_within_limits() {
    let late = |after| Outcome::Unanswered { message: "shutting down".into(), after };
    let throttled = |after| Outcome::Throttled { after };
    // Columns: the `Retry-After`, and the last second without a retry, first if the effect of a DELETE is unknown and
    // then if it is known.
    for (retry_after, effect_unknown, sure) in
        [(0, 0, 0), (9, 8, 8), (600, 119, 599), (86_400, 119, 3_599)]
    {
        let after = Some(jiff::SignedDuration::from_secs(retry_after));
        for (outcome, until, next) in
            [(late(after), effect_unknown, "GET"), (throttled(after), sure, "DELETE")]
        {
            let mut scenario = Scenario::of("cm shop/a of=shop");
            scenario.reconcile();
            scenario.answer("cm:shop/a", outcome);
            scenario.pass(until);
            assert!(scenario.reconcile().is_empty(), "{retry_after}");
            scenario.pass(1);
            assert_eq!(scenario.reconcile(), [format!("{next} ConfigMap shop/a")], "{retry_after}");
        }
    }
}

#[test]
fn resumed_run_retries_before_retry_after_has_passed() {
    let mut scenario = Scenario::of("cm shop/a of=shop");
    scenario.reconcile();
    let after = Some(jiff::SignedDuration::from_hours(1));
    scenario.answer("cm:shop/a", Outcome::Throttled { after });
    assert!(scenario.reconcile().is_empty());
    scenario.steer(&command(RunCommand::Pause));
    assert!(scenario.reconcile().is_empty());
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
}
