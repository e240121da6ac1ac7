//! Requests that the API server refuses because the target changed after the look at it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// The outcome and the requests, where the API server refuses the change with this code, or its dry run, and shows this target from then
/// on.
async fn refused(call: &RemedyCall, code: u16, target: (u16, String)) -> (String, Vec<String>) {
    let is_refused = Arc::new(AtomicBool::new(false));
    let method = match call.request.verb {
        Verb::Delete => "DELETE",
        Verb::Replace => "PUT",
        _ => "PATCH",
    };
    let (outcome, _, requests) = sent(call, move |seen| {
        if seen.method == method {
            is_refused.store(true, Ordering::SeqCst);
            return now(code, status(code, "refused"));
        }
        if seen.bare() == PATH && is_refused.load(Ordering::SeqCst) {
            return now(target.0, target.1.clone());
        }
        answered(&seen)
    })
    .await;
    let of = |object: &ObjectRef| format!("{object} changed");
    let outcome = match &outcome {
        AttemptOutcome::Changed { object } => of(object),
        _ => name(&outcome).to_owned(),
    };
    (outcome, requests)
}

fn of(verb: Verb, body: Value) -> RemedyCall {
    let mut call = RemedyCall { is_dry_run_safe: false, ..call() };
    (call.request.verb, call.request.body) = (verb, body);
    call
}

fn calls() -> [(RemedyCall, &'static [u16]); 3] {
    let patch = of(Verb::JsonPatch, call().request.body);
    let delete = of(Verb::Delete, json!({ "preconditions": { "uid": "u-1" } }));
    let merge = of(Verb::MergePatch, json!({ "metadata": { "uid": "u-1" } }));
    [(patch, &[404, 409, 422]), (delete, &[404, 409]), (merge, &[404, 409, 422])]
}

#[tokio::test(start_paused = true)]
async fn refusal_by_a_guard_names_the_object_that_changed_after_one_more_look_at_it() {
    let other = config_map(r#""x/y""#).replace("u-1", "u-2");
    for (call, codes) in calls() {
        for &code in codes {
            for target in [(200, config_map("")), (200, other.clone()), (404, "{}".to_owned())] {
                let (outcome, requests) = refused(&call, code, target).await;
                assert_eq!(outcome, "ConfigMap shop/a changed", "{code}: {requests:?}");
                let last = &requests[requests.len() - 2..];
                assert!(!last[0].starts_with("GET"), "{requests:?}");
                assert_eq!(last[1], format!("GET {PATH}"), "{requests:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn version_that_the_request_named_and_that_is_not_the_present_one_is_a_change_too() {
    let touched =
        config_map(r#""x/y""#).replace(r#""resourceVersion":"7""#, r#""resourceVersion":"8""#);
    for (call, codes) in calls() {
        // A merge patch does not name it.
        let expected = match call.request.verb {
            Verb::MergePatch => "refused",
            _ => "ConfigMap shop/a changed",
        };
        let (outcome, _) = refused(&call, codes[1], (200, touched.clone())).await;
        assert_eq!(outcome, expected, "{:?}", call.request.verb);
    }
}

#[tokio::test(start_paused = true)]
async fn refusal_of_an_unchanged_target_or_for_another_reason_stays_a_refusal() {
    let changed = (200, config_map(""));
    let same = (200, config_map(r#""x/y""#));
    let unread = (403, status(403, "no"));
    for (call, codes) in calls() {
        for &code in codes {
            for target in [same.clone(), unread.clone()] {
                assert_eq!(refused(&call, code, target).await.0, "refused", "{code}");
            }
        }
        for code in [400, 403, 429] {
            let (outcome, requests) = refused(&call, code, changed.clone()).await;
            assert_eq!(outcome, "refused", "{code}");
            assert!(!requests.last().unwrap().starts_with("GET"), "{requests:?}");
        }
    }
    let (delete, _) = &calls()[1];
    assert_eq!(refused(delete, 422, changed).await.0, "refused", "no guard of a DELETE says so");
}

#[tokio::test(start_paused = true)]
async fn dry_run_that_a_guard_refuses_names_the_object_that_changed() {
    for (call, codes) in calls() {
        let call = RemedyCall { is_dry_run_safe: true, ..call };
        for &code in codes {
            let (outcome, requests) = refused(&call, code, (200, config_map(""))).await;
            assert_eq!(outcome, "ConfigMap shop/a changed", "{code}");
            assert_eq!(requests.len(), 2, "{requests:?}");
            let (outcome, _) = refused(&call, code, (200, config_map(r#""x/y""#))).await;
            assert_eq!(outcome, "not sent", "{code}: the target is as it was");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn object_that_somebody_created_first_is_named() {
    let absent = Premise { changes_with_it: true, ..without_program().premises[1].clone() };
    let mut call = of(Verb::Create, json!({ "metadata": { "name": "program" } }));
    call.request.object = absent.object.clone();
    call.request.uid = None;
    "/api/v1/namespaces/shop/configmaps".clone_into(&mut call.request.path);
    call.premises = vec![absent];
    let is_taken = Arc::new(AtomicBool::new(false));
    let gone = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"configmaps \"program\" not found","details":{"name":"program","kind":"configmaps"}}"#;
    let (outcome, _, requests) = sent(&call, move |seen| match seen.method.as_str() {
        "POST" => {
            is_taken.store(true, Ordering::SeqCst);
            now(409, status(409, "already exists"))
        }
        _ if is_taken.load(Ordering::SeqCst) => now(200, config_map("")),
        _ => now(404, gone),
    })
    .await;
    let AttemptOutcome::Changed { object } = outcome else { panic!("{outcome:?}") };
    assert_eq!(object.to_string(), "ConfigMap shop/program");
    assert_eq!(requests.len(), 3, "{requests:?}");
}
