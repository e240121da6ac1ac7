//! Looks once more at the claims whose data a person chose to keep, when a run ends.

use crate::{
    index::{Index, Presence},
    object::{Facts, Kind, ObjectRef},
    plan::{Fate, Plan},
    run::RunEvent,
};

/// The event that says whether the claims that somebody chose to keep, and that were bound when the plan was made, are bound
/// now; none if no data was to be kept.
pub(super) fn check(plan: &Plan, index: &Index) -> Option<RunEvent> {
    let is_claim =
        |object: &ObjectRef| object.group.is_empty() && &*object.kind == "PersistentVolumeClaim";
    let mut chosen = plan
        .kept
        .iter()
        .filter(|kept| kept.reason.is_chosen() && is_claim(&kept.object))
        .peekable();
    if !plan.choices.keeps_data() && chosen.peek().is_none() {
        return None;
    }
    let claims = Kind {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        version: "v1".into(),
        plural: "persistentvolumeclaims".into(),
        namespaced: true,
    };
    let was_bound = |claim: &ObjectRef| {
        let of_it = |data: &&crate::plan::DataFate| data.claim.as_ref() == Some(claim);
        plan.data.iter().find(of_it).is_some_and(|data| data.fate == Fate::Kept)
    };
    let (mut bound, mut lost, mut unknown) = (0, vec![], vec![]);
    for kept in chosen.filter(|kept| was_bound(&kept.object)) {
        match index.presence(&claims, kept.object.namespace.as_deref(), &kept.uid) {
            Presence::Present(object) => match &object.facts {
                Facts::Claim(claim)
                    if claim.phase.as_deref() == Some("Bound") && object.deletion.is_none() =>
                {
                    bound += 1;
                }
                _ => lost.push(kept.object.clone()),
            },
            Presence::Gone => lost.push(kept.object.clone()),
            Presence::Unknown(_) => unknown.push(kept.object.clone()),
        }
    }
    Some(RunEvent::DataChecked { bound, lost, unknown })
}
