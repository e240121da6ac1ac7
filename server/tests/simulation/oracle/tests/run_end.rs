//! The end of a run, and its page: in time and correct.

use super::*;
use crate::oracle::run_end::MAX_SILENCE;

/// When the last object was gone.
const GONE: u64 = 5_000;

/// A run of two steps without faults or violations, and the page of its end, which no reader has seen yet.
fn over() -> (History, EndPage) {
    let mut history = History::new(&["a", "b"]);
    for uid in ["a", "b"] {
        history.event(Change::Added, uid, UNIT);
    }
    history.evidence.revision_times.note(0, 2);
    for uid in ["a", "b"] {
        history.event(Change::Deleted, uid, UNIT);
        history.entry("delete", Some(uid), uid, true);
    }
    history.evidence.revision_times.note(GONE, 4);
    history.journal_event("finished");
    (history.evidence.faults_ended, history.evidence.over) = (Some(0), GONE);
    let step = |id: u64| json!({"step": {"id": id, "state": "Gone"}});
    let records = vec![
        json!({"run": {
            "id": "r", "state": "finished", "ended": 1_767_225_605_000_u64,
            "counts": {"Gone": 2}, "total": 2,
        }}),
        step(0),
        step(1),
    ];
    (history, EndPage { run: "r".into(), at: GONE, revision: 4, records })
}

/// Removes the last event of the journal.
fn remove_last_event(history: &mut History) {
    history.evidence.journal.events.get_mut("r").unwrap().pop();
    history.evidence.journal.commits.get_mut("r").unwrap().pop();
}

/// A run that was stopped after its first step, and the page of its end.
fn stopped() -> (History, EndPage) {
    stopped_after(|_| {})
}

/// The same, with another change before the stop.
fn stopped_after(before: impl FnOnce(&mut History)) -> (History, EndPage) {
    let (mut history, mut end) = over();
    remove_last_event(&mut history);
    before(&mut history);
    history.journal_event("stopping");
    history.journal_event("stopped");
    history.evidence.events.pop();
    history.evidence.entries.pop();
    (history.revision, end.revision) = (3, 3);
    end.records[0]["run"]["state"] = json!("stopped");
    end.records[0]["run"]["counts"] = json!({"Gone": 1, "Present": 1});
    end.records[2]["step"]["state"] = json!("Present");
    (history, end)
}

#[track_caller]
fn check((mut history, end): (History, EndPage), expected: &str) {
    history.evidence.end_pages.push(end);
    history.check(expected);
}

fn at(time: u64) -> (History, EndPage) {
    let (history, end) = over();
    (history, EndPage { at: time, ..end })
}

#[test]
fn end_shown_after_a_minute_is_a_violation() {
    check(at(GONE), "");
    check(at(GONE + MAX_SILENCE), "");
    check(at(GONE + MAX_SILENCE + 1), "I3");
}

#[test]
fn readers_all_have_to_see_the_end_in_time() {
    let (mut history, end) = at(GONE);
    history.evidence.end_pages.push(end.clone());
    check((history, EndPage { at: GONE + MAX_SILENCE + 1, ..end }), "I3");
}

#[test]
fn end_that_no_page_shows_is_a_violation() {
    let (mut history, _) = over();
    history.evidence.over = GONE + MAX_SILENCE;
    history.check("");
    history.evidence.over += 1;
    history.check("I3");
    // The page of another run proves nothing.
    let (_, end) = over();
    history.evidence.end_pages.push(EndPage { run: "other".into(), ..end });
    history.check("I3");
}

#[test]
fn time_until_the_last_object_is_gone_does_not_count() {
    let late = GONE + MAX_SILENCE + 1;
    let (mut history, end) = at(late);
    history.evidence.faults_ended = Some(GONE + 1);
    check((history, end), "");
    let (mut history, end) = at(late);
    history.evidence.faults_ended = None;
    check((history, end), "");
    let (mut history, end) = at(late);
    history.evidence.lifecycle_times.push(GONE + 1);
    check((history, end), "");
    // Another object has the name until then.
    let (mut history, end) = at(late);
    history.change(Change::Added, json!({"name": "a", "uid": "other"}));
    history.evidence.revision_times.note(GONE, 5);
    check((history, EndPage { revision: 5, ..end.clone() }), "");
    let (mut history, _) = at(late);
    history.change(Change::Added, json!({"name": "a", "uid": "other"}));
    history.change(Change::Deleted, json!({"name": "a", "uid": "other"}));
    history.evidence.revision_times.note(GONE + 1, 6);
    check((history, EndPage { revision: 6, ..end }), "");
}

#[test]
fn name_reused_after_the_end_is_no_excuse() {
    let (mut history, end) = at(GONE + MAX_SILENCE + 1);
    history.change(Change::Added, json!({"name": "a", "uid": "other"}));
    check((history, end), "I3");
}

#[test]
fn skipped_step_is_not_waited_for() {
    let left_out = |at: u64| {
        let (mut history, mut end) = over();
        remove_last_event(&mut history);
        history.commit(json!({"event": "skipped", "step": 1}), 0, at);
        history.journal_event("finished");
        history.evidence.events.pop();
        history.evidence.entries.pop();
        history.evidence.revision_times.note(GONE, 3);
        history.revision = 3;
        end.records[0]["run"]["counts"] = json!({"Gone": 1, "Skipped": 1});
        end.records[2]["step"]["state"] = json!("Skipped");
        (history, EndPage { at: GONE + MAX_SILENCE + 1, revision: 3, ..end })
    };
    check(left_out(GONE), "I3");
    check(left_out(GONE + 1), "");
}

#[test]
fn stopped_run_waits_for_its_answers_alone() {
    check(stopped(), "");
    let late = |until: Option<u64>| {
        let (history, end) = stopped_after(|history| {
            history.send_announced(0, 0);
            history.evidence.arrivals.last_mut().unwrap().until = until;
        });
        (history, EndPage { at: GONE + MAX_SILENCE + 1, ..end })
    };
    check(late(Some(GONE)), "I3");
    check(late(Some(GONE + 1)), "");
    check(late(None), "");
}

/// Changes one field of one record of the page.
fn with(made: (History, EndPage), number: usize, field: &str, value: Value) -> (History, EndPage) {
    let (history, mut end) = made;
    let card = end.records[number].as_object_mut().unwrap().values_mut().next().unwrap();
    card[field] = value;
    (history, end)
}

#[test]
fn page_that_contradicts_the_journal_is_a_violation() {
    for (number, field, value) in [
        (0, "state", json!("stopped")),
        (0, "ended", Value::Null),
        (0, "counts", json!({"Gone": 1, "Skipped": 1})),
        (0, "total", json!(3)),
        (0, "id", json!("other")),
    ] {
        check(with(over(), number, field, value), "I3");
    }
    // The counts hold the state of a step as well.
    for state in ["Kept", "Present", "Terminating", "Skipped", "Slow", "Nonsense"] {
        check(with(over(), 1, "state", json!(state)), "I3 I3");
    }
    let (history, mut end) = over();
    end.records.pop();
    check((history, end), "I3 I3");
}

#[test]
fn page_that_shows_an_existing_object_as_gone_is_a_violation() {
    let (history, end) = over();
    check((history, EndPage { revision: 3, ..end }), "I3");
    let (mut history, end) = stopped();
    let end = with((History::default(), end), 2, "state", json!("Gone")).1;
    let end = with((History::default(), end), 0, "counts", json!({"Gone": 2})).1;
    history.evidence.end_pages.push(end);
    history.check("I3");
}

#[test]
fn page_that_shows_a_deleted_object_as_untouched_is_a_violation() {
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
        let (mut history, end) = with(stopped(), 2, "state", json!(state));
        let deletion = "2026-01-01T00:00:04Z";
        history.change(
            Change::Modified,
            json!({"name": "b", "uid": "b", "deletionTimestamp": deletion}),
        );
        history.entry("delete", Some("b"), "b", true);
        check((history, EndPage { revision: 4, ..end }), going);
    }
}

#[test]
fn deletion_by_another_run_may_reach_the_page_late() {
    let by = |run: &str| {
        let end = stopped_after(|history| {
            let journal = &mut history.evidence.journal;
            journal.plans.insert("q".into(), json!({"steps": [{"id": 0, "uid": "b"}], "kept": []}));
            journal.runs.push(("s".into(), "q".into()));
            let step = u64::from(run == "r");
            let asked = json!({"event": {"event": "callStarted", "step": step, "call": "delete"}});
            journal.commit(run, asked, 0, 0);
        });
        let (mut history, end) = with(end, 2, "state", json!("Present"));
        history.evidence.arrivals.push(Arrival {
            path: "b".into(),
            body: json!({"preconditions": {"uid": "b"}}),
            intents: u64::MAX,
            durable: history.evidence.journal.count,
            instance: 0,
            at: 0,
            until: Some(0),
        });
        history.change(Change::Deleted, json!({"name": "b", "uid": "b"}));
        history.entry("delete", Some("b"), "b", true);
        let stopped = |violation: &&Violation| violation.text.starts_with("run r: its page says");
        history.evidence.end_pages.push(EndPage { revision: 4, ..end });
        crate::oracle::check(&history.evidence).iter().filter(stopped).count()
    };
    assert_eq!(by("s"), 0);
    assert_eq!(by("r"), 1);
}

#[test]
fn page_of_a_server_with_hidden_kinds_may_show_unknown() {
    for (record, verdict) in [
        (json!({"cluster": {"synced": true, "unreachable": null}}), "I3"),
        (json!({"cluster": {"synced": false, "unreachable": null}}), ""),
        (json!({"cluster": {"synced": true, "unreachable": {"cause": "silent"}}}), ""),
        (json!({"hiddenKind": {"resource": "configmaps"}}), ""),
    ] {
        let (mut history, mut end) = with(stopped(), 2, "state", json!("Unknown"));
        let deletion = "2026-01-01T00:00:04Z";
        history.change(
            Change::Modified,
            json!({"name": "b", "uid": "b", "deletionTimestamp": deletion}),
        );
        history.entry("delete", Some("b"), "b", true);
        end.records.push(record);
        check((history, EndPage { revision: 4, ..end }), verdict);
    }
}
