//! The transport between the server and the API server. It records DELETEs, and crashes and mutants act here.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use sandbox::service::{Body, Sandbox};
use serde_json::Value;
use server::cluster::RequestBody;
use tower::Service;

use crate::{
    disk::Disk, kill_switch::KillSwitch, mutant::Mutant, observed_versions::ObservedVersions,
    transcript::Transcript,
};

/// The time for which the network delays a call, with the mutant whose calls outlive the server.
const CALL_DELAY: Duration = Duration::from_secs(5);

/// The time for which a DELETE waits before it leaves, with the mutant that ignores commands.
const SEND_DELAY: Duration = Duration::from_secs(3);

/// The collection of namespaces, whose deletions one of the mutants drops.
const NAMESPACES: &str = "/api/v1/namespaces";

/// A DELETE as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// The number of durable intents to delete its UID by then.
    pub(crate) intents: u64,
    /// The number of durable events of all runs by then.
    pub(crate) durable: u64,
    /// The server instance that sent it, from 0.
    pub(crate) instance: u64,
    /// When it was sent, in milliseconds since the start.
    pub(crate) at: u64,
    /// When it was answered, or abandoned because its sender was dead; `None` while it is in flight.
    pub(crate) until: Option<u64>,
}

/// A DELETE in flight, until this is dropped.
struct Call {
    arrivals: Arrivals,
    number: usize,
    transcript: Transcript,
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut inner = self.arrivals.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrival) = inner.all.get_mut(self.number) {
            arrival.until = Some(self.transcript.now());
        }
    }
}

/// The arrivals from all server instances, and the one at which the server crashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    all: Vec<Arrival>,
    /// The number of the DELETE at which the server crashes, and whether after its effect.
    crash_point: Option<(usize, bool)>,
}

impl Arrivals {
    /// Crashes the server at a later DELETE, before its effect or after it: 0 is the next one.
    pub(crate) fn crash_at_delete(&self, after: usize, with_effect: bool) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.crash_point = Some((inner.all.len() + after, with_effect));
    }

    pub(crate) fn all(&self) -> Vec<Arrival> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.len()
    }

    /// Adds an arrival. Returns its number and, where the server crashes at it, whether after its effect.
    fn note(&self, arrival: Arrival) -> (usize, Option<bool>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = inner.all.len();
        inner.all.push(arrival);
        let crash_point = inner.crash_point.take_if(|(at, _)| *at <= number);
        (number, crash_point.map(|(_, with_effect)| with_effect))
    }
}

/// The transport of one server instance.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) sandbox: Sandbox,
    pub(crate) kill_switch: KillSwitch,
    pub(crate) disk: Disk,
    pub(crate) arrivals: Arrivals,
    pub(crate) observed: ObservedVersions,
    pub(crate) transcript: Transcript,
    pub(crate) mutant: Option<Mutant>,
    /// The number of the instance.
    pub(crate) instance: u64,
}

impl Transport {
    async fn send(self, request: Request<RequestBody>) -> io::Result<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        if self.mutant == Some(Mutant::StaleRead) && is_list_of_pods(&parts.uri) {
            parts.uri = from_cache(&parts.uri);
        }
        if self.mutant == Some(Mutant::OtherContent) && is_list_of_content(&parts.uri) {
            parts.uri = in_another_namespace(&parts.uri);
        }
        if parts.method != Method::DELETE {
            return self.forward(Request::from_parts(parts, Full::new(body))).await;
        }
        let body = match self.mutant {
            Some(Mutant::NoPrecondition) => without_precondition(&body),
            Some(Mutant::NoGracePeriod) => without_grace(&body),
            _ => body,
        };
        if self.mutant == Some(Mutant::IgnoredCommands) {
            tokio::time::sleep(SEND_DELAY).await;
        }
        let answer = self.delete(Request::from_parts(parts.clone(), Full::new(body.clone()))).await;
        if self.mutant == Some(Mutant::TimeoutAsRefusal) {
            return answer.map(as_refusal);
        }
        if self.mutant == Some(Mutant::RepeatByName) {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let body = Full::new(without_precondition(&body));
            return self.delete(Request::from_parts(parts, body)).await;
        }
        answer
    }

    async fn delete(&self, request: Request<Full<Bytes>>) -> io::Result<Response<Body>> {
        if self.kill_switch.is_tripped() {
            std::future::pending::<()>().await;
        }
        let path = request.uri().path().to_owned();
        let body = request.body().clone().collect().await.map(|body| body.to_bytes());
        let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
        let uid = body["preconditions"]["uid"].as_str().unwrap_or_default().to_owned();
        let (intents, durable) = self.disk.durable(&uid);
        let (instance, at) = (self.instance, self.transcript.now());
        let arrival = Arrival { path, body, intents, durable, instance, at, until: None };
        let (number, dies) = self.arrivals.note(arrival);
        let (arrivals, transcript) = (self.arrivals.clone(), self.transcript.clone());
        let call = Call { arrivals, number, transcript };
        if self.mutant == Some(Mutant::CallOutlivesServer) {
            return self.deliver_late(request, call).await;
        }
        if dies == Some(false) {
            self.kill_switch.trip("before a DELETE had its effect");
        }
        let answer = self.forward(request).await;
        if dies == Some(true) {
            self.kill_switch.trip("after a DELETE had its effect");
            std::future::pending::<()>().await;
        }
        answer
    }

    /// Delays the request in the network, and delivers it whether its sender still lives or not.
    async fn deliver_late(
        &self,
        request: Request<Full<Bytes>>,
        call: Call,
    ) -> io::Result<Response<Body>> {
        let mut sandbox = self.sandbox.clone();
        let held = tokio::spawn(async move {
            let _call = call;
            tokio::time::sleep(CALL_DELAY).await;
            sandbox.call(request).await
        });
        held.await.map_err(io::Error::other)?
    }

    async fn forward(&self, request: Request<Full<Bytes>>) -> io::Result<Response<Body>> {
        if self.kill_switch.is_tripped() {
            std::future::pending::<()>().await;
        }
        let method = request.method().clone();
        let watches = request.uri().query().unwrap_or_default().contains("watch=");
        let path = request.uri().path().to_owned();
        let mut answer = self.sandbox.clone().call(request).await;
        if self.mutant == Some(Mutant::DroppedNamespaceDeletion) && watches && path == NAMESPACES {
            answer = answer.map(without_deletions);
        }
        if self.mutant == Some(Mutant::NoAttachments) && watches && path.ends_with("attachments") {
            answer = answer.map(without_additions);
        }
        if self.mutant == Some(Mutant::ForgedRetention)
            && watches
            && path.ends_with("/persistentvolumes")
        {
            answer = answer.map(with_forged_retention);
        }
        if self.mutant == Some(Mutant::ForgedSuspension)
            && watches
            && path.ends_with("/kustomizations")
        {
            answer = answer.map(with_forged_suspension);
        }
        if self.mutant == Some(Mutant::ForgedEnd) && watches && path.ends_with("/pods") {
            answer = answer.map(with_forged_ends);
        }
        let answer = answer.map(|answer| match (&method, answer.status().as_u16()) {
            (&Method::GET, 200) => self.observed.record_answer(
                answer,
                self.instance,
                (&path, watches),
                &self.transcript,
            ),
            _ => answer,
        });
        let status = match &answer {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(error) => error.to_string(),
        };
        if status != "200" || method == Method::DELETE {
            let watch = if watches { " (watch)" } else { "" };
            self.transcript.log(format!("{method} {path}{watch}: {status}"));
        }
        answer
    }
}

/// Whether a request lists the Pods of one namespace.
fn is_list_of_pods(uri: &Uri) -> bool {
    let path = uri.path();
    let watches = uri.query().unwrap_or_default().contains("watch=");
    path.starts_with(NAMESPACES) && path.ends_with("/pods") && !watches
}

/// Whether a request lists one kind in one namespace, except for Pods.
fn is_list_of_content(uri: &Uri) -> bool {
    let is_list = uri.query().unwrap_or_default().starts_with("limit=");
    is_list && uri.path().contains("/namespaces/") && !is_list_of_pods(uri)
}

/// The same list in a namespace that has no content.
fn in_another_namespace(uri: &Uri) -> Uri {
    let (root, inside) = uri.path().split_once("/namespaces/").unwrap_or_default();
    let plural = inside.rsplit('/').next().unwrap_or_default();
    let query = uri.query().unwrap_or_default();
    let elsewhere = format!("{root}/namespaces/kube-public/{plural}?{query}");
    elsewhere.parse().unwrap_or_else(|_| uri.clone())
}

/// An answer that came too late, as if the request had been refused.
fn as_refusal(mut answer: Response<Body>) -> Response<Body> {
    if answer.status() == StatusCode::REQUEST_TIMEOUT {
        *answer.status_mut() = StatusCode::BAD_REQUEST;
    }
    answer
}

/// The same list, read from the cache.
fn from_cache(uri: &Uri) -> Uri {
    let query = uri.query().unwrap_or_default();
    let cached = format!("{}?{query}&resourceVersion=0", uri.path());
    cached.parse().unwrap_or_else(|_| uri.clone())
}

fn without_precondition(body: &[u8]) -> Bytes {
    let mut options: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(options) = options.as_object_mut() {
        options.remove("preconditions");
    }
    options.to_string().into()
}

fn without_grace(body: &[u8]) -> Bytes {
    let mut options: Value = serde_json::from_slice(body).unwrap_or_default();
    options["gracePeriodSeconds"] = 0.into();
    options.to_string().into()
}

/// A watch without objects.
fn without_additions(watch: Response<Body>) -> Response<Body> {
    with_each(watch, |event| {
        let is_object = [r#""type":"ADDED""#, r#""type":"MODIFIED""#];
        let is_one = |part: &&str| event.windows(part.len()).any(|it| it == part.as_bytes());
        if is_object.iter().any(is_one) { Bytes::new() } else { event }
    })
}

/// A watch whose terminating Pods have ended.
fn with_forged_ends(watch: Response<Body>) -> Response<Body> {
    with_each(watch, |event| {
        let text = String::from_utf8_lossy(&event);
        if !text.contains("deletionTimestamp") {
            return event;
        }
        let ended = text.replace(r#""running":{"#, r#""terminated":{"#);
        Bytes::from(ended.replace(r#""phase":"Running""#, r#""phase":"Failed""#))
    })
}

/// A watch whose volumes are all retained.
fn with_forged_retention(watch: Response<Body>) -> Response<Body> {
    with_each(watch, |event| {
        let text = String::from_utf8_lossy(&event);
        Bytes::from(text.replace(
            r#""persistentVolumeReclaimPolicy":"Delete""#,
            r#""persistentVolumeReclaimPolicy":"Retain""#,
        ))
    })
}

/// A watch whose Kustomizations are all suspended.
fn with_forged_suspension(watch: Response<Body>) -> Response<Body> {
    with_each(watch, |event| {
        let text = String::from_utf8_lossy(&event);
        Bytes::from(text.replace(r#""suspend":false"#, r#""suspend":true"#))
    })
}

fn with_each(watch: Response<Body>, change: fn(Bytes) -> Bytes) -> Response<Body> {
    watch.map(|events| events.map_frame(move |frame| frame.map_data(change)).boxed_unsync())
}

/// A watch without deletions.
fn without_deletions(watch: Response<Body>) -> Response<Body> {
    const GONE: &[u8] = br#""type":"DELETED""#;
    watch.map(|events| {
        let kept = events.map_frame(|frame| {
            frame.map_data(|event| {
                let is_deletion = event.windows(GONE.len()).any(|part| part == GONE);
                if is_deletion { Bytes::new() } else { event }
            })
        });
        kept.boxed_unsync()
    })
}

impl Service<Request<RequestBody>> for Transport {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}
