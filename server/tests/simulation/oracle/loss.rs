//! I1: no data is lost of which no confirmed plan says so.

use serde_json::Value;

use super::{Evidence, State, word};
use crate::{
    state::{kind, list, text, uid},
    wire::Arrival,
};

/// The volume that goes with a claim, if a plan does not say that its data is lost.
pub(super) fn unsaid<'a>(plan: &Value, state: &'a State, claim: &'a Value) -> Option<&'a Value> {
    let name = text(claim, "/spec/volumeName");
    let volume = state.find("PersistentVolume", "", name)?;
    let goes = kind(claim) == "PersistentVolumeClaim"
        && text(volume, "/spec/claimRef/uid") == uid(claim)
        && text(volume, "/spec/persistentVolumeReclaimPolicy") != "Retain";
    let is_said = list(plan, "/data").iter().any(|data| {
        text(data, "/volume/name") == name && matches!(text(data, "/fate"), "destroyed" | "unknown")
    });
    (goes && !is_said).then_some(volume)
}

/// The volume whose data a DELETE loses without a word in the plan of its run, if whoever sent it had been told of it in
/// time.
pub(super) fn of_delete<'a>(
    evidence: &Evidence,
    state: &'a State,
    claim: &'a Value,
    arrival: Option<&Arrival>,
) -> Option<&'a Value> {
    let arrival = arrival?;
    let known = &evidence.known;
    let (asker, _) = word::asker(evidence, uid(claim), arrival)?;
    let (_, plan) = known.runs.iter().find(|(run, _)| run == asker)?;
    let volume = unsaid(known.plans.get(plan)?, state, claim)?;
    let name = text(claim, "/spec/volumeName");
    let bound = evidence.events.iter().find(|event| {
        uid(&event.object) == uid(claim) && text(&event.object, "/spec/volumeName") == name
    })?;
    let (key, since) = state.born(volume)?;
    let decided = arrival.at.saturating_sub(evidence.held);
    let knew = |key, since| evidence.told.knew(arrival.life, decided, key, since);
    (knew(&bound.key, bound.revision) && knew(key, *since)).then_some(volume)
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
    fn what_goes_with_a_claim_has_been_said() {
        let claim = json!({
            "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "a", "uid": "c"},
            "spec": {"volumeName": "v"},
        });
        let lost = |plan: &Value, volume: Value| {
            unsaid(plan, &State::of([volume, claim.clone()]), &claim).is_some()
        };
        let (silent, says) = (
            json!({"data": []}),
            |fate: &str| json!({"data": [{"volume": {"name": "v"}, "fate": fate}]}),
        );
        assert!(lost(&silent, volume("Delete", "c")));
        assert!(lost(&says("kept"), volume("Delete", "c")));
        assert!(!lost(&says("destroyed"), volume("Delete", "c")));
        assert!(!lost(&says("unknown"), volume("Delete", "c")));
        assert!(!lost(&silent, volume("Retain", "c")), "left behind");
        assert!(!lost(&silent, volume("Delete", "other")), "another claim's");
    }
}
