//! Asks kubelets for the lines of their logs about Pods that wait, through the API server's proxy of nodes.
//!
//! # Decisions
//! - Nobody is asked unless the cluster's owner has chosen so: the request needs the right to `get` `nodes/proxy`, with which the
//!   holder of the credentials can also run commands in any container (kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz).
//! - At most one request for each node and minute, whatever it is about, and one at a time. A kubelet that gave no log is asked
//!   again later each time.
//! - An answer counts only as `text/plain`. Where queries are off, a kubelet ignores the query and lists the directory of logs.
//! - The lines are parsed here, and only facts go on: no line is logged or kept.
//! - A redirect is a problem. None is followed.
//!
//! The answers are those of `pkg/kubelet/kubelet_server_journal.go`, `pkg/kubelet/server/server.go` and
//! `staging/src/k8s.io/apimachinery/pkg/util/proxy`; `server/sandbox/recordings` has them as a real control plane gave them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::SignedDuration;
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    diagnosis::{
        LogProblem,
        kubelet_log::{self, KubeletLog},
    },
    fetched::LogQuery,
    object::Uid,
    wanted::Wanted,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    asked::{Asked, until},
    report::HubGone,
    request::{self, Answer, ApiClient, Failure, segment},
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
/// The largest answer in bytes.
const LARGEST: usize = 1 << 20;
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
    let mut asked: BTreeMap<Arc<str>, Asked> = BTreeMap::new();
    loop {
        let queries = wanted.borrow_and_update().logs.clone();
        let now = Instant::now();
        // A node that is not asked about any more is remembered until it may be asked again.
        asked.retain(|node, it| it.due > now || queries.iter().any(|query| query.node == *node));
        let due = |query: &LogQuery| asked.get(&query.node).map_or(now, |it| it.due);
        let next = queries.iter().min_by_key(|query| due(query));
        let at = next.map(due);
        tokio::select! {
            biased;
            changed = wanted.changed() => if changed.is_err() { return Err(HubGone) } else { continue },
            () = until(at) => {}
        }
        let Some(query) = next else { continue };
        let (answer, later) = match ask(&client, query).await {
            Ok(log) => (Ok(log), None),
            Err(Unanswered { problem, later }) => (Err(problem), later),
        };
        let failures = match (&answer, asked.get(&query.node)) {
            (Ok(_), _) => 0,
            (Err(_), before) => before.map_or(0, |it| it.failures).saturating_add(1),
        };
        let wait = (AGAIN * failures.saturating_add(1)).min(LATEST).max(later.unwrap_or_default());
        asked.insert(query.node.clone(), Asked { due: Instant::now() + wait, failures });
        let answered = Incoming::KubeletAnswered { pods: query.pods.clone(), answer };
        mailbox.send(answered).await.map_err(|_| HubGone)?;
    }
}

/// The reason why there is no log.
#[derive(Debug)]
struct Unanswered {
    problem: LogProblem,
    /// The API server asks for fewer requests: none for this node before this time is over.
    later: Option<Duration>,
}

impl From<LogProblem> for Unanswered {
    fn from(problem: LogProblem) -> Self {
        Self { problem, later: None }
    }
}

async fn ask(client: &ApiClient, query: &LogQuery) -> Result<KubeletLog, Unanswered> {
    let path = path(query).ok_or(LogProblem::Other(ProblemCode::NoPath.into()))?;
    let request = request::get(&path, ANY).map_err(|failure| of_failure(&failure))?;
    let answer = request::ask_at_most(client, request, DEADLINE, LARGEST).await;
    let answer = answer.map_err(|failure| of_failure(&failure))?;
    let later = (answer.code == 429).then(|| answer.retry_after.unwrap_or(AGAIN));
    let lines = lines_of(&answer).map_err(|problem| Unanswered { problem, later })?;
    Ok(kubelet_log::read(&String::from_utf8_lossy(lines)))
}

/// The path of a query; `None` if a name in it has no path. It ends with a slash before the query: without it the kubelet redirects.
fn path(query: &LogQuery) -> Option<String> {
    let node = segment(&query.node)?;
    let since = query.since.checked_sub(ZONES).unwrap_or(query.since);
    let since = segment(&since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())?;
    let pods: Vec<String> = query.pods.iter().map(literal).collect();
    let pattern = segment(&pods.join("|"))?;
    Some(format!(
        "/api/v1/nodes/{node}/proxy/logs/?query=kubelet&tailLines={LINES}&sinceTime={since}&pattern={pattern}"
    ))
}

/// A regular expression that matches this UID alone, in the syntaxes of PCRE2 and of Go, which checks it first.
fn literal(uid: &Uid) -> String {
    let mut literal = String::new();
    for c in uid.to_string().chars() {
        if c.is_ascii_punctuation() && c != '-' {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

fn of_failure(failure: &Failure) -> LogProblem {
    match failure {
        Failure::Silence(waited) => LogProblem::Silent { seconds: waited.as_secs() },
        Failure::TooLarge => {
            LogProblem::Other(ProblemCode::TooLarge { mebibytes: LARGEST as u64 >> 20 }.into())
        }
        Failure::Connection(_) | Failure::Credentials => LogProblem::Other(failure.into()),
    }
}

/// The lines of an answer, or what it says instead.
fn lines_of(answer: &Answer) -> Result<&[u8], LogProblem> {
    let status = Status::read(&answer.body);
    let said = || match answer.message() {
        ApiProblem::Quoted(said) => said,
        ApiProblem::Code(_) => String::new(),
    };
    let begins = |with: &str| status.as_ref().is_some_and(|it| it.message.starts_with(with));
    Err(match answer.code {
        200..300 if answer.media_type == "text/plain" => {
            return if is_of_no_journal(&answer.body) {
                Err(LogProblem::NoJournal)
            } else {
                Ok(&answer.body)
            };
        }
        200..300 if answer.media_type == "text/html" => LogProblem::QueryOff,
        400 if begins("address not allowed") => LogProblem::NoAddress,
        500 if begins("no preferred addresses found") => LogProblem::NoAddress,
        400 | 406 => LogProblem::QueryRefused { said: said() },
        // Without a Status it is the kubelet that refuses the API server.
        403 if status.is_some() => LogProblem::Forbidden,
        404 if status.as_ref().is_some_and(Status::is_of_node) => LogProblem::NoNode,
        405 => LogProblem::HandlerOff,
        502 | 504 => LogProblem::Unreachable { said: said() },
        503 if begins("error trying to reach service") => LogProblem::Unreachable { said: said() },
        code => LogProblem::Other(ProblemCode::Status { code, said: said() }.into()),
    })
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
