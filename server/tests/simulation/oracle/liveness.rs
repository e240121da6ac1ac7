//! I9: once all faults are repaired, a run does not stand still while one of its steps can start.

use std::collections::{BTreeMap, BTreeSet};

use sandbox::store::{Change, Event};
use serde_json::Value;

use super::{Evidence, Violation, data_loss, hint, planned_uids, waived};
use crate::{
    disk::event_name,
    order::{self, Case},
    state::{State, list, namespace, owners, text, title, uid},
};

/// The time for which a run may stand still while a step can start, in milliseconds.
pub(crate) const MAX_STALL: u64 = 60_000;

/// The steps that could have started and did not.
pub(super) fn violations(evidence: &Evidence, violations: &mut Vec<Violation>) {
    let Some(healed) = evidence.healed else { return };
    let mut moves: Vec<u64> = steps_taken(evidence)
        .chain(evidence.arrivals.iter().map(|arrival| arrival.at))
        .chain(evidence.lifecycle_times.iter().copied())
        .chain([healed, evidence.over])
        .filter(|at| (healed..=evidence.over).contains(at))
        .collect();
    moves.sort_unstable();
    let pauses = moves.windows(2).filter(|pair| pair[1] - pair[0] > MAX_STALL);
    let (planned, ancestry) = (planned_uids(&evidence.journal), Ancestry::of(evidence));
    let mut replay = Replay::new(evidence);
    for pair in pauses {
        let (from, until) = (pair[0], pair[1]);
        let mut waiting: BTreeMap<String, (u64, String)> = BTreeMap::new();
        // The run itself does not move between these two times, but other actors may free or block a step.
        let times = replay.times(from, until);
        for (number, at) in times.iter().copied().enumerate() {
            replay.reach(at);
            let free = free(evidence, &replay.state, &planned, &ancestry, at);
            waiting.retain(|uid, _| free.contains_key(uid));
            for (uid, title) in free {
                waiting.entry(uid).or_insert((at, title));
            }
            let next = times.get(number + 1).copied().unwrap_or(until);
            let stands = |since: &u64| next.saturating_sub(*since) > MAX_STALL;
            if let Some((_, title)) = waiting.values().find(|(since, _)| stands(since)) {
                let revision = replay.state.reached();
                let text = format!("nothing moves, and {title} could be deleted");
                violations.push(Violation { revision, ..Violation::new("I9", text) });
                break;
            }
        }
    }
}

/// The times at which a run progressed: an object of a step, or an object left by a workload of a step, was deleted or
/// marked for deletion. Writes of controllers to other objects do not count.
fn steps_taken(evidence: &Evidence) -> impl Iterator<Item = u64> {
    let (planned, ancestry) = (planned_uids(&evidence.journal), Ancestry::of(evidence));
    let mut going: BTreeSet<&str> = BTreeSet::new();
    let mut taken = vec![];
    for event in &evidence.events {
        let object = &*event.object;
        let is_going =
            event.change == Change::Deleted || !object["metadata"]["deletionTimestamp"].is_null();
        if !is_going {
            continue;
        }
        going.insert(uid(object));
        let family = ancestry.of_one(uid(object));
        if family.iter().any(|one| planned.contains(*one) && going.contains(one)) {
            taken.push(evidence.revision_times.of(event.revision));
        }
    }
    taken.into_iter()
}

/// The owners of each object at its creation: UIDs by UID.
struct Ancestry<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Ancestry<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let added = evidence.events.iter().filter(|event| event.change == Change::Added);
        let owners_of =
            |object: &'a Value| owners(object).map(|owner| text(owner, "/uid")).collect();
        Self(added.map(|event| (uid(&event.object), owners_of(&event.object))).collect())
    }

    /// An object and all its direct and indirect owners.
    fn of_one<'b>(&'b self, uid: &'b str) -> Vec<&'b str> {
        let mut family = vec![uid];
        let mut youngest = 0;
        while let Some(one) = family.get(youngest).copied() {
            let above = self.0.get(one).into_iter().flatten().copied();
            let above: Vec<&str> = above.filter(|it| !family.contains(it)).collect();
            family.extend(above);
            youngest += 1;
        }
        family
    }
}

/// The state of the cluster, replayed in order.
struct Replay<'a> {
    evidence: &'a Evidence,
    state: State,
    /// The number of applied events.
    taken: usize,
}

impl<'a> Replay<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        Self { evidence, state: State::before(evidence.planned), taken: 0 }
    }

    fn left(&self) -> impl Iterator<Item = (u64, &'a Event)> + use<'a> {
        let evidence = self.evidence;
        let left = evidence.events[self.taken..].iter();
        left.map(move |event| (evidence.revision_times.of(event.revision), &**event))
    }

    fn reach(&mut self, at: u64) {
        let reached = self.left().take_while(|(when, _)| *when <= at);
        for (_, event) in reached {
            if self.evidence.may_be_read(&event.object) {
                self.state.apply(event);
            }
            self.taken += 1;
        }
    }

    /// The start of a pause, and every time in it at which a step may become free or blocked.
    fn times(&self, from: u64, until: u64) -> Vec<u64> {
        // Nodes renew their status and leases every few seconds, and an Event repeats a change of its object.
        const NOISE: [(&str, &str); 4] = [
            ("coordination.k8s.io", "leases"),
            ("", "nodes"),
            ("", "events"),
            ("events.k8s.io", "events"),
        ];
        let is_noise =
            |event: &Event| NOISE.iter().any(|(group, plural)| event.key.is_of(group, plural));
        let changes = self.left().filter(|(_, event)| !is_noise(event)).map(|(at, _)| at);
        let commits = self.evidence.journal.commits.values().flatten().map(|commit| commit.at);
        let inside = changes.chain(commits).filter(|at| (from..until).contains(at));
        let all: BTreeSet<u64> = inside.chain([from]).collect();
        all.into_iter().collect()
    }
}

/// The objects that open runs have to delete and that nothing blocks at a time: titles by UID.
fn free(
    evidence: &Evidence,
    state: &State,
    planned: &BTreeSet<String>,
    ancestry: &Ancestry<'_>,
    at: u64,
) -> BTreeMap<String, String> {
    let mut free = BTreeMap::new();
    for (run, plan) in &evidence.journal.runs {
        let events = evidence.journal.events_of(run).take_while(|(_, commit)| commit.at <= at);
        let happened: Vec<&Value> = events.map(|(event, _)| event).collect();
        let is = |name: &str| happened.iter().rposition(|event| event_name(event) == name);
        let is_held = is("paused") > is("resumed");
        let is_over = is("finished").or(is("stopped")).or(is("stopping")).is_some();
        if happened.is_empty() || is_held || is_over {
            continue;
        }
        let skipped: BTreeSet<u64> = happened
            .iter()
            .filter(|event| event_name(event) == "skipped")
            .filter_map(|event| event["event"]["step"].as_u64())
            .collect();
        let Some(plan) = evidence.journal.plans.get(plan) else { continue };
        for step in list(plan, "/steps") {
            let Some(object) = state.by_uid(text(step, "/uid")) else { continue };
            let is_waiting = !step["action"]["delete"].is_null()
                && step["id"].as_u64().is_none_or(|id| !skipped.contains(&id))
                && object["metadata"]["deletionTimestamp"].is_null();
            let is_waived = |user: &Value| waived::is_waived(plan, state, object, user);
            let case = Case {
                unit: text(plan, "/unit"),
                state,
                object,
                read: None,
                seen: &|_| true,
                came_after_list: &|_| true,
                is_waived: &is_waived,
                is_taken_on: false,
            };
            if is_waiting
                && !is_held_by_pods(step, object, state, planned, ancestry)
                // The operator has to decide about data that the plan does not list.
                && data_loss::unplanned_loss(plan, state, object).is_none()
                && order::violations(&case).is_empty()
                // A configuration may have to go after some of the objects that it guards and before others.
                && order::guarded_objects(&case).is_empty()
                && !hint::is_behind_another(state, object)
            {
                free.insert(uid(object).to_owned(), title(object));
            }
        }
    }
    free
}

/// Whether Pods that no order rule covers block a step.
fn is_held_by_pods(
    step: &Value,
    object: &Value,
    state: &State,
    planned: &BTreeSet<String>,
    ancestry: &Ancestry<'_>,
) -> bool {
    // Once a workload is gone, its plan and the owners of its Pods show which Pods are left. These are being deleted.
    let waits_for_pods = list(step, "/after").iter().any(|it| it["phase"] == "podsGone");
    let is_going = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
    state.within("Pod", namespace(object)).any(|pod| {
        // A Pod without a plan and without a controller needs a decision of the operator, and the page says so.
        let is_left = || ancestry.of_one(uid(pod)).iter().any(|one| planned.contains(*one));
        !planned.contains(uid(pod)) && is_orphan(pod, state)
            || waits_for_pods && is_going(pod) && is_left()
    })
}

/// A Pod without an owner, or whose owners are gone, that is not being deleted.
fn is_orphan(pod: &Value, state: &State) -> bool {
    pod["metadata"]["deletionTimestamp"].is_null()
        && owners(pod).all(|owner| state.by_uid(text(owner, "/uid")).is_none())
}
