//! A Pod that nobody could know excuses the DELETE of what it uses.

use super::*;

#[test]
fn late_pod_is_excused_only_if_created_after_the_last_list() {
    let claim = made("PersistentVolumeClaim", "a", "c", json!({}));
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    let pod = pod(json!({"spec": {"volumes": volumes}}));
    let mut state = State::of([claim.clone(), pod.clone()]);
    state.make_late(&pod);
    let violations_of = |read: Option<&BTreeSet<String>>| {
        violations(&Case {
            unit: UNIT,
            state: &state,
            object: &claim,
            read,
            seen: &|_| false,
            came_after_list: &|_| true,
            is_waived: &|_| false,
            is_taken_on: false,
        })
        .len()
    };
    assert_eq!(violations_of(None), 1);
    assert_eq!(violations_of(Some(&BTreeSet::from([uid(&pod).to_owned()]))), 1);
    assert_eq!(violations_of(Some(&BTreeSet::new())), 0);
}

#[test]
fn pod_of_a_workload_that_is_gone_is_excused_after_the_last_list_and_another_orphan_never() {
    let claim = made("PersistentVolumeClaim", "a", "c", json!({}));
    let spec = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
    let orphan = |kind: &str, spec: Value| {
        let mut object = made(kind, "a", "o", json!({"spec": spec}));
        object["metadata"]["ownerReferences"] = json!([{"uid": "gone", "kind": "Deployment"}]);
        object
    };
    let violated = |user: Value| {
        let state = State::of([claim.clone(), user]);
        violations(&Case {
            unit: UNIT,
            state: &state,
            object: &claim,
            read: Some(&BTreeSet::new()),
            seen: &|_| false,
            came_after_list: &|_| true,
            is_waived: &|_| false,
            is_taken_on: false,
        })
        .len()
    };
    assert_eq!(violated(orphan("Pod", spec.clone())), 0);
    assert_eq!(violated(orphan("ReplicaSet", json!({"template": {"spec": spec}}))), 1);
}
