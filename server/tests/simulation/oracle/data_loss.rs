//! I1: a DELETE destroys no data that no confirmed plan lists.

use serde_json::Value;

use super::{Evidence, State, commands};
use crate::{
    state::{kind, list, text, uid},
    transport::Arrival,
};

/// The volume that is destroyed together with a claim, if the plan does not say so.
pub(super) fn unplanned_loss<'a>(
    plan: &Value,
    state: &'a State,
    claim: &'a Value,
) -> Option<&'a Value> {
    let name = text(claim, "/spec/volumeName");
    let volume = state.find("PersistentVolume", "", name)?;
    let goes = kind(claim) == "PersistentVolumeClaim"
        && text(volume, "/spec/claimRef/uid") == uid(claim)
        && text(volume, "/spec/persistentVolumeReclaimPolicy") != "Retain";
    let is_planned = list(plan, "/data").iter().any(|data| {
        text(data, "/volume/name") == name && matches!(text(data, "/fate"), "destroyed" | "unknown")
    });
    (goes && !is_planned).then_some(volume)
}

/// The volume whose data a DELETE destroys although its plan does not say so, if the server had observed the volume in
/// time.
pub(super) fn of_delete<'a>(
    evidence: &Evidence,
    state: &'a State,
    claim: &'a Value,
    arrival: Option<&Arrival>,
) -> Option<&'a Value> {
    let arrival = arrival?;
    let journal = &evidence.journal;
    let (run_of_delete, _) = commands::run_and_step_of(evidence, uid(claim), arrival)?;
    let (_, plan) = journal.runs.iter().find(|(run, _)| run == run_of_delete)?;
    let volume = unplanned_loss(journal.plans.get(plan)?, state, claim)?;
    let name = text(claim, "/spec/volumeName");
    let bound = evidence.events.iter().find(|event| {
        uid(&event.object) == uid(claim) && text(&event.object, "/spec/volumeName") == name
    })?;
    let (key, since) = state.creation(volume)?;
    let decided = arrival.at.saturating_sub(evidence.max_hold_back);
    let had_observed =
        |key, since| evidence.observed.had_observed(arrival.instance, decided, key, since);
    (had_observed(&bound.key, bound.revision) && had_observed(key, *since)).then_some(volume)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volume(policy: &str, claim: &str) -> Value {
        json!({
            "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"},
            "spec": {"persistentVolumeReclaimPolicy": policy, "claimRef": {"uid": claim}},
        })
    }

    #[test]
    fn volume_that_goes_with_a_claim_has_to_be_in_the_plan() {
        let claim = json!({
            "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "a", "uid": "c"},
            "spec": {"volumeName": "v"},
        });
        let lost = |plan: &Value, volume: Value| {
            unplanned_loss(plan, &State::of([volume, claim.clone()]), &claim).is_some()
        };
        let (silent, with_fate) = (
            json!({"data": []}),
            |fate: &str| json!({"data": [{"volume": {"name": "v"}, "fate": fate}]}),
        );
        assert!(lost(&silent, volume("Delete", "c")));
        assert!(lost(&with_fate("kept"), volume("Delete", "c")));
        assert!(!lost(&with_fate("destroyed"), volume("Delete", "c")));
        assert!(!lost(&with_fate("unknown"), volume("Delete", "c")));
        assert!(!lost(&silent, volume("Retain", "c")), "left behind");
        assert!(!lost(&silent, volume("Delete", "other")), "another claim's");
    }
}
