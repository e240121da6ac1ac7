//! Tests of the reads of the claims whose data is kept, at the end of a run.
//!
//! That the shorter journal has the result of the reads alone, and which events cannot follow, is tested on the events.

use super::{
    script::{played, transcript},
    *,
};

const SHOP: &str = "
    ns shop of=shop
    cm shop/a of=shop
    pvc shop/one of=shop volume=pv-1
    pv pv-1 claim=shop/one reclaim=Delete
    pvc shop/two of=shop volume=pv-2
    pv pv-2 claim=shop/two
    pvc shop/pending of=shop
";
/// The last object of a run that keeps the data goes. For the index both claims are bound.
const LAST: &str = "choose keep=data
    each call
    accepted cm:shop/a
    gone cm shop/a";

/// The transcript after the last object has gone.
fn at_the_end(script: &str) -> String {
    let transcript = transcript(SHOP, &format!("{LAST}\n{script}"));
    let (_, end) = transcript.split_once("> gone cm shop/a\n").unwrap();
    end.to_owned()
}

#[test]
fn run_ends_when_each_kept_claim_was_read_once_whatever_the_watch_shows() {
    let script = "bound pvc:shop/one
        missing pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > missing pvc:shop/two
    claims bound: 1, lost: PersistentVolumeClaim shop/two, unknown: none
    the run has finished
    ");
    let script = "going pvc:shop/one
        unbound pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > going pvc:shop/one
    > unbound pvc:shop/two
    claims bound: 0, lost: PersistentVolumeClaim shop/one, PersistentVolumeClaim shop/two, unknown: none
    the run has finished
    ");
}

#[test]
fn read_without_an_answer_is_said_once_and_made_again_until_there_is_one() {
    let script = "bound pvc:shop/one
        silent pvc:shop/two
        +1
        silent pvc:shop/two
        +1
        bound pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 1
    > +1
    GET PersistentVolumeClaim shop/two
    > silent pvc:shop/two
    > +1
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/two
    claims bound: 2, lost: none, unknown: none
    the run has finished
    ");
}

#[test]
fn run_wakes_for_the_next_read_of_a_claim() {
    let script = "bound pvc:shop/one
        silent pvc:shop/two
        look at clock";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 1
    > look at clock
    the run wakes in 250 ms
    ");
}

#[test]
fn claim_whose_read_is_refused_again_and_again_keeps_no_run_open() {
    let script = "bound pvc:shop/one
        refused pvc:shop/two
        +5
        refused pvc:shop/two
        +10
        refused pvc:shop/two
        +20
        refused pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > refused pvc:shop/two
    PersistentVolumeClaim shop/two was refused: 403
    > +5
    GET PersistentVolumeClaim shop/two
    > refused pvc:shop/two
    > +10
    GET PersistentVolumeClaim shop/two
    > refused pvc:shop/two
    > +20
    GET PersistentVolumeClaim shop/two
    > refused pvc:shop/two
    claims bound: 1, lost: none, unknown: PersistentVolumeClaim shop/two
    the run has finished
    ");
}

#[test]
fn claim_that_cannot_be_decrypted_keeps_no_run_open() {
    const UNREADABLE: &str = r#"silent pvc:shop/two: Internal error occurred: unable to transform key "/registry/x": no matching prefix found"#;
    let script = format!(
        "bound pvc:shop/one
        {UNREADABLE}
        +5
        silent pvc:shop/two
        +5
        {UNREADABLE}
        +10
        {UNREADABLE}
        +20
        {UNREADABLE}"
    );
    insta::assert_snapshot!(at_the_end(&script), @r#"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > silent pvc:shop/two: Internal error occurred: unable to transform key "/registry/x": no matching prefix found
    PersistentVolumeClaim shop/two was refused: 500
    > +5
    GET PersistentVolumeClaim shop/two
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 2
    > +5
    GET PersistentVolumeClaim shop/two
    > silent pvc:shop/two: Internal error occurred: unable to transform key "/registry/x": no matching prefix found
    PersistentVolumeClaim shop/two was refused: 500
    > +10
    GET PersistentVolumeClaim shop/two
    > silent pvc:shop/two: Internal error occurred: unable to transform key "/registry/x": no matching prefix found
    > +20
    GET PersistentVolumeClaim shop/two
    > silent pvc:shop/two: Internal error occurred: unable to transform key "/registry/x": no matching prefix found
    claims bound: 1, lost: none, unknown: PersistentVolumeClaim shop/two
    the run has finished
    "#);
}

#[test]
fn answer_that_came_long_before_the_end_is_asked_for_again() {
    let script = "bound pvc:shop/one
        silent pvc:shop/two
        +120
        bound pvc:shop/two
        missing pvc:shop/one";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 1
    > +120
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/two
    GET PersistentVolumeClaim shop/one
    > missing pvc:shop/one
    claims bound: 1, lost: PersistentVolumeClaim shop/one, unknown: none
    the run has finished
    ");
}

#[test]
fn person_who_resumes_a_run_has_its_claims_read_at_once() {
    let script = "bound pvc:shop/one
        silent pvc:shop/two
        resume
        bound pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 1
    > resume
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/two
    claims bound: 2, lost: none, unknown: none
    the run has finished
    ");
}

#[test]
fn run_that_is_being_stopped_waits_for_no_second_read() {
    let script = "silent pvc:shop/two
        stop
        bound pvc:shop/one";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 1
    > stop
    > bound pvc:shop/one
    claims bound: 1, lost: none, unknown: PersistentVolumeClaim shop/two
    the run has finished
    ");
}

#[test]
fn read_that_was_not_made_is_made_again_at_once_and_after_a_restart() {
    let script = "pause
        recalled pvc:shop/one
        restart
        bound pvc:shop/one
        bound pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > pause
    > recalled pvc:shop/one
    GET PersistentVolumeClaim shop/one
    > restart
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > bound pvc:shop/two
    claims bound: 2, lost: none, unknown: none
    the run has finished
    ");
}

#[test]
fn claims_are_not_read_where_nobody_chose_to_keep_data() {
    let script = "each call
        pause first
        stop";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > each call
    > pause first
    > stop
    the run has stopped: 6 untouched, 0 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn answer_about_a_claim_that_is_not_being_read_is_impossible() {
    let script = "choose keep=data\n accepted cm:shop/a & gone cm shop/a";
    let (mut scenario, _) = played(SHOP, script);
    for claim in ["pvc:shop/one", "pvc:shop/pending"] {
        let event = RunEvent::KeptClaim { claim: fixture::uid(claim), read: ClaimRead::Bound };
        let error = scenario.run.apply(scenario.now, &event).unwrap_err();
        assert!(matches!(error, ReplayError::ImpossibleForRun { .. }), "{error:?}");
    }
}

#[test]
fn shorter_journal_has_the_result_of_the_reads_alone() {
    let script = "choose keep=data\n accepted cm:shop/a\n gone cm shop/a";
    let (scenario, _) = played(SHOP, script);
    let shorter = compact(&scenario.run.id, &scenario.run.plan, &scenario.journal).unwrap();
    let has = |is_one: fn(&RunEvent) -> bool| shorter.iter().any(|(_, event)| is_one(event));
    assert!(!has(|event| matches!(event, RunEvent::KeptClaim { .. })));
    assert!(has(|event| matches!(event, RunEvent::DataChecked { bound: 2, .. })));
}

#[test]
fn run_that_is_stopped_reads_each_claim_once_before_it_ends() {
    let script = "choose keep=data
        each call
        pause first
        stop
        bound pvc:shop/one
        bound pvc:shop/two";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > choose keep=data
    > each call
    > pause first
    > stop
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/one
    > bound pvc:shop/two
    claims bound: 2, lost: none, unknown: none
    the run has stopped: 1 untouched, 0 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

/// It cannot be bound again.
#[test]
fn claim_that_is_lost_is_not_read_again_however_long_the_others_take() {
    let script = "missing pvc:shop/one
        silent pvc:shop/two
        +120
        bound pvc:shop/two";
    insta::assert_snapshot!(at_the_end(script), @"
    ConfigMap shop/a is gone
    GET PersistentVolumeClaim shop/one
    GET PersistentVolumeClaim shop/two
    > missing pvc:shop/one
    > silent pvc:shop/two
    PersistentVolumeClaim shop/two is tried again after try 1
    > +120
    GET PersistentVolumeClaim shop/two
    > bound pvc:shop/two
    claims bound: 1, lost: PersistentVolumeClaim shop/one, unknown: none
    the run has finished
    ");
}

#[test]
fn claim_whose_name_another_one_has_is_lost_unless_the_answer_contradicts_itself() {
    let last = "choose keep=data\n each call\n accepted cm:shop/a\n gone cm shop/a";
    for (uid, bound) in
        [(None, Some(false)), (Some("again"), Some(false)), (Some("pvc:shop/one"), None)]
    {
        let (mut scenario, _) = played(SHOP, last);
        scenario.answer("pvc:shop/one", Outcome::OtherUid { uid: uid.map(fixture::uid) });
        let claim = scenario.run.kept_claims.get(&fixture::uid("pvc:shop/one")).unwrap();
        assert_eq!((claim.bound, claim.is_being_read), (bound, false), "{uid:?}");
    }
}

#[test]
fn read_that_begins_twice_or_after_a_loss_is_impossible() {
    let read = |read| RunEvent::KeptClaim { claim: fixture::uid("pvc:shop/one"), read };
    for before in [vec![ClaimRead::Started], vec![ClaimRead::Started, ClaimRead::Lost]] {
        let mut scenario =
            Scenario::with(SHOP, &[crate::plan::Choice::KeepData].into_iter().collect());
        for event in before {
            scenario.record(&read(event));
        }
        let error = scenario.run.apply(scenario.now, &read(ClaimRead::Started)).unwrap_err();
        assert!(matches!(error, ReplayError::ImpossibleForRun { .. }), "{error:?}");
    }
}
