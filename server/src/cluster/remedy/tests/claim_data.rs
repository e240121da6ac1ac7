//! The data of claims that go with a remedy, and their other users.

use super::*;

const VOLUME: &str = "/api/v1/persistentvolumes/disk";
const PODS: &str = "/api/v1/namespaces/shop/pods";

fn volume(uid: &str, policy: &str, claim: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"disk","uid":"{uid}","resourceVersion":"3","creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"persistentVolumeReclaimPolicy":"{policy}","claimRef":{{"namespace":"shop","name":"{claim}","uid":"c-1"}}}},"status":{{"phase":"Bound"}}}}"#
    )
}

/// A change of the ConfigMap that rests on this as well.
fn resting_on(premise: Premise) -> RemedyCall {
    let mut call = RemedyCall { is_dry_run_safe: false, ..call() };
    call.premises = vec![call.premises[0].clone(), premise];
    call
}

/// The answers to the read of this path before and after the request; the outcome.
async fn outcome(
    call: &RemedyCall,
    path: &'static str,
    before: (u16, String),
    after: (u16, String),
) -> AttemptOutcome {
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_sent = Arc::new(AtomicBool::new(false));
    let (outcome, ..) = sent(call, move |seen| {
        is_sent.fetch_or(seen.method == "PATCH", Ordering::SeqCst);
        if seen.bare() != path {
            return answered(&seen);
        }
        let (code, body) =
            if is_sent.load(Ordering::SeqCst) { after.clone() } else { before.clone() };
        now(code, body)
    })
    .await;
    outcome
}

#[tokio::test(start_paused = true)]
async fn fate_of_a_volumes_data_is_read_before_and_again_after_the_request() {
    let was = object(
        &kind("PersistentVolume", "persistentvolumes", false),
        &volume("v-1", "Delete", "data"),
    );
    let expected = Expected::SameDataFate(was.clone());
    let call = resting_on(Premise { expected, ..Premise::unchanged(&was) });
    let same = || (200, volume("v-1", "Delete", "data"));
    let released = volume("v-1", "Delete", "data").replace("Bound", "Released");
    let gone = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"persistentvolumes \"disk\" not found","details":{"name":"disk","kind":"persistentvolumes"}}"#;
    let fine = [same(), (200, released), (404, gone.to_owned())];
    for answer in fine {
        let outcome = outcome(&call, VOLUME, answer.clone(), answer.clone()).await;
        assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None }, "{answer:?}");
    }
    for other in [
        (200, volume("v-1", "Retain", "data")),
        (200, volume("v-1", "Delete", "other")),
        (200, volume("v-2", "Delete", "data")),
    ] {
        let held = outcome(&call, VOLUME, other.clone(), other.clone()).await;
        let object = was.reference();
        assert_eq!(held, AttemptOutcome::Changed { object: object.clone() }, "{other:?}");
        let reported = outcome(&call, VOLUME, same(), other.clone()).await;
        assert_eq!(reported, AttemptOutcome::Accepted { meanwhile: Some(object) }, "{other:?}");
    }
    for unread in [(403, status(403, "no")), (404, "404 page not found".to_owned())] {
        let held = outcome(&call, VOLUME, unread.clone(), unread.clone()).await;
        assert!(matches!(held, AttemptOutcome::NotSent { .. }), "{held:?}");
        let reported = outcome(&call, VOLUME, same(), unread).await;
        let meanwhile = Some(was.reference());
        assert_eq!(reported, AttemptOutcome::Accepted { meanwhile }, "it may have changed");
    }
}

fn pod(name: &str, claim: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"shop","uid":"{name}","creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"containers":[],"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"{claim}"}}}}]}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn pod_that_uses_the_claim_as_well_is_named_and_one_that_is_known_or_uses_another_is_not() {
    let of = ObjectRef {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        namespace: Some("shop".into()),
        name: "data".into(),
    };
    let call = resting_on(Premise {
        object: of,
        kind: kind("Pod", "pods", true),
        expected: Expected::Only { list: List::Users, known: [Uid::new("known")].into() },
        changes_with_it: false,
    });
    let known = || (200, list(&[pod("known", "data"), pod("unrelated", "other")], ""));
    let more = || (200, list(&[pod("known", "data"), pod("late", "data")], ""));
    let outcome = async |before, after| outcome(&call, PODS, before, after).await;
    assert_eq!(outcome(known(), known()).await, AttemptOutcome::Accepted { meanwhile: None });
    let AttemptOutcome::Changed { object } = outcome(more(), more()).await else { panic!() };
    assert_eq!(object.to_string(), "Pod shop/late");
    let reported = outcome(known(), more()).await;
    assert_eq!(reported, AttemptOutcome::Accepted { meanwhile: Some(object) });
    let hidden = (403, status(403, "no"));
    assert!(matches!(outcome(hidden.clone(), hidden).await, AttemptOutcome::NotSent { .. }));
}

const SET: &str = "/apis/apps/v1/namespaces/shop/statefulsets/db";

fn stateful_set(uid: &str, when_scaled: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"db","namespace":"shop","uid":"{uid}","resourceVersion":"3","creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"replicas":2,"persistentVolumeClaimRetentionPolicy":{{"whenScaled":"{when_scaled}"}}}}}}"#
    )
}

fn sets() -> Arc<Kind> {
    Arc::new(Kind {
        group: "apps".into(),
        kind: "StatefulSet".into(),
        version: "v1".into(),
        plural: "statefulsets".into(),
        namespaced: true,
    })
}

/// Before the request the policy is another one, which the request changes.
#[tokio::test(start_paused = true)]
async fn policy_that_the_request_sets_is_read_after_it_alone() {
    let was = object(&sets(), &stateful_set("s-1", "Delete"));
    let expected = Expected::KeepsClaims(was.clone());
    let call = resting_on(Premise { expected, ..Premise::unchanged(&was) });
    let before = || (200, stateful_set("s-1", "Delete"));
    for (after, meanwhile) in [
        ((200, stateful_set("s-1", "Retain")), None),
        ((200, stateful_set("s-1", "Delete")), Some(was.reference())),
        ((200, stateful_set("s-2", "Retain")), Some(was.reference())),
        ((404, "{}".to_owned()), Some(was.reference())),
        ((403, status(403, "no")), Some(was.reference())),
    ] {
        let outcome = outcome(&call, SET, before(), after.clone()).await;
        assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile }, "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_for_the_claims_of_replicas_is_read_before_and_again_after_the_request() {
    let was = object(&sets(), &stateful_set("s-1", "Retain"));
    let expected = Expected::SameClaimPolicy(was.clone());
    let call = resting_on(Premise { expected, ..Premise::unchanged(&was) });
    let same = || (200, stateful_set("s-1", "Retain"));
    let scaled = (200, stateful_set("s-1", "Retain").replace(":2", ":0"));
    for answer in [same(), scaled] {
        let outcome = outcome(&call, SET, answer.clone(), answer.clone()).await;
        assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None }, "{answer:?}");
    }
    for other in [
        (200, stateful_set("s-1", "Delete")),
        (200, stateful_set("s-2", "Retain")),
        (404, "{}".to_owned()),
    ] {
        let object = was.reference();
        let held = outcome(&call, SET, other.clone(), other.clone()).await;
        assert_eq!(held, AttemptOutcome::Changed { object: object.clone() }, "{other:?}");
        let reported = outcome(&call, SET, same(), other.clone()).await;
        assert_eq!(reported, AttemptOutcome::Accepted { meanwhile: Some(object) }, "{other:?}");
    }
}
