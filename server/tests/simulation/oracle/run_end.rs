//! I3: a run ends exactly once, as its last event; every reader of its page sees the end within a minute after its last
//! object is gone, and the page agrees with the API server.

use std::collections::{BTreeMap, BTreeSet};

use sandbox::{
    log::Entry,
    store::{Change, Event},
};
use serde_json::Value;

use super::{Evidence, USER, Violation, commands, stays};
use crate::{
    disk::{Commit, event_name},
    end_page::EndPage,
    state::{list, text, uid},
};

/// The longest time that a page may take to show the end, in milliseconds.
pub(crate) const MAX_SILENCE: u64 = 60_000;

/// The violations in how runs ended.
pub(super) fn violations(evidence: &Evidence, violations: &mut Vec<Violation>) {
    for (run, plan) in &evidence.journal.runs {
        let run_end = RunEnd::of(evidence, run, plan);
        let mut report =
            |revision, text| violations.push(Violation { revision, ..Violation::new("I3", text) });
        if let Some(text) = run_end.journal() {
            report(0, text);
        }
        let mut end_pages = evidence.end_pages.iter().filter(|it| it.run == *run).peekable();
        if end_pages.peek().is_none()
            && let Some(due) = run_end.due(u64::MAX)
            && evidence.over.saturating_sub(due) > MAX_SILENCE
        {
            let waited = evidence.over - due;
            report(0, format!("run {run} was over {waited} ms ago, and no page says so"));
        }
        for end_page in end_pages {
            if let Some(due) = run_end.due(end_page.revision)
                && end_page.at.saturating_sub(due) > MAX_SILENCE
            {
                let late = end_page.at - due;
                let text = format!("run {run} was over, and its page said so {late} ms later");
                report(end_page.revision, text);
            }
            for text in run_end.false_claims(end_page) {
                report(end_page.revision, format!("run {run}: {text}"));
            }
        }
    }
}

/// The end of one run.
struct RunEnd<'a> {
    evidence: &'a Evidence,
    run: &'a str,
    plan: Option<&'a Value>,
    entries: Vec<(&'a Value, &'a Commit)>,
    skipped: BTreeSet<Option<u64>>,
    /// The events at the name of each step's object, by the object's UID, oldest first.
    names: BTreeMap<&'a str, Vec<&'a Event>>,
}

impl<'a> RunEnd<'a> {
    fn of(evidence: &'a Evidence, run: &'a str, plan: &str) -> Self {
        let entries: Vec<_> = evidence.journal.events_of(run).collect();
        let skipped = entries.iter().filter(|(event, _)| event_name(event) == "skipped");
        let skipped = skipped.map(|(event, _)| event["event"]["step"].as_u64()).collect();
        let plan = evidence.journal.plans.get(plan);
        let mut uids = BTreeMap::new();
        let planned: BTreeSet<&str> =
            plan.map_or(&[][..], |plan| list(plan, "/steps")).iter().map(uid_of).collect();
        for event in &evidence.events {
            if planned.contains(uid(&event.object)) {
                uids.insert(&event.key, uid(&event.object));
            }
        }
        let mut names: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in &evidence.events {
            if let Some(uid) = uids.get(&event.key) {
                names.entry(uid).or_default().push(event);
            }
        }
        Self { evidence, run, plan, entries, skipped, names }
    }

    fn steps(&self) -> &'a [Value] {
        self.plan.map_or(&[], |plan| list(plan, "/steps"))
    }

    /// The violation in the journal's end of the run.
    fn journal(&self) -> Option<String> {
        let is_end = |event: &Value| matches!(event_name(event), "finished" | "stopped");
        let ends = self.entries.iter().filter(|(event, _)| is_end(event)).count();
        let is_last = self.entries.last().is_some_and(|(event, _)| is_end(event));
        let (run, all) = (self.run, self.entries.len());
        (ends != 1 || !is_last).then(|| format!("run {run} has {ends} ends in {all} events"))
    }

    /// The time since when nothing has kept the run from its end, by the events up to a revision; none while something
    /// does.
    fn due(&self, revision: u64) -> Option<u64> {
        let commands = self
            .entries
            .iter()
            .filter(|(event, _)| matches!(event_name(event), "started" | "skipped" | "stopping"));
        let is_stopping = self.entries.iter().any(|(event, _)| event_name(event) == "stopping");
        let waited = if is_stopping { self.answered()? } else { self.last_gone(revision)? };
        let dues = commands
            .map(|(_, commit)| commit.at)
            .chain(self.evidence.lifecycle_times.iter().copied());
        dues.chain([self.evidence.faults_ended?, waited]).max()
    }

    /// When the last of its DELETEs was answered.
    fn answered(&self) -> Option<u64> {
        let uids: BTreeSet<&str> = self.steps().iter().map(uid_of).collect();
        let arrivals = self.evidence.arrivals.iter();
        let sent = arrivals.filter(|it| uids.contains(text(&it.body, "/preconditions/uid")));
        sent.map(|it| it.until).try_fold(0, |last, until| Some(last.max(until?)))
    }

    /// When the last of its objects was gone and its name was free.
    fn last_gone(&self, revision: u64) -> Option<u64> {
        let left_out = |step: &&Value| stays(step) || self.skipped.contains(&step["id"].as_u64());
        let steps = self.steps().iter().filter(|step| !left_out(step));
        let mut gone = steps.map(|step| {
            let mut events = self.names.get(uid_of(step))?.iter().rev();
            let last = events.find(|event| event.revision <= revision)?;
            (last.change == Change::Deleted).then(|| self.evidence.revision_times.of(last.revision))
        });
        gone.try_fold(0, |last, at| Some(last.max(at?)))
    }

    /// The claims on a page that are false.
    fn false_claims(&self, end_page: &EndPage) -> Vec<String> {
        let of = |record: &'static str| {
            let all = end_page.records.iter();
            all.filter_map(move |it| it.get(record))
        };
        let mut false_claims = vec![];
        let end = self.entries.last().map_or("", |(event, _)| event_name(event));
        let Some(card) = of("run").find(|card| card["id"] == self.run) else {
            return vec!["its page says nothing of it".to_owned()];
        };
        if card["state"] != end || card["ended"].is_null() {
            false_claims.push(format!("its page says {}, its journal {end}", card["state"]));
        }
        let mut gone = 0;
        for step in self.steps() {
            let card = of("step").find(|card| card["id"] == step["id"]);
            let state = card.map_or("", |card| text(card, "/state"));
            gone += u64::from(state == "Gone");
            if !self.is_supported(step, state, end, end_page) {
                false_claims.push(format!("its page says {state:?} of {}", title(step)));
            }
        }
        let (counted, total) = (&card["counts"]["Gone"], &card["total"]);
        let deletions = self.steps().iter().filter(|step| !stays(step)).count();
        if counted.as_u64().unwrap_or_default() != gone || *total != deletions {
            false_claims
                .push(format!("its page counts {counted} gone of {total}, and shows {gone}"));
        }
        false_claims
    }

    /// Whether the API server and the journal support the state that a page shows for a step of an ended run.
    fn is_supported(&self, step: &Value, state: &str, end: &str, end_page: &EndPage) -> bool {
        let (revision, sees_all_kinds) = (end_page.revision, sees_all_kinds(end_page));
        let uid = uid_of(step);
        let happened = self.names.get(uid).map_or(&[][..], Vec::as_slice).iter();
        let mut happened =
            happened.filter(|it| it.revision <= revision && self::uid(&it.object) == uid);
        match state {
            "Gone" | "CameBack" => happened.any(|event| event.change == Change::Deleted),
            "Skipped" => self.skipped.contains(&step["id"].as_u64()),
            "Kept" => stays(step) && happened.any(|event| event.object["spec"]["suspend"] == true),
            _ if end == "finished" => false,
            "Present" | "Refused" => !self.is_deleted_by_it(uid, revision),
            "Requested" | "Terminating" | "Finalizing" => happened.any(|event| {
                event.change == Change::Deleted
                    || !event.object["metadata"]["deletionTimestamp"].is_null()
            }),
            // A server that does not see everything, as after a start, may show this state.
            "Unknown" => !sees_all_kinds || !self.is_deleted_by_it(uid, revision),
            // These states concern durations, and the step may only be waited for.
            "Slow" | "Stuck" => true,
            _ => false,
        }
    }

    /// Whether a DELETE of this run had its effect. Deletions of another run reach this page by the watch, and may come
    /// later.
    fn is_deleted_by_it(&self, uid: &str, revision: u64) -> bool {
        self.evidence.entries.iter().any(|entry| {
            entry.actor == USER
                && entry.verb == "delete"
                && entry.effect
                && entry.revision <= revision
                && entry.met.as_deref() == Some(uid)
                && self.is_sent_by_it(uid, entry)
        })
    }

    fn is_sent_by_it(&self, uid: &str, entry: &Entry) -> bool {
        let arrival = self.evidence.arrival(entry);
        let sender =
            arrival.and_then(|arrival| commands::run_and_step_of(self.evidence, uid, arrival));
        sender.is_none_or(|(run, _)| run == self.run)
    }
}

fn uid_of(step: &Value) -> &str {
    text(step, "/uid")
}

fn title(step: &Value) -> String {
    format!("{} {}", text(step, "/object/kind"), text(step, "/object/name"))
}

/// Whether a page says that its server sees all kinds.
fn sees_all_kinds(end_page: &EndPage) -> bool {
    let is_hidden = |record: &Value| {
        let is_away =
            |cluster: &Value| cluster["synced"] == false || !cluster["unreachable"].is_null();
        record.get("hiddenKind").is_some() || record.get("cluster").is_some_and(is_away)
    };
    !end_page.records.iter().any(is_hidden)
}
