//! I1: the garbage collector takes nothing with a deleted object that stays, and no claim that a Pod mounts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Evidence, State, commands, keep_mark, plan_of_delete};
use crate::{
    disk::event_name,
    state::{kind, list, name, namespace, owners, text, title, uid},
    transport::Arrival,
};

/// The reason why the garbage collector must not take what it takes with this object.
pub(super) fn of_delete(
    evidence: &Evidence,
    state: &State,
    object: &Value,
    arrival: &Arrival,
) -> Option<String> {
    if text(&arrival.body, "/propagationPolicy") == "Orphan" {
        return None;
    }
    let taken = taken_with(state, object);
    let plan = plan_of_delete(evidence, object, Some(arrival));
    let kept = plan.map_or(&[][..], |plan| list(plan, "/kept"));
    let left_out = skipped_before(evidence, object, arrival);
    taken.iter().find_map(|it| {
        let reason = if kept.iter().any(|kept| text(kept, "/uid") == uid(it)) {
            "its plan keeps it".to_owned()
        } else if left_out.contains(uid(it)) {
            "a person skipped it".to_owned()
        } else if let Some(mark) = keep_mark::seen_before(evidence, state, it, arrival) {
            format!("{mark} asks to keep it")
        } else {
            format!("{} mounts it", title(mounting(state, it)?))
        };
        Some(format!("{} is collected with it, and {reason}", title(it)))
    })
}

/// The objects that exist only for an object, directly or indirectly, and are not being deleted yet.
fn taken_with<'a>(state: &'a State, object: &Value) -> Vec<&'a Value> {
    let mut going = BTreeSet::from([uid(object)]);
    let mut taken: Vec<&Value> = vec![];
    loop {
        let next = state.all().find(|it| {
            let mut left = owners(it).map(|owner| text(owner, "/uid")).peekable();
            !going.contains(uid(it))
                && left.peek().is_some()
                && left.all(|owner| going.contains(owner) || state.by_uid(owner).is_none())
                && owners(it).any(|owner| going.contains(text(owner, "/uid")))
        });
        let Some(next) = next else { break };
        going.insert(uid(next));
        taken.push(next);
    }
    taken.retain(|it| it["metadata"]["deletionTimestamp"].is_null());
    taken
}

/// The Pod that mounts a claim of another owner.
fn mounting<'a>(state: &'a State, claim: &'a Value) -> Option<&'a Value> {
    let is_a_pods_own = owners(claim).any(|owner| owner["kind"] == "Pod");
    if kind(claim) != "PersistentVolumeClaim" || is_a_pods_own {
        return None;
    }
    state.within("Pod", namespace(claim)).find(|pod| {
        let mut volumes = list(pod, "/spec/volumes").iter();
        volumes.any(|it| text(it, "/persistentVolumeClaim/claimName") == name(claim))
    })
}

/// The UIDs of the objects that a person had left out of the run when this DELETE left.
fn skipped_before<'a>(
    evidence: &'a Evidence,
    object: &Value,
    arrival: &Arrival,
) -> BTreeSet<&'a str> {
    let journal = &evidence.journal;
    let run = commands::run_and_step_of(evidence, uid(object), arrival).map(|(run, _)| run);
    let of_run = journal.runs.iter().find(|(id, _)| Some(id.as_str()) == run);
    let Some((run, plan)) = of_run.and_then(|(id, plan)| Some((id, journal.plans.get(plan)?)))
    else {
        return BTreeSet::new();
    };
    let before = journal.events_of(run).take_while(|(_, commit)| commit.before < arrival.durable);
    let skipped: Vec<&Value> = before
        .filter(|(event, _)| event_name(event) == "skipped")
        .map(|(event, _)| &event["event"]["step"])
        .collect();
    let steps = list(plan, "/steps").iter().filter(|step| skipped.contains(&&step["id"]));
    steps.map(|step| text(step, "/uid")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owned(kind: &str, name: &str, owner: &str) -> Value {
        let owners = json!([{"kind": "StatefulSet", "uid": owner}]);
        json!({
            "kind": kind,
            "metadata": {"name": name, "namespace": "a", "uid": name, "ownerReferences": owners},
        })
    }

    /// The violation of a DELETE of the set, whose claim a Pod mounts or not.
    fn violation(policy: &str, is_mounted: bool, kept: &Value) -> Option<String> {
        let set =
            json!({"kind": "StatefulSet", "metadata": {"name": "s", "namespace": "a", "uid": "s"}});
        let mut pod = owned("Pod", "p", "s");
        if is_mounted {
            let volume = json!({"persistentVolumeClaim": {"claimName": "c"}});
            pod["spec"]["volumes"] = json!([volume]);
        }
        let state = State::of([set.clone(), pod, owned("PersistentVolumeClaim", "c", "s")]);
        let mut evidence = Evidence::default();
        evidence.journal.runs.push(("r".into(), "p".into()));
        evidence.journal.plans.insert("p".into(), json!({"steps": [], "kept": kept}));
        let arrival = Arrival {
            path: "x".into(),
            body: json!({"preconditions": {"uid": "s"}, "propagationPolicy": policy}),
            intents: 1,
            durable: 0,
            instance: 0,
            at: 0,
            until: Some(0),
        };
        of_delete(&evidence, &state, &set, &arrival)
    }

    #[test]
    fn claim_is_not_collected_while_a_pod_mounts_it_or_while_it_is_kept() {
        assert_eq!(violation("Background", false, &json!([])), None);
        assert!(violation("Background", true, &json!([])).is_some_and(|it| it.contains("mounts")));
        let kept = json!([{"uid": "c"}]);
        assert!(violation("Background", false, &kept).is_some_and(|it| it.contains("keeps it")));
        assert_eq!(violation("Orphan", true, &kept), None);
    }
}
