//! Counts the requests to the API server, the failures of watches, and the answers of kubelets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use prometheus_client::metrics::{counter::Counter, family::Family, histogram::Histogram};
use teardown::diagnosis::{KubeletProblem, KubeletSubject};
use tokio::time::Instant;

/// The bounds of the histogram, in seconds: an API server answers in milliseconds, and 30 s is the longest deadline.
const BUCKETS: [f64; 10] = [0.005, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// The verb of a request, as Kubernetes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// One object, or a document that is none.
    Get,
    /// A page of a list.
    List,
    /// The start of a watch.
    Watch,
    /// A DELETE.
    Delete,
    /// A PATCH.
    Patch,
    /// A PUT.
    Update,
    /// A POST.
    Create,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Delete => "delete",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Create => "create",
        }
    }
}

/// The reason for which a watch starts again, other than the end that every watch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartReason {
    /// 403.
    Forbidden,
    /// 410: the position was too old.
    Expired,
    /// 404 or 405: the kind may no longer be served.
    NotServed,
    /// 429.
    Throttled,
    /// The connection failed.
    Connection,
    /// Neither an event nor a bookmark nor its end arrived in time, so it may have hidden changes for a minute.
    Silent,
    /// Another error, or an answer that cannot be read.
    Failing,
}

impl RestartReason {
    const ALL: [Self; 7] = [
        Self::Forbidden,
        Self::Expired,
        Self::NotServed,
        Self::Throttled,
        Self::Connection,
        Self::Silent,
        Self::Failing,
    ];

    fn labels(self) -> Labels<1> {
        let name = match self {
            Self::Forbidden => "forbidden",
            Self::Expired => "expired",
            Self::NotServed => "not_served",
            Self::Throttled => "throttled",
            Self::Connection => "connection",
            Self::Silent => "silent",
            Self::Failing => "failing",
        };
        [("reason", name)]
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// An answer with this status code.
    Answered(u16),
    /// No answer within the deadline.
    Timeout,
    /// The connection could not be made or broke, or the answer was too large.
    Connection,
    /// The credentials could not be obtained, so nothing was sent.
    Credentials,
    /// Nobody waits for the answer any more.
    Abandoned,
}

impl CallOutcome {
    /// The status codes that say different things about the cluster are apart; the others are classes.
    fn name(self) -> &'static str {
        match self {
            Self::Answered(200..300) => "success",
            Self::Answered(401) => "unauthorized",
            Self::Answered(403) => "forbidden",
            Self::Answered(404) => "not_found",
            Self::Answered(409) => "conflict",
            Self::Answered(410) => "expired",
            Self::Answered(429) => "throttled",
            Self::Answered(500..600) => "server_error",
            Self::Answered(_) => "client_error",
            Self::Timeout => "timeout",
            Self::Connection => "connection_error",
            Self::Credentials => "credentials_error",
            Self::Abandoned => "abandoned",
        }
    }
}

/// The outcomes of questions to kubelets.
const KUBELET_OUTCOMES: [&str; 6] =
    ["success", "off", "forbidden", "unreachable", "refused", "failure"];

/// The problems that are solved in the same place have the same name.
fn outcome_of(problem: Option<&KubeletProblem>) -> &'static str {
    match problem {
        None => "success",
        Some(KubeletProblem::HandlerOff | KubeletProblem::QueryOff | KubeletProblem::NoJournal) => {
            "off"
        }
        Some(KubeletProblem::Forbidden) => "forbidden",
        Some(
            KubeletProblem::NoAddress
            | KubeletProblem::Unreachable { .. }
            | KubeletProblem::Silent { .. }
            | KubeletProblem::NoNode,
        ) => "unreachable",
        Some(KubeletProblem::QueryRefused { .. }) => "refused",
        Some(KubeletProblem::Other(_)) => "failure",
    }
}

fn kubelet_labels(subject: KubeletSubject, outcome: &'static str) -> Labels<2> {
    let subject = match subject {
        KubeletSubject::Log => "log",
        KubeletSubject::RunningPods => "running_pods",
        KubeletSubject::Metrics => "metrics",
    };
    [("subject", subject), ("outcome", outcome)]
}

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The counters of the connection to the API server. A clone counts together with its original.
#[derive(Clone, Debug)]
pub struct ApiMetrics {
    pub(super) calls: Family<Labels<2>, Counter>,
    pub(super) durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    pub(super) watch_restarts: Family<Labels<1>, Counter>,
    pub(super) kubelet_queries: Family<Labels<2>, Counter>,
    started: Instant,
    /// Milliseconds from `started` to the last line of any watch, plus one; 0 before the first.
    last_line: Arc<AtomicU64>,
}

impl Default for ApiMetrics {
    fn default() -> Self {
        let watch_restarts = Family::<Labels<1>, Counter>::default();
        // A counter that begins above 0 shows no increase.
        for reason in RestartReason::ALL {
            watch_restarts.get_or_create(&reason.labels()).inc_by(0);
        }
        let kubelet_queries = Family::<Labels<2>, Counter>::default();
        for subject in KubeletSubject::ALL {
            for outcome in KUBELET_OUTCOMES {
                kubelet_queries.get_or_create(&kubelet_labels(subject, outcome)).inc_by(0);
            }
        }
        Self {
            calls: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            watch_restarts,
            kubelet_queries,
            started: Instant::now(),
            last_line: Arc::default(),
        }
    }
}

impl ApiMetrics {
    /// A request that is sent now.
    pub fn begin(&self, verb: Verb) -> Call<'_> {
        Call { metrics: self, verb, began: Instant::now(), outcome: CallOutcome::Abandoned }
    }

    /// Counts a watch that starts again for another reason than the end that every watch has.
    pub fn watch_restarted(&self, reason: RestartReason) {
        self.watch_restarts.get_or_create(&reason.labels()).inc();
    }

    /// Counts a question to a kubelet with the problem that it met, if there was one.
    pub fn kubelet_asked(&self, subject: KubeletSubject, problem: Option<&KubeletProblem>) {
        let labels = kubelet_labels(subject, outcome_of(problem));
        self.kubelet_queries.get_or_create(&labels).inc();
    }

    /// The watches that started again for this reason.
    #[cfg(test)]
    pub(crate) fn restarts(&self, reason: RestartReason) -> u64 {
        self.watch_restarts.get_or_create(&reason.labels()).get()
    }

    /// The questions to kubelets with this outcome.
    #[cfg(test)]
    pub(crate) fn kubelet_queries(&self, subject: KubeletSubject, outcome: &'static str) -> u64 {
        self.kubelet_queries.get_or_create(&kubelet_labels(subject, outcome)).get()
    }

    /// Notes that a watch has received an event or a bookmark.
    pub fn watch_line(&self) {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_line.fetch_max(passed.saturating_add(1), Ordering::Relaxed);
    }

    /// The time since any watch received something; `None` if none has yet.
    pub(super) fn watch_silence(&self) -> Option<Duration> {
        let at = self.last_line.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.started.elapsed().saturating_sub(Duration::from_millis(at)))
    }
}

/// A request on its way. It is counted when it is dropped, as abandoned unless its outcome was set.
#[derive(Debug)]
pub struct Call<'a> {
    metrics: &'a ApiMetrics,
    verb: Verb,
    began: Instant,
    outcome: CallOutcome,
}

impl Call<'_> {
    /// Ends the request with its outcome.
    pub fn end(mut self, outcome: CallOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let verb = ("verb", self.verb.name());
        self.metrics.calls.get_or_create(&[verb, ("outcome", self.outcome.name())]).inc();
        self.metrics.durations.get_or_create(&[verb]).observe(self.began.elapsed().as_secs_f64());
    }
}
