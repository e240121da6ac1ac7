mod claim_data;
mod last_look;
mod lost_race;
mod recreation;
mod unknown;

use teardown::{
    object::{Kind, Object, Uid},
    remedy::List,
};

use super::*;
use crate::cluster::{
    convert,
    fake::{self, Reply, Seen, now, words},
};

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
        premises: vec![Premise::unchanged_before(&target), Premise::unchanged(&node)],
        basis: None,
        is_dry_run_safe: true,
        keeps_copy: false,
        deletes_at_once: false,
    }
}

/// The last look of a hub whose index is as it was.
fn unchanged(_: bool) -> BoxFuture<'static, Result<(), AttemptOutcome>> {
    Box::pin(std::future::ready(Ok(())))
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
    let outcome = guarded(&client, &Interner::default(), call, keep, unchanged).await;
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
    let object = call.request.object.clone();
    for (why, expected) in [
        (NotKept::Journal(message.clone()), AttemptOutcome::NotSent { message }),
        (NotKept::OtherObject(object.clone()), AttemptOutcome::Changed { object }),
        (NotKept::Ended, AttemptOutcome::Interrupted),
    ] {
        let keep = async |_| Err(why.clone());
        let outcome = guarded(&client, &Interner::default(), &call, keep, unchanged).await;
        assert_eq!(outcome, Err(expected));
    }
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
    let outcome = guarded(&client, &Interner::default(), &call, async |_| Ok(()), unchanged).await;
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
    let outcome =
        guarded(&client, &Interner::default(), &call(), async |_| Ok(()), unchanged).await;
    assert_eq!(outcome, Ok(AttemptOutcome::Accepted { meanwhile: None }));
    let log = log.lock().unwrap();
    let sent = log.iter().rfind(|seen| seen.method == "PATCH").unwrap();
    let patch: Value = serde_json::from_str(&sent.body).unwrap();
    let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "7" });
    assert_eq!(patch[0], test);
}

const SHOP: &str = "/api/v1/namespaces/shop";

fn namespace(version: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"shop","uid":"s-1","resourceVersion":"{version}","labels":{{"a":"b"}},"annotations":{{"c":"d"}},"finalizers":["e/f"],"creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"finalizers":["kubernetes"]}},"status":{{"phase":"Terminating"}}}}"#
    )
}

/// Finishes a namespace that holds nothing but the ConfigMap `a`.
fn finalize() -> RemedyCall {
    let target = object(&kind("Namespace", "namespaces", false), &namespace("9"));
    let content = Premise {
        object: target.reference(),
        kind: target.kind.clone(),
        expected: Expected::Content { known: [Uid::new("u-1")].into() },
        changes_with_it: true,
    };
    let request = Request {
        verb: Verb::Replace,
        path: format!("{SHOP}/finalize"),
        body: json!({ "spec": { "finalizers": [] } }),
        object: target.reference(),
        uid: Some(target.uid.clone()),
    };
    let premises = vec![Premise::unchanged_before(&target), content];
    RemedyCall { request, premises, is_dry_run_safe: true, ..call() }
}

/// A discovery document with these resources in namespaces, each with its kind, plural and verbs, in one group.
fn discovery(group: &str, resources: &[(String, String, &str)]) -> String {
    let resources: Vec<Value> = resources
        .iter()
        .map(|(kind, plural, verbs)| {
            json!({
                "resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
                "verbs": verbs.split(' ').collect::<Vec<_>>(),
            })
        })
        .collect();
    let version = json!({ "version": "v1", "resources": resources });
    let items = json!([{ "metadata": { "name": group }, "versions": [version] }]);
    json!({ "kind": "APIGroupDiscoveryList", "items": items }).to_string()
}

fn core_kinds() -> String {
    let kind = |kind: &str, plural: &str| (kind.to_owned(), plural.to_owned(), "delete list watch");
    discovery("", &[kind("Pod", "pods"), kind("ConfigMap", "configmaps")])
}

fn list(items: &[String], next: &str) -> String {
    format!(r#"{{"metadata":{{"continue":"{next}"}},"items":[{}]}}"#, items.join(","))
}

fn in_shop(seen: &Seen) -> futures::future::BoxFuture<'static, Reply> {
    let (code, body) = match (seen.method.as_str(), seen.bare()) {
        ("GET", SHOP) => (200, namespace("9")),
        ("GET", "/api") => (200, core_kinds()),
        ("GET", "/apis") => (200, discovery("x.example", &[])),
        ("GET", "/api/v1/namespaces/shop/pods") => (200, list(&[], "")),
        ("GET", "/api/v1/namespaces/shop/configmaps") => (200, list(&[config_map("")], "")),
        ("PUT", "/api/v1/namespaces/shop/finalize") => (200, namespace("10")),
        other => panic!("{other:?}"),
    };
    now(code, body)
}

#[tokio::test(start_paused = true)]
async fn namespace_is_replaced_as_it_was_read_but_for_its_finalizers() {
    let (client, log) = fake::client(|seen| in_shop(&seen));
    let outcome =
        guarded(&client, &Interner::default(), &finalize(), async |_| Ok(()), unchanged).await;
    assert_eq!(outcome, Ok(AttemptOutcome::Accepted { meanwhile: None }));
    let log = log.lock().unwrap();
    let sent: Vec<&Seen> = log.iter().filter(|seen| seen.method == "PUT").collect();
    assert_eq!(sent.len(), 2, "the first is the dry run");
    assert_eq!(sent[0].query("dryRun"), Some("All"));
    let mut expected: Value = serde_json::from_str(&namespace("9")).unwrap();
    expected["spec"]["finalizers"] = json!([]);
    for seen in sent {
        assert_eq!(serde_json::from_str::<Value>(&seen.body).unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn namespace_with_more_in_it_than_was_shown_is_not_finished() {
    let pod = r#"{"metadata":{"name":"p","namespace":"shop","uid":"p-1","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
    let other = config_map("").replace("u-1", "u-2").replace(r#""name":"a""#, r#""name":"b""#);
    let lists = [
        ("/api/v1/namespaces/shop/pods", list(&[pod.to_owned()], ""), "Pod shop/p"),
        (
            "/api/v1/namespaces/shop/configmaps",
            list(&[config_map(""), other], ""),
            "ConfigMap shop/b",
        ),
    ];
    for (path, answer, expected) in lists {
        let call = RemedyCall { is_dry_run_safe: false, ..finalize() };
        let (outcome, _, requests) = sent(&call, move |seen| {
            if seen.bare() == path { now(200, answer.clone()) } else { in_shop(&seen) }
        })
        .await;
        let AttemptOutcome::Changed { object } = outcome else { panic!("{outcome:?}") };
        assert_eq!(object.to_string(), expected);
        assert!(requests.iter().all(|it| !it.starts_with("PUT")), "{requests:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_page_of_a_list_is_read_and_one_that_cannot_be_sends_nothing() {
    let pod = r#"{"metadata":{"name":"p","namespace":"shop","uid":"p-1","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
    let pages = move |last: (u16, String)| {
        move |seen: Seen| match (seen.bare(), seen.query("continue")) {
            ("/api/v1/namespaces/shop/pods", None) => now(200, list(&[], "more")),
            ("/api/v1/namespaces/shop/pods", Some(_)) => now(last.0, last.1.clone()),
            _ => in_shop(&seen),
        }
    };
    let call = RemedyCall { is_dry_run_safe: false, ..finalize() };
    let (outcome, ..) = sent(&call, pages((200, list(&[pod.to_owned()], "")))).await;
    assert!(matches!(outcome, AttemptOutcome::Changed { .. }), "{outcome:?}");
    let (outcome, ..) = sent(&call, pages((403, status(403, "no")))).await;
    assert!(matches!(outcome, AttemptOutcome::NotSent { .. }), "{outcome:?}");
}

/// An API that stores objects and lets nobody watch them is in no index, and on no card.
#[tokio::test(start_paused = true)]
async fn object_of_a_kind_that_nobody_can_watch_is_content_too() {
    let call = RemedyCall { is_dry_run_safe: false, ..finalize() };
    let quotas = [("Backup".to_owned(), "backups".to_owned(), "delete list")];
    let (outcome, _, requests) = sent(&call, move |seen| match seen.bare() {
        "/apis" => now(200, discovery("x.example", &quotas)),
        "/apis/x.example/v1/namespaces/shop/backups" => {
            now(200, list(&[config_map("").replace("u-1", "b-1")], ""))
        }
        _ => in_shop(&seen),
    })
    .await;
    let AttemptOutcome::Changed { object } = outcome else { panic!("{outcome:?}") };
    assert_eq!(object.to_string(), "Backup shop/a");
    assert!(requests.iter().all(|it| !it.starts_with("PUT")), "{requests:?}");
}

/// Eight lists at a time of 60 ms each take more than two seconds for 300 kinds.
#[tokio::test(start_paused = true)]
async fn namespace_is_finished_however_many_kinds_there_are() {
    let kinds: Vec<_> = (0..300)
        .map(|number| (format!("Kind{number}"), format!("kind{number}s"), "delete list watch"))
        .collect();
    let answer = move |seen: Seen| -> futures::future::BoxFuture<'static, Reply> {
        let kinds = discovery("x.example", &kinds);
        Box::pin(async move {
            match seen.bare() {
                "/apis" => Reply::Answer(200, kinds),
                path if path.starts_with("/apis/x.example/") => {
                    tokio::time::sleep(Duration::from_millis(60)).await;
                    Reply::Answer(200, list(&[], ""))
                }
                _ => in_shop(&seen).await,
            }
        })
    };
    let began = Instant::now();
    let call = RemedyCall { is_dry_run_safe: false, ..finalize() };
    let (outcome, _, requests) = sent(&call, answer).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert!(began.elapsed() > FRESH);
    let lists = requests.iter().filter(|it| it.contains("/apis/x.example/")).count();
    assert_eq!(lists, 300, "each kind once");
    let place = |line: &str| requests.iter().position(|it| it == line).unwrap();
    assert!(
        place(&format!("GET {SHOP}")) > place("GET /apis"),
        "the namespace itself is read last"
    );
}

/// Removes a finalizer whose program, a ConfigMap here, must still be absent.
fn without_program() -> RemedyCall {
    let kind = kind("ConfigMap", "configmaps", true);
    let name = object(&kind, &config_map("").replace(r#""name":"a""#, r#""name":"program""#));
    let absent = Premise {
        object: name.reference(),
        kind,
        expected: Expected::Absent,
        changes_with_it: false,
    };
    let mut call = RemedyCall { is_dry_run_safe: false, ..call() };
    call.premises = vec![call.premises[0].clone(), absent];
    call
}

#[tokio::test(start_paused = true)]
async fn absence_is_a_404_about_the_object_and_nothing_else() {
    const PROGRAM: &str = "/api/v1/namespaces/shop/configmaps/program";
    let gone = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"configmaps \"program\" not found","details":{"name":"program","kind":"configmaps"}}"#;
    let not_served = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"the server could not find the requested resource","details":{}}"#;
    let answers = [
        (404, gone.to_owned(), "accepted"),
        (200, config_map(""), "changed"),
        (404, not_served.to_owned(), "not sent"),
        (404, "404 page not found".to_owned(), "not sent"),
        (403, status(403, "forbidden"), "not sent"),
    ];
    for (code, body, expected) in answers {
        let (outcome, ..) = sent(&without_program(), move |seen| match seen.bare() {
            PROGRAM => now(code, body.clone()),
            _ => answered(&seen),
        })
        .await;
        assert_eq!(name(&outcome), expected, "{code}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lease_that_was_renewed_or_endpoint_that_is_ready_sends_nothing() {
    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";
    const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/ops/endpointslices";
    let node = object(&kind("Node", "nodes", false), &node("Unknown"));
    let lease =
        Premise { expected: Expected::NotRenewed("08:00 n1".into()), ..Premise::unchanged(&node) };
    let service = Premise {
        object: ObjectRef {
            group: "".into(),
            kind: "Service".into(),
            namespace: Some("ops".into()),
            name: "gate".into(),
        },
        kind: kind("Service", "services", true),
        expected: Expected::NoReadyEndpoints,
        changes_with_it: false,
    };
    let of = |premise: &Premise| {
        let mut call = RemedyCall { is_dry_run_safe: false, ..call() };
        call.premises = vec![call.premises[0].clone(), premise.clone()];
        call
    };
    let at = |time: &str| {
        format!(
            r#"{{"metadata":{{"name":"n1"}},"spec":{{"renewTime":"{time}","holderIdentity":"n1"}}}}"#
        )
    };
    let slice = |ready: bool| {
        format!(
            r#"{{"metadata":{{}},"items":[{{"endpoints":[{{"conditions":{{"ready":{ready}}}}}]}}]}}"#
        )
    };
    for (premise, path, code, body, expected) in [
        (&lease, LEASE, 200, at("08:00"), "accepted"),
        (&lease, LEASE, 404, String::new(), "accepted"),
        (&lease, LEASE, 200, at("08:01"), "changed"),
        (&lease, LEASE, 403, status(403, "no"), "not sent"),
        (&service, SLICES, 200, slice(false), "accepted"),
        (&service, SLICES, 200, slice(true), "changed"),
    ] {
        let (outcome, ..) = sent(&of(premise), move |seen| {
            if seen.bare() == path { now(code, body.clone()) } else { answered(&seen) }
        })
        .await;
        assert_eq!(name(&outcome), expected, "{path} {code}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn remedy_that_still_waits_when_the_server_ends_is_reported_as_not_sent() {
    let (client, log) = fake::client(|seen| answered(&seen));
    let (mailbox, mut inbox) = mpsc::channel(1);
    let (queue, calls) = mpsc::channel(1);
    queue.try_send(call()).unwrap();
    let drain = CancellationToken::new();
    drain.cancel();
    send(client, Arc::new(Interner::default()), mailbox, calls, drain).await;
    let Some(Incoming::RemedyCompleted { attempt, outcome }) = inbox.recv().await else {
        panic!("no outcome")
    };
    assert_eq!((attempt.as_str(), outcome), ("a1", AttemptOutcome::Interrupted));
    assert!(log.lock().unwrap().is_empty());
    assert!(queue.try_send(call()).is_err(), "another remedy waits for nobody");
}
