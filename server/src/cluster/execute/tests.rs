mod fairness;
mod read;
mod suspend;
mod unserved;

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use teardown::{
    api_problem::ProblemCode,
    object::{ObjectRef, Uid},
    plan::{Propagation, StepId},
    run::RunId,
};

use super::*;
use crate::cluster::fake::{self, Reply, Seen, now};

fn kind(group: &str, kind: &str, plural: &str, namespaced: bool) -> Kind {
    Kind {
        group: group.into(),
        kind: kind.into(),
        version: "v1".into(),
        plural: plural.into(),
        namespaced,
    }
}

fn deployment() -> ActionTarget {
    let object = ObjectRef {
        group: "apps".into(),
        kind: "Deployment".into(),
        namespace: Some("shop".into()),
        name: "web".into(),
    };
    let kind = kind("apps", "Deployment", "deployments", true);
    ActionTarget { kind, object, uid: Uid::new("u-1"), version: None }
}

fn delete_action() -> Action {
    let (step, propagation) = (StepId(1), Propagation::Background);
    Action::Delete { step, target: deployment(), propagation }
}

fn read_action() -> Action {
    Action::Read { step: StepId(1), target: deployment() }
}

fn context(client: &ApiClient) -> CallContext {
    let (names, content) = (Arc::default(), ContentReader::default());
    CallContext { client: client.clone(), names, content }
}

async fn called(client: &ApiClient, action: &Action) -> Outcome {
    call_api(&context(client), action).await
}

async fn answered(action: Action, code: u16, body: &str) -> Outcome {
    let body = body.to_owned();
    let (client, _) = fake::client(move |_| now(code, body.clone()));
    called(&client, &action).await
}

fn status(code: u16, reason: &str, message: &str, details: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":{message:?},"reason":"{reason}","details":{details},"code":{code}}}"#
    )
}

#[tokio::test]
async fn delete_sends_uid_and_propagation_policy() {
    let (client, log) = fake::client(|_| now(200, r#"{"kind":"Status","status":"Success"}"#));
    assert_eq!(called(&client, &delete_action()).await, Outcome::Accepted);
    let Seen { method, path, body, .. } = log.lock().unwrap()[0].clone();
    assert_eq!(
        (method.as_str(), path.as_str()),
        ("DELETE", "/apis/apps/v1/namespaces/shop/deployments/web")
    );
    assert_eq!(
        body,
        r#"{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u-1"},"propagationPolicy":"Background"}"#
    );
}

#[tokio::test]
async fn delete_carries_the_version_that_was_read() {
    let (client, log) = fake::client(|_| now(200, "{}"));
    let (step, propagation) = (StepId(0), Propagation::Background);
    let action = Action::Delete { step, target: deployment().at("17".into()), propagation };
    called(&client, &action).await;
    let body = log.lock().unwrap()[0].body.clone();
    assert!(body.contains(r#""preconditions":{"resourceVersion":"17","uid":"u-1"}"#), "{body}");
}

/// The API server answers a DELETE with the object if the object is not removed at once.
#[tokio::test]
async fn delete_accepts_only_metadata_for_a_secret() {
    let (client, log) = fake::client(|_| now(200, "{}"));
    let target = ActionTarget { kind: kind("", "Secret", "secrets", true), ..deployment() };
    let (step, propagation) = (StepId(0), Propagation::Background);
    let action = Action::Delete { step, target, propagation };
    called(&client, &action).await;
    assert_eq!(log.lock().unwrap()[0].accept, convert::METADATA);
}

#[tokio::test]
async fn name_with_special_characters_is_escaped_and_an_impossible_one_is_not_sent() {
    let (client, log) = fake::client(|_| now(200, "{}"));
    let delete = |name: &str| Action::Delete {
        step: StepId(0),
        target: ActionTarget {
            kind: kind("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false),
            object: ObjectRef {
                group: "".into(),
                kind: "ClusterRole".into(),
                namespace: None,
                name: name.into(),
            },
            uid: Uid::new("u"),
            version: None,
        },
        propagation: Propagation::Orphan,
    };
    assert_eq!(called(&client, &delete("system:a b?c")).await, Outcome::Accepted);
    assert!(matches!(called(&client, &delete("..")).await, Outcome::Unknown { .. }));
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].path, "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%20b%3Fc");
}

#[tokio::test]
async fn answer_404_means_not_found_only_if_it_names_the_object() {
    let named = status(
        404,
        "NotFound",
        "deployments.apps \"web\" not found",
        r#"{"name":"web","group":"apps","kind":"deployments"}"#,
    );
    assert_eq!(answered(delete_action(), 404, &named).await, Outcome::NotFound);
    assert_eq!(answered(read_action(), 404, &named).await, Outcome::NotFound);
    let namespace = status(
        404,
        "NotFound",
        "namespaces \"shop\" not found",
        r#"{"name":"shop","kind":"namespaces"}"#,
    );
    let unserved =
        status(404, "NotFound", "the server could not find the requested resource", "{}");
    for body in [&*namespace, &*unserved, "404 page not found\n", ""] {
        let outcome = answered(delete_action(), 404, body).await;
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn answer_409_for_the_uid_returns_the_new_uid() {
    let new = "6f1b2c3d-0000-4000-8000-000000000001";
    let check = async |message: &str| {
        answered(delete_action(), 409, &status(409, "Conflict", message, "{}")).await
    };
    let before = format!(
        "Operation cannot be fulfilled on deployments.apps \"web\": the UID in the precondition (u-1) does not match the UID in record ({new}). The object might have been deleted and then recreated"
    );
    let stored = format!(
        "Operation cannot be fulfilled on deployments.apps \"web\": StorageError: invalid object, Code: 4, Key: /registry/x, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u-1, UID in object meta: {new}"
    );
    for message in [&before, &stored] {
        assert_eq!(
            check(message).await,
            Outcome::OtherUid { uid: Some(Uid::new(new)) },
            "{message}"
        );
    }
    let empty = "Precondition failed: UID in precondition: u-1, UID in object meta: ";
    assert_eq!(check(empty).await, Outcome::OtherUid { uid: None });
    let other = check("the object has been modified; please apply your changes to the latest version and try again").await;
    assert!(matches!(other, Outcome::Unanswered { .. }), "{other:?}");
    let going = check("Operation cannot be fulfilled on namespaces \"shop\": The system is ensuring all content is removed from this namespace.  Upon completion, this namespace will automatically be purged by the system.").await;
    assert!(matches!(going, Outcome::Unanswered { .. }), "the deletion has begun: {going:?}");
    let last =
        check("Operation cannot be fulfilled on priorityclasses \"low\": it is in use").await;
    assert!(matches!(last, Outcome::Refused { code: 409, .. }), "{last:?}");
    let denied = check("admission webhook \"keep.example.com\" denied the request: no").await;
    assert_eq!(
        denied,
        Outcome::Refused {
            code: 409,
            message: "admission webhook \"keep.example.com\" denied the request: no".into()
        }
    );
}

#[tokio::test]
async fn status_code_decides_the_outcome() {
    for code in [400, 403, 405, 422] {
        let outcome = answered(delete_action(), code, &status(code, "X", "no", "{}")).await;
        assert_eq!(outcome, Outcome::Refused { code, message: "no".into() });
    }
    for code in [408, 500, 502, 503, 504] {
        let outcome = answered(delete_action(), code, "<html>\n<b>bad\u{7} gateway</b>").await;
        assert_eq!(
            outcome,
            Outcome::Unanswered { message: "<html> <b>bad gateway</b>".into(), after: None }
        );
    }
    for code in [301, 401] {
        let outcome = answered(delete_action(), code, "").await;
        assert_eq!(
            outcome,
            Outcome::Unknown { message: ProblemCode::Status { code, said: String::new() }.into() }
        );
    }
    let failing = r#"Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://w.guard.svc:443/?timeout=10s": context deadline exceeded"#;
    let outcome =
        answered(delete_action(), 500, &status(500, "InternalError", failing, "{}")).await;
    assert_eq!(outcome, Outcome::Refused { code: 500, message: failing.into() });
    let webhook = status(
        404,
        "NotFound",
        "admission webhook \"w\" denied the request: gone",
        r#"{"name":"web","kind":"deployments"}"#,
    );
    assert!(matches!(
        answered(delete_action(), 404, &webhook).await,
        Outcome::Refused { code: 404, .. }
    ));
    let long = status(403, "Forbidden", &"x".repeat(9_000), "{}");
    let Outcome::Refused { message, .. } = answered(delete_action(), 403, &long).await else {
        panic!()
    };
    assert!(fake::words(&message).chars().count() <= 512);
}

#[tokio::test]
async fn answer_429_carries_its_retry_after() {
    let later = |after: &'static str, body: String| {
        let (client, _) = fake::client(move |_| {
            Box::pin(std::future::ready(Reply::Later(429, after, body.clone())))
        });
        client
    };
    let check = async |client: ApiClient| called(&client, &delete_action()).await;
    let seconds = |n| Outcome::Throttled { after: Some(SignedDuration::from_secs(n)) };
    assert_eq!(check(later("7", String::new())).await, seconds(7));
    let details = status(429, "TooManyRequests", "slow down", r#"{"retryAfterSeconds":3}"#);
    assert_eq!(check(later("soon", details)).await, seconds(3));
    assert_eq!(check(later("soon", String::new())).await, Outcome::Throttled { after: None });
}

#[tokio::test(start_paused = true)]
async fn timeout_or_broken_connection_is_unanswered() {
    let (client, _) = fake::client(|_| Box::pin(std::future::ready(Reply::Silence)));
    let began = Instant::now();
    let outcome = called(&client, &delete_action()).await;
    assert_eq!(
        outcome,
        Outcome::Unanswered { message: ProblemCode::Timeout { seconds: 10 }.into(), after: None }
    );
    assert_eq!(began.elapsed(), CALL);
    let pods = fake::read_pods_action("shop");
    assert_eq!(
        called(&client, &pods).await,
        Outcome::Unanswered { message: ProblemCode::Timeout { seconds: 30 }.into(), after: None }
    );
    let (client, _) = fake::client(|_| Box::pin(std::future::ready(Reply::Broken)));
    let outcome = called(&client, &delete_action()).await;
    assert!(
        matches!(&outcome, Outcome::Unanswered { message, .. } if fake::words(message).contains("refused")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn incomplete_read_of_pods_reports_no_pods() {
    let action = || fake::read_pods_action("shop");
    let unreadable =
        r#"{"metadata":{},"items":[{"metadata":{"name":"a","uid":"u"},"spec":{"volumes":7}}]}"#;
    assert!(matches!(answered(action(), 200, unreadable).await, Outcome::Unknown { .. }));
    assert!(matches!(answered(action(), 200, "<html>").await, Outcome::Unknown { .. }));
    assert!(matches!(answered(action(), 403, "no").await, Outcome::Refused { code: 403, .. }));
    assert!(matches!(answered(action(), 404, "no").await, Outcome::Unknown { .. }));
    assert!(matches!(answered(action(), 410, "no").await, Outcome::Unanswered { .. }));
    assert_eq!(
        answered(action(), 200, r#"{"metadata":{},"items":null}"#).await,
        Outcome::Pods(Vec::new())
    );
}

fn call_request() -> CallRequest {
    let recall = CancellationToken::new();
    CallRequest { run: RunId::new("r"), action: delete_action(), steps_behind: 0, recall }
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_stay_within_the_limit_and_all_are_answered() {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let (client, _) = fake::client(|_| {
        Box::pin(async {
            MOST.fetch_max(UNDER_WAY.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(20)).await;
            UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
            Reply::Answer(200, "{}".into())
        })
    });
    let (mailbox, mut incoming) = mpsc::channel(4);
    let (sender, drain, task) = executing(client, mailbox);
    // Nothing reads the mailbox yet, and the queue accepts calls nevertheless.
    for _ in 0..100 {
        sender.send(call_request()).await.unwrap();
    }
    for _ in 0..100 {
        let Some(Incoming::CallCompleted { outcome, .. }) = incoming.recv().await else { panic!() };
        assert_eq!(outcome, Outcome::Accepted);
    }
    let most = MOST.load(Ordering::SeqCst);
    assert!((8..=24).contains(&most), "{most}");
    drain.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn retry_after_delays_the_next_calls() {
    for code in [429, 503] {
        let times = Arc::new(Mutex::new(Vec::new()));
        let (client, _) = fake::client({
            let times = times.clone();
            move |_| {
                let mut times = times.lock().unwrap();
                times.push(Instant::now());
                let reply = if times.len() == 1 {
                    Reply::Later(code, "5", String::new())
                } else {
                    Reply::Answer(200, "{}".into())
                };
                Box::pin(std::future::ready(reply))
            }
        });
        let (mailbox, mut incoming) = mpsc::channel(4);
        let (sender, drain, task) = executing(client, mailbox);
        for _ in 0..2 {
            sender.send(call_request()).await.unwrap();
            incoming.recv().await.unwrap();
            tokio::task::yield_now().await;
        }
        let times = times.lock().unwrap().clone();
        let apart = times[1] - times[0];
        assert!(apart >= Duration::from_secs(5), "{code}: {apart:?}");
        drain.cancel();
        task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn delete_of_a_claim_is_sent_first_and_recalled_if_its_read_is_old() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (client, _) = fake::client({
        let asked = asked.clone();
        move |request| {
            let mut asked = asked.lock().unwrap();
            asked.push(request.path.rsplit('/').next().unwrap_or_default().to_owned());
            let reply = if asked.len() == 1 {
                Reply::Later(429, "5", String::new())
            } else {
                Reply::Answer(200, "{}".into())
            };
            Box::pin(std::future::ready(reply))
        }
    });
    let (mailbox, mut incoming) = mpsc::channel(16);
    let (sender, drain, task) = executing(client, mailbox);
    sender.send(call_request()).await.unwrap();
    incoming.recv().await.unwrap();
    tokio::task::yield_now().await;
    let claim = |name: &str| {
        let action = Action::Delete {
            step: StepId(1),
            target: fake::claim_target("shop", name),
            propagation: Propagation::Background,
        };
        CallRequest { action, ..call_request() }
    };
    sender.send(claim("old")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    sender.send(call_request()).await.unwrap();
    sender.send(claim("new")).await.unwrap();
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        let Some(Incoming::CallCompleted { action, outcome, .. }) = incoming.recv().await else {
            panic!("not an answer")
        };
        outcomes.push((action.target().object.name.to_string(), outcome));
    }
    outcomes.sort_by(|a, b| a.0.cmp(&b.0));
    let expected =
        [("new", Outcome::Accepted), ("old", Outcome::Recalled), ("web", Outcome::Accepted)];
    assert_eq!(outcomes, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    assert_eq!(*asked.lock().unwrap(), ["web", "new", "web"], "the old one is not sent");
    drain.cancel();
    task.await.unwrap();
}

/// An API server that answers after three seconds.
fn slow() -> (ApiClient, fake::Log) {
    fake::client(|_| {
        Box::pin(async {
            sleep(Duration::from_secs(3)).await;
            Reply::Answer(200, "{}".into())
        })
    })
}

fn executing(
    client: ApiClient,
    mailbox: mpsc::Sender<Incoming>,
) -> (mpsc::Sender<CallRequest>, CancellationToken, tokio::task::JoinHandle<()>) {
    let (sender, calls) = mpsc::channel(64);
    let drain = CancellationToken::new();
    let names = Arc::default();
    let task = tokio::spawn(execute(client, names, mailbox, calls, drain.clone()));
    (sender, drain, task)
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_calls_in_flight_and_drops_the_queue() {
    let (client, log) = slow();
    let (mailbox, mut incoming) = mpsc::channel(64);
    let (sender, drain, task) = executing(client, mailbox);
    for _ in 0..20 {
        sender.send(call_request()).await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    drain.cancel();
    task.await.unwrap();
    let mut answered = 0;
    while incoming.recv().await.is_some() {
        answered += 1;
    }
    assert_eq!((log.lock().unwrap().len(), answered), (2, 2), "so many before the first answer");
}

#[tokio::test(start_paused = true)]
async fn recalled_call_in_the_queue_is_not_sent() {
    let (client, log) = slow();
    let (mailbox, mut incoming) = mpsc::channel(64);
    let (sender, drain, task) = executing(client, mailbox);
    let recall = CancellationToken::new();
    for _ in 0..20 {
        sender.send(CallRequest { recall: recall.clone(), ..call_request() }).await.unwrap();
    }
    sender.send(call_request()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    recall.cancel();
    let mut outcomes = Vec::new();
    for _ in 0..21 {
        let Some(Incoming::CallCompleted { outcome, .. }) = incoming.recv().await else { panic!() };
        outcomes.push(outcome);
    }
    // The recalled calls are answered at once, before those in flight. The call of another run is sent after them.
    assert!(outcomes[..18].iter().all(|outcome| *outcome == Outcome::Recalled), "{outcomes:?}");
    assert!(outcomes[18..].iter().all(|outcome| *outcome == Outcome::Accepted), "{outcomes:?}");
    assert_eq!(log.lock().unwrap().len(), 3);
    drain.cancel();
    task.await.unwrap();
}

fn claim_delete_request() -> CallRequest {
    let kind = kind("", "PersistentVolumeClaim", "persistentvolumeclaims", true);
    let (target, propagation) = (ActionTarget { kind, ..deployment() }, Propagation::Background);
    let action = Action::Delete { step: StepId(2), target, propagation };
    CallRequest { action, ..call_request() }
}

fn is_of_a_claim(seen: &Seen) -> bool {
    seen.path.contains("persistentvolumeclaims")
}

#[tokio::test(start_paused = true)]
async fn delete_of_a_claim_ignores_the_calls_in_flight() {
    let (client, log) = slow();
    let (mailbox, mut incoming) = mpsc::channel(64);
    let (sender, drain, task) = executing(client, mailbox);
    for _ in 0..20 {
        sender.send(call_request()).await.unwrap();
    }
    sender.send(claim_delete_request()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    let sent = log.lock().unwrap().iter().map(is_of_a_claim).collect::<Vec<_>>();
    assert_eq!((sent.len(), sent.last()), (3, Some(&true)));
    incoming.close();
    drain.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn delete_of_a_claim_that_waited_is_sent_back() {
    let (client, log) = fake::client(|_| Box::pin(async { Reply::Later(429, "5", String::new()) }));
    let (mailbox, mut incoming) = mpsc::channel(64);
    let (sender, drain, task) = executing(client, mailbox);
    sender.send(call_request()).await.unwrap();
    let Some(Incoming::CallCompleted { outcome, .. }) = incoming.recv().await else { panic!() };
    assert_ne!(outcome, Outcome::Recalled);
    sender.send(claim_delete_request()).await.unwrap();
    let Some(Incoming::CallCompleted { outcome, .. }) = incoming.recv().await else { panic!() };
    assert_eq!(outcome, Outcome::Recalled, "a read is old after five seconds");
    assert!(!log.lock().unwrap().iter().any(is_of_a_claim));
    drain.cancel();
    task.await.unwrap();
}
