//! The only module that talks to the Kubernetes API. It turns watches into observations and a run's call requests into
//! API calls. Text from the cluster is bounded and escaped before it is logged or passed on.
//!
//! ```text
//!            ┌─ health: does the API server answer?
//! API server ┼─ kinds: which kinds are served? ─► watch, one per kind ─► report ─► Incoming::Observed
//!            ├─ fetch: leases, Events, endpoints, while asked for ─► report ─► Incoming::Observed
//!            ├─ kubelet: what kubelets say, if asked for and allowed ──► Incoming::KubeletAnswered
//!            ├─ execute: CallRequest ─► API call ─────────────────────────────► Incoming::CallCompleted
//!            │    └─ the kind is not served so ─► kinds: which are served now? (of preflight and remedy as well)
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
        // The watches and the evidence look again by themselves.
        let client = self.client.noticing(unserved.clone());

        let mut watching = JoinSet::new();
        watching.spawn(async move {
            health_check
                .run()
                .await
                .map_or(RunError::HubGone, |()| RunError::Ended("health checks"))
        });
        watching.spawn(async move {
            kinds::run(shared, unserved)
                .await
                .map_or(RunError::HubGone, |()| RunError::Ended("watching kinds"))
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
            let (client, mailbox, drain) = (client.clone(), mailbox.clone(), drain.clone());
            watching.spawn(async move {
                preflight::answer_preflights(client, mailbox, requests, drain).await;
                RunError::HubGone
            });
        }
        let mut executing = JoinSet::new();
        if let Some(remedies) = self.remedies {
            executing.spawn(remedy::send(
                client.clone(),
                names.clone(),
                mailbox.clone(),
                remedies,
                drain.clone(),
            ));
        }
        executing.spawn(execute::execute(client, names, mailbox, calls, drain.clone()));

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
mod tests;
