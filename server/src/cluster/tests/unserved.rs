//! An answer that says that a kind is served otherwise than discovery found it asks for discovery, whoever sent the request.

use serde_json::json;
use teardown::{
    action::{Action, ActionTarget},
    object::{Kind, ObjectRef},
    plan::{PlanId, Propagation, StepId},
    preflight::{Question, QuestionId, QuestionKind},
    remedy::{Request as RemedyRequest, Verb},
    run::RunId,
};

use super::*;

const NOT_SERVED: &str = "404 page not found\n";

fn target() -> ActionTarget {
    let kind = Kind {
        group: "apps".into(),
        kind: "Deployment".into(),
        version: "v1".into(),
        plural: "deployments".into(),
        namespaced: true,
    };
    let object = ObjectRef {
        group: "apps".into(),
        kind: "Deployment".into(),
        namespace: Some("shop".into()),
        name: "web".into(),
    };
    ActionTarget { kind, object, uid: Uid::new("u-1"), version: None }
}

fn question(asks: QuestionKind) -> Sent {
    let ActionTarget { kind, object, uid, .. } = target();
    let patch = (asks == QuestionKind::DrySuspend).then(|| json!([]));
    Sent::Question(Question { id: QuestionId { step: StepId(1), asks }, kind, object, uid, patch })
}

fn remedy() -> Sent {
    let ActionTarget { object, uid, .. } = target();
    let path = "/apis/apps/v1/namespaces/shop/deployments/web".to_owned();
    let request =
        RemedyRequest { verb: Verb::Delete, path, body: json!({}), object, uid: Some(uid) };
    Sent::Remedy(RemedyCall {
        attempt: "a1".into(),
        request,
        premises: Vec::new(),
        basis: None,
        is_dry_run_safe: false,
        keeps_copy: false,
        deletes_at_once: false,
    })
}

/// A request to the cluster.
#[derive(Debug)]
enum Sent {
    Call(Action),
    Question(Question),
    Remedy(RemedyCall),
}

/// The rounds of discovery that follow within a second on this answer to a request.
async fn rounds_after(sent: Sent, code: u16, body: &'static str) -> usize {
    let (client, log) = fake::client(move |seen| match seen.bare() {
        "/version" => now(200, r#"{"gitVersion":"v1.36.3"}"#),
        "/api" | "/apis" => now(200, r#"{"kind":"APIGroupDiscoveryList","items":[]}"#),
        _ => now(code, body),
    });
    let (calls, received) = mpsc::channel(1);
    let (questions, preflights) = mpsc::channel(1);
    let (remedy_calls, remedies) = mpsc::channel(1);
    let (mailbox, mut incoming) = mpsc::channel(16);
    let cluster = Cluster::of(client, "fake".into(), None).answering(preflights);
    let cluster = cluster.with_remedies(remedies);
    let task = tokio::spawn(cluster.run(mailbox, received, CancellationToken::new()));
    let drained = tokio::spawn(async move { while incoming.recv().await.is_some() {} });
    let rounds = || log.lock().unwrap().iter().filter(|seen| seen.bare() == "/apis").count();
    // The regular round comes after about a minute.
    tokio::time::sleep(Duration::from_secs(20)).await;
    let before = rounds();
    assert_eq!(before, 1);
    let recall = CancellationToken::new();
    match sent {
        Sent::Call(action) => {
            let call = CallRequest { run: RunId::new("r"), action, steps_behind: 0, recall };
            calls.send(call).await.unwrap();
        }
        Sent::Question(question) => {
            let (plan, attempt) = (PlanId::new("p"), 1);
            let request = PreflightRequest { plan, attempt, questions: vec![question] };
            questions.send(request).await.unwrap();
        }
        Sent::Remedy(call) => remedy_calls.send(call).await.unwrap(),
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let found = rounds() - before;
    task.abort();
    drained.abort();
    found
}

fn all() -> Vec<Sent> {
    let (step, propagation) = (StepId(1), Propagation::Background);
    vec![
        Sent::Call(Action::Delete { step, target: target(), propagation }),
        Sent::Call(Action::ReadPods { step, target: target() }),
        question(QuestionKind::DryRun { propagation }),
        question(QuestionKind::DrySuspend),
        question(QuestionKind::MayDelete),
        remedy(),
    ]
}

#[tokio::test(start_paused = true)]
async fn call_question_and_remedy_to_what_is_not_served_ask_for_discovery() {
    let mut without = Vec::new();
    for sent in all() {
        let name = format!("{sent:?}");
        if rounds_after(sent, 404, NOT_SERVED).await != 1 {
            without.push(name);
        }
    }
    assert_eq!(without, [""; 0]);
    assert_eq!(rounds_after(remedy(), 405, "").await, 1);
}

#[tokio::test(start_paused = true)]
async fn answer_about_an_object_or_a_success_asks_for_no_discovery() {
    const GONE: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,
        "message":"deployments.apps \"web\" not found","details":{"name":"web","group":"apps","kind":"deployments"}}"#;
    for (code, body) in [(404, GONE), (200, "{}"), (403, ""), (503, "")] {
        for sent in all() {
            let name = format!("{code} {sent:?}");
            assert_eq!(rounds_after(sent, code, body).await, 0, "{name}");
        }
    }
}
