//! The last look of the hub, right before the request and after it.

use std::sync::Mutex;

use teardown::{
    diagnosis::diagnose,
    fixture,
    graph::Graph,
    remedy::{Remedy, RemedyAct, remedies},
};

use super::*;

/// The removal of a finalizer. The hub looks at its programs before the request and after it.
fn removal() -> Arc<Basis> {
    let index = fixture::index(
        "ns s4
        crd topics.queue.example defines=Topic.queue.example
        Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic",
    );
    let (graph, now) = (Graph::of(&index), fixture::now());
    let diagnoses = diagnose(&index, &graph, now);
    let diagnosis = &diagnoses[0];
    let found = remedies(diagnosis, &index, &graph, now);
    let is_removal = |it: &&Remedy| matches!(it.act, RemedyAct::RemoveFinalizer { .. });
    let remedy = found.iter().find(is_removal).unwrap();
    let premises = remedy.premises(diagnosis, &index).unwrap();
    Arc::new(Basis::of(remedy, diagnosis, &premises, &diagnoses, &index).unwrap())
}

/// The outcome, the methods of the requests, and for each look whether the request was said to be sent, where the hub finds an object
/// changed at one of them.
async fn looked(
    call: &RemedyCall,
    changed: Option<bool>,
) -> (AttemptOutcome, Vec<String>, Vec<bool>) {
    looked_by(call, changed, |seen| answered(&seen)).await
}

/// The same with these answers of the API server.
async fn looked_by(
    call: &RemedyCall,
    changed: Option<bool>,
    answer: impl Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
) -> (AttemptOutcome, Vec<String>, Vec<bool>) {
    let (client, log) = fake::client(answer);
    let looks = Mutex::new(Vec::new());
    let look = |is_sent| {
        let was_sent = log.lock().unwrap().iter().any(|seen| seen.method == "PATCH");
        assert_eq!(was_sent, is_sent);
        looks.lock().unwrap().push(is_sent);
        let object = object(&kind("Node", "nodes", false), &node("Unknown")).reference();
        let is_changed = changed == Some(is_sent);
        let found = if is_changed { Err(AttemptOutcome::Changed { object }) } else { Ok(()) };
        std::future::ready(found).boxed()
    };
    let outcome = guarded(&client, &Interner::default(), call, async |_| Ok(()), look).await;
    let log = log.lock().unwrap();
    let methods = log.iter().map(|seen| seen.method.clone()).collect();
    (outcome.unwrap_or_else(|outcome| outcome), methods, looks.into_inner().unwrap())
}

fn looked_at() -> RemedyCall {
    RemedyCall { basis: Some(removal()), is_dry_run_safe: false, ..call() }
}

#[tokio::test(start_paused = true)]
async fn hub_looks_after_the_reads_and_once_the_watches_had_time_after_the_request() {
    let began = Instant::now();
    let (outcome, methods, looks) = looked(&looked_at(), None).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert_eq!(
        (methods, looks),
        (["GET", "GET", "PATCH", "GET"].map(str::to_owned).to_vec(), vec![false, true])
    );
    assert!(began.elapsed() >= SHOWN);
    let without = RemedyCall { basis: None, ..looked_at() };
    assert_eq!(looked(&without, None).await.2, [false], "no basis says what may have changed");
}

#[tokio::test(start_paused = true)]
async fn change_that_only_the_index_shows_sends_nothing_before_and_is_reported_after() {
    let (outcome, methods, _) = looked(&looked_at(), Some(false)).await;
    let AttemptOutcome::Changed { object } = outcome else { panic!("{outcome:?}") };
    assert_eq!(object.to_string(), "Node n1");
    assert!(methods.iter().all(|method| method == "GET"), "{methods:?}");
    let (outcome, ..) = looked(&looked_at(), Some(true)).await;
    assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: Some(object) });
}

#[tokio::test(start_paused = true)]
async fn hub_looks_again_after_a_request_whose_outcome_is_unknown() {
    for (changed, expected) in [(None, None), (Some(true), Some("Node n1"))] {
        let (outcome, methods, looks) = looked_by(&looked_at(), changed, |seen| {
            if seen.method == "PATCH" { now(504, status(504, "later")) } else { answered(&seen) }
        })
        .await;
        assert!(matches!(outcome, AttemptOutcome::Unknown { .. }), "{outcome:?}");
        assert_eq!(outcome.changed().map(ToString::to_string).as_deref(), expected);
        assert_eq!(
            (methods, looks),
            (["GET", "GET", "PATCH", "GET"].map(str::to_owned).to_vec(), vec![false, true])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_if_the_last_look_takes_longer_than_the_reads_are_good_for() {
    let (client, log) = fake::client(|seen| answered(&seen));
    let look = |_| {
        let late = tokio::time::sleep(FRESH + Duration::from_millis(1));
        late.map(|()| Ok::<(), AttemptOutcome>(())).boxed()
    };
    let call = looked_at();
    let outcome = guarded(&client, &Interner::default(), &call, async |_| Ok(()), look).await;
    assert!(matches!(outcome, Err(AttemptOutcome::NotSent { .. })), "{outcome:?}");
    assert!(log.lock().unwrap().iter().all(|seen| seen.method == "GET"));
}

#[tokio::test(start_paused = true)]
async fn hub_that_has_ended_sends_nothing() {
    let (mailbox, inbox) = mpsc::channel(1);
    drop(inbox);
    let outcome = look(mailbox, Some(removal()), false).await;
    assert_eq!(outcome, Err(AttemptOutcome::Interrupted));
    // One that ends with the question in its mailbox does not answer either.
    let (mailbox, mut inbox) = mpsc::channel(1);
    let asked = tokio::spawn(look(mailbox, Some(removal()), false));
    drop(inbox.recv().await.expect("a question"));
    assert_eq!(asked.await.unwrap(), Err(AttemptOutcome::Interrupted));
}

#[tokio::test(start_paused = true)]
async fn silent_node_that_was_not_among_the_known_ones_sends_nothing() {
    let kind = kind("Node", "nodes", false);
    let of = object(&kind, &node("Unknown"));
    let named = |name: &str, ready: &str| {
        node(ready).replace(r#""n1""#, &format!("{name:?}")).replace("n-1", &format!("uid-{name}"))
    };
    let only = |known: &[&str]| Premise {
        expected: Expected::Only {
            list: List::SilentNodes,
            known: known.iter().copied().map(Uid::new).collect(),
        },
        ..Premise::unchanged(&of)
    };
    for (nodes, known, expected) in [
        (vec![node("Unknown"), named("n2", "True"), named("n3", "False")], &[][..], "accepted"),
        (vec![node("Unknown"), named("n2", "Unknown")], &["uid-n2"][..], "accepted"),
        (vec![node("Unknown"), named("n2", "Unknown")], &[][..], "changed"),
    ] {
        let mut call = RemedyCall { is_dry_run_safe: false, ..call() };
        call.premises = vec![call.premises[0].clone(), only(known)];
        let (outcome, _, requests) = sent(&call, move |seen| match seen.bare() {
            "/api/v1/nodes" => now(200, list(&nodes, "")),
            _ => answered(&seen),
        })
        .await;
        assert_eq!(name(&outcome), expected, "{requests:?}");
        let looks = requests.iter().filter(|it| it.starts_with("GET /api/v1/nodes?")).count();
        assert_eq!(looks, if expected == "accepted" { 2 } else { 1 }, "{requests:?}");
    }
}
