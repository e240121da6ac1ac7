//! That a run ends, and that its page says so: in time, and as it was.

use super::*;
use crate::oracle::ending::SILENCE;

/// When the last object was gone.
const GONE: u64 = 5_000;

/// A run of two steps that went well in a calm cluster, and the page of its end, which nobody has read yet.
fn over() -> (Hand, Sighting) {
    let mut hand = Hand::new(&["a", "b"]);
    for uid in ["a", "b"] {
        hand.event(Change::Added, uid, UNIT);
    }
    hand.evidence.moments.note(0, 2);
    for uid in ["a", "b"] {
        hand.event(Change::Deleted, uid, UNIT);
        hand.entry("delete", Some(uid), uid, true);
    }
    hand.evidence.moments.note(GONE, 4);
    hand.tell("finished");
    (hand.evidence.calm, hand.evidence.over) = (Some(0), GONE);
    let step = |id: u64| json!({"step": {"id": id, "state": "Gone"}});
    let records = vec![
        json!({"run": {
            "id": "r", "state": "finished", "ended": 1_767_225_605_000_u64,
            "counts": {"Gone": 2}, "total": 2,
        }}),
        step(0),
        step(1),
    ];
    (hand, Sighting { run: "r".into(), at: GONE, revision: 4, records })
}

/// Takes the last event of the journal back.
fn unsay(hand: &mut Hand) {
    hand.evidence.known.events.get_mut("r").unwrap().pop();
    hand.evidence.known.marks.get_mut("r").unwrap().pop();
}

/// A run that was stopped after its first step, and the page of its end.
fn stopped() -> (Hand, Sighting) {
    stopped_behind(|_| {})
}

/// The same; before that word something else happened.
fn stopped_behind(before: impl FnOnce(&mut Hand)) -> (Hand, Sighting) {
    let (mut hand, mut end) = over();
    unsay(&mut hand);
    before(&mut hand);
    hand.tell("stopping");
    hand.tell("stopped");
    hand.evidence.events.pop();
    hand.evidence.entries.pop();
    (hand.revision, end.revision) = (3, 3);
    end.records[0]["run"]["state"] = json!("stopped");
    end.records[0]["run"]["counts"] = json!({"Gone": 1, "Present": 1});
    end.records[2]["step"]["state"] = json!("Present");
    (hand, end)
}

#[track_caller]
fn check((mut hand, end): (Hand, Sighting), expected: &str) {
    hand.evidence.sightings.push(end);
    hand.check(expected);
}

fn at(time: u64) -> (Hand, Sighting) {
    let (hand, end) = over();
    (hand, Sighting { at: time, ..end })
}

#[test]
fn an_end_is_read_within_a_minute() {
    check(at(GONE), "");
    check(at(GONE + SILENCE), "");
    check(at(GONE + SILENCE + 1), "I3");
}

#[test]
fn each_reader_reads_it_in_time() {
    let (mut hand, end) = at(GONE);
    hand.evidence.sightings.push(end.clone());
    check((hand, Sighting { at: GONE + SILENCE + 1, ..end }), "I3");
}

#[test]
fn an_end_that_nobody_can_read_is_none() {
    let (mut hand, _) = over();
    hand.evidence.over = GONE + SILENCE;
    hand.check("");
    hand.evidence.over += 1;
    hand.check("I3");
    // Another run's page says nothing of it.
    let (_, end) = over();
    hand.evidence.sightings.push(Sighting { run: "other".into(), ..end });
    hand.check("I3");
}

#[test]
fn what_keeps_a_run_from_its_end_is_no_silence() {
    let late = GONE + SILENCE + 1;
    let (mut hand, end) = at(late);
    hand.evidence.calm = Some(GONE + 1);
    check((hand, end), "");
    let (mut hand, end) = at(late);
    hand.evidence.calm = None;
    check((hand, end), "");
    let (mut hand, end) = at(late);
    hand.evidence.turns.push(GONE + 1);
    check((hand, end), "");
    // Somebody else has its name until then.
    let (mut hand, end) = at(late);
    hand.change(Change::Added, json!({"name": "a", "uid": "other"}));
    hand.evidence.moments.note(GONE, 5);
    check((hand, Sighting { revision: 5, ..end.clone() }), "");
    let (mut hand, _) = at(late);
    hand.change(Change::Added, json!({"name": "a", "uid": "other"}));
    hand.change(Change::Deleted, json!({"name": "a", "uid": "other"}));
    hand.evidence.moments.note(GONE + 1, 6);
    check((hand, Sighting { revision: 6, ..end }), "");
}

#[test]
fn a_name_that_is_used_again_later_excuses_nobody() {
    let (mut hand, end) = at(GONE + SILENCE + 1);
    hand.change(Change::Added, json!({"name": "a", "uid": "other"}));
    check((hand, end), "I3");
}

#[test]
fn what_is_left_out_is_not_waited_for() {
    let left_out = |at: u64| {
        let (mut hand, mut end) = over();
        unsay(&mut hand);
        hand.say(json!({"event": "skipped", "step": 1}), 0, at);
        hand.tell("finished");
        hand.evidence.events.pop();
        hand.evidence.entries.pop();
        hand.evidence.moments.note(GONE, 3);
        hand.revision = 3;
        end.records[0]["run"]["counts"] = json!({"Gone": 1, "Skipped": 1});
        end.records[2]["step"]["state"] = json!("Skipped");
        (hand, Sighting { at: GONE + SILENCE + 1, revision: 3, ..end })
    };
    check(left_out(GONE), "I3");
    check(left_out(GONE + 1), "");
}

#[test]
fn a_run_that_was_stopped_waits_for_its_answers_alone() {
    check(stopped(), "");
    let late = |until: Option<u64>| {
        let (hand, end) = stopped_behind(|hand| {
            hand.leave(0, 0);
            hand.evidence.arrivals.last_mut().unwrap().until = until;
        });
        (hand, Sighting { at: GONE + SILENCE + 1, ..end })
    };
    check(late(Some(GONE)), "I3");
    check(late(Some(GONE + 1)), "");
    check(late(None), "");
}

/// Changes one field of one record of the page.
fn with(made: (Hand, Sighting), number: usize, field: &str, value: Value) -> (Hand, Sighting) {
    let (hand, mut end) = made;
    let card = end.records[number].as_object_mut().unwrap().values_mut().next().unwrap();
    card[field] = value;
    (hand, end)
}

#[test]
fn a_page_says_what_was() {
    for (number, field, value) in [
        (0, "state", json!("stopped")),
        (0, "ended", Value::Null),
        (0, "counts", json!({"Gone": 1, "Skipped": 1})),
        (0, "total", json!(3)),
        (0, "id", json!("other")),
    ] {
        check(with(over(), number, field, value), "I3");
    }
    // The state of a step is in the counts as well.
    for state in ["Kept", "Present", "Terminating", "Skipped", "Slow", "Nonsense"] {
        check(with(over(), 1, "state", json!(state)), "I3 I3");
    }
    let (hand, mut end) = over();
    end.records.pop();
    check((hand, end), "I3 I3");
}

#[test]
fn a_page_does_not_say_gone_of_what_is_there() {
    let (hand, end) = over();
    check((hand, Sighting { revision: 3, ..end }), "I3");
    let (mut hand, end) = stopped();
    let end = with((Hand::default(), end), 2, "state", json!("Gone")).1;
    let end = with((Hand::default(), end), 0, "counts", json!({"Gone": 2})).1;
    hand.evidence.sightings.push(end);
    hand.check("I3");
}

#[test]
fn a_page_does_not_call_untouched_what_was_deleted() {
    for (state, untouched, going) in [
        ("Present", "", "I3"),
        ("Kept", "I3", "I3"),
        ("Refused", "", "I3"),
        ("Unknown", "", "I3"),
        ("Terminating", "I3", ""),
        ("Requested", "I3", ""),
        ("Slow", "", ""),
    ] {
        check(with(stopped(), 2, "state", json!(state)), untouched);
        let (mut hand, end) = with(stopped(), 2, "state", json!(state));
        let deletion = "2026-01-01T00:00:04Z";
        hand.change(
            Change::Modified,
            json!({"name": "b", "uid": "b", "deletionTimestamp": deletion}),
        );
        hand.entry("delete", Some("b"), "b", true);
        check((hand, Sighting { revision: 4, ..end }), going);
    }
}

#[test]
fn what_another_run_deletes_a_page_need_not_know_at_once() {
    let by = |run: &str| {
        let end = stopped_behind(|hand| {
            let known = &mut hand.evidence.known;
            known.plans.insert("q".into(), json!({"steps": [{"id": 0, "uid": "b"}], "kept": []}));
            known.runs.push(("s".into(), "q".into()));
            let step = u64::from(run == "r");
            let asked = json!({"event": {"event": "callStarted", "step": step, "call": "delete"}});
            known.mark(run, asked, 0, 0);
        });
        let (mut hand, end) = with(end, 2, "state", json!("Present"));
        hand.evidence.arrivals.push(Arrival {
            path: "b".into(),
            body: json!({"preconditions": {"uid": "b"}}),
            intents: u64::MAX,
            durable: hand.evidence.known.count,
            life: 0,
            at: 0,
            until: Some(0),
        });
        hand.change(Change::Deleted, json!({"name": "b", "uid": "b"}));
        hand.entry("delete", Some("b"), "b", true);
        let ending = |offence: &&Offence| offence.text.starts_with("run r: its page says");
        hand.evidence.sightings.push(Sighting { revision: 4, ..end });
        judge(&hand.evidence).iter().filter(ending).count()
    };
    assert_eq!(by("s"), 0);
    assert_eq!(by("r"), 1);
}

#[test]
fn who_cannot_look_may_not_know_that_it_was_deleted() {
    for (record, verdict) in [
        (json!({"cluster": {"synced": true, "unreachable": null}}), "I3"),
        (json!({"cluster": {"synced": false, "unreachable": null}}), ""),
        (json!({"cluster": {"synced": true, "unreachable": {"cause": "silent"}}}), ""),
        (json!({"blind": {"resource": "configmaps"}}), ""),
    ] {
        let (mut hand, mut end) = with(stopped(), 2, "state", json!("Unknown"));
        let deletion = "2026-01-01T00:00:04Z";
        hand.change(
            Change::Modified,
            json!({"name": "b", "uid": "b", "deletionTimestamp": deletion}),
        );
        hand.entry("delete", Some("b"), "b", true);
        end.records.push(record);
        check((hand, Sighting { revision: 4, ..end }), verdict);
    }
}
