//! Asks the cluster what diagnoses want to know beyond the watches: leases, Events, endpoints, our own name and rights.
//!
//! # Decisions
//! - Nothing is asked while no deletion is in trouble: the hub says what is wanted. Only the checks of a plan ask for the lease of the
//!   kube-controller-manager before that. While nobody looks, leases alone are, because one
//!   has to be watched for as long as it is valid before it says that its holder is gone. A scrape of the metrics and the notifier
//!   look too, or they would name other causes than an open page. The leases of nodes are also asked for while a page draws nodes.
//! - One question at a time, at most ten a second, each with a deadline and a limit on what the answer may list. Each is asked
//!   again after 20 s, so that two looks at a lease are far enough apart to see it move. The second look at the lease of the
//!   kube-controller-manager comes after 3 s, because a person waits at the checks of a plan until it is seen to move.
//! - A question that fails is asked again later each time. One that is throttled stops all others for as long.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use http::Method;
use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    fetched::{Answer, Event, Lease, MANAGER, NODE_LEASES, Question},
    object::{ObjectRef, Uid},
    observation::Observation,
    wanted::Wanted,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    access_review,
    asked::{Asked, until},
    backoff::backoff,
    report::{HubGone, Report},
    request::{self, ApiClient, segment},
    text::bounded,
};
use crate::chance::Chance;

/// The time between two answers to one question.
const AGAIN: Duration = Duration::from_secs(20);
/// The time between the first two looks at the lease of the kube-controller-manager, which it renews every 2 s by default (`RetryPeriod`
/// in `staging/src/k8s.io/component-base/config/v1alpha1/defaults.go`).
const MOVES: Duration = Duration::from_secs(3);
/// The time after which our own name is asked for again.
const IDENTITY: Duration = Duration::from_secs(600);
/// The time after which a right is asked for again: it may be granted while a person reads.
const RIGHTS: Duration = Duration::from_secs(60);
/// The shortest time between two requests.
const GAP: Duration = Duration::from_millis(100);
/// The deadline of one request.
const DEADLINE: Duration = Duration::from_secs(5);
/// Leases on one page.
const LEASES: usize = 1_000;
/// The most pages of leases; a cluster has at most 5,000 nodes.
const PAGES: usize = 6;
/// The most Events about one object.
const EVENTS: usize = 50;
/// The most EndpointSlices of one Service.
const SLICES: usize = 50;

/// Asks what is wanted until the hub is gone.
pub(super) async fn fetch(
    client: ApiClient,
    report: Report,
    chance: Chance,
    mut wanted: watch::Receiver<Wanted>,
) -> Result<(), HubGone> {
    let mut asked: BTreeMap<Question, Asked> = BTreeMap::new();
    let mut answered: BTreeSet<Question> = BTreeSet::new();
    loop {
        let now = wanted.borrow_and_update().questions.clone();
        let gone: Vec<Question> =
            asked.keys().filter(|question| !now.contains(*question)).cloned().collect();
        for question in gone {
            asked.remove(&question);
            answered.remove(&question);
            report.send(Observation::Unasked(question)).await?;
        }
        for question in now {
            asked.entry(question).or_insert(Asked { due: Instant::now(), failures: 0 });
        }
        let next = asked.iter().min_by_key(|(_, asked)| asked.due);
        let next = next.map(|(question, asked)| (question.clone(), asked.due));
        let due = next.as_ref().map(|(_, due)| *due);
        tokio::select! {
            biased;
            changed = wanted.changed() => if changed.is_err() { return Err(HubGone) } else { continue },
            () = until(due) => {}
        }
        let Some((question, _)) = next else { continue };
        let answer = ask(&client, &question).await;
        if let Some(asked) = asked.get_mut(&question) {
            let is_first = answer.is_ok() && answered.insert(question.clone());
            asked.failures = if answer.is_ok() { 0 } else { asked.failures.saturating_add(1) };
            let wait = match (&question, asked.failures) {
                (Question::Identity, 0) => IDENTITY,
                (Question::Permission(_), 0) => RIGHTS,
                (Question::ManagerLease, 0) if is_first => MOVES,
                (_, 0) => AGAIN,
                (_, failures) => AGAIN + backoff(failures, &chance) * failures.min(10),
            };
            asked.due = Instant::now() + wait;
        }
        let pause = match &answer {
            Err(Unanswered { later: Some(later), .. }) => (*later).min(AGAIN),
            _ => GAP,
        };
        let answer = answer.map_err(|unanswered| unanswered.problem);
        report.send(Observation::Fetched { question, answer }).await?;
        sleep(pause).await;
    }
}

/// The reason why there is no answer.
struct Unanswered {
    problem: ApiProblem,
    /// The API server asks for fewer requests: none before this time is over.
    later: Option<Duration>,
}

impl From<request::Failure> for Unanswered {
    fn from(failure: request::Failure) -> Self {
        Self { problem: (&failure).into(), later: None }
    }
}

impl From<ProblemCode> for Unanswered {
    fn from(problem: ProblemCode) -> Self {
        Self { problem: problem.into(), later: None }
    }
}

async fn ask(client: &ApiClient, question: &Question) -> Result<Answer, Unanswered> {
    match question {
        Question::Identity => identity(client).await,
        Question::NodeLeases => node_leases(client).await,
        Question::ManagerLease => manager_lease(client).await,
        Question::Endpoints { namespace, name } => endpoints(client, namespace, name).await,
        Question::Events { of, uid } => events(client, of, uid).await,
        Question::Permission(permission) => {
            let answer = access_review::ask(client, permission, DEADLINE).await?;
            let later = later(&answer);
            let review = access_review::read(&answer);
            review.map(Answer::Review).map_err(|problem| Unanswered { problem, later })
        }
    }
}

/// The answer of a GET as this type; `None` for 404.
async fn get<T: DeserializeOwned>(client: &ApiClient, path: &str) -> Result<Option<T>, Unanswered> {
    let request = request::get(path, request::JSON);
    read(&request::ask(client, request, DEADLINE).await?)
}

fn read<T: DeserializeOwned>(answer: &request::Answer) -> Result<Option<T>, Unanswered> {
    if answer.code == 404 {
        return Ok(None);
    }
    if !answer.is_success() {
        return Err(Unanswered { problem: answer.message(), later: later(answer) });
    }
    serde_json::from_slice(&answer.body)
        .map(Some)
        .map_err(|error| ProblemCode::Unreadable { why: bounded(&error.to_string()) }.into())
}

/// The time for which a throttled answer asks.
fn later(answer: &request::Answer) -> Option<Duration> {
    (answer.code == 429).then(|| answer.retry_after.unwrap_or(AGAIN))
}

#[derive(Deserialize)]
struct SelfReview {
    status: SelfReviewStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelfReviewStatus {
    user_info: UserInfo,
}

#[derive(Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
}

async fn identity(client: &ApiClient) -> Result<Answer, Unanswered> {
    const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let body = json!({ "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1" });
    let request = request::with_body(Method::POST, REVIEWS, Some((request::JSON, &body)));
    match read::<SelfReview>(&request::ask(client, request, DEADLINE).await?)? {
        Some(review) => Ok(Answer::Identity(bounded(&review.status.user_info.username).into())),
        None => Err(ProblemCode::NotAnApiServer.into()),
    }
}

#[derive(Deserialize)]
struct List<T> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct LeaseObject {
    metadata: Meta,
    #[serde(default)]
    spec: LeaseSpec,
}

#[derive(Deserialize)]
struct Meta {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseSpec {
    #[serde(default)]
    holder_identity: Option<String>,
    #[serde(default)]
    renew_time: Option<String>,
    #[serde(default)]
    lease_duration_seconds: Option<i64>,
}

impl From<LeaseObject> for Lease {
    /// A new holder renews: a lease whose leader changes moves.
    fn from(LeaseObject { metadata, spec }: LeaseObject) -> Self {
        let part = |text: Option<String>| bounded(&text.unwrap_or_default());
        let renewed = format!("{} {}", part(spec.renew_time), part(spec.holder_identity));
        let duration = spec.lease_duration_seconds;
        Self { name: metadata.name.into(), renewed: renewed.into(), duration }
    }
}

async fn node_leases(client: &ApiClient) -> Result<Answer, Unanswered> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NODE_LEASES}/leases");
    let (mut leases, mut next) = (Vec::new(), String::new());
    for _ in 0..PAGES {
        let page = get::<List<LeaseObject>>(client, &request::page(&path, LEASES, &next)).await?;
        let Some(page) = page else { break };
        leases.extend(page.items.into_iter().map(Lease::from));
        next = page.metadata.next;
        if next.is_empty() {
            break;
        }
    }
    Ok(Answer::Leases(leases))
}

/// The lease of a node's kubelet; `None` if there is none.
pub(super) async fn node_lease(
    client: &ApiClient,
    node: &str,
) -> Result<Option<Lease>, ApiProblem> {
    let node = segment(node).ok_or(ProblemCode::NoPath)?;
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NODE_LEASES}/leases/{node}");
    let lease = get::<LeaseObject>(client, &path).await.map_err(|it| it.problem)?;
    Ok(lease.map(Lease::from))
}

async fn manager_lease(client: &ApiClient) -> Result<Answer, Unanswered> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{MANAGER}");
    let lease = get::<LeaseObject>(client, &path).await?;
    Ok(Answer::Leases(lease.into_iter().map(Lease::from).collect()))
}

#[derive(Deserialize)]
struct Slice {
    #[serde(default)]
    endpoints: Option<Vec<Endpoint>>,
}

#[derive(Deserialize)]
struct Endpoint {
    #[serde(default)]
    conditions: EndpointConditions,
}

#[derive(Default, Deserialize)]
struct EndpointConditions {
    /// An unknown state counts as ready (`staging/src/k8s.io/api/discovery/v1/types.go`).
    #[serde(default)]
    ready: Option<bool>,
}

async fn endpoints(client: &ApiClient, namespace: &str, name: &str) -> Result<Answer, Unanswered> {
    ready(client, namespace, name).await.map(Answer::Endpoints)
}

/// The number of ready endpoints of a Service.
pub(super) async fn ready_endpoints(
    client: &ApiClient,
    namespace: &str,
    name: &str,
) -> Result<usize, ApiProblem> {
    ready(client, namespace, name).await.map_err(|it| it.problem)
}

async fn ready(client: &ApiClient, namespace: &str, name: &str) -> Result<usize, Unanswered> {
    let (Some(namespace), Some(name)) = (segment(namespace), segment(name)) else {
        return Err(ProblemCode::NoPath.into());
    };
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?limit={SLICES}&labelSelector=kubernetes.io%2Fservice-name%3D{name}"
    );
    let list = get::<List<Slice>>(client, &path).await?;
    let slices = list.into_iter().flat_map(|list| list.items);
    Ok(slices
        .flat_map(|slice| slice.endpoints.unwrap_or_default())
        .filter(|endpoint| endpoint.conditions.ready != Some(false))
        .count())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventObject {
    #[serde(default)]
    last_timestamp: Option<Timestamp>,
    #[serde(default)]
    event_time: Option<Timestamp>,
    #[serde(default)]
    series: Option<Series>,
    #[serde(default, rename = "type")]
    severity: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    reporting_component: Option<String>,
    #[serde(default)]
    source: Option<EventSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    #[serde(default)]
    last_observed_time: Option<Timestamp>,
}

#[derive(Deserialize)]
struct EventSource {
    #[serde(default)]
    component: Option<String>,
}

impl From<EventObject> for Event {
    fn from(event: EventObject) -> Self {
        let part = |text: Option<String>| Arc::from(bounded(&text.unwrap_or_default()));
        let source = event.source.and_then(|source| source.component);
        let by = event.reporting_component.filter(|by| !by.is_empty()).or(source);
        let series = event.series.and_then(|series| series.last_observed_time);
        Self {
            at: series.or(event.last_timestamp).or(event.event_time),
            warns: event.severity.as_deref() == Some("Warning"),
            by: part(by),
            reason: part(event.reason),
            message: part(event.message),
        }
    }
}

/// The Events about an object: in its namespace, or in `default` if it has none. A kubelet writes the name of its Node in
/// place of the UID, so those of a Node are found by name.
async fn events(client: &ApiClient, of: &ObjectRef, uid: &Uid) -> Result<Answer, Unanswered> {
    let namespace = segment(of.namespace.as_deref().unwrap_or("default"));
    let about = if of.group.is_empty() && &*of.kind == "Node" {
        segment(&of.name)
            .map(|name| format!("involvedObject.kind%3DNode%2CinvolvedObject.name%3D{name}"))
    } else {
        segment(&uid.to_string()).map(|uid| format!("involvedObject.uid%3D{uid}"))
    };
    let (Some(namespace), Some(about)) = (namespace, about) else {
        return Err(ProblemCode::NoPath.into());
    };
    let path =
        format!("/api/v1/namespaces/{namespace}/events?limit={EVENTS}&fieldSelector={about}");
    let list = get::<List<EventObject>>(client, &path).await?;
    let mut events: Vec<Event> =
        list.into_iter().flat_map(|list| list.items).map(Event::from).collect();
    events.sort();
    Ok(Answer::Events(events))
}

#[cfg(test)]
mod tests;
