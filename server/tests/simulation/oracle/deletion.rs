//! I1 and I2: the rules about what one DELETE takes, beside those of the order.

use serde_json::Value;

use super::{Evidence, State, collateral, data_loss, hint, keep_mark, membership, plan_of_delete};
use crate::{state::title, transport::Arrival};

/// One DELETE of the server, and the state of the cluster at its moment.
pub(super) struct Deletion<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) state: &'a State,
    pub(super) object: &'a Value,
    /// Its request, if that is known.
    pub(super) arrival: Option<&'a Arrival>,
    /// Whether it deleted something.
    pub(super) has_effect: bool,
}

type Rule = fn(&Deletion<'_>) -> Option<String>;

/// The rules, each with its invariant. The judge of a real control plane has rules of the same names
/// (`end2end/judge/rules.mjs`).
const RULES: [(&str, Rule); 6] = [
    ("I2", unclaimed_touched),
    ("I2", data_not_kept),
    ("I1", collateral),
    ("I1", data_destroyed_unsaid),
    ("I2", asked_to_keep),
    ("I1", hinted),
];

/// Every rule that this DELETE violates: its invariant, and the reason.
pub(super) fn violations(deletion: &Deletion<'_>) -> Vec<(&'static str, String)> {
    let broken = RULES.iter().filter_map(|(invariant, rule)| Some((*invariant, rule(deletion)?)));
    broken.collect()
}

fn unclaimed_touched(it: &Deletion<'_>) -> Option<String> {
    let plan = plan_of_delete(it.evidence, it.object, it.arrival)?;
    membership::unclaimed_touched(plan, it.state, it.object)
}

fn data_not_kept(it: &Deletion<'_>) -> Option<String> {
    let plan = plan_of_delete(it.evidence, it.object, it.arrival)?;
    membership::data_not_kept(plan, it.object)
}

fn collateral(it: &Deletion<'_>) -> Option<String> {
    let arrival = it.arrival.filter(|_| it.has_effect)?;
    collateral::of_delete(it.evidence, it.state, it.object, arrival)
}

fn data_destroyed_unsaid(it: &Deletion<'_>) -> Option<String> {
    let volume = data_loss::of_delete(it.evidence, it.state, it.object, it.arrival)?;
    Some(format!("{} goes, and no plan says so", title(volume)))
}

fn asked_to_keep(it: &Deletion<'_>) -> Option<String> {
    let mark = keep_mark::seen_before(it.evidence, it.state, it.object, it.arrival?)?;
    Some(format!("its annotation {mark} asks to keep it"))
}

fn hinted(it: &Deletion<'_>) -> Option<String> {
    let plan = plan_of_delete(it.evidence, it.object, it.arrival)?;
    let first = hint::left_in_front(plan, it.state, it.object)?;
    // Once a person has skipped an object, those behind it wait for nothing.
    (!it.evidence.journal.has_any(&["skipped"]))
        .then(|| format!("{} goes before it by a hint", title(first)))
}
