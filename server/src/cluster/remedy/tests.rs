use teardown::object::Kind;

use super::*;
use crate::cluster::fake::{self, Reply, Seen, now, words};

const PATH: &str = "/api/v1/namespaces/shop/configmaps/a";

fn kind(name: &str, plural: &str, namespaced: bool) -> Arc<Kind> {
    Arc::new(Kind {
        group: "".into(),
        kind: name.into(),
        version: "v1".into(),
        plural: plural.into(),
        namespaced,
    })
}

fn config_map(finalizers: &str) -> String {
    format!(
        r#"{{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{{"name":"a","namespace":"shop","uid":"u-1","resourceVersion":"7","finalizers":[{finalizers}],"creationTimestamp":"2026-01-01T00:00:00Z"}}}}"#
    )
}

fn node(ready: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n1","uid":"n-1","resourceVersion":"8","creationTimestamp":"2026-01-01T00:00:00Z"}},"status":{{"conditions":[{{"type":"Ready","status":"{ready}","reason":"R","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}}"#
    )
}

fn object(kind: &Arc<Kind>, json: &str) -> Arc<Object> {
    Arc::new(convert::object(kind, json, &Interner::default()).unwrap().unwrap())
}

/// Removes the finalizer `x/y` of a ConfigMap; the decision also rests on a Node.
fn call() -> RemedyCall {
    let target = object(&kind("ConfigMap", "configmaps", true), &config_map(r#""x/y""#));
    let node = object(&kind("Node", "nodes", false), &node("Unknown"));
    let request = Request {
        verb: Verb::JsonPatch,
        path: PATH.to_owned(),
        body: json!([{ "op": "remove", "path": "/metadata/finalizers/0" }]),
        object: target.reference(),
        uid: Some(target.uid.clone()),
    };
    RemedyCall {
        attempt: "a1".into(),
        request,
        premises: vec![target, node],
        is_dry_run_safe: true,
        keeps_copy: false,
    }
}

/// The outcome, the copy, and the requests as `METHOD path`.
async fn sent(
    call: &RemedyCall,
    answer: impl Fn(Seen) -> futures::future::BoxFuture<'static, Reply> + Send + Sync + 'static,
) -> (AttemptOutcome, Option<Value>, Vec<String>) {
    let (client, log) = fake::client(answer);
    let mut copy = None;
    let keep = async |read| {
        copy = Some(read);
        Ok(())
    };
    let outcome = guarded(&client, &Interner::default(), call, keep).await;
    let log = log.lock().unwrap();
    let requests = log.iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    (outcome.unwrap_or_else(|outcome| outcome), copy, requests)
}

fn cluster(seen: &Seen) -> (u16, String) {
    match (seen.method.as_str(), seen.bare()) {
        ("GET", PATH) => (200, config_map(r#""x/y""#)),
        ("GET", "/api/v1/nodes/n1") => (200, node("Unknown")),
        ("PATCH", PATH) => (200, config_map("")),
        other => panic!("{other:?}"),
    }
}

fn answered(seen: &Seen) -> futures::future::BoxFuture<'static, Reply> {
    let (code, body) = cluster(seen);
    now(code, body)
}

#[tokio::test(start_paused = true)]
async fn request_is_tried_then_the_premises_are_read_then_it_is_sent_and_the_others_are_read_again()
{
    let (outcome, copy, requests) = sent(&call(), |seen| answered(&seen)).await;
    assert_eq!((outcome, copy), (AttemptOutcome::Accepted { meanwhile: None }, None));
    assert_eq!(
        requests,
        [
            format!("PATCH {PATH}?dryRun=All"),
            format!("GET {PATH}"),
            "GET /api/v1/nodes/n1".to_owned(),
            format!("PATCH {PATH}"),
            "GET /api/v1/nodes/n1".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_if_a_premise_has_changed_or_is_gone() {
    let node_name = "Node n1";
    for (code, body) in [(200, node("True")), (404, "{}".to_owned())] {
        let (outcome, _, requests) = sent(&call(), move |seen| match seen.bare() {
            "/api/v1/nodes/n1" => now(code, body.clone()),
            _ => answered(&seen),
        })
        .await;
        let AttemptOutcome::Changed { object } = outcome else { panic!("{outcome:?}") };
        assert_eq!(object.to_string(), node_name);
        assert!(!requests.contains(&format!("PATCH {PATH}")), "{requests:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_if_a_premise_cannot_be_read_within_a_second() {
    for silent in [true, false] {
        let (outcome, _, requests) = sent(&call(), move |seen| match seen.bare() {
            "/api/v1/nodes/n1" if silent => Box::pin(std::future::ready(Reply::Silence)),
            "/api/v1/nodes/n1" => now(403, ""),
            _ => answered(&seen),
        })
        .await;
        assert!(matches!(outcome, AttemptOutcome::NotSent { .. }), "{outcome:?}");
        assert!(!requests.contains(&format!("PATCH {PATH}")), "{requests:?}");
    }
}

fn status(code: u16, message: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":{message:?},"code":{code}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn dry_run_that_fails_sends_nothing_and_one_that_cannot_be_made_says_nothing() {
    let tried = async |message: &'static str| {
        sent(&call(), move |seen| match seen.query("dryRun") {
            Some(_) => now(400, status(400, message)),
            None => answered(&seen),
        })
        .await
    };
    let (outcome, _, requests) = tried("denied by policy").await;
    let AttemptOutcome::NotSent { message } = outcome else { panic!("{outcome:?}") };
    assert_eq!((words(&message).as_str(), requests.len()), ("denied by policy", 1));
    let (outcome, _, _) = tried(r#"admission webhook "w" does not support dry run"#).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
}

#[tokio::test(start_paused = true)]
async fn aggregated_kind_is_never_dry_run() {
    let call = RemedyCall { is_dry_run_safe: false, ..call() };
    let (_, _, requests) = sent(&call, |seen| answered(&seen)).await;
    assert!(requests.iter().all(|request| !request.contains("dryRun")), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn refusal_has_no_effect_and_silence_has_an_unknown_one() {
    let call = RemedyCall { is_dry_run_safe: false, ..call() };
    let (outcome, _, _) = sent(&call, |seen| match seen.method.as_str() {
        "PATCH" => now(422, status(422, "the server rejected our request")),
        _ => answered(&seen),
    })
    .await;
    assert!(matches!(outcome, AttemptOutcome::Refused { .. }), "{outcome:?}");
    for code in [408, 500, 504] {
        let (outcome, _, _) = sent(&call, move |seen| match seen.method.as_str() {
            "PATCH" => now(code, status(code, "later")),
            _ => answered(&seen),
        })
        .await;
        assert!(matches!(outcome, AttemptOutcome::Unknown { .. }), "{code}: {outcome:?}");
    }
    let (outcome, _, requests) = sent(&call, |seen| match seen.method.as_str() {
        "PATCH" => Box::pin(std::future::ready(Reply::Silence)),
        _ => answered(&seen),
    })
    .await;
    assert!(matches!(outcome, AttemptOutcome::Unknown { .. }), "{outcome:?}");
    let patches = requests.iter().filter(|request| request.starts_with("PATCH")).count();
    assert_eq!(patches, 1, "it is never sent again");
}

#[tokio::test(start_paused = true)]
async fn change_that_came_meanwhile_is_reported() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_sent = Arc::new(AtomicBool::new(false));
    let (outcome, _, _) = sent(&call(), move |seen| {
        let was_sent = is_sent.load(Ordering::SeqCst);
        is_sent
            .fetch_or(seen.method == "PATCH" && seen.query("dryRun").is_none(), Ordering::SeqCst);
        match seen.bare() {
            "/api/v1/nodes/n1" if was_sent => now(200, node("True")),
            _ => answered(&seen),
        }
    })
    .await;
    let AttemptOutcome::Accepted { meanwhile: Some(object) } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(object.to_string(), "Node n1");
}

#[tokio::test(start_paused = true)]
async fn copy_is_read_whole_before_the_request() {
    let call = RemedyCall { keeps_copy: true, ..call() };
    let (_, copy, requests) = sent(&call, |seen| answered(&seen)).await;
    assert_eq!(copy.unwrap()["metadata"]["uid"], "u-1");
    let gets = requests.iter().filter(|request| **request == format!("GET {PATH}")).count();
    assert_eq!(gets, 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_if_the_copy_is_not_kept() {
    let call = RemedyCall { keeps_copy: true, is_dry_run_safe: false, ..call() };
    let (client, log) = fake::client(|seen| answered(&seen));
    let message: ApiProblem = ProblemCode::QueueFull.into();
    let refused = AttemptOutcome::NotSent { message };
    let outcome =
        guarded(&client, &Interner::default(), &call, async |_| Err(refused.clone())).await;
    assert_eq!(outcome, Err(refused.clone()));
    assert!(log.lock().unwrap().iter().all(|seen| seen.method == "GET"));
}

#[tokio::test(start_paused = true)]
async fn dry_run_of_a_delete_is_asked_for_in_its_body_and_the_delete_names_the_version_that_was_read()
 {
    let mut call = call();
    call.request.verb = Verb::Delete;
    call.request.body = json!({ "kind": "DeleteOptions", "preconditions": { "uid": "u-1" } });
    let (client, log) = fake::client(|seen| match seen.method.as_str() {
        "DELETE" => now(200, "{}"),
        _ => answered(&seen),
    });
    let outcome = guarded(&client, &Interner::default(), &call, async |_| Ok(())).await;
    assert_eq!(outcome, Ok(AttemptOutcome::Accepted { meanwhile: None }));
    let log = log.lock().unwrap();
    let bodies: Vec<Value> = log
        .iter()
        .filter(|seen| seen.method == "DELETE")
        .map(|seen| serde_json::from_str(&seen.body).unwrap())
        .collect();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0]["dryRun"], json!(["All"]));
    assert_eq!(bodies[1]["dryRun"], Value::Null);
    assert_eq!(bodies[1]["preconditions"], json!({ "uid": "u-1", "resourceVersion": "7" }));
}

#[tokio::test(start_paused = true)]
async fn patch_tests_the_version_that_was_read() {
    let (client, log) = fake::client(|seen| answered(&seen));
    let outcome = guarded(&client, &Interner::default(), &call(), async |_| Ok(())).await;
    assert_eq!(outcome, Ok(AttemptOutcome::Accepted { meanwhile: None }));
    let log = log.lock().unwrap();
    let sent = log.iter().rfind(|seen| seen.method == "PATCH").unwrap();
    let patch: Value = serde_json::from_str(&sent.body).unwrap();
    let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "7" });
    assert_eq!(patch[0], test);
}
