//! The oracle: judges a run by the requests that the sandbox saw, the history of its store and the content of the disk.
//! It does not use the planner.

mod answers;
mod collateral;
mod commands;
mod data_loss;
mod deletion;
mod end;
mod hint;
mod keep_mark;
mod kept_data;
mod liveness;
mod membership;
mod run_end;
mod waived;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use sandbox::{
    log::Entry,
    store::{Event, Key},
};
use serde_json::Value;

use crate::{
    application::{UNIT, contains_secret},
    disk::JournalRecords,
    end_page::EndPage,
    observed_versions::{ObservedVersions, ReadBefore},
    order::{self, Case},
    revision_times::RevisionTimes,
    state::{State, kind, list, name, namespace, text, title, uid},
    transport::Arrival,
};

use self::deletion::Deletion;

pub(crate) use liveness::MAX_STALL;

/// The user name of the server at the API server.
pub(crate) const USER: &str = "unwind";
/// How old a list may be when its DELETE leaves: the longest time that a call is held back, and some time in
/// transit.
const MAX_READ_AGE: SignedDuration = SignedDuration::from_secs(45);
/// For how long a DELETE may wait after the answer to the lists that it follows, in milliseconds: the server's limit, and the
/// time of its own decision.
const MAX_LIST_AGE: u64 = 2_500;
/// A process lists a kind with one watch, and goes on with a second one.
const WATCHES_OF_A_KIND: usize = 2;
/// Kinds whose objects the server reads just before it deletes them, because much goes with each of them.
const READ_FIRST: [&str; 11] = [
    "persistentvolumeclaims",
    "persistentvolumes",
    "namespaces",
    "customresourcedefinitions",
    "widgets",
    "volumesnapshots",
    "httproutes",
    "scaledobjects",
    "applications",
    "reports",
    "kustomizations",
];
/// For how long the server may have missed an event, in milliseconds: a watch that died silently is detected after 50
/// s, and the next attempts may be refused for a while.
const MAX_WATCH_OUTAGE: u64 = 240_000;

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The invariant, `I1` to `I10`, or the part of the simulation that failed.
    pub(crate) invariant: &'static str,
    pub(crate) text: String,
    /// The revision of the store that it is about, or 0.
    pub(crate) revision: u64,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, text: String) -> Self {
        Self { invariant, text, revision: 0 }
    }
}

/// The evidence that the oracle judges by.
#[derive(Default)]
pub(crate) struct Evidence {
    pub(crate) entries: Vec<Entry>,
    pub(crate) events: Vec<Arc<Event>>,
    /// The revision at which the first plan was confirmed.
    pub(crate) planned: u64,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) observed: ObservedVersions,
    /// The longest time between the decision for a DELETE and its departure, in milliseconds.
    pub(crate) max_hold_back: u64,
    /// The only namespace that the server can see; `None` if it can see everything.
    pub(crate) visible: Option<String>,
    /// Whether the cluster's clock was set.
    pub(crate) is_clock_set: bool,
    pub(crate) journal: JournalRecords,
    /// The wall clock of the server at the start of the run.
    pub(crate) start: Timestamp,
    pub(crate) revision_times: RevisionTimes,
    /// When all faults were repaired, in milliseconds since the start; `None` where the run ended before.
    pub(crate) healed: Option<u64>,
    /// From when on there were no faults except crashes and commands: the time of the repair, or 0 in a run without
    /// faults.
    pub(crate) faults_ended: Option<u64>,
    /// Pages that said that their run is over, each with the time at which its reader first saw that.
    pub(crate) end_pages: Vec<EndPage>,
    /// When server instances started and stopped, in milliseconds since the start.
    pub(crate) lifecycle_times: Vec<u64>,
    /// When the simulation run was over.
    pub(crate) over: u64,
}

impl Evidence {
    /// Whether the server may read an object, so that it can be asked to respect it.
    fn may_be_read(&self, object: &Value) -> bool {
        self.visible.as_deref().is_none_or(|visible| visible == namespace(object))
    }

    /// Milliseconds from the start to a time of the server's clock.
    fn since_start(&self, time: Timestamp) -> u64 {
        u64::try_from(time.duration_since(self.start).as_millis()).unwrap_or_default()
    }

    /// The arrival of a request that the sandbox logged.
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

/// Every violation in a run.
pub(crate) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut violations = vec![];
    requests(evidence, &mut violations);
    arrivals(evidence, &mut violations);
    instances(evidence, &mut violations);
    commands::violations(evidence, &mut violations);
    liveness::violations(evidence, &mut violations);
    // A cached read may show the past, so it proves nothing.
    for entry in evidence.entries.iter().filter(|it| it.actor == USER) {
        if entry.fault.as_ref().is_some_and(|fault| fault.starts_with("stale")) {
            let text = format!("{:?} was listed from a cache", entry.key);
            violations
                .push(Violation { revision: entry.revision, ..Violation::new("cache", text) });
        }
    }
    run_end::violations(evidence, &mut violations);
    answers::violations(evidence, &mut violations);
    membership::keeps(evidence, &mut violations);
    end::violations(evidence, &mut violations);
    if contains_secret(&String::from_utf8_lossy(&evidence.journal.bytes)) {
        violations.push(Violation::new("I10", "a secret is in the journal".to_owned()));
    }
    violations
}

/// I1, I2 and I8: checks each request of the server against the state of the cluster at its moment.
fn requests(evidence: &Evidence, violations: &mut Vec<Violation>) {
    let mut state = State::before(evidence.planned);
    let mut events = evidence.events.iter().peekable();
    let steps = planned_uids(&evidence.journal);
    // A process that was away, or whose watch failed, saw no Pod go.
    let is_watch_of_pods =
        |it: &&Entry| it.verb == "watch" && it.key.as_ref().is_some_and(|it| it.is_of("", "pods"));
    let ours = evidence.entries.iter().filter(|entry| entry.actor == USER);
    let may_miss_pods = evidence.journal.has_any(&["recovered"])
        || ours.filter(is_watch_of_pods).count() > WATCHES_OF_A_KIND;
    // By namespace: the time of the last list of its Pods, and their UIDs.
    let mut reads: BTreeMap<String, (jiff::Timestamp, BTreeSet<String>)> = BTreeMap::new();
    // By collection, in one namespace or everywhere: the time and the revision of its last list.
    let mut lists: BTreeMap<Key, (jiff::Timestamp, u64)> = BTreeMap::new();
    for entry in evidence.entries.iter().filter(|entry| entry.actor == USER) {
        let Some(key) = &entry.key else { continue };
        let of_it = |event: &Event| event.key == *key && event.revision <= entry.revision;
        let mutates = !matches!(entry.verb.as_str(), "get" | "list" | "watch");
        if mutates && entry.verb != "delete" && !suspends_a_parent(entry, evidence) {
            let text = format!("a {} of {key} was sent", entry.verb);
            violations.push(Violation { revision: entry.revision, ..Violation::new("I8", text) });
        }
        let until = if entry.verb == "delete" && entry.effect {
            let own = evidence.events.iter().rev().find(|event| of_it(event));
            own.map_or(entry.revision, |event| event.revision - 1)
        } else {
            entry.revision
        };
        while let Some(event) = events.next_if(|event| event.revision <= until) {
            if evidence.may_be_read(&event.object) {
                state.apply(event);
            }
        }
        if entry.verb == "list" && entry.code == 200 {
            lists.insert(key.clone(), (entry.time, entry.revision));
        }
        if entry.verb == "list" && key.is_of("", "pods") && !key.namespace.is_empty() {
            let pods = state.within("Pod", &key.namespace).map(|pod| uid(pod).to_owned());
            if entry.code == 200 {
                reads.insert(key.namespace.to_string(), (entry.time, pods.collect()));
            }
        }
        if entry.verb == "delete" {
            let mut report = |invariant, text| {
                violations.push(Violation { invariant, text, revision: entry.revision })
            };
            match (&entry.uid, &entry.met) {
                (None, Some(met)) if !steps.contains(met) && entry.effect => {
                    report("I2", format!("DELETE of {key} deleted an object of no confirmed plan"));
                }
                (None, _) => report("I2", format!("DELETE of {key} has no UID precondition")),
                (Some(asked), Some(met)) if asked != met && entry.effect => {
                    report("I2", format!("DELETE of {key} met another object, and had effect"));
                }
                (Some(asked), _) if !steps.contains(asked) => {
                    report("I2", format!("DELETE of {key} is in no confirmed plan"));
                }
                _ => {}
            }
            let met = entry.met.as_ref().and_then(|met| state.by_uid(met));
            if let Some(object) = met.filter(|_| entry.uid.is_none() || entry.uid == entry.met) {
                let read = reads.get(&*key.namespace);
                let read = read.filter(|(at, _)| entry.time.duration_since(*at) <= MAX_READ_AGE);
                let read = read.map(|(_, pods)| pods);
                let arrival = evidence.arrival(entry);
                let seen = |object: &Value| {
                    let Some((arrival, (key, since))) = arrival.zip(state.creation(object)) else {
                        return false;
                    };
                    let decided = arrival.at.saturating_sub(evidence.max_hold_back);
                    evidence.observed.had_observed(arrival.instance, decided, key, *since)
                        || evidence.revision_times.of(*since).saturating_add(MAX_WATCH_OUTAGE)
                            < decided
                };
                let is_definition = key.is_of("apiextensions.k8s.io", "customresourcedefinitions");
                let came_after_list = |object: &Value| {
                    let Some((key, since)) = state.creation(object) else { return false };
                    let mut collection = Key { name: "".into(), ..key.clone() };
                    if is_definition {
                        collection.namespace = "".into();
                    }
                    lists.get(&collection).is_some_and(|(at, revision)| {
                        entry.time.duration_since(*at) <= MAX_READ_AGE && revision < since
                    })
                };
                let unit = unit_of_teardown(&evidence.journal, object);
                let is_taken_on = may_miss_pods || evidence.journal.has_for("takenOn", uid(object));
                let plan = plan_of_delete(evidence, object, arrival);
                let is_waived = |user: &Value| {
                    plan.is_some_and(|plan| waived::is_waived(plan, &state, object, user))
                };
                let case = Case {
                    unit: &unit,
                    state: &state,
                    object,
                    read,
                    seen: &seen,
                    came_after_list: &came_after_list,
                    is_waived: &is_waived,
                    is_taken_on,
                };
                for reason in order::violations(&case) {
                    report("I1", format!("DELETE of {}: {reason}", title(object)));
                }
                let (state, has_effect) = (&state, entry.effect);
                let deletion = Deletion { evidence, state, object, arrival, has_effect };
                for (invariant, reason) in deletion::violations(&deletion) {
                    report(invariant, format!("DELETE of {}: {reason}", title(object)));
                }
            }
        }
    }
}

/// The plan of the run that a DELETE belongs to; of a DELETE that no run announced, the plan that was confirmed first.
fn plan_of_delete<'a>(
    evidence: &'a Evidence,
    object: &Value,
    arrival: Option<&Arrival>,
) -> Option<&'a Value> {
    let journal = &evidence.journal;
    let own = arrival.and_then(|arrival| commands::run_and_step_of(evidence, uid(object), arrival));
    let run = own.map_or_else(
        || journal.runs.first(),
        |(run, _)| journal.runs.iter().find(|(id, _)| id == run),
    );
    journal.plans.get(&run?.1)
}

/// Whether there ever was an object of a kind with the name of this object.
fn has_been(evidence: &Evidence, of: &str, object: &Value) -> bool {
    evidence.events.iter().any(|event| {
        let it = &*event.object;
        kind(it) == of && namespace(it) == namespace(object) && name(it) == name(object)
    })
}

/// I2, I7 and I8: checks the version, the intent and the options of each DELETE.
fn arrivals(evidence: &Evidence, violations: &mut Vec<Violation>) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for arrival in &evidence.arrivals {
        let asked = text(&arrival.body, "/preconditions/uid");
        let count = counts.entry(asked).or_default();
        *count += 1;
        let path = &arrival.path;
        if !asked.is_empty() && arrival.intents < *count {
            let text = format!("DELETE {path} arrived before its intent was durable");
            violations.push(Violation::new("I7", text));
        }
        let plural = path.rsplit('/').nth(1).unwrap_or_default();
        let version = text(&arrival.body, "/preconditions/resourceVersion");
        if READ_FIRST.contains(&plural) && !asked.is_empty() && version.is_empty() {
            let text = format!("DELETE {path} does not carry the version that was read");
            violations.push(Violation::new("I2", text));
        }
        let read = read_before(path)
            .map(|it| evidence.observed.last_read(arrival.instance, arrival.at, it));
        if let Some(read) = read.filter(|_| !asked.is_empty())
            && read.is_none_or(|at| arrival.at.saturating_sub(at) > MAX_LIST_AGE)
        {
            let text =
                format!("DELETE {path} left at {}, and its last list came at {read:?}", arrival.at);
            violations.push(Violation::new("I1", text));
        }
        if !arrival.body["gracePeriodSeconds"].is_null() {
            let text = format!("DELETE {path} sets a grace period");
            violations.push(Violation::new("I8", text));
        }
    }
}

/// The list that must come just before a DELETE.
fn read_before(path: &str) -> Option<ReadBefore<'_>> {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
    if let Some((plural, group)) =
        path.strip_prefix(DEFINITIONS).and_then(|name| name.split_once('.'))
    {
        return Some(ReadBefore::Kind { group, plural });
    }
    let inside = path.strip_prefix("/api/v1/namespaces/")?;
    match inside.split_once('/') {
        None => Some(ReadBefore::Namespace(inside)),
        Some((namespace, rest)) => {
            rest.starts_with("persistentvolumeclaims/").then_some(ReadBefore::Pods(namespace))
        }
    }
}

/// I6: no request of one server instance is in flight when the next instance sends one.
fn instances(evidence: &Evidence, violations: &mut Vec<Violation>) {
    for (number, arrival) in evidence.arrivals.iter().enumerate() {
        let mut earlier = evidence.arrivals[..number].iter();
        let other = earlier.find(|other| {
            other.instance != arrival.instance && other.until.is_none_or(|until| until > arrival.at)
        });
        if let Some(other) = other {
            let (path, instance, others) = (&arrival.path, arrival.instance, other.instance);
            let text = format!(
                "instance {instance} sends DELETE {path} while DELETE {} of instance {others} is in flight",
                other.path
            );
            violations.push(Violation::new("I6", text));
        }
    }
}

/// The unit that an object is torn down with. A namespace may be a unit of its own, which counts as a label does.
fn unit_of_teardown(journal: &JournalRecords, object: &Value) -> String {
    let own = format!("ns:{}", name(object));
    let is_own = journal.runs.iter().filter_map(|(_, plan)| journal.plans.get(plan)).any(|plan| {
        text(plan, "/unit") == own
            && list(plan, "/steps").iter().any(|step| text(step, "/uid") == uid(object))
    });
    if is_own { own } else { UNIT.to_owned() }
}

/// Whether a request suspends a Kustomization that a run's plan says it suspends.
fn suspends_a_parent(entry: &Entry, evidence: &Evidence) -> bool {
    let plans = evidence.journal.runs.iter();
    let plans = plans.filter_map(|(_, plan)| evidence.journal.plans.get(plan));
    let mut steps = plans.flat_map(|plan| list(plan, "/steps"));
    entry.verb == "patch"
        && entry.key.as_ref().is_some_and(|key| {
            &*key.plural == "kustomizations"
                && steps.any(|step| {
                    text(step, "/kind/kind") == "Kustomization"
                        && text(step, "/object/name") == &*key.name
                        && text(step, "/object/namespace") == &*key.namespace
                })
        })
}

/// The UIDs of all objects that the plans of all runs delete.
fn planned_uids(journal: &JournalRecords) -> BTreeSet<String> {
    let plans = journal.runs.iter().filter_map(|(_, plan)| journal.plans.get(plan));
    let steps = plans.flat_map(|plan| list(plan, "/steps")).filter(|step| !stays(step));
    steps.map(|step| text(step, "/uid").to_owned()).collect()
}

/// Whether a step leaves its object there: a parent that is only suspended.
fn stays(step: &Value) -> bool {
    step["action"] == "suspend"
}
