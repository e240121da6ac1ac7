use futures::future::BoxFuture;
use serde_json::{Value, json};
use teardown::{
    object::{Kind, ObjectRef, Uid},
    plan::{PlanId, StepId},
    preflight::QuestionId,
};

use super::*;
use crate::cluster::fake::{self, Log, Seen, now};

const DRY_RUN: QuestionKind = QuestionKind::DryRun { propagation: Propagation::Orphan };

fn id(number: u32, asks: QuestionKind) -> QuestionId {
    QuestionId { step: StepId(number), asks }
}

fn question(number: u32, asks: QuestionKind) -> Question {
    let kind = Kind {
        group: "".into(),
        kind: "ConfigMap".into(),
        version: "v1".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    let object = ObjectRef {
        group: "".into(),
        kind: "ConfigMap".into(),
        namespace: Some("shop".into()),
        name: format!("a{number}").into(),
    };
    let patch = (asks == QuestionKind::DrySuspend).then(suspension);
    Question { id: id(number, asks), kind, object, uid: Uid::new("u1"), patch }
}

fn suspension() -> Value {
    json!([
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "add", "path": "/spec/suspend", "value": true},
    ])
}

/// The answers to these questions, the reason why some are missing, and the requests.
async fn answers(
    questions: Vec<Question>,
    answer: impl Fn(Seen) -> BoxFuture<'static, fake::Reply> + Send + Sync + 'static,
) -> (Vec<(QuestionId, Answer)>, Option<Unasked>, Log) {
    let (client, log) = fake::client(answer);
    let (mailbox, mut incoming) = mpsc::channel(1_024);
    let (sender, requests) = mpsc::channel(1);
    let task = tokio::spawn(answer_preflights(client, mailbox, requests, CancellationToken::new()));
    let plan = PlanId::new("p");
    sender.send(PreflightRequest { plan, attempt: 7, questions }).await.unwrap();
    let mut answers = Vec::new();
    let why = loop {
        match incoming.recv().await.unwrap() {
            Incoming::Answered { attempt: 7, question, answer, .. } => {
                answers.push((question, answer));
            }
            Incoming::PreflightEnded { attempt: 7, why, .. } => break why,
            other => panic!("{other:?}"),
        }
    };
    task.abort();
    (answers, why, log)
}

async fn answer_to(code: u16, message: &str) -> Answer {
    answer_about(DRY_RUN, code, message).await
}

async fn answer_about(asks: QuestionKind, code: u16, message: &str) -> Answer {
    let status = json!({"kind": "Status", "status": "Failure", "code": code, "message": message});
    let body = status.to_string();
    let (mut answers, why, _) =
        answers(vec![question(0, asks)], move |_| now(code, body.clone())).await;
    assert_eq!(why, None);
    answers.pop().unwrap().1
}

#[tokio::test(start_paused = true)]
async fn dry_run_is_a_delete_that_says_so_twice() {
    let (answers, why, log) = answers(vec![question(0, DRY_RUN)], |_| now(200, "{}")).await;
    assert_eq!((answers, why), (vec![(id(0, DRY_RUN), Answer::Accepted)], None));
    let seen = log.lock().unwrap()[0].clone();
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("DELETE", "/api/v1/namespaces/shop/configmaps/a0?dryRun=All")
    );
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(
        body,
        json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u1"},
            "propagationPolicy": "Orphan", "dryRun": ["All"],
        })
    );
}

#[tokio::test(start_paused = true)]
async fn dry_suspension_is_the_patch_of_a_run_that_says_so() {
    let asks = QuestionKind::DrySuspend;
    let (answers, why, log) = answers(vec![question(0, asks)], |_| now(200, "{}")).await;
    assert_eq!((answers, why), (vec![(id(0, asks), Answer::Accepted)], None));
    let log = log.lock().unwrap();
    let seen: Vec<_> = log.iter().map(|it| (it.method.as_str(), it.path.as_str())).collect();
    assert_eq!(seen, [("PATCH", "/api/v1/namespaces/shop/configmaps/a0?dryRun=All")]);
    assert_eq!(serde_json::from_str::<Value>(&log[0].body).unwrap(), suspension());
}

#[tokio::test(start_paused = true)]
async fn refusal_of_a_suspension_is_distinguished_from_a_change_of_the_object() {
    let answer = async |code, said| answer_about(QuestionKind::DrySuspend, code, said).await;
    let forbidden = "configmaps \"a0\" is forbidden: User \"li\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"shop\"";
    assert_eq!(answer(403, forbidden).await, Answer::Forbidden { said: Some(forbidden.into()) });
    let denied = "admission webhook \"deny.example.com\" denied the request: not on a Friday";
    let webhook = Some("deny.example.com".to_owned());
    assert_eq!(answer(409, denied).await, Answer::Denied { webhook, said: denied.into() });
    let policy = "configmaps \"a0\" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: no";
    assert_eq!(answer(422, policy).await, Answer::Denied { webhook: None, said: policy.into() });
    let invalid = "ConfigMap \"a0\" is invalid: spec.interval: Required value";
    assert_eq!(answer(422, invalid).await, Answer::Refused { said: invalid.into() });
    let no_dry_run = "admission webhook \"old.example.com\" does not support dry run";
    assert_eq!(answer(400, no_dry_run).await, Answer::NoDryRun { said: no_dry_run.into() });
    // Its `test` of the UID or of the value that is put back later failed.
    let changed = "the server rejected our request due to an error in our request";
    assert_eq!(answer(422, changed).await, Answer::Unknown { said: changed.into() });
}

#[tokio::test(start_paused = true)]
async fn access_review_changes_nothing() {
    let said = r#"{"status":{"allowed":false,"reason":"RBAC:\u202e no"}}"#;
    for (asks, verb) in [(QuestionKind::MayDelete, "delete"), (QuestionKind::MaySuspend, "patch")] {
        let (answers, _, log) = answers(vec![question(0, asks)], move |_| now(201, said)).await;
        let no = Answer::Forbidden { said: Some("RBAC: no".into()) };
        assert_eq!(answers, [(id(0, asks), no)]);
        let seen = log.lock().unwrap()[0].clone();
        assert_eq!(
            (seen.method.as_str(), seen.path.as_str()),
            ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        );
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        assert_eq!(
            body["spec"]["resourceAttributes"],
            json!({"verb": verb, "group": "", "version": "v1", "resource": "configmaps", "namespace": "shop", "name": "a0"})
        );
    }
}

#[tokio::test(start_paused = true)]
async fn refusal_is_distinguished_from_an_answer_that_predicts_nothing() {
    let forbidden = "configmaps \"a0\" is forbidden: User \"li\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"shop\"";
    assert_eq!(answer_to(403, forbidden).await, Answer::Forbidden { said: Some(forbidden.into()) });
    let protected = "namespaces \"default\" is forbidden: this namespace may not be deleted";
    assert_eq!(answer_to(403, protected).await, Answer::Refused { said: protected.into() });
    // A webhook chooses its code.
    for code in [400, 403, 404, 409] {
        let denied = "admission webhook \"deny.example.com\" denied the request: not on a Friday";
        let webhook = Some("deny.example.com".to_owned());
        assert_eq!(answer_to(code, denied).await, Answer::Denied { webhook, said: denied.into() });
    }
    let policy = "configmaps \"a0\" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: no";
    assert_eq!(answer_to(422, policy).await, Answer::Denied { webhook: None, said: policy.into() });
    let dead = "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post \"https://127.0.0.1:1/\": dial tcp: refused";
    let webhook = "hook.example.com".to_owned();
    assert_eq!(answer_to(500, dead).await, Answer::WebhookFails { webhook, said: dead.into() });
    let no_dry_run = "admission webhook \"old.example.com\" does not support dry run";
    assert_eq!(answer_to(400, no_dry_run).await, Answer::NoDryRun { said: no_dry_run.into() });
    let other = "Operation cannot be fulfilled on ConfigMap \"a0\": the UID in the precondition (u1) does not match the UID in record (u2). The object might have been deleted and then recreated";
    assert_eq!(answer_to(409, other).await, Answer::Old);
    assert_eq!(answer_to(405, "no").await, Answer::Refused { said: "no".into() });
    let unconverted = "conversion webhook for wares.example/v1beta1, Kind=Ware failed: Post \"https://converter.guards.svc:443/\": service \"converter\" not found";
    let corrupt = "Internal error occurred: no matching prefix found";
    for said in [unconverted, corrupt] {
        assert_eq!(answer_to(500, said).await, Answer::Refused { said: said.into() });
    }
    assert_eq!(answer_to(500, "etcd").await, Answer::Unknown { said: "etcd".into() });
    assert_eq!(answer_to(404, "a proxy").await, Answer::Unknown { said: "a proxy".into() });
}

#[tokio::test(start_paused = true)]
async fn preflight_ends_when_the_api_server_asks_for_fewer_requests() {
    let questions = (0..40).map(|it| question(it, DRY_RUN)).collect();
    let (answers, why, log) =
        answers(questions, |seen| now(if seen.path.contains("/a3?") { 429 } else { 200 }, "{}"))
            .await;
    assert_eq!(why, Some(Unasked::Throttled));
    assert!(answers.len() < 40 && log.lock().unwrap().len() <= 2 * CONCURRENT);
}

/// Every question has its own deadline, and all of them together have another.
#[tokio::test(start_paused = true)]
async fn api_server_that_does_not_answer_is_asked_for_thirty_seconds_and_eight_at_a_time() {
    let began = Instant::now();
    let questions = (0..500).map(|it| question(it, DRY_RUN)).collect();
    let (answers, why, log) =
        answers(questions, |_| Box::pin(std::future::ready(fake::Reply::Silence))).await;
    let asked = log.lock().unwrap().len();
    assert_eq!((began.elapsed(), why), (PREFLIGHT, Some(Unasked::Time)));
    // Three rounds of ten seconds; the third is cut off, or ends just in time.
    assert!(answers.len() <= 3 * CONCURRENT && asked <= 4 * CONCURRENT);
    let timeout = Answer::Unknown { said: ProblemCode::Timeout { seconds: 10 }.into() };
    assert!(answers.iter().all(|(_, answer)| *answer == timeout));
}
