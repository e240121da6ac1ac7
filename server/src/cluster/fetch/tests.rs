use futures::future::BoxFuture;
use tokio::{sync::mpsc, task::JoinHandle};

use teardown::fetched::Permission;

use super::*;
use crate::cluster::fake::{self, Log, Reply, Seen, now, words};

/// The task with its channels.
struct Fetcher {
    want: watch::Sender<Wanted>,
    observations: mpsc::Receiver<Observation>,
    log: Log,
    task: JoinHandle<Result<(), HubGone>>,
}

impl Fetcher {
    fn start(
        wanted: impl IntoIterator<Item = Question>,
        answer: impl Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        let (client, log) = fake::client(answer);
        let (report, observations) = Report::channel();
        let (want, wanted) = watch::channel(questions(wanted));
        let task = tokio::spawn(fetch(client, report, Chance::default(), wanted));
        Self { want, observations, log, task }
    }

    /// The answer to the next question, as text.
    async fn next(&mut self) -> String {
        match self.observations.recv().await {
            Some(Observation::Fetched { answer: Ok(answer), .. }) => format!("{answer:?}"),
            Some(Observation::Fetched { answer: Err(problem), .. }) => words(&problem),
            other => format!("{other:?}"),
        }
    }

    fn paths(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|seen| seen.path.clone()).collect()
    }
}

fn questions(asked: impl IntoIterator<Item = Question>) -> Wanted {
    Wanted { questions: asked.into_iter().collect(), ..Wanted::default() }
}

fn pod() -> Question {
    let of = ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: "a".into(),
    };
    Question::Events { of, uid: Uid::new("u1") }
}

#[tokio::test(start_paused = true)]
async fn leases_are_read_again_after_twenty_seconds() {
    let lease = r#"{"metadata":{"name":"n1"},"spec":{"holderIdentity":"n1","leaseDurationSeconds":300,"renewTime":"2026-01-01T00:00:00.000000Z"}}"#;
    let mut fetcher = Fetcher::start([Question::NodeLeases], move |_| {
        now(200, format!(r#"{{"items":[{lease},{{"metadata":{{"name":"n2"}}}}]}}"#))
    });
    let first = fetcher.next().await;
    assert_eq!(
        first,
        r#"Leases([Lease { name: "n1", renewed: "2026-01-01T00:00:00.000000Z n1", duration: Some(300) }, Lease { name: "n2", renewed: " ", duration: None }])"#
    );
    let begin = Instant::now();
    assert_eq!(fetcher.next().await, first);
    assert_eq!(begin.elapsed(), AGAIN);
    assert_eq!(
        fetcher.paths()[0],
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=1000"
    );
}

/// A person waits at the checks of a plan until the lease is seen to move.
#[tokio::test(start_paused = true)]
async fn second_look_at_the_lease_of_the_manager_comes_soon() {
    let mut fetcher = Fetcher::start([Question::ManagerLease], |_| now(404, ""));
    let mut begin = Instant::now();
    let mut looks = Vec::new();
    for _ in 0..4 {
        assert_eq!(fetcher.next().await, "Leases([])");
        looks.push(begin.elapsed());
        begin = Instant::now();
    }
    assert_eq!(looks[1..], [MOVES, AGAIN, AGAIN]);
    // Once nobody asked for a while, it begins anew.
    fetcher.want.send(questions([])).unwrap();
    assert_eq!(fetcher.next().await, "Some(Unasked(ManagerLease))");
    fetcher.want.send(questions([Question::ManagerLease])).unwrap();
    assert_eq!(fetcher.next().await, "Leases([])");
    begin = Instant::now();
    assert_eq!(fetcher.next().await, "Leases([])");
    assert_eq!(begin.elapsed(), MOVES);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_while_nothing_is_wanted() {
    let mut fetcher = Fetcher::start([], |_| now(404, ""));
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(fetcher.paths().is_empty());
    fetcher.want.send(questions([Question::ManagerLease])).unwrap();
    assert_eq!(fetcher.next().await, "Leases([])");
    fetcher.want.send(questions([])).unwrap();
    assert_eq!(fetcher.next().await, "Some(Unasked(ManagerLease))");
    let asked = fetcher.paths().len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(fetcher.paths().len(), asked);
    drop(fetcher.want);
    assert_eq!(fetcher.task.await.unwrap(), Err(HubGone));
}

#[tokio::test(start_paused = true)]
async fn events_are_bounded_and_in_order() {
    let long = "x".repeat(2_000);
    let body = format!(
        r#"{{"items":[
        {{"lastTimestamp":"2026-01-01T00:00:09Z","reason":"FailedKillPod","message":"{long}","source":{{"component":"kubelet"}},"reportingComponent":""}},
        {{"eventTime":"2026-01-01T00:00:05.000000Z","series":{{"lastObservedTime":"2026-01-01T00:00:08.000000Z"}},"reason":"Killing","message":"one\ntwo","reportingComponent":"kubelet"}},
        {{}}]}}"#
    );
    let mut fetcher = Fetcher::start([pod()], move |_| now(200, body.clone()));
    let Some(Observation::Fetched { answer: Ok(Answer::Events(events)), .. }) =
        fetcher.observations.recv().await
    else {
        panic!("no events")
    };
    let found: Vec<_> = events.iter().map(|it| (&*it.by, &*it.reason)).collect();
    assert_eq!(found, [("", ""), ("kubelet", "Killing"), ("kubelet", "FailedKillPod")]);
    assert_eq!(&*events[1].message, "one two");
    assert!(events[2].message.chars().count() <= 512);
    assert_eq!(
        fetcher.paths(),
        ["/api/v1/namespaces/shop/events?limit=50&fieldSelector=involvedObject.uid%3Du1"]
    );
}

#[tokio::test(start_paused = true)]
async fn unready_endpoints_do_not_count() {
    let question = Question::Endpoints { namespace: "ops".into(), name: "gate".into() };
    let body = r#"{"items":[{"endpoints":[{"conditions":{"ready":true}},{"conditions":{"ready":false}},{}]},{"endpoints":null}]}"#;
    let mut fetcher = Fetcher::start([question], move |_| now(200, body));
    assert_eq!(fetcher.next().await, "Endpoints(2)");
    assert!(fetcher.paths()[0].ends_with("labelSelector=kubernetes.io%2Fservice-name%3Dgate"));
}

#[tokio::test(start_paused = true)]
async fn own_name_is_asked_for_once() {
    let mut fetcher = Fetcher::start([Question::Identity], |_| {
        now(201, r#"{"status":{"userInfo":{"username":"system:serviceaccount:ops:unwind"}}}"#)
    });
    assert_eq!(fetcher.next().await, r#"Identity("system:serviceaccount:ops:unwind")"#);
    tokio::time::sleep(IDENTITY / 2).await;
    assert_eq!(fetcher.paths().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn refused_question_is_asked_ever_more_rarely() {
    let refused = r#"{"kind":"Status","message":"events is forbidden","code":403}"#;
    let mut fetcher = Fetcher::start([pod()], move |_| now(403, refused));
    let mut waits = Vec::new();
    assert_eq!(fetcher.next().await, "events is forbidden");
    for _ in 0..8 {
        let begin = Instant::now();
        assert_eq!(fetcher.next().await, "events is forbidden");
        waits.push(begin.elapsed());
    }
    assert!(waits[0] < Duration::from_secs(25), "{waits:?}");
    assert!(waits[7] > Duration::from_secs(120), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn throttled_question_holds_the_others_back() {
    let mut fetcher = Fetcher::start([Question::NodeLeases, pod()], |seen| {
        if seen.path.contains("leases") {
            let later = Reply::Later(429, "7", r#"{"kind":"Status","message":"slow down"}"#.into());
            Box::pin(std::future::ready(later))
        } else {
            now(200, "{}")
        }
    });
    assert_eq!(fetcher.next().await, "slow down");
    let begin = Instant::now();
    assert_eq!(fetcher.next().await, "Events([])");
    assert_eq!(begin.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn silence_and_nonsense_are_answers_too() {
    let mut fetcher = Fetcher::start([Question::ManagerLease, pod()], |seen| {
        if seen.path.contains("leases") {
            Box::pin(std::future::ready(Reply::Silence))
        } else {
            now(200, "<html>")
        }
    });
    assert!(fetcher.next().await.contains("Timeout"));
    assert!(fetcher.next().await.contains("Unreadable"));
}

#[tokio::test(start_paused = true)]
async fn right_is_asked_for_with_all_its_attributes_and_an_undecided_answer_is_no_refusal() {
    let right = Permission {
        verb: "update",
        group: "".into(),
        version: "v1".into(),
        resource: "namespaces".into(),
        subresource: "finalize".into(),
        namespace: None,
        name: "shop".into(),
    };
    let bodies = [
        (r#"{"status":{"allowed":true}}"#, "allowed: true"),
        (r#"{"status":{"allowed":false,"reason":"no\u202e rule"}}"#, "no rule"),
        (r#"{"status":{"allowed":false,"evaluationError":"webhook is down"}}"#, "webhook is down"),
    ];
    for (body, expected) in bodies {
        let mut fetcher =
            Fetcher::start([Question::Permission(right.clone())], move |_| now(201, body));
        let answer = fetcher.next().await;
        assert!(answer.contains(expected), "{answer}");
        assert_eq!(answer.starts_with("Review"), !expected.contains("webhook"), "{answer}");
        let seen = fetcher.log.lock().unwrap()[0].clone();
        let sent: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        assert_eq!(
            sent["spec"]["resourceAttributes"],
            json!({
                "verb": "update", "group": "", "version": "v1", "resource": "namespaces",
                "subresource": "finalize", "namespace": null, "name": "shop",
            })
        );
    }
}
