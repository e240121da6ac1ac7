//! The answers are those of a real control plane, see `server/sandbox/recordings/README.md`.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::task::JoinHandle;

use super::*;
use crate::{
    cluster::fake::{self, Log, Reply, Seen},
    metrics::ApiMetrics,
};
use teardown::{
    diagnosis::{RuntimeState, kubelet_log::KubeletLog},
    object::Uid,
};

const POD: &str = "113e414d-52b9-4eb7-a1ec-20089ddb2e36";
const NO_PODS: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}"#;
const NO_FAILURES: &str = "kubelet_running_pods 0\n";
const PLAIN: &str = "text/plain;charset=UTF-8";

fn query(node: &str, pods: &[&str]) -> KubeletQuery {
    KubeletQuery {
        node: node.into(),
        pods: pods.iter().map(|pod| Uid::new(*pod)).collect(),
        volumes: vec![],
        since: "2026-11-25T14:00:00Z".parse::<Timestamp>().unwrap(),
    }
}

/// The task with its channels.
struct Asking {
    want: watch::Sender<Wanted>,
    incoming: mpsc::Receiver<Incoming>,
    log: Log,
    metrics: ApiMetrics,
    task: JoinHandle<Result<(), HubGone>>,
}

impl Asking {
    /// Kubelets that answer this about their logs, and about everything else that there is nothing.
    fn start(
        queries: &[KubeletQuery],
        answer: impl Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::answered(queries, move |seen| match subject(&seen.path) {
            KubeletSubject::Log => answer(seen),
            KubeletSubject::RunningPods => reply(200, JSON, NO_PODS),
            KubeletSubject::Metrics => reply(200, "text/plain", NO_FAILURES),
        })
    }

    /// Kubelets that answer this about everything.
    fn answered(
        queries: &[KubeletQuery],
        answer: impl Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        let (client, log) = fake::client(answer);
        let metrics = client.metrics().clone();
        let (mailbox, incoming) = mpsc::channel(4);
        let (want, wanted) = watch::channel(wanted(queries));
        let task = tokio::spawn(query_kubelets(client, mailbox, wanted));
        Self { want, incoming, log, metrics, task }
    }

    async fn next_of_any(&mut self) -> (KubeletSubject, Result<KubeletAnswer, KubeletProblem>) {
        match self.incoming.recv().await {
            Some(Incoming::KubeletAnswered { subject, answer, .. }) => (subject, answer),
            other => panic!("{other:?}"),
        }
    }

    /// The next answer about a log.
    async fn next(&mut self) -> Result<KubeletLog, KubeletProblem> {
        loop {
            let (subject, answer) = self.next_of_any().await;
            match answer {
                Err(problem) if subject == KubeletSubject::Log => return Err(problem),
                Ok(KubeletAnswer::Log(log)) => return Ok(log),
                _ => {}
            }
        }
    }

    /// The paths of the queries for logs.
    fn paths(&self) -> Vec<String> {
        let mut paths = self.all_paths();
        paths.retain(|path| subject(path) == KubeletSubject::Log);
        paths
    }

    fn all_paths(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|seen| seen.path.clone()).collect()
    }
}

fn subject(path: &str) -> KubeletSubject {
    let (_, below) = path.rsplit_once("/proxy/").unwrap();
    match below {
        "runningpods/" => KubeletSubject::RunningPods,
        "metrics" => KubeletSubject::Metrics,
        _ => KubeletSubject::Log,
    }
}

fn wanted(queries: &[KubeletQuery]) -> Wanted {
    Wanted { kubelets: queries.iter().cloned().collect(), ..Wanted::default() }
}

fn reply(code: u16, media_type: &'static str, body: &str) -> BoxFuture<'static, Reply> {
    Box::pin(std::future::ready(Reply::Typed(code, media_type, body.to_owned())))
}

fn nothing() -> BoxFuture<'static, Reply> {
    reply(200, PLAIN, "-- No entries --\n")
}

/// The status, content type and body of a recorded answer.
fn recorded(text: &'static str) -> (u16, &'static str, &'static str) {
    let (_, response) = text.split_once("HTTP/1.1 ").unwrap();
    let (head, body) = response.split_once("\n\n").unwrap();
    let code = head.get(..3).unwrap().parse().unwrap();
    let media_type = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap();
    (code, media_type, body)
}

macro_rules! recordings {
    ($($name:literal => $problem:expr),* $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../../../sandbox/recordings/kubelet/proxy/", $name, ".http")),
            $problem,
        )),*]
    };
}

#[tokio::test(start_paused = true)]
async fn answer_without_a_log_has_a_meaning() {
    let refused = |said: &str| KubeletProblem::QueryRefused { said: said.into() };
    let unreachable = |said: &str| KubeletProblem::Unreachable {
        said: format!("error trying to reach service: {said}"),
    };
    let status = |code, said: &str| {
        KubeletProblem::Other(ProblemCode::Status { code, said: said.into() }.into())
    };
    let recordings = recordings![
        "forbidden" => KubeletProblem::Forbidden,
        "handler-off" => KubeletProblem::HandlerOff,
        "query-off" => KubeletProblem::QueryOff,
        "query-bad-lines" => refused(r#"tailLines: Invalid value: "many": strconv.Atoi: parsing "many": invalid syntax"#),
        "query-bad-pattern" => refused(r#"pattern: Invalid value: "[": error parsing regexp: missing closing ]: `[`"#),
        "query-type-plain" => refused("406: Not Acceptable Available representations:"),
        "query-unknown-service" => KubeletProblem::NoJournal,
        "address-not-allowed" => KubeletProblem::NoAddress,
        "no-address" => KubeletProblem::NoAddress,
        "no-node" => KubeletProblem::NoNode,
        "unreachable" => unreachable("dial tcp 192.0.2.254:10250: connect: no route to host"),
        "refused" => unreachable("dial tcp 192.0.2.2:1: connect: connection refused"),
        "silent" => unreachable("net/http: TLS handshake timeout"),
        "disconnected-egress" => unreachable("proxy error from /run/cluster/pods.sock while dialing 192.0.2.109:40965, code 502: 502 Bad Gateway"),
        // The kubelet does not know the API server.
        "unauthenticated" => status(401, "Unauthorized"),
        // A redirect, which is not followed.
        "query-no-slash" => status(307, ""),
        "query-off-file" => status(404, "404 page not found"),
    ];
    for (name, text, problem) in recordings {
        let (code, media_type, body) = recorded(text);
        let mut asking =
            Asking::start(&[query("n1", &[POD])], move |_| reply(code, media_type, body));
        assert_eq!(asking.next().await, Err(problem), "{name}");
        assert_eq!(asking.paths().len(), 1, "{name}");
        asking.task.abort();
    }
    let busy =
        r#"{"kind":"Status","status":"Failure","message":"apiserver is shutting down","code":503}"#;
    let forbidden_by_kubelet =
        "Forbidden (user=kube-apiserver, verb=get, resource=nodes, subresource(s)=[log])";
    let files = "\noptions present and query resolved to log files for [kubelet]\ntry without specifying options\n";
    let gateway = KubeletProblem::Unreachable { said: "502 Bad Gateway".into() };
    let rest = [
        (502, "text/html", "502 Bad Gateway", gateway),
        (503, "application/json", busy, status(503, "apiserver is shutting down")),
        (403, "text/plain", forbidden_by_kubelet, status(403, forbidden_by_kubelet)),
        (200, PLAIN, files, KubeletProblem::NoJournal),
        (200, "application/json", "{}", status(200, "{}")),
        (200, "application/octet-stream", "", status(200, "")),
    ];
    for (code, media_type, body, problem) in rest {
        let mut asking =
            Asking::start(&[query("n1", &[POD])], move |_| reply(code, media_type, body));
        assert_eq!(asking.next().await, Err(problem), "{code} {body}");
        asking.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn each_question_is_counted_with_its_outcome() {
    let mut asking =
        Asking::start(&[query("n1", &[POD])], |_| reply(200, "text/html", "<!doctype html>"));
    for _ in KubeletSubject::ALL {
        let _ = asking.next_of_any().await;
    }
    let counted = |subject, outcome| asking.metrics.kubelet_queries(subject, outcome);
    assert_eq!(counted(KubeletSubject::Log, "off"), 1);
    assert_eq!(counted(KubeletSubject::Log, "success"), 0);
    assert_eq!(counted(KubeletSubject::RunningPods, "success"), 1);
    assert_eq!(counted(KubeletSubject::Metrics, "success"), 1);
}

#[tokio::test(start_paused = true)]
async fn kubelet_that_does_not_answer_in_time_is_silent() {
    let mut asking =
        Asking::start(&[query("n1", &[POD])], |_| Box::pin(std::future::ready(Reply::Silence)));
    let begin = Instant::now();
    assert_eq!(asking.next().await, Err(KubeletProblem::Silent { seconds: 12 }));
    assert_eq!(begin.elapsed(), DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn query_is_bounded_and_its_words_are_escaped() {
    let mut asking = Asking::start(&[query("n1/../n2?x", &[POD, "a.b|(c"])], |_| nothing());
    assert_eq!(asking.next().await.map(|log| log.entries), Ok(0));
    assert_eq!(
        asking.paths(),
        [format!(
            "/api/v1/nodes/n1%2F..%2Fn2%3Fx/proxy/logs/?query=kubelet&tailLines=200\
             &sinceTime=2026-11-25T02:00:00Z&pattern={POD}%7Ca%5C.b%5C%7C%5C%28c"
        )]
    );
    assert_eq!(asking.log.lock().unwrap()[0].accept, "*/*");

    let mut of_volume = query("n1", &[POD]);
    of_volume.volumes.push((Uid::new("held"), "pvc-7".into()));
    let mut asking = Asking::start(&[of_volume], |_| nothing());
    assert_eq!(asking.next().await.map(|log| log.entries), Ok(0));
    let [path] = &asking.paths()[..] else { panic!("{:?}", asking.paths()) };
    assert!(path.ends_with(&format!("&pattern={POD}%7Cpvc-7")), "{path}");

    let mut asking = Asking::start(&[query("..", &[POD])], |_| nothing());
    assert_eq!(asking.next().await, Err(KubeletProblem::Other(ProblemCode::NoPath.into())));
    assert!(asking.paths().is_empty());

    let mut asking =
        Asking::start(&[query("n1", &[POD])], |_| reply(200, PLAIN, &"x".repeat(LARGEST + 1)));
    let problem = KubeletProblem::Other(ProblemCode::TooLarge { mebibytes: 1 }.into());
    assert_eq!(asking.next().await, Err(problem));
}

#[tokio::test(start_paused = true)]
async fn lines_of_the_journal_become_facts() {
    let (code, media_type, _) =
        recorded(include_str!("../../../sandbox/recordings/kubelet/proxy/query.http"));
    const BUSY: &str = include_str!("../../../sandbox/recordings/kubelet/busy/log.txt");
    let mut asking = Asking::start(&[query("n1", &[POD])], move |_| reply(code, media_type, BUSY));
    let log = asking.next().await.unwrap();
    assert_eq!(log.about(POD).count(), 1, "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn node_is_asked_at_most_once_in_a_minute_whatever_is_wanted() {
    let (one, two) = (query("n1", &["a"]), query("n2", &["b"]));
    let mut asking = Asking::start(&[one.clone(), two.clone()], |_| nothing());
    let begin = Instant::now();
    asking.next().await.unwrap();
    asking.next().await.unwrap();
    assert_eq!((asking.paths().len(), begin.elapsed()), (2, Duration::ZERO));
    // Another Pod of the node, nothing, and the Pod again, each second.
    let more = query("n1", &["a", "c"]);
    for _ in 0..19 {
        for queries in [&[more.clone()][..], &[], &[one.clone(), two.clone()]] {
            asking.want.send(wanted(queries)).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    assert_eq!(asking.paths().len(), 2, "{:?}", asking.paths());
    asking.next().await.unwrap();
    asking.next().await.unwrap();
    assert!((AGAIN..AGAIN * 2).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    let again: BTreeSet<String> = asking.paths()[2..].iter().cloned().collect();
    assert_eq!((asking.paths().len(), again.len()), (4, 2), "each node once more: {again:?}");
}

#[tokio::test(start_paused = true)]
async fn node_without_a_log_is_asked_later_each_time() {
    let mut asking =
        Asking::start(&[query("n1", &["a"])], |_| reply(200, "text/html", "<!doctype html>"));
    let mut begin = Instant::now();
    let mut waits = Vec::new();
    for _ in 0..12 {
        assert_eq!(asking.next().await, Err(KubeletProblem::QueryOff));
        waits.push(begin.elapsed().as_secs());
        begin = Instant::now();
    }
    assert_eq!(waits, [0, 120, 180, 240, 300, 360, 420, 480, 540, 600, 600, 600]);
    // One that the API server throttles waits as long as it says.
    let mut asking = Asking::start(&[query("n1", &["a"])], |_| {
        Box::pin(std::future::ready(Reply::Later(429, "300", "slow down".into())))
    });
    let throttled = ProblemCode::Status { code: 429, said: "slow down".into() };
    assert_eq!(asking.next().await, Err(KubeletProblem::Other(throttled.into())));
    let begin = Instant::now();
    assert!(asking.next().await.is_err());
    assert_eq!(begin.elapsed().as_secs(), 300);
}

#[tokio::test(start_paused = true)]
async fn task_ends_with_the_hub() {
    let asking = Asking::start(&[], |_| nothing());
    drop(asking.want);
    assert_eq!(asking.task.await.unwrap(), Err(HubGone));
    let mut asking = Asking::start(&[query("n1", &["a"])], |_| nothing());
    asking.incoming.close();
    assert_eq!((&mut asking.task).await.unwrap(), Err(HubGone));
    assert_eq!(asking.paths().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn runtime_and_metrics_are_asked_once_a_minute_and_become_facts() {
    let running = include_str!("../../../sandbox/recordings/kubelet/proxy/running-pods.http");
    let metrics = include_str!("../../../sandbox/recordings/kubelet/metrics.txt");
    let (_, version, _) =
        recorded(include_str!("../../../sandbox/recordings/kubelet/proxy/metrics.http"));
    let mut asking =
        Asking::answered(&[query("n1", &[POD])], move |seen| match subject(&seen.path) {
            KubeletSubject::Log => nothing(),
            KubeletSubject::RunningPods => {
                let (code, media_type, body) = recorded(running);
                reply(code, media_type, body)
            }
            KubeletSubject::Metrics => reply(200, version, metrics),
        });
    let begin = Instant::now();
    for minute in 0..3 {
        let (subject, _) = asking.next_of_any().await;
        assert_eq!((subject, begin.elapsed()), (KubeletSubject::Log, AGAIN * minute));
        let (_, answer) = asking.next_of_any().await;
        let Ok(KubeletAnswer::RunningPods(running)) = answer else { panic!("{answer:?}") };
        let kill = running.state(&Uid::new("5706607d-b11b-405e-96ba-cd2d3843446e"));
        assert_eq!(kill, RuntimeState::Containers(vec!["orderer".into()]));
        let (_, answer) = asking.next_of_any().await;
        let Ok(KubeletAnswer::Metrics(metrics)) = answer else { panic!("{answer:?}") };
        assert_eq!(metrics.failures.len(), 5);
        assert_eq!(begin.elapsed(), AGAIN * minute);
    }
    let paths = asking.all_paths();
    assert_eq!(
        paths[1..3],
        ["/api/v1/nodes/n1/proxy/runningpods/", "/api/v1/nodes/n1/proxy/metrics"]
    );
}

#[tokio::test(start_paused = true)]
async fn answer_without_pods_or_metrics_has_a_meaning() {
    use KubeletSubject::{Metrics, RunningPods};
    let status = |code, said: &str| {
        KubeletProblem::Other(ProblemCode::Status { code, said: said.into() }.into())
    };
    // `pkg/kubelet/server/server.go`, `InstallDebuggingDisabledHandlers`.
    let disabled = "Debug endpoints are disabled.\n";
    // A runtime that does not answer the kubelet.
    let runtime = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    let forbidden = "Forbidden (user=kube-apiserver-kubelet-client, verb=get, resource=nodes, subresource(s)=[metrics])";
    let cases = [
        (RunningPods, 405, "text/plain", disabled, KubeletProblem::HandlerOff),
        (RunningPods, 500, "text/plain", runtime, status(500, runtime)),
        (RunningPods, 200, "text/plain", NO_PODS, status(200, NO_PODS)),
        (RunningPods, 200, JSON, "{}", status(200, "{}")),
        (RunningPods, 404, "text/plain", "404 page not found\n", status(404, "404 page not found")),
        (Metrics, 403, "text/plain", forbidden, status(403, forbidden)),
        (Metrics, 200, "text/plain", "up 1", status(200, "up 1")),
        (Metrics, 200, "text/html", "<!doctype html>", status(200, "<!doctype html>")),
    ];
    for (about, code, media_type, body, problem) in cases {
        let mut asking = Asking::answered(&[query("n1", &[POD])], move |seen| {
            if subject(&seen.path) == about { reply(code, media_type, body) } else { nothing() }
        });
        loop {
            let (subject, answer) = asking.next_of_any().await;
            if subject == about {
                assert_eq!(answer, Err(problem), "{code} {body}");
                break;
            }
        }
    }
    let mut asking = Asking::answered(&[query("n1", &[POD])], |seen| match subject(&seen.path) {
        Metrics => reply(200, "text/plain", &"x".repeat(LARGEST_METRICS + 1)),
        RunningPods => reply(200, JSON, &"x".repeat(LARGEST + 1)),
        KubeletSubject::Log => nothing(),
    });
    asking.next().await.unwrap();
    for mebibytes in [1, 4] {
        let problem = KubeletProblem::Other(ProblemCode::TooLarge { mebibytes }.into());
        assert_eq!(asking.next_of_any().await.1, Err(problem));
    }
}

#[tokio::test(start_paused = true)]
async fn node_that_is_out_of_reach_is_asked_for_nothing_else() {
    let (code, media_type, body) =
        recorded(include_str!("../../../sandbox/recordings/kubelet/proxy/unreachable.http"));
    let mut asking =
        Asking::answered(&[query("n1", &[POD])], move |_| reply(code, media_type, body));
    let mut begin = Instant::now();
    for seconds in [0, 120, 180, 240] {
        assert!(asking.next().await.is_err());
        assert_eq!(begin.elapsed().as_secs(), seconds);
        begin = Instant::now();
    }
    assert_eq!(asking.all_paths(), asking.paths());
    // A log that cannot be had delays nothing else.
    let mut asking =
        Asking::start(&[query("n1", &[POD])], |_| reply(200, "text/html", "<!doctype html>"));
    assert_eq!(asking.next().await, Err(KubeletProblem::QueryOff));
    let begin = Instant::now();
    for subjects in [
        [KubeletSubject::RunningPods, KubeletSubject::Metrics],
        [KubeletSubject::RunningPods, KubeletSubject::Metrics],
    ] {
        for expected in subjects {
            assert_eq!(asking.next_of_any().await.0, expected);
        }
    }
    assert_eq!(begin.elapsed(), AGAIN);
}
