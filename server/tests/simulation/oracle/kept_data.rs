//! I2: at its end a run says of no more claims that they are kept than the server read at some time. The order of the two is held by
//! the run itself, whose events allow no end before each claim was read.

use std::collections::BTreeSet;

use super::{Evidence, USER, Violation};
use crate::{
    disk::event_name,
    state::{list, text},
};

/// The runs that say so of claims which nobody read.
pub(super) fn violations(evidence: &Evidence, violations: &mut Vec<Violation>) {
    for (run, plan) in &evidence.journal.runs {
        let mut events = evidence.journal.events_of(run).map(|(event, _)| event);
        let Some(checked) = events.find(|event| event_name(event) == "dataChecked") else {
            continue;
        };
        let kept = evidence.journal.plans.get(plan).map_or(&[][..], |plan| list(plan, "/kept"));
        let claims = kept.iter().filter(|it| text(it, "/object/kind") == "PersistentVolumeClaim");
        let claims: BTreeSet<&str> = claims.map(|it| text(it, "/uid")).collect();
        let reads = evidence.entries.iter().filter(|it| {
            it.actor == USER && it.verb == "get" && it.subresource.is_empty() && it.code == 200
        });
        let read: BTreeSet<&str> =
            reads.filter_map(|it| it.met.as_deref()).filter(|uid| claims.contains(uid)).collect();
        let bound = checked["event"]["bound"].as_u64().unwrap_or_default();
        if bound > read.len() as u64 {
            let read = read.len();
            let text =
                format!("run {run} says that {bound} kept claims are bound, and read {read}");
            violations.push(Violation::new("I2", text));
        }
    }
}
