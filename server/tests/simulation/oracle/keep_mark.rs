//! I2: a DELETE takes no object that an annotation of a tool asks to keep, if a watch had shown that in time.

use serde_json::Value;

use super::{Evidence, State};
use crate::{
    state::{kind, owners, uid},
    transport::Arrival,
};

/// The annotation that asks to keep an object, as `key: value`.
pub(super) fn keep_mark(object: &Value) -> Option<String> {
    let annotations = object["metadata"]["annotations"].as_object()?;
    let mut asks = annotations.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    asks.find(|(key, value)| asks_to_keep(key, value)).map(|(key, value)| format!("{key}: {value}"))
}

fn asks_to_keep(key: &str, value: &str) -> bool {
    match key {
        "helm.sh/resource-policy" => value == "keep",
        "argocd.argoproj.io/sync-options" => {
            value.split(',').any(|it| matches!(it, "Delete=false" | "Prune=false"))
        }
        "kustomize.toolkit.fluxcd.io/prune" => value == "disabled",
        "kapp.k14s.io/delete-strategy" => value == "orphan",
        _ => false,
    }
}

/// The mark of an object, if a watch had shown it before this DELETE was decided. The annotations of a ReplicaSet and of a
/// ControllerRevision are copies of those of their workload.
pub(super) fn seen_before(
    evidence: &Evidence,
    state: &State,
    object: &Value,
    arrival: &Arrival,
) -> Option<String> {
    let is_going = !object["metadata"]["deletionTimestamp"].is_null();
    let has_copies = matches!(kind(object), "ReplicaSet" | "ControllerRevision");
    if is_going || has_copies && owners(object).next().is_some() {
        return None;
    }
    let mark = keep_mark(object)?;
    let of_it = evidence
        .events
        .iter()
        .rev()
        .filter(|event| event.revision <= state.reached() && uid(&event.object) == uid(object));
    let since = of_it.take_while(|event| keep_mark(&event.object).is_some()).last()?;
    let decided = arrival.at.saturating_sub(evidence.max_hold_back);
    let was_seen =
        evidence.observed.had_watched(arrival.instance, decided, &since.key, since.revision);
    was_seen.then_some(mark)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sandbox::store::{Change, Event, Key};
    use serde_json::json;

    use super::*;

    /// A ConfigMap with these annotations at each revision, and the mark that a DELETE at 5 s has to respect.
    fn seen(annotations: &[Value], watched: u64) -> Option<String> {
        let (mut evidence, mut state) = (Evidence::default(), State::before(1));
        for (revision, annotations) in (1..).zip(annotations) {
            let object = json!({
                "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": "a", "uid": "c", "annotations": annotations},
            });
            let change = if revision == 1 { Change::Added } else { Change::Modified };
            let key = Key::new("", "configmaps", "a", "c");
            let object = Arc::new(object);
            let event = Arc::new(Event { revision, key, change, object, previous: None });
            state.apply(&event);
            evidence.events.push(event);
        }
        evidence.max_hold_back = 2_000;
        evidence.observed.record(0, 3_000, (&"/api/v1/configmaps".into(), true), watched);
        let arrival = Arrival {
            path: "c".into(),
            body: json!({"preconditions": {"uid": "c"}}),
            intents: 1,
            durable: 0,
            instance: 0,
            at: 5_000,
            until: Some(5_000),
        };
        let object = state.by_uid("c").cloned()?;
        seen_before(&evidence, &state, &object, &arrival)
    }

    #[test]
    fn mark_counts_once_a_watch_has_shown_it() {
        let (none, keep) = (json!({}), json!({"helm.sh/resource-policy": "keep"}));
        let mark = Some("helm.sh/resource-policy: keep".to_owned());
        assert_eq!(seen(&[none.clone(), keep.clone()], 2), mark);
        assert_eq!(seen(&[none.clone(), keep.clone()], 1), None, "no watch has shown it");
        assert_eq!(seen(&[keep.clone(), none.clone()], 2), None, "it was taken away");
        assert_eq!(seen(&[keep.clone(), none.clone(), keep.clone()], 2), None, "set anew");
        assert_eq!(seen(&[keep.clone(), none, keep], 3), mark);
        let other = json!({"argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false"});
        assert!(seen(&[other], 1).is_some());
        assert_eq!(seen(&[json!({"helm.sh/resource-policy": "delete"})], 1), None);
    }
}
