//! A namespace that is created and deleted at once.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Creates a namespace and deletes it at once.
fn recreate() -> RemedyCall {
    let namespace = object(&kind("Namespace", "namespaces", false), &namespace("9"));
    let request = Request {
        verb: Verb::Create,
        path: "/api/v1/namespaces".to_owned(),
        body: json!({ "metadata": { "name": "shop", "labels": { "unwind/recreated": "1" } } }),
        object: namespace.reference(),
        uid: None,
    };
    let premises = Vec::new();
    RemedyCall { request, premises, is_dry_run_safe: false, deletes_at_once: true, ..call() }
}

/// The outcome of a creation that made something else.
fn other() -> AttemptOutcome {
    AttemptOutcome::MadeOther { object: recreate().request.object }
}

fn made(uid: &str) -> String {
    json!({ "metadata": { "name": "shop", "uid": uid, "labels": { "unwind/recreated": "1" } } })
        .to_string()
}

fn making(
    answer: String,
    end: (u16, &'static str),
) -> impl Fn(Seen) -> futures::future::BoxFuture<'static, Reply> + Send + Sync + 'static {
    move |seen: Seen| match (seen.method.as_str(), seen.bare()) {
        ("POST", "/api/v1/namespaces") => now(201, answer.clone()),
        ("DELETE", SHOP) => now(end.0, status(end.0, end.1)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_made_is_kept_and_then_deleted_by_its_uid() {
    let (client, log) = fake::client(making(made("m-1"), (200, "")));
    let mut kept = Vec::new();
    let keep = async |copy: Value| {
        let deletes = log.lock().unwrap().iter().filter(|seen| seen.method == "DELETE").count();
        kept.push((copy["metadata"]["uid"].clone(), deletes));
        Ok(())
    };
    let outcome = guarded(&client, &Interner::default(), &recreate(), keep, unchanged).await;
    assert_eq!(outcome, Ok(AttemptOutcome::Accepted { meanwhile: None }));
    assert_eq!(kept, [(json!("m-1"), 0)]);
    let log = log.lock().unwrap();
    let delete = log.iter().find(|seen| seen.method == "DELETE").unwrap();
    let body: Value = serde_json::from_str(&delete.body).unwrap();
    assert_eq!(body["preconditions"], json!({ "uid": "m-1" }));
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_made_and_is_not_deleted_is_said_to_be() {
    let unfinished =
        |code: ProblemCode| AttemptOutcome::Unfinished { message: code.into(), meanwhile: None };
    for (answer, expected) in [
        (made(""), unfinished(ProblemCode::NoUid)),
        (made("m-1").replace("uid", "id"), unfinished(ProblemCode::NoUid)),
        (made("m-1").replace(r#""1""#, r#""2""#), other()),
        (made("m-1").replace("shop", "lab"), other()),
    ] {
        let (outcome, _, requests) = sent(&recreate(), making(answer, (200, ""))).await;
        assert_eq!(outcome, expected);
        assert_eq!(requests, ["POST /api/v1/namespaces"]);
    }
    let (outcome, ..) = sent(&recreate(), making("<html>".to_owned(), (200, ""))).await;
    let AttemptOutcome::Unfinished { message: ApiProblem::Code(code), .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(matches!(*code, ProblemCode::Unreadable { .. }), "{code:?}");
    for end in [(403, "no"), (504, "later")] {
        let (outcome, ..) = sent(&recreate(), making(made("m-1"), end)).await;
        let AttemptOutcome::Unfinished { message, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(words(&message), end.1);
    }
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_made_and_is_not_kept_is_not_deleted_and_each_reason_is_its_own() {
    let message: ApiProblem = ProblemCode::QueueFull.into();
    let object = recreate().request.object;
    for (why, expected) in [
        (
            NotKept::Journal(message.clone()),
            AttemptOutcome::Unfinished { message, meanwhile: None },
        ),
        (NotKept::OtherObject(object), other()),
        (NotKept::Ended, AttemptOutcome::Unknown { message: None, meanwhile: None }),
    ] {
        let (client, log) = fake::client(making(made("m-1"), (200, "")));
        let keep = async |_| Err(why.clone());
        let outcome = guarded(&client, &Interner::default(), &recreate(), keep, unchanged).await;
        assert_eq!(outcome, Ok(expected));
        assert!(log.lock().unwrap().iter().all(|seen| seen.method == "POST"));
    }
}

#[tokio::test(start_paused = true)]
async fn others_are_read_again_where_only_the_first_of_two_requests_was_accepted() {
    let node_kind = kind("Node", "nodes", false);
    for (ready, expected) in [("Unknown", None), ("True", Some("Node n1"))] {
        let premises = vec![Premise::unchanged(&object(&node_kind, &node("Unknown")))];
        let call = RemedyCall { premises, ..recreate() };
        let is_made = AtomicBool::new(false);
        let (outcome, ..) = sent(&call, move |seen| match (seen.method.as_str(), seen.bare()) {
            ("GET", "/api/v1/nodes/n1") => {
                let is_made = is_made.load(Ordering::SeqCst);
                now(200, node(if is_made { ready } else { "Unknown" }))
            }
            (method, _) => {
                is_made.fetch_or(method == "POST", Ordering::SeqCst);
                making(made("m-1"), (504, "later"))(seen)
            }
        })
        .await;
        assert!(matches!(outcome, AttemptOutcome::Unfinished { .. }), "{outcome:?}");
        assert_eq!(outcome.changed().map(ToString::to_string).as_deref(), expected);
    }
}
