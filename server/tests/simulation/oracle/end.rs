//! The rules about the end of a simulation run: what the bystander still has, what is left of the unit, and what a run says of the
//! data that was kept.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Evidence, Violation, has_been, kept_data, planned_uids};
use crate::{
    application::{BYSTANDER, UNIT},
    disk::event_name,
    order,
    state::{State, kind, list, namespace, text, title, uid, unit},
};

/// The cluster at the end, and what mattered when the plan was made.
struct End<'a> {
    evidence: &'a Evidence,
    state: State,
    /// The objects of the bystander: titles by UID.
    theirs: BTreeMap<String, String>,
    /// The UIDs of the claims that only the unit mounts.
    ours: BTreeSet<String>,
}

type Rule = fn(&End<'_>, &mut Vec<Violation>);

/// The rules. The judge of a real control plane has rules of the same names (`end2end/judge/rules.mjs`).
const RULES: [Rule; 3] = [kept_data, bystander, left_over];

/// Every violation at the end.
pub(super) fn violations(evidence: &Evidence, violations: &mut Vec<Violation>) {
    let end = End::of(evidence);
    for rule in RULES {
        rule(&end, violations);
    }
    content_of_no_namespace(&end, violations);
}

impl<'a> End<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let mut state = State::before(evidence.planned);
        let (mut theirs, mut ours) = (BTreeMap::new(), BTreeSet::new());
        for event in &evidence.events {
            state.apply(event);
            if event.revision == evidence.planned {
                let all = state.all().filter(|object| unit(object) == BYSTANDER);
                theirs = all.map(|object| (uid(object).to_owned(), title(object))).collect();
                let claims = state.of_kind("PersistentVolumeClaim");
                let alone = claims.filter(|claim| order::is_mounted_by_unit_alone(&state, claim));
                ours = alone.map(|claim| uid(claim).to_owned()).collect();
            }
        }
        Self { evidence, state, theirs, ours }
    }
}

/// I2: a run says of no more claims that they are kept than the server read.
fn kept_data(end: &End<'_>, violations: &mut Vec<Violation>) {
    kept_data::violations(end.evidence, violations);
}

/// I1: the objects of the bystander are all there.
fn bystander(end: &End<'_>, violations: &mut Vec<Violation>) {
    for (theirs, title) in &end.theirs {
        let is_well = |object: &Value| object["metadata"]["deletionTimestamp"].is_null();
        if !end.state.by_uid(theirs).is_some_and(is_well) {
            violations.push(Violation::new("I1", format!("the bystander lost {title}")));
        }
    }
}

/// I3: every object that is left after a run has finished has a reason.
fn left_over(end: &End<'_>, violations: &mut Vec<Violation>) {
    let End { evidence, state, ours, .. } = end;
    let steps = planned_uids(&evidence.journal);
    let kept: BTreeSet<&str> = evidence
        .journal
        .plans
        .values()
        .flat_map(|plan| list(plan, "/kept"))
        .map(|kept| text(kept, "/uid"))
        .collect();
    let finished = evidence.journal.events.values().all(|events| {
        let names: Vec<&str> = events.iter().map(event_name).collect();
        names.last() == Some(&"finished") && !names.contains(&"skipped")
    });
    if !finished || evidence.journal.runs.is_empty() {
        return;
    }
    for object in state.all() {
        if steps.contains(uid(object)) {
            let text = format!("the run has finished, and {} is still there", title(object));
            violations.push(Violation::new("I3", text));
        } else if (unit(object) == UNIT || ours.contains(uid(object)))
            && state.is_known_to_plan(object)
            && evidence.may_be_read(object)
            && list(object, "/metadata/ownerReferences").is_empty()
            // Endpoints carry the labels of their Service and belong to their controller. Once the Service is gone, the
            // controller deletes them when it works again, which may be after the run.
            && !(kind(object) == "Endpoints" && has_been(evidence, "Service", object))
            && !kept.contains(uid(object))
        {
            let text = format!("{} is left over, and no plan says why", title(object));
            violations.push(Violation::new("I3", text));
        }
    }
}

/// The API server lets no namespace go that has content, whatever a run does.
fn content_of_no_namespace(end: &End<'_>, violations: &mut Vec<Violation>) {
    let state = &end.state;
    for object in state.all().filter(|object| !namespace(object).is_empty()) {
        if state.find("Namespace", "", namespace(object)).is_none() {
            let text = format!("{} is in a namespace that is gone", title(object));
            violations.push(Violation::new("I1", text));
        }
    }
}
