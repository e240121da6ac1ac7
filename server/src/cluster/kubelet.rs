//! Asks kubelets about Pods that wait, through the API server's proxy of nodes: for the lines of their logs, for what their
//! container runtimes run, and for the failures that they count.
//!
//! # Decisions
//! - Nobody is asked unless the cluster's owner has chosen so: the request needs the right to `get` `nodes/proxy`, with which the
//!   holder of the credentials can also run commands in any container (kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz).
//! - At most one request for each node, subject and minute, whatever Pods it is about, and one at a time. A kubelet that did not
//!   answer about a subject is asked again later each time; where the problem is the node, this holds for all subjects.
//! - A log counts only as `text/plain`. Where queries are off, a kubelet ignores the query and lists the directory of logs.
//! - An answer is parsed here, and only facts go on: no line is logged or kept.
//! - A redirect is a problem. None is followed.
//!
//! The answers are those of `pkg/kubelet/kubelet_server_journal.go`, `pkg/kubelet/server/server.go` and
//! `staging/src/k8s.io/apimachinery/pkg/util/proxy`; `server/sandbox/recordings` has them as a real control plane gave them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::SignedDuration;
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    diagnosis::{
        KubeletAnswer, KubeletProblem, KubeletSubject, kubelet_log,
        kubelet_metrics::KubeletMetrics, running_pods::RunningPods,
    },
    fetched::KubeletQuery,
    wanted::Wanted,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    asked::{Asked, until},
    report::HubGone,
    request::{self, Answer, ApiClient, Failure, JSON, segment},
    status::Status,
};
use crate::hub::Incoming;

/// The shortest time between two requests about one node.
const AGAIN: Duration = Duration::from_secs(60);
/// The longest time between them.
const LATEST: Duration = Duration::from_secs(600);
/// The deadline of one request. A kubelet that hangs never answers, and the API server waits for it without a limit; it gives
/// up a TLS handshake after 10 s.
const DEADLINE: Duration = Duration::from_secs(12);
/// The most lines of one answer. An entry about an unmount has three.
const LINES: usize = 200;
/// The largest log and the largest list of Pods in bytes.
const LARGEST: usize = 1 << 20;
/// The largest metrics in bytes. Those of a kubelet with a hundred Pods have about half a mebibyte.
const LARGEST_METRICS: usize = 4 << 20;
/// A kubelet hands the time to `journalctl` without its zone, which then takes it for the node's own time. That may be up to 12 h
/// behind UTC.
const ZONES: SignedDuration = SignedDuration::from_hours(12);
/// A log handler refuses any list of media types without this one.
const ANY: &str = "*/*";

/// Asks what is wanted until the hub is gone.
pub(super) async fn query_kubelets(
    client: ApiClient,
    mailbox: mpsc::Sender<Incoming>,
    mut wanted: watch::Receiver<Wanted>,
) -> Result<(), HubGone> {
    let mut asked: BTreeMap<(Arc<str>, KubeletSubject), Asked> = BTreeMap::new();
    loop {
        let queries = wanted.borrow_and_update().kubelets.clone();
        let now = Instant::now();
        // A node that is not asked about any more is remembered until it may be asked again.
        asked.retain(|(node, _), it| {
            it.due > now || queries.iter().any(|query| query.node == *node)
        });
        let due = |(query, subject): (&KubeletQuery, KubeletSubject)| {
            asked.get(&(query.node.clone(), subject)).map_or(now, |it| it.due)
        };
        let questions = queries
            .iter()
            .flat_map(|query| KubeletSubject::ALL.into_iter().map(move |subject| (query, subject)));
        let next = questions.min_by_key(|it| due(*it));
        let at = next.map(due);
        tokio::select! {
            biased;
            changed = wanted.changed() => if changed.is_err() { return Err(HubGone) } else { continue },
            () = until(at) => {}
        }
        let Some((query, subject)) = next else { continue };
        let (answer, later) = match ask(&client, query, subject).await {
            Ok(facts) => (Ok(facts), None),
            Err(Unanswered { problem, later }) => (Err(problem), later),
        };
        let key = (query.node.clone(), subject);
        let failures = match (&answer, asked.get(&key)) {
            (Ok(_), _) => 0,
            (Err(_), before) => before.map_or(0, |it| it.failures).saturating_add(1),
        };
        let wait = (AGAIN * failures.saturating_add(1)).min(LATEST).max(later.unwrap_or_default());
        let due = Instant::now() + wait;
        if answer.as_ref().is_err_and(KubeletProblem::is_of_node) || later.is_some() {
            for subject in KubeletSubject::ALL {
                let other = asked.entry((query.node.clone(), subject));
                let other = other.or_insert(Asked { due, failures: 0 });
                other.due = other.due.max(due);
            }
        }
        asked.insert(key, Asked { due, failures });
        client.metrics().kubelet_asked(subject, answer.as_ref().err());
        let of_volumes = query.volumes.iter().map(|(held, _)| held);
        let pods = query.pods.iter().chain(of_volumes).cloned().collect();
        let answered = Incoming::KubeletAnswered { pods, subject, answer };
        mailbox.send(answered).await.map_err(|_| HubGone)?;
    }
}

/// The reason why there is no answer.
#[derive(Debug)]
struct Unanswered {
    problem: KubeletProblem,
    /// The API server asks for fewer requests: none for this node before this time is over.
    later: Option<Duration>,
}

impl From<KubeletProblem> for Unanswered {
    fn from(problem: KubeletProblem) -> Self {
        Self { problem, later: None }
    }
}

async fn ask(
    client: &ApiClient,
    query: &KubeletQuery,
    subject: KubeletSubject,
) -> Result<KubeletAnswer, Unanswered> {
    let (path, accept, largest) = match subject {
        KubeletSubject::Log => (log_path(query), ANY, LARGEST),
        // Without the slash at its end the kubelet redirects.
        KubeletSubject::RunningPods => (path(query, "runningpods/"), JSON, LARGEST),
        KubeletSubject::Metrics => (path(query, "metrics"), ANY, LARGEST_METRICS),
    };
    let path = path.ok_or(KubeletProblem::Other(ProblemCode::NoPath.into()))?;
    let request = request::get(&path, accept).map_err(|failure| of_failure(&failure, largest))?;
    let answer = request::ask_at_most(client, request, DEADLINE, largest).await;
    let answer = answer.map_err(|failure| of_failure(&failure, largest))?;
    let later = (answer.code == 429).then(|| answer.retry_after.unwrap_or(AGAIN));
    facts_of(&answer, subject).map_err(|problem| Unanswered { problem, later })
}

/// The path below the proxy of a node; `None` if its name has no path.
fn path(query: &KubeletQuery, below: &str) -> Option<String> {
    Some(format!("/api/v1/nodes/{}/proxy/{below}", segment(&query.node)?))
}

/// The path of a query for a log; `None` if a name in it has no path. It ends with a slash before the query: without it the kubelet redirects.
fn log_path(query: &KubeletQuery) -> Option<String> {
    let since = query.since.checked_sub(ZONES).unwrap_or(query.since);
    let since = segment(&since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())?;
    let pods = query.pods.iter().map(|pod| literal(&pod.to_string()));
    let volumes = query.volumes.iter().map(|(_, volume)| literal(volume));
    let words: Vec<String> = pods.chain(volumes).collect();
    let pattern = segment(&words.join("|"))?;
    let below =
        format!("logs/?query=kubelet&tailLines={LINES}&sinceTime={since}&pattern={pattern}");
    path(query, &below)
}

/// A regular expression that matches this text alone, in the syntaxes of PCRE2 and of Go, which checks it first.
fn literal(text: &str) -> String {
    let mut literal = String::new();
    for c in text.chars() {
        if c.is_ascii_punctuation() && c != '-' {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

fn of_failure(failure: &Failure, largest: usize) -> KubeletProblem {
    match failure {
        Failure::Silence(waited) => KubeletProblem::Silent { seconds: waited.as_secs() },
        Failure::TooLarge => {
            KubeletProblem::Other(ProblemCode::TooLarge { mebibytes: largest as u64 >> 20 }.into())
        }
        Failure::Connection(_) | Failure::Credentials => KubeletProblem::Other(failure.into()),
    }
}

/// The facts of an answer, or what it says instead.
fn facts_of(answer: &Answer, subject: KubeletSubject) -> Result<KubeletAnswer, KubeletProblem> {
    if !answer.is_success() {
        return Err(refusal(answer));
    }
    let text = || String::from_utf8_lossy(&answer.body);
    let facts = match (subject, &*answer.media_type) {
        (KubeletSubject::Log, "text/html") => return Err(KubeletProblem::QueryOff),
        (KubeletSubject::Log, "text/plain") if is_of_no_journal(&answer.body) => {
            return Err(KubeletProblem::NoJournal);
        }
        (KubeletSubject::Log, "text/plain") => Some(KubeletAnswer::Log(kubelet_log::read(&text()))),
        (KubeletSubject::RunningPods, JSON) => {
            RunningPods::read(&answer.body).map(KubeletAnswer::RunningPods)
        }
        (KubeletSubject::Metrics, "text/plain") => {
            KubeletMetrics::read(&text()).map(KubeletAnswer::Metrics)
        }
        _ => None,
    };
    facts.ok_or_else(|| refusal(answer))
}

/// The problem that an answer without facts is.
fn refusal(answer: &Answer) -> KubeletProblem {
    let status = Status::read(&answer.body);
    let said = || match answer.message() {
        ApiProblem::Quoted(said) => said,
        ApiProblem::Code(_) => String::new(),
    };
    let begins = |with: &str| status.as_ref().is_some_and(|it| it.message.starts_with(with));
    match answer.code {
        400 if begins("address not allowed") => KubeletProblem::NoAddress,
        500 if begins("no preferred addresses found") => KubeletProblem::NoAddress,
        400 | 406 => KubeletProblem::QueryRefused { said: said() },
        // Without a Status it is the kubelet that refuses the API server.
        403 if status.is_some() => KubeletProblem::Forbidden,
        404 if status.as_ref().is_some_and(Status::is_of_node) => KubeletProblem::NoNode,
        405 => KubeletProblem::HandlerOff,
        502 | 504 => KubeletProblem::Unreachable { said: said() },
        503 if begins("error trying to reach service") => {
            KubeletProblem::Unreachable { said: said() }
        }
        code => KubeletProblem::Other(ProblemCode::Status { code, said: said() }.into()),
    }
}

/// Whether the kubelet says in place of lines that it has no journal to search. Such words have status 200 and stand behind an
/// empty line.
fn is_of_no_journal(body: &[u8]) -> bool {
    const SAID: [&[u8]; 5] = [
        b"log not found for ",
        b"options present and query resolved to log files for ",
        b"error getting log for ",
        b"error: journal output not available",
        b"failed to get logging cmd: ",
    ];
    body.strip_prefix(b"\n").is_some_and(|rest| SAID.iter().any(|said| rest.starts_with(said)))
}

#[cfg(test)]
mod tests;
