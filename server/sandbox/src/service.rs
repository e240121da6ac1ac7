//! A running sandbox: the tower service that kube's client can call in process, the task that runs the controllers, and
//! the loopback port.

mod signal;
mod body;
mod port;

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::{BodyExt, Limited, combinators::UnsyncBoxBody};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};

pub use port::Port;

use self::signal::{RevisionListener, RevisionSignal};
use crate::{
    api::{self, Reply, Request},
    cluster::{Actor, Cluster},
    control_plane::ControlPlane,
    controller::Controllers,
    status::Status,
};

/// The largest body that a request may have (`--max-request-body-bytes`).
const BODY: usize = 3 * 1024 * 1024;

/// The time for the body of a request to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of an answer. A body that breaks off ends in an error.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A handle to a running sandbox. The sandbox ends with its last handle.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    /// The actor of requests without credentials; `None` for an anonymous one.
    actor: Option<Actor>,
}

struct Shared {
    control_plane: Mutex<ControlPlane>,
    /// Wakes the tasks that wait for another revision.
    signal: RevisionSignal,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ControlPlane> {
        // A panic while the lock is held leaves a consistent cluster, because every verb changes one object at a time.
        self.control_plane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal_change(&self, revision: u64) {
        self.signal.signal_change(revision);
    }
}

impl Drop for Shared {
    /// Wakes every waiter, which then finds that the sandbox has ended.
    fn drop(&mut self) {
        self.signal.wake_all();
    }
}

impl Sandbox {
    /// Starts a sandbox with a cluster whose clock begins at `start`, and these controllers. Needs a tokio runtime.
    #[must_use]
    pub fn start(start: Timestamp, seed: u64, controllers: Controllers) -> Self {
        Self::of(ControlPlane::of(Cluster::new(start, seed), controllers))
    }

    /// Starts a sandbox with this control plane. Needs a tokio runtime.
    #[must_use]
    pub fn of(control_plane: ControlPlane) -> Self {
        let signal = RevisionSignal::default();
        let listener = signal.listen();
        let shared = Arc::new(Shared { control_plane: Mutex::new(control_plane), signal });
        tokio::spawn(drive(Arc::downgrade(&shared), listener));
        Self { shared, actor: Some(Actor::admin()) }
    }

    /// A handle to the same sandbox for which requests without credentials have another actor, or with `None` are
    /// anonymous.
    #[must_use]
    pub fn speaking_as(&self, actor: Option<Actor>) -> Self {
        Self { shared: self.shared.clone(), actor }
    }

    /// Reads or changes the control plane. Controllers and watches observe the change.
    pub fn with<T>(&self, look: impl FnOnce(&mut ControlPlane) -> T) -> T {
        let mut control_plane = self.shared.lock();
        let looked = look(&mut control_plane);
        let revision = control_plane.cluster.store.revision();
        drop(control_plane);
        self.shared.signal_change(revision);
        looked
    }

    /// Runs the controllers although nothing changed in the store: after a change of the clock or of the faults.
    pub fn wake(&self) {
        self.shared.signal.wake_all();
    }

    /// Answers one request.
    async fn answer<B>(self, request: http::Request<B>) -> io::Result<Response<Body>>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let body = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BODY).collect()).await;
        let limited = match body {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err(Status::too_large(BODY))
            }
            Ok(Err(error)) => return Err(io::Error::other(error)),
            Err(_) => {
                let late = Status::plain(408, "the body of the request did not arrive in time");
                let mut response = self.refuse(late);
                // The rest of the body may still come.
                let close = http::HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
                return Ok(response);
            }
        };
        let actor = self.authenticate(&parts.headers);
        let (request, injection) = {
            let mut control_plane = self.shared.lock();
            let now = control_plane.cluster.now();
            match (actor, limited) {
                (Ok(actor), Ok(body)) => {
                    let request = Request::new(&parts, body, actor, now);
                    let injection = api::inject_faults(&mut control_plane.cluster, &request);
                    (request, injection)
                }
                (Err(status), _) | (_, Err(status)) => return Ok(respond(&status.into(), now)),
            }
        };
        if !injection.latency.is_zero() {
            tokio::time::sleep(injection.latency).await;
        }
        let (reply, now) = {
            let mut control_plane = self.shared.lock();
            let now = control_plane.cluster.now();
            let request = Request { time: now, ..request };
            let ControlPlane { cluster, controllers, .. } = &mut *control_plane;
            let kubelets = &controllers.node_faults;
            let reply = api::answer(cluster, kubelets, &request, injection.action.as_ref());
            let revision = control_plane.cluster.store.revision();
            drop(control_plane);
            self.shared.signal_change(revision);
            (reply, now)
        };
        match reply.content {
            api::Content::Reset => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            api::Content::Watch(watch) => Ok(body::watching(&self.shared, *watch)),
            _ => Ok(respond(&reply, now)),
        }
    }

    /// The answer to a request that is refused before the API server sees it.
    fn refuse(&self, status: Status) -> Response<Body> {
        let now = self.shared.lock().cluster.now();
        respond(&status.into(), now)
    }

    fn authenticate(&self, headers: &http::HeaderMap) -> Result<Actor, Status> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            let anonymous = || Actor {
                name: "system:anonymous".into(),
                groups: vec!["system:unauthenticated".into()],
                ..Actor::default()
            };
            return Ok(self.actor.clone().unwrap_or_else(anonymous));
        };
        let token =
            value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        actor_of(token).ok_or_else(Status::unauthorized)
    }
}

/// The actor of a token: a ServiceAccount, or `user:NAME[:GROUP,...]`. Within the process a token is not a secret.
fn actor_of(token: &str) -> Option<Actor> {
    if let Some(account) = api::account_of(token) {
        return Some(account);
    }
    let (name, groups) =
        token.strip_prefix("user:").map(|user| user.split_once(':').unwrap_or((user, "")))?;
    let mut groups: Vec<String> =
        groups.split(',').filter(|group| !group.is_empty()).map(String::from).collect();
    groups.push("system:authenticated".into());
    Some(Actor { name: name.into(), groups, ..Actor::default() })
}

/// An HTTP response, dated by the cluster's clock.
fn respond(reply: &Reply, now: Timestamp) -> Response<Body> {
    let (sort, bytes) = reply.bytes();
    let body =
        http_body_util::Full::new(Bytes::from(bytes)).map_err(|never: Infallible| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = reply.code;
    if let Some(sort) = sort {
        response.headers_mut().insert(header::CONTENT_TYPE, sort);
    }
    // HTTP cannot write a year with more than four digits.
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
    if let Ok(date) = date.parse() {
        response.headers_mut().insert(header::DATE, date);
    }
    if let Some(tag) = reply.tag() {
        response.headers_mut().insert(header::ETAG, tag);
        response.headers_mut().insert(header::VARY, http::HeaderValue::from_static("Accept"));
        let public = http::HeaderValue::from_static("public");
        response.headers_mut().insert(header::CACHE_CONTROL, public);
    }
    if let Some(seconds) = reply.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    if reply.code == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    }
    response
}

impl<B> tower::Service<http::Request<B>> for Sandbox
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

/// Runs the controllers whenever something changed or one of them is due, and applies the faults at their times, until
/// the sandbox ends.
async fn drive(shared: std::sync::Weak<Shared>, mut listener: RevisionListener) {
    loop {
        let until = {
            let Some(shared) = shared.upgrade() else { return };
            listener.mark();
            let mut control_plane = shared.lock();
            let control_plane = &mut *control_plane;
            let due = control_plane.run_until_idle();
            let until = due.and_then(|due| control_plane.cluster.clock.instant(due));
            let revision = control_plane.cluster.store.revision();
            // The controllers have observed their own changes; only watches wait for them.
            shared.signal_change(revision);
            until
        };
        let sleep = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = listener.wait() => {}
            () = sleep => {}
        }
    }
}
