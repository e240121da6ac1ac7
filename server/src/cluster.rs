//! The only module that talks to the Kubernetes API. It turns watches into observations and a run's call requests into
//! API calls. Text from the cluster is bounded and escaped before it is logged or passed on.
//!
//! ```text
//!            ┌─ health: does the API server answer?
//! API server ┼─ kinds: which kinds are served? ─► watch, one per kind ─► report ─► Incoming::Observed
//!            ├─ fetch: leases, Events, endpoints, while asked for ─► report ─► Incoming::Observed
//!            ├─ kubelet: what kubelets say, if asked for and allowed ──► Incoming::KubeletAnswered
//!            ├─ execute: CallRequest ─► API call ─────────────────────────────► Incoming::CallCompleted
//!            │    └─ the kind is not served so ─► kinds: which are served now?
//!            └─ preflight: PreflightRequest ─► dry run or access review ──────► Incoming::Answered
//! ```
//!
//! A kind that may not be listed in the whole cluster is watched in each namespace; `namespaces` knows their names.

mod access_review;
mod asked;
mod backoff;
mod call_queue;
mod concurrency;
mod connect;
mod convert;
mod delete;
mod discovery;
mod execute;
mod fair_watch;
#[cfg(test)]
mod fake;
mod fetch;
mod health;
mod interner;
mod kubelet;
mod kinds;
mod namespaces;
mod preflight;
mod remedy;
mod report;
mod request;
mod status;
mod suspend;
mod text;
mod watch;

use std::sync::{Arc, atomic::AtomicBool};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use kube::Client;
use teardown::{observation::Observation, wanted::Wanted};
use tokio::{
    sync::{Notify, Semaphore, mpsc, watch as channel},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tower::{BoxError, Service, ServiceExt};

pub use self::connect::{Access, ConnectError};
use self::{
    connect::Connection, health::HealthCheck, interner::Interner, namespaces::Namespaces,
    report::Report, request::ApiClient, watch::Shared,
};
use crate::{
    chance::Chance,
    hub::{CallRequest, Incoming, PreflightRequest, RemedyCall},
    metrics::ApiMetrics,
};

/// Lists in flight at once. On connecting, each of the cluster's hundred kinds is listed.
const MAX_LISTS: usize = 8;
/// Watches of single namespaces open at once, over all kinds. Each is a connection, and a process can often have no
/// more than 1,024.
const MAX_NAMESPACE_WATCHES: usize = 512;

/// The body of a request to an API server in this process.
pub type RequestBody = UnsyncBoxBody<Bytes, BoxError>;

/// A cluster whose address and credentials are known.
pub struct Cluster {
    client: ApiClient,
    name: String,
    own_namespace: Option<Arc<str>>,
    chance: Chance,
    remedies: Option<mpsc::Receiver<RemedyCall>>,
    preflights: Option<mpsc::Receiver<PreflightRequest>>,
    /// The client for kubelets; `None` if they are not asked.
    kubelets: Option<ApiClient>,
    wanted: Option<channel::Receiver<Wanted>>,
}

/// The reason why [`Cluster::run`] ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The hub accepts no more messages.
    #[error("the hub has ended")]
    HubGone,
    /// A task returned without being asked to.
    #[error("the task for {0} ended although the server still runs; restart the server")]
    Ended(&'static str),
    /// A task panicked.
    #[error("a task of the cluster connection panicked; restart the server")]
    Failed(#[source] tokio::task::JoinError),
}

impl Cluster {
    /// Reads the kubeconfig (the given one, `KUBECONFIG`, `~/.kube/config`) or, in a Pod, its ServiceAccount. It sends
    /// no request: an API server that does not answer becomes an observation, not an error.
    ///
    /// # Errors
    /// Returns a [`ConnectError`] with advice if the configuration is missing or cannot be used.
    pub async fn connect(access: Access) -> Result<Self, ConnectError> {
        let Connection { client, name, own_namespace } = connect::connect(&access).await?;
        Ok(Self::of(ApiClient::new(client, ApiMetrics::default()), name, own_namespace))
    }

    /// A cluster whose API server is a service in this process. It gets the same requests as any other API server,
    /// without a socket and without credentials.
    pub fn served_by<S, B>(service: S, name: impl Into<String>) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::served_in(service, name, "default")
    }

    /// The same with a namespace in place of `default`: the one where rights are most likely.
    pub fn served_in<S, B>(service: S, name: impl Into<String>, namespace: &str) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service.map_request(|request: Request<kube::client::Body>| {
            request.map(|body| body.map_err(Into::into).boxed_unsync())
        });
        let client = ApiClient::new(Client::new(service, namespace), ApiMetrics::default());
        Self::of(client, name.into(), None)
    }

    fn of(client: ApiClient, name: String, own_namespace: Option<Arc<str>>) -> Self {
        Self {
            client,
            name,
            own_namespace,
            chance: Chance::default(),
            remedies: None,
            preflights: None,
            kubelets: None,
            wanted: None,
        }
    }

    /// Also sends the remedies that persons have confirmed.
    pub fn with_remedies(self, remedies: mpsc::Receiver<RemedyCall>) -> Self {
        Self { remedies: Some(remedies), ..self }
    }

    /// Answers the questions of preflights while it runs.
    #[must_use]
    pub fn answering(self, preflights: mpsc::Receiver<PreflightRequest>) -> Self {
        Self { preflights: Some(preflights), ..self }
    }

    /// Asks what diagnoses want to know while it runs.
    #[must_use]
    pub fn fetching(self, wanted: channel::Receiver<Wanted>) -> Self {
        Self { wanted: Some(wanted), ..self }
    }

    /// Also asks kubelets for their logs and state, with the same credentials.
    #[must_use]
    pub fn reading_kubelet_logs(self) -> Self {
        Self { kubelets: Some(self.client.clone()), ..self }
    }

    /// Also asks kubelets for their logs and state, with credentials of their own.
    ///
    /// # Errors
    /// Returns a [`ConnectError`] if the configuration is missing or cannot be used.
    pub async fn reading_kubelet_logs_as(self, access: Access) -> Result<Self, ConnectError> {
        let Connection { client, .. } = connect::connect(&access).await?;
        let kubelets = ApiClient::new(client, self.metrics());
        Ok(Self { kubelets: Some(kubelets), ..self })
    }

    /// Draws the jitter of all waits from `chance`, so that a simulation run can be repeated.
    pub fn repeatable(self, chance: Chance) -> Self {
        Self { chance, ..self }
    }

    /// The name for people: the context's name, or the API server's host.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The counters of the requests to this cluster.
    pub fn metrics(&self) -> ApiMetrics {
        self.client.metrics().clone()
    }

    /// Watches all kinds and executes calls until `drain` is cancelled. Then it starts no more calls and waits for
    /// those in flight.
    ///
    /// # Errors
    /// Returns a [`RunError`] if a task ends before that.
    pub async fn run(
        self,
        mailbox: mpsc::Sender<Incoming>,
        calls: mpsc::Receiver<CallRequest>,
        drain: CancellationToken,
    ) -> Result<(), RunError> {
        let names = Arc::new(Interner::default());
        let (report, observations) = Report::channel();
        if let Some(namespace) = self.own_namespace {
            let runs_in = Observation::RunsIn { namespace };
            report.send(runs_in).await.map_err(|_| RunError::HubGone)?;
        }
        let health_check =
            HealthCheck::new(self.client.clone(), report.clone(), self.chance.clone());
        let querying = self
            .kubelets
            .zip(self.wanted.clone())
            .map(|(client, wanted)| kubelet::query_kubelets(client, mailbox.clone(), wanted));
        let fetching = self.wanted.map(|wanted| {
            fetch::fetch(self.client.clone(), report.clone(), self.chance.clone(), wanted)
        });
        let shared = Shared {
            client: self.client.clone(),
            report,
            chance: self.chance,
            names: names.clone(),
            health: health_check.health(),
            lists: Arc::new(Semaphore::new(MAX_LISTS)),
            namespace_watches: Arc::new(Semaphore::new(MAX_NAMESPACE_WATCHES)),
            refused: Arc::default(),
            namespaces: Arc::new(Namespaces::new(self.client.default_namespace())),
            streams_lists: Arc::new(AtomicBool::new(true)),
            served_changed: Arc::new(Notify::new()),
        };
        let unserved = Arc::new(Notify::new());

        let mut watching = JoinSet::new();
        watching.spawn(async move {
            health_check
                .run()
                .await
                .map_or(RunError::HubGone, |()| RunError::Ended("health checks"))
        });
        watching.spawn({
            let unserved = unserved.clone();
            async move {
                kinds::run(shared, unserved)
                    .await
                    .map_or(RunError::HubGone, |()| RunError::Ended("watching kinds"))
            }
        });
        watching.spawn({
            let mailbox = mailbox.clone();
            async move {
                report::carry(observations, mailbox).await;
                RunError::HubGone
            }
        });
        if let Some(fetching) = fetching {
            watching.spawn(async move {
                fetching.await.map_or(RunError::HubGone, |()| RunError::Ended("fetching evidence"))
            });
        }
        if let Some(querying) = querying {
            watching.spawn(async move {
                querying.await.map_or(RunError::HubGone, |()| RunError::Ended("asking kubelets"))
            });
        }
        if let Some(requests) = self.preflights {
            let (client, mailbox, drain) = (self.client.clone(), mailbox.clone(), drain.clone());
            watching.spawn(async move {
                preflight::answer_preflights(client, mailbox, requests, drain).await;
                RunError::HubGone
            });
        }
        let mut executing = JoinSet::new();
        if let Some(remedies) = self.remedies {
            executing.spawn(remedy::send(
                self.client.clone(),
                names.clone(),
                mailbox.clone(),
                remedies,
                drain.clone(),
            ));
        }
        executing.spawn(execute::execute(
            self.client,
            names,
            mailbox,
            calls,
            unserved,
            drain.clone(),
        ));

        tokio::select! {
            biased;
            () = drain.cancelled() => {}
            Some(ended) = watching.join_next() => return Err(ended.unwrap_or_else(RunError::Failed)),
            Some(ended) = executing.join_next() => {
                return Err(ended.map_or_else(RunError::Failed, |()| RunError::Ended("executing calls")));
            }
        }
        // The watches continue until the last call is answered, so that its effects are still observed.
        while let Some(ended) = executing.join_next().await {
            ended.map_err(RunError::Failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use teardown::{fetched::KubeletQuery, object::Uid};

    use super::*;
    use crate::cluster::fake::now;

    fn cluster() -> Cluster {
        let (client, _) = fake::client(|seen| match seen.bare() {
            "/version" => now(200, r#"{"gitVersion":"v1.36.3"}"#),
            "/api" | "/apis" => now(200, r#"{"kind":"APIGroupDiscoveryList","items":[]}"#),
            _ => now(404, ""),
        });
        Cluster::of(client, "fake".into(), None)
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_runs_until_it_is_drained() {
        let (mailbox, mut incoming) = mpsc::channel(4);
        let (_orders, receiver) = mpsc::channel(4);
        let drain = CancellationToken::new();
        let task = tokio::spawn(cluster().run(mailbox, receiver, drain.clone()));
        assert!(matches!(incoming.recv().await, Some(Incoming::Observed(_))));
        drain.cancel();
        task.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn missing_kubeconfig_for_kubelets_is_an_error_with_its_path() {
        let access = Access { kubeconfig: Some("/nowhere/logs.yaml".into()), context: None };
        let error = cluster().reading_kubelet_logs_as(access).await.err().unwrap();
        assert_eq!(error.to_string(), "kubeconfig /nowhere/logs.yaml does not exist");
    }

    #[tokio::test(start_paused = true)]
    async fn kubelets_are_asked_with_their_own_credentials_and_by_nobody_else() {
        let answer = |_| now(404, "");
        let ((own, asked_by_own), (kubelets, asked_of_kubelets)) =
            (fake::client(answer), fake::client(answer));
        let node: Arc<str> = "node-a".into();
        let query = KubeletQuery { node, pods: vec![Uid::new("u")], since: Timestamp::UNIX_EPOCH };
        let wanted = Wanted { kubelets: [query].into(), ..Wanted::default() };
        let (_wants, wanted) = channel::channel(wanted);
        let cluster = Cluster::of(own, "fake".into(), None);
        let cluster = Cluster { kubelets: Some(kubelets), wanted: Some(wanted), ..cluster };
        let (mailbox, mut incoming) = mpsc::channel(4);
        let (_orders, receiver) = mpsc::channel(4);
        let task = tokio::spawn(cluster.run(mailbox, receiver, CancellationToken::new()));
        while !matches!(incoming.recv().await, Some(Incoming::KubeletAnswered { .. })) {}
        task.abort();
        let is_of_kubelets = |seen: &fake::Seen| seen.path.contains("/proxy/");
        assert!(asked_of_kubelets.lock().unwrap().iter().all(is_of_kubelets));
        assert!(!asked_of_kubelets.lock().unwrap().is_empty());
        assert!(!asked_by_own.lock().unwrap().iter().any(is_of_kubelets));
    }

    #[tokio::test(start_paused = true)]
    async fn service_in_this_process_answers_like_an_api_server() {
        let service = tower::service_fn(async |request: Request<RequestBody>| {
            let known = request.uri().path() == "/version";
            let answer = if known { r#"{"gitVersion":"v1.36.3"}"# } else { "{}" };
            Ok::<_, std::convert::Infallible>(Response::new(answer.to_owned()))
        });
        let cluster = Cluster::served_by(service, "in process");
        assert_eq!(cluster.name(), "in process");
        let (mailbox, mut incoming) = mpsc::channel(4);
        let (_orders, receiver) = mpsc::channel(4);
        let task = tokio::spawn(cluster.run(mailbox, receiver, CancellationToken::new()));
        let Some(Incoming::Observed(seen)) = incoming.recv().await else { panic!("it ended") };
        let reached = Observation::Reached { version: "v1.36.3".into() };
        assert!(seen.contains(&reached), "{seen:?}");
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn text_from_the_cluster_cannot_forge_a_line_of_the_log() {
        const FORGED: &str =
            "no\\n2026-01-01T00:00:00Z ERROR \\u001b[31mforged: all volumes are gone";
        let file = tempfile::NamedTempFile::new().unwrap();
        let logged = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(std::sync::Arc::new(file.reopen().unwrap()))
            .finish();
        let _logged = tracing::subscriber::set_default(logged);
        let (client, _) = fake::client(|seen| match seen.bare() {
            "/version" => now(200, format!(r#"{{"gitVersion":"{FORGED}"}}"#)),
            "/api" => now(
                200,
                r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[{
                "version":"v1","freshness":"Current","resources":[{"resource":"secrets","scope":"Namespaced",
                "responseKind":{"kind":"Secret"},"verbs":["list","watch"]}]}]}]}"#,
            ),
            "/apis" => now(
                200,
                format!(
                    r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"{FORGED}"}},
                    "versions":[{{"version":"v1","freshness":"Stale","resources":[]}}]}}]}}"#
                ),
            ),
            _ => now(
                403,
                format!(
                    r#"{{"kind":"Status","status":"Failure","reason":"{FORGED}","message":"{FORGED}","code":403}}"#
                ),
            ),
        });
        let (mailbox, mut incoming) = mpsc::channel(4);
        let (calls, receiver) = mpsc::channel(4);
        let action = fake::read_pods_action("shop");
        let (run, recall) = (teardown::run::RunId::new("r"), CancellationToken::new());
        calls.send(crate::hub::CallRequest { run, action, steps_behind: 0, recall }).await.unwrap();
        let cluster = Cluster::of(client, "fake".into(), None);
        let task = tokio::spawn(cluster.run(mailbox, receiver, CancellationToken::new()));
        let lines = || std::fs::read_to_string(file.path()).unwrap();
        let awaited =
            ["cannot discover the kinds", "cannot be listed or watched", "call completed"];
        while !awaited.iter().all(|message| lines().contains(message)) {
            let received = tokio::time::timeout(Duration::from_secs(300), incoming.recv()).await;
            assert!(matches!(received, Ok(Some(_))), "{}", lines());
        }
        task.abort();
        for line in lines().lines() {
            assert!(!line.contains(char::is_control), "{line:?}");
            // The name of a hidden group version is logged; no part of a message is.
            assert!(!line.contains("forged") || line.contains("version="), "{line:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_whose_hub_is_gone_ends_with_an_error() {
        let (mailbox, incoming) = mpsc::channel(4);
        let (calls, receiver) = mpsc::channel(4);
        drop(incoming);
        let ended = cluster().run(mailbox, receiver, CancellationToken::new()).await;
        assert!(matches!(ended, Err(RunError::HubGone)), "{ended:?}");
        drop(calls);
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_whose_call_requests_end_ends_with_an_error() {
        let (mailbox, _incoming) = mpsc::channel(4);
        let (calls, receiver) = mpsc::channel(4);
        drop(calls);
        let ended = cluster().run(mailbox, receiver, CancellationToken::new()).await;
        assert!(matches!(ended, Err(RunError::Ended("executing calls"))), "{ended:?}");
    }
}
