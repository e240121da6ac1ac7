//! I3: a run ends once and says so last; whoever reads its page reads so within a minute after nothing was left that it
//! waited for, and reads what the API server saw.

use std::collections::{BTreeMap, BTreeSet};

use sandbox::{
    log::Entry,
    store::{Change, Event},
};
use serde_json::Value;

use super::{Evidence, Offence, USER, word};
use crate::{
    ledger::{Mark, event_name},
    sighting::Sighting,
    state::{list, text, uid},
};

/// How long a page may be silent about the end, in milliseconds.
pub(crate) const SILENCE: u64 = 60_000;

/// What is wrong with how runs ended.
pub(super) fn offences(evidence: &Evidence, offences: &mut Vec<Offence>) {
    for (run, plan) in &evidence.known.runs {
        let ending = Ending::of(evidence, run, plan);
        let mut offend =
            |revision, text| offences.push(Offence { revision, ..Offence::new("I3", text) });
        if let Some(text) = ending.journal() {
            offend(0, text);
        }
        let mut sightings = evidence.sightings.iter().filter(|it| it.run == *run).peekable();
        if sightings.peek().is_none()
            && let Some(due) = ending.due(u64::MAX)
            && evidence.over.saturating_sub(due) > SILENCE
        {
            let waited = evidence.over - due;
            offend(0, format!("run {run} was over {waited} ms ago, and no page says so"));
        }
        for sighting in sightings {
            if let Some(due) = ending.due(sighting.revision)
                && sighting.at.saturating_sub(due) > SILENCE
            {
                let late = sighting.at - due;
                let text = format!("run {run} was over, and its page said so {late} ms later");
                offend(sighting.revision, text);
            }
            for text in ending.untruths(sighting) {
                offend(sighting.revision, format!("run {run}: {text}"));
            }
        }
    }
}

/// How one run came to its end.
struct Ending<'a> {
    evidence: &'a Evidence,
    run: &'a str,
    plan: Option<&'a Value>,
    told: Vec<(&'a Value, &'a Mark)>,
    skipped: BTreeSet<Option<u64>>,
    /// What happened at the name of each object of a step, by the object's UID, oldest first.
    names: BTreeMap<&'a str, Vec<&'a Event>>,
}

impl<'a> Ending<'a> {
    fn of(evidence: &'a Evidence, run: &'a str, plan: &str) -> Self {
        let told: Vec<_> = evidence.known.told(run).collect();
        let skipped = told.iter().filter(|(event, _)| event_name(event) == "skipped");
        let skipped = skipped.map(|(event, _)| event["event"]["step"].as_u64()).collect();
        let plan = evidence.known.plans.get(plan);
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
        Self { evidence, run, plan, told, skipped, names }
    }

    fn steps(&self) -> &'a [Value] {
        self.plan.map_or(&[], |plan| list(plan, "/steps"))
    }

    /// What is wrong with the end that the journal has.
    fn journal(&self) -> Option<String> {
        let is_end = |event: &Value| matches!(event_name(event), "finished" | "stopped");
        let ends = self.told.iter().filter(|(event, _)| is_end(event)).count();
        let is_last = self.told.last().is_some_and(|(event, _)| is_end(event));
        let (run, all) = (self.run, self.told.len());
        (ends != 1 || !is_last).then(|| format!("run {run} has {ends} ends in {all} events"))
    }

    /// Since when, by what had happened up to a revision, nothing kept the run from its end; none while something does.
    fn due(&self, revision: u64) -> Option<u64> {
        let said = self
            .told
            .iter()
            .filter(|(event, _)| matches!(event_name(event), "started" | "skipped" | "stopping"));
        let is_stopping = self.told.iter().any(|(event, _)| event_name(event) == "stopping");
        let waited = if is_stopping { self.answered()? } else { self.last_gone(revision)? };
        let dues = said.map(|(_, mark)| mark.at).chain(self.evidence.turns.iter().copied());
        dues.chain([self.evidence.calm?, waited]).max()
    }

    /// When the last of its DELETEs was answered.
    fn answered(&self) -> Option<u64> {
        let uids: BTreeSet<&str> = self.steps().iter().map(uid_of).collect();
        let arrivals = self.evidence.arrivals.iter();
        let asked = arrivals.filter(|it| uids.contains(text(&it.body, "/preconditions/uid")));
        asked.map(|it| it.until).try_fold(0, |last, until| Some(last.max(until?)))
    }

    /// When the last of its objects was gone, and nothing else had taken its name.
    fn last_gone(&self, revision: u64) -> Option<u64> {
        let left_out = |step: &&Value| self.skipped.contains(&step["id"].as_u64());
        let steps = self.steps().iter().filter(|step| !left_out(step));
        let mut gone = steps.map(|step| {
            let mut events = self.names.get(uid_of(step))?.iter().rev();
            let last = events.find(|event| event.revision <= revision)?;
            (last.change == Change::Deleted).then(|| self.evidence.moments.of(last.revision))
        });
        gone.try_fold(0, |last, at| Some(last.max(at?)))
    }

    /// What a page says of the end that is not so.
    fn untruths(&self, sighting: &Sighting) -> Vec<String> {
        let of = |record: &'static str| {
            let all = sighting.records.iter();
            all.filter_map(move |it| it.get(record))
        };
        let mut untruths = vec![];
        let end = self.told.last().map_or("", |(event, _)| event_name(event));
        let Some(card) = of("run").find(|card| card["id"] == self.run) else {
            return vec!["its page says nothing of it".to_owned()];
        };
        if card["state"] != end || card["ended"].is_null() {
            untruths.push(format!("its page says {}, its journal {end}", card["state"]));
        }
        let mut gone = 0;
        for step in self.steps() {
            let card = of("step").find(|card| card["id"] == step["id"]);
            let state = card.map_or("", |card| text(card, "/state"));
            gone += u64::from(state == "Gone");
            if !self.is_true(step, state, end, sighting) {
                untruths.push(format!("its page says {state:?} of {}", title(step)));
            }
        }
        let (counted, total) = (&card["counts"]["Gone"], &card["total"]);
        if counted.as_u64().unwrap_or_default() != gone || *total != self.steps().len() {
            untruths.push(format!("its page counts {counted} gone of {total}, and shows {gone}"));
        }
        untruths
    }

    /// Whether the API server and the journal bear out what a page says of a step when the run is over.
    fn is_true(&self, step: &Value, state: &str, end: &str, sighting: &Sighting) -> bool {
        let (revision, can_look) = (sighting.revision, can_look(sighting));
        let uid = uid_of(step);
        let happened = self.names.get(uid).map_or(&[][..], Vec::as_slice).iter();
        let mut happened =
            happened.filter(|it| it.revision <= revision && self::uid(&it.object) == uid);
        match state {
            "Gone" | "CameBack" => happened.any(|event| event.change == Change::Deleted),
            "Skipped" => self.skipped.contains(&step["id"].as_u64()),
            _ if end == "finished" => false,
            "Present" | "Refused" => !self.is_deleted_by_it(uid, revision),
            "Requested" | "Terminating" | "Finalizing" => happened.any(|event| {
                event.change == Change::Deleted
                    || !event.object["metadata"]["deletionTimestamp"].is_null()
            }),
            // Who cannot look, as after a start before everything was listed, may know no better.
            "Unknown" => !can_look || !self.is_deleted_by_it(uid, revision),
            // How long something takes is no matter of before and after: it may be one that only waits.
            "Slow" | "Stuck" => true,
            _ => false,
        }
    }

    /// Whether a DELETE of this run had its effect. What another run deletes, the page of this one learns by the watch.
    fn is_deleted_by_it(&self, uid: &str, revision: u64) -> bool {
        self.evidence.entries.iter().any(|entry| {
            entry.actor == USER
                && entry.verb == "delete"
                && entry.effect
                && entry.revision <= revision
                && entry.met.as_deref() == Some(uid)
                && self.is_asker(uid, entry)
        })
    }

    fn is_asker(&self, uid: &str, entry: &Entry) -> bool {
        let arrival = self.evidence.arrival(entry);
        let asker = arrival.and_then(|arrival| word::asker(self.evidence, uid, arrival));
        asker.is_none_or(|(run, _)| run == self.run)
    }
}

fn uid_of(step: &Value) -> &str {
    text(step, "/uid")
}

fn title(step: &Value) -> String {
    format!("{} {}", text(step, "/object/kind"), text(step, "/object/name"))
}

/// Whether a page says that its server sees all there is.
fn can_look(sighting: &Sighting) -> bool {
    let is_blind = |record: &Value| {
        let is_away =
            |cluster: &Value| cluster["synced"] == false || !cluster["unreachable"].is_null();
        record.get("blind").is_some() || record.get("cluster").is_some_and(is_away)
    };
    !sighting.records.iter().any(is_blind)
}
