//! I9: once all is well, it is not long that nothing moves although something could go.

use std::collections::{BTreeMap, BTreeSet};

use sandbox::store::{Change, Event};
use serde_json::Value;

use super::{Evidence, Offence, loss, planned_uids};
use crate::{
    ledger::event_name,
    order::{self, Case},
    state::{State, list, namespace, owners, text, title, uid},
};

/// How long everything may stand still although something could go, in milliseconds.
pub(crate) const STANDSTILL: u64 = 60_000;

/// What could have gone, and did not.
pub(super) fn offences(evidence: &Evidence, offences: &mut Vec<Offence>) {
    let Some(healed) = evidence.healed else { return };
    let mut moves: Vec<u64> = steps_taken(evidence)
        .chain(evidence.arrivals.iter().map(|arrival| arrival.at))
        .chain(evidence.turns.iter().copied())
        .chain([healed, evidence.over])
        .filter(|at| (healed..=evidence.over).contains(at))
        .collect();
    moves.sort_unstable();
    let pauses = moves.windows(2).filter(|pair| pair[1] - pair[0] > STANDSTILL);
    let (planned, families) = (planned_uids(&evidence.known), Families::of(evidence));
    let mut scene = Scene::new(evidence);
    for pair in pauses {
        let (from, until) = (pair[0], pair[1]);
        let mut waiting: BTreeMap<String, (u64, String)> = BTreeMap::new();
        // Nothing of the run moves between the two; what others do may set something free, or bind it.
        let moments = scene.moments(from, until);
        for (number, at) in moments.iter().copied().enumerate() {
            scene.reach(at);
            let free = free(evidence, &scene.state, &planned, &families, at);
            waiting.retain(|uid, _| free.contains_key(uid));
            for (uid, title) in free {
                waiting.entry(uid).or_insert((at, title));
            }
            let next = moments.get(number + 1).copied().unwrap_or(until);
            let stands = |since: &u64| next.saturating_sub(*since) > STANDSTILL;
            if let Some((_, title)) = waiting.values().find(|(since, _)| stands(since)) {
                let revision = scene.state.reached();
                let text = format!("nothing moves, and {title} could go");
                offences.push(Offence { revision, ..Offence::new("I9", text) });
                break;
            }
        }
    }
}

/// When something that a run is about came nearer to its end: an object of a step, or what is left of a workload of one.
/// That controllers write into what is not going, or make something anew, brings no run on.
fn steps_taken(evidence: &Evidence) -> impl Iterator<Item = u64> {
    let (planned, families) = (planned_uids(&evidence.known), Families::of(evidence));
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
        let family = families.of_one(uid(object));
        if family.iter().any(|one| planned.contains(*one) && going.contains(one)) {
            taken.push(evidence.moments.of(event.revision));
        }
    }
    taken.into_iter()
}

/// The owners that objects were made with: UIDs by UID.
struct Families<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Families<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let added = evidence.events.iter().filter(|event| event.change == Change::Added);
        let owners_of =
            |object: &'a Value| owners(object).map(|owner| text(owner, "/uid")).collect();
        Self(added.map(|event| (uid(&event.object), owners_of(&event.object))).collect())
    }

    /// An object, its owners, and theirs.
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

/// The cluster as it goes from moment to moment.
struct Scene<'a> {
    evidence: &'a Evidence,
    state: State,
    /// How many events have been taken in.
    taken: usize,
}

impl<'a> Scene<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        Self { evidence, state: State::before(evidence.planned), taken: 0 }
    }

    fn left(&self) -> impl Iterator<Item = (u64, &'a Event)> + use<'a> {
        let evidence = self.evidence;
        let left = evidence.events[self.taken..].iter();
        left.map(move |event| (evidence.moments.of(event.revision), &**event))
    }

    fn reach(&mut self, at: u64) {
        let reached = self.left().take_while(|(when, _)| *when <= at);
        for (_, event) in reached {
            self.state.apply(event);
            self.taken += 1;
        }
    }

    /// The beginning of a pause, and when something changes in it that may bind or free something.
    fn moments(&self, from: u64, until: u64) -> Vec<u64> {
        // Nodes say every few seconds that they are there, and what an Event tells of is told by its object.
        const NOISE: [(&str, &str); 4] = [
            ("coordination.k8s.io", "leases"),
            ("", "nodes"),
            ("", "events"),
            ("events.k8s.io", "events"),
        ];
        let is_noise =
            |event: &Event| NOISE.iter().any(|(group, plural)| event.key.is_of(group, plural));
        let changes = self.left().filter(|(_, event)| !is_noise(event)).map(|(at, _)| at);
        let said = self.evidence.known.marks.values().flatten().map(|mark| mark.at);
        let inside = changes.chain(said).filter(|at| (from..until).contains(at));
        let all: BTreeSet<u64> = inside.chain([from]).collect();
        all.into_iter().collect()
    }
}

/// The objects that runs which are open at a time are to delete, and that nothing is in front of: titles by UID.
fn free(
    evidence: &Evidence,
    state: &State,
    planned: &BTreeSet<String>,
    families: &Families<'_>,
    at: u64,
) -> BTreeMap<String, String> {
    let mut free = BTreeMap::new();
    for (run, plan) in &evidence.known.runs {
        let told = evidence.known.told(run).take_while(|(_, mark)| mark.at <= at);
        let happened: Vec<&Value> = told.map(|(event, _)| event).collect();
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
        let Some(plan) = evidence.known.plans.get(plan) else { continue };
        for step in list(plan, "/steps") {
            let Some(object) = state.by_uid(text(step, "/uid")) else { continue };
            let is_ours = !step["action"]["delete"].is_null()
                && step["id"].as_u64().is_none_or(|id| !skipped.contains(&id))
                && object["metadata"]["deletionTimestamp"].is_null();
            if is_ours
                && !is_held_by_pods(step, object, state, planned, families)
                // That more would be lost than was said is for a person to see to.
                && loss::unsaid(plan, state, object).is_none()
                && order::offences(&Case {
                    unit: text(plan, "/unit"),
                    state,
                    object,
                    read: None,
                    seen: &|_| true,
                })
                .is_empty()
            {
                free.insert(uid(object).to_owned(), title(object));
            }
        }
    }
    free
}

/// Whether Pods that no rule names are in front of a step.
fn is_held_by_pods(
    step: &Value,
    object: &Value,
    state: &State,
    planned: &BTreeSet<String>,
    families: &Families<'_>,
) -> bool {
    // Of a workload that is gone itself, its plan and their owners say which Pods are left; and those are on their way.
    let waits_for_pods = list(step, "/after").iter().any(|it| it["phase"] == "podsGone");
    let is_going = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
    state.within("Pod", namespace(object)).any(|pod| {
        // A Pod that nobody planned and no controller has is for a person to see to, and the page says so.
        let is_left = || families.of_one(uid(pod)).iter().any(|one| planned.contains(*one));
        !planned.contains(uid(pod)) && is_orphan(pod, state)
            || waits_for_pods && is_going(pod) && is_left()
    })
}

/// A Pod whose owners are gone, or that never had one, and whose end nobody asked for.
fn is_orphan(pod: &Value, state: &State) -> bool {
    pod["metadata"]["deletionTimestamp"].is_null()
        && owners(pod).all(|owner| state.by_uid(text(owner, "/uid")).is_none())
}
