//! The answers are those of a real control plane, see `server/sandbox/recordings/README.md`.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::task::JoinHandle;

use super::*;
use crate::cluster::fake::{self, Log, Reply, Seen};

const POD: &str = "113e414d-52b9-4eb7-a1ec-20089ddb2e36";
const PLAIN: &str = "text/plain;charset=UTF-8";

fn query(node: &str, pods: &[&str]) -> LogQuery {
    LogQuery {
        node: node.into(),
        pods: pods.iter().map(|pod| Uid::new(*pod)).collect(),
        since: "2026-11-25T14:00:00Z".parse::<Timestamp>().unwrap(),
    }
}

/// The task with its channels.
struct Asking {
    want: watch::Sender<Wanted>,
    incoming: mpsc::Receiver<Incoming>,
    log: Log,
    task: JoinHandle<Result<(), HubGone>>,
}

impl Asking {
    fn start(
        queries: &[LogQuery],
        answer: impl Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        let (client, log) = fake::client(answer);
        let (mailbox, incoming) = mpsc::channel(4);
        let (want, wanted) = watch::channel(wanted(queries));
        let task = tokio::spawn(query_kubelets(client, mailbox, wanted));
        Self { want, incoming, log, task }
    }

    async fn next(&mut self) -> Result<KubeletLog, LogProblem> {
        match self.incoming.recv().await {
            Some(Incoming::KubeletAnswered { answer, .. }) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn paths(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|seen| seen.path.clone()).collect()
    }
}

fn wanted(queries: &[LogQuery]) -> Wanted {
    Wanted { logs: queries.iter().cloned().collect(), ..Wanted::default() }
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
    let refused = |said: &str| LogProblem::QueryRefused { said: said.into() };
    let unreachable = |said: &str| LogProblem::Unreachable {
        said: format!("error trying to reach service: {said}"),
    };
    let status = |code, said: &str| {
        LogProblem::Other(ProblemCode::Status { code, said: said.into() }.into())
    };
    let recordings = recordings![
        "forbidden" => LogProblem::Forbidden,
        "handler-off" => LogProblem::HandlerOff,
        "query-off" => LogProblem::QueryOff,
        "query-bad-lines" => refused(r#"tailLines: Invalid value: "many": strconv.Atoi: parsing "many": invalid syntax"#),
        "query-bad-pattern" => refused(r#"pattern: Invalid value: "[": error parsing regexp: missing closing ]: `[`"#),
        "query-type-plain" => refused("406: Not Acceptable Available representations:"),
        "query-unknown-service" => LogProblem::NoJournal,
        "address-not-allowed" => LogProblem::NoAddress,
        "no-address" => LogProblem::NoAddress,
        "no-node" => LogProblem::NoNode,
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
    let gateway = LogProblem::Unreachable { said: "502 Bad Gateway".into() };
    let rest = [
        (502, "text/html", "502 Bad Gateway", gateway),
        (503, "application/json", busy, status(503, "apiserver is shutting down")),
        (403, "text/plain", forbidden_by_kubelet, status(403, forbidden_by_kubelet)),
        (200, PLAIN, files, LogProblem::NoJournal),
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
async fn kubelet_that_does_not_answer_in_time_is_silent() {
    let mut asking =
        Asking::start(&[query("n1", &[POD])], |_| Box::pin(std::future::ready(Reply::Silence)));
    let begin = Instant::now();
    assert_eq!(asking.next().await, Err(LogProblem::Silent { seconds: 12 }));
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

    let mut asking = Asking::start(&[query("..", &[POD])], |_| nothing());
    assert_eq!(asking.next().await, Err(LogProblem::Other(ProblemCode::NoPath.into())));
    assert!(asking.paths().is_empty());

    let mut asking =
        Asking::start(&[query("n1", &[POD])], |_| reply(200, PLAIN, &"x".repeat(LARGEST + 1)));
    let problem = LogProblem::Other(ProblemCode::TooLarge { mebibytes: 1 }.into());
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
        assert_eq!(asking.next().await, Err(LogProblem::QueryOff));
        waits.push(begin.elapsed().as_secs());
        begin = Instant::now();
    }
    assert_eq!(waits, [0, 120, 180, 240, 300, 360, 420, 480, 540, 600, 600, 600]);
    // One that the API server throttles waits as long as it says.
    let mut asking = Asking::start(&[query("n1", &["a"])], |_| {
        Box::pin(std::future::ready(Reply::Later(429, "300", "slow down".into())))
    });
    let throttled = ProblemCode::Status { code: 429, said: "slow down".into() };
    assert_eq!(asking.next().await, Err(LogProblem::Other(throttled.into())));
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
    assert_eq!(asking.task.await.unwrap(), Err(HubGone));
    assert_eq!(asking.log.lock().unwrap().len(), 1);
}
