//! Judges a run from what the sandbox saw and what the disk holds. It knows nothing of the planner: only requests, the
//! store's history, and the rules.

mod ending;
mod loss;
mod standstill;
mod word;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use sandbox::{log::Entry, store::Event};
use serde_json::Value;

use crate::{
    application::{BYSTANDER, UNIT, is_given_away},
    ledger::{Known, event_name},
    moments::Moments,
    order::{self, Case},
    sighting::Sighting,
    state::{State, kind, list, name, namespace, text, title, uid, unit},
    told::Told,
    wire::Arrival,
};

pub(crate) use standstill::STANDSTILL;

/// The name the server has at the API server.
pub(crate) const USER: &str = "unwind";
/// How long a read of the Pods may wait for its DELETE to leave: the longest hold-back, and some for the way.
const LOOK: SignedDuration = SignedDuration::from_secs(45);
/// How long nobody can be blamed for not having seen something, in milliseconds: a watch that died without a word is
/// found out after 50 s, and what is asked anew may be refused for a while.
const OUT_OF_SIGHT: u64 = 240_000;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offence {
    /// The invariant, `I1` to `I10`.
    pub(crate) invariant: &'static str,
    /// What happened.
    pub(crate) text: String,
    /// The revision of the store it is about; 0 where it is about none.
    pub(crate) revision: u64,
}

impl Offence {
    pub(crate) fn new(invariant: &'static str, text: String) -> Self {
        Self { invariant, text, revision: 0 }
    }
}

/// What there is to judge by.
#[derive(Default)]
pub(crate) struct Evidence {
    pub(crate) entries: Vec<Entry>,
    pub(crate) events: Vec<Arc<Event>>,
    /// The revision at which the first plan was confirmed.
    pub(crate) planned: u64,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) told: Told,
    /// How long a DELETE may have been on its way since it was decided, in milliseconds.
    pub(crate) held: u64,
    pub(crate) known: Known,
    /// The wall clock of the server at the beginning.
    pub(crate) start: Timestamp,
    pub(crate) moments: Moments,
    /// When all was well again, in milliseconds since the beginning; `None` where the game ended before.
    pub(crate) healed: Option<u64>,
    /// From when on nothing went wrong but what people and crashes did: the same, or the beginning where nothing ever did.
    pub(crate) calm: Option<u64>,
    /// Pages that said that their run is over, each when its reader first saw that.
    pub(crate) sightings: Vec<Sighting>,
    /// When lives of the server began and ended, in milliseconds since the beginning.
    pub(crate) turns: Vec<u64>,
    /// When the game was over.
    pub(crate) over: u64,
}

impl Evidence {
    /// Milliseconds from the beginning to a time by the server's clock.
    fn since_start(&self, time: Timestamp) -> u64 {
        u64::try_from(time.duration_since(self.start).as_millis()).unwrap_or_default()
    }

    /// How a request was sent that the sandbox logged.
    fn arrival(&self, entry: &Entry) -> Option<&Arrival> {
        let (at, asked) = (self.since_start(entry.time), entry.uid.as_deref().unwrap_or_default());
        let name = entry.key.as_ref().map(|key| &*key.name).unwrap_or_default();
        self.arrivals.iter().rev().find(|arrival| {
            arrival.at <= at
                && text(&arrival.body, "/preconditions/uid") == asked
                && arrival.path.rsplit('/').next() == Some(name)
        })
    }
}

/// Every promise that was broken.
pub(crate) fn judge(evidence: &Evidence) -> Vec<Offence> {
    let mut offences = vec![];
    requests(evidence, &mut offences);
    arrivals(evidence, &mut offences);
    lives(evidence, &mut offences);
    word::offences(evidence, &mut offences);
    standstill::offences(evidence, &mut offences);
    // Whoever asks a cache may be told of the past; what is proven by that is not.
    for entry in evidence.entries.iter().filter(|it| it.actor == USER) {
        if entry.fault.as_ref().is_some_and(|fault| fault.starts_with("stale")) {
            let text = format!("{:?} was listed from a cache", entry.key);
            offences.push(Offence { revision: entry.revision, ..Offence::new("cache", text) });
        }
    }
    ending::offences(evidence, &mut offences);
    leftovers(evidence, &mut offences);
    if is_given_away(&String::from_utf8_lossy(&evidence.known.bytes)) {
        offences.push(Offence::new("I10", "a secret is in the journal".to_owned()));
    }
    offences
}

/// I1, I2 and I8: each request of ours, at its moment.
fn requests(evidence: &Evidence, offences: &mut Vec<Offence>) {
    let mut state = State::before(evidence.planned);
    let mut events = evidence.events.iter().peekable();
    let steps = planned_uids(&evidence.known);
    // By namespace: when its Pods were read last, and which there were.
    let mut reads: BTreeMap<String, (jiff::Timestamp, BTreeSet<String>)> = BTreeMap::new();
    for entry in evidence.entries.iter().filter(|entry| entry.actor == USER) {
        let Some(key) = &entry.key else { continue };
        let of_it = |event: &Event| event.key == *key && event.revision <= entry.revision;
        let mutates = !matches!(entry.verb.as_str(), "get" | "list" | "watch");
        if mutates && entry.verb != "delete" {
            let text = format!("a {} of {key} was sent", entry.verb);
            offences.push(Offence { revision: entry.revision, ..Offence::new("I8", text) });
        }
        let until = if entry.verb == "delete" && entry.effect {
            let own = evidence.events.iter().rev().find(|event| of_it(event));
            own.map_or(entry.revision, |event| event.revision - 1)
        } else {
            entry.revision
        };
        while let Some(event) = events.next_if(|event| event.revision <= until) {
            state.apply(event);
        }
        if entry.verb == "list" && key.is_of("", "pods") && !key.namespace.is_empty() {
            let pods = state.within("Pod", &key.namespace).map(|pod| uid(pod).to_owned());
            if entry.code == 200 {
                reads.insert(key.namespace.to_string(), (entry.time, pods.collect()));
            }
        }
        if entry.verb == "delete" {
            let mut offend = |invariant, text| {
                offences.push(Offence { invariant, text, revision: entry.revision })
            };
            match (&entry.uid, &entry.met) {
                (None, Some(met)) if !steps.contains(met) && entry.effect => {
                    offend("I2", format!("DELETE of {key} ended an object of no confirmed plan"));
                }
                (None, _) => offend("I2", format!("DELETE of {key} insists on no UID")),
                (Some(asked), Some(met)) if asked != met && entry.effect => {
                    offend("I2", format!("DELETE of {key} met another object, and had effect"));
                }
                (Some(asked), _) if !steps.contains(asked) => {
                    offend("I2", format!("DELETE of {key} is in no confirmed plan"));
                }
                _ => {}
            }
            let met = entry.met.as_ref().and_then(|met| state.by_uid(met));
            if let Some(object) = met.filter(|_| entry.uid.is_none() || entry.uid == entry.met) {
                let read = reads.get(&*key.namespace);
                let read = read.filter(|(at, _)| entry.time.duration_since(*at) <= LOOK);
                let read = read.map(|(_, pods)| pods);
                let arrival = evidence.arrival(entry);
                let seen = |object: &Value| {
                    let Some((arrival, (key, since))) = arrival.zip(state.born(object)) else {
                        return false;
                    };
                    let decided = arrival.at.saturating_sub(evidence.held);
                    evidence.told.knew(arrival.life, decided, key, *since)
                        || evidence.moments.of(*since).saturating_add(OUT_OF_SIGHT) < decided
                };
                let unit = taken_apart_as(&evidence.known, object);
                let case = Case { unit: &unit, state: &state, object, read, seen: &seen };
                for reason in order::offences(&case) {
                    offend("I1", format!("DELETE of {}: {reason}", title(object)));
                }
                if let Some(volume) = loss::of_delete(evidence, &state, object, arrival) {
                    let (claim, volume) = (title(object), title(volume));
                    offend("I1", format!("DELETE of {claim}: {volume} goes, and no plan says so"));
                }
            }
        }
    }
}

/// Whether there ever was something of a kind that an object is named after.
fn has_been(evidence: &Evidence, of: &str, object: &Value) -> bool {
    evidence.events.iter().any(|event| {
        let it = &*event.object;
        kind(it) == of && namespace(it) == namespace(object) && name(it) == name(object)
    })
}

/// I7 and I8: what was announced, and how it was asked.
fn arrivals(evidence: &Evidence, offences: &mut Vec<Offence>) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for arrival in &evidence.arrivals {
        let asked = text(&arrival.body, "/preconditions/uid");
        let count = counts.entry(asked).or_default();
        *count += 1;
        let path = &arrival.path;
        if !asked.is_empty() && arrival.intents < *count {
            let text = format!("DELETE {path} arrived before its intent was durable");
            offences.push(Offence::new("I7", text));
        }
        if !arrival.body["gracePeriodSeconds"].is_null() {
            let text = format!("DELETE {path} sets a grace of its own");
            offences.push(Offence::new("I8", text));
        }
    }
}

/// I6: what one life of the server sends is not on its way any more when the next one sends something.
fn lives(evidence: &Evidence, offences: &mut Vec<Offence>) {
    for (number, arrival) in evidence.arrivals.iter().enumerate() {
        let mut earlier = evidence.arrivals[..number].iter();
        let other = earlier.find(|other| {
            other.life != arrival.life && other.until.is_none_or(|until| until > arrival.at)
        });
        if let Some(other) = other {
            let (path, life, others) = (&arrival.path, arrival.life, other.life);
            let text = format!(
                "life {life} sends DELETE {path} while DELETE {} of life {others} is on its way",
                other.path
            );
            offences.push(Offence::new("I6", text));
        }
    }
}

/// What is left at the end has a reason, and what is another's is as it was.
fn leftovers(evidence: &Evidence, offences: &mut Vec<Offence>) {
    let mut state = State::before(evidence.planned);
    let mut theirs: BTreeMap<String, String> = BTreeMap::new();
    let mut ours: BTreeSet<String> = BTreeSet::new();
    for event in &evidence.events {
        state.apply(event);
        if event.revision == evidence.planned {
            let all = state.all().filter(|object| unit(object) == BYSTANDER);
            theirs = all.map(|object| (uid(object).to_owned(), title(object))).collect();
            let claims = state.of_kind("PersistentVolumeClaim");
            let ours_alone = claims.filter(|claim| order::is_mounted_by_unit_alone(&state, claim));
            ours = ours_alone.map(|claim| uid(claim).to_owned()).collect();
        }
    }
    for (theirs, title) in theirs {
        let is_well = |object: &Value| object["metadata"]["deletionTimestamp"].is_null();
        if !state.by_uid(&theirs).is_some_and(is_well) {
            offences.push(Offence::new("I1", format!("the bystander lost {title}")));
        }
    }
    for object in state.all().filter(|object| !namespace(object).is_empty()) {
        if state.find("Namespace", "", namespace(object)).is_none() {
            let text = format!("{} is in a namespace that is gone", title(object));
            offences.push(Offence::new("I1", text));
        }
    }
    let steps = planned_uids(&evidence.known);
    let kept: BTreeSet<&str> = evidence
        .known
        .plans
        .values()
        .flat_map(|plan| list(plan, "/kept"))
        .map(|kept| text(kept, "/uid"))
        .collect();
    let finished = evidence.known.events.values().all(|events| {
        let names: Vec<&str> = events.iter().map(event_name).collect();
        names.last() == Some(&"finished") && !names.contains(&"skipped")
    });
    if !finished || evidence.known.runs.is_empty() {
        return;
    }
    for object in state.all() {
        if steps.contains(uid(object)) {
            let text = format!("the run has finished, and {} is still there", title(object));
            offences.push(Offence::new("I3", text));
        } else if (unit(object) == UNIT || ours.contains(uid(object)))
            && state.knows(object)
            && list(object, "/metadata/ownerReferences").is_empty()
            // It bears the labels of its Service, and is its controller's alone: whose Service is gone goes when that one
            // is well again, which may be after the game.
            && !(kind(object) == "Endpoints" && has_been(evidence, "Service", object))
            && !kept.contains(uid(object))
        {
            let text = format!("{} is left over, and no plan says why", title(object));
            offences.push(Offence::new("I3", text));
        }
    }
}

/// The unit that an object is taken apart with: a namespace may be one of its own, which is as good as any label.
fn taken_apart_as(known: &Known, object: &Value) -> String {
    let own = format!("ns:{}", name(object));
    let is_own = known.runs.iter().filter_map(|(_, plan)| known.plans.get(plan)).any(|plan| {
        text(plan, "/unit") == own
            && list(plan, "/steps").iter().any(|step| text(step, "/uid") == uid(object))
    });
    if is_own { own } else { UNIT.to_owned() }
}

/// The UIDs of all steps of the plans that runs were started of.
fn planned_uids(known: &Known) -> BTreeSet<String> {
    let plans = known.runs.iter().filter_map(|(_, plan)| known.plans.get(plan));
    let steps = plans.flat_map(|plan| list(plan, "/steps"));
    steps.map(|step| text(step, "/uid").to_owned()).collect()
}
