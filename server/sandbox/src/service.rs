//! The sandbox at work: the tower service that kube's client can take in process, the task that lets controllers
//! have their turns, and the loopback port.

mod bell;
mod body;
mod port;

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::{BodyExt, Limited, combinators::UnsyncBoxBody};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};

pub use port::{Port, kubeconfig};

pub use crate::world::World;

use self::bell::{Bell, Ear};
use crate::{
    api::{self, Reply, Request},
    cluster::{Actor, Cluster},
    controller::Controllers,
    status::Status,
};

/// As much as a request may carry (`--max-request-body-bytes`).
const BODY: usize = 3 * 1024 * 1024;

/// What is sent back. A body that breaks off ends in an error.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A running sandbox. Clones are handles to the same one; it ends with the last of them.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    /// Whose requests come without credentials.
    actor: Option<Actor>,
}

struct Shared {
    world: Mutex<World>,
    /// For who waits for another revision.
    bell: Bell,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, World> {
        // Whoever panicked with the lock left a cluster that is still one: every verb changes one object at a time.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, revision: u64) {
        self.bell.tell(revision);
    }
}

impl Drop for Shared {
    /// Whoever waits finds that there is nothing any more.
    fn drop(&mut self) {
        self.bell.ring();
    }
}

impl Sandbox {
    /// Starts a sandbox: a cluster that begins at `start`, with these controllers. Needs a tokio runtime.
    #[must_use]
    pub fn start(start: Timestamp, seed: u64, controllers: Controllers) -> Self {
        Self::of(World::of(Cluster::new(start, seed), controllers))
    }

    /// Lets a world live. Needs a tokio runtime.
    #[must_use]
    pub fn of(world: World) -> Self {
        let bell = Bell::default();
        let ear = bell.listen();
        let shared = Arc::new(Shared { world: Mutex::new(world), bell });
        tokio::spawn(drive(Arc::downgrade(&shared), ear));
        Self { shared, actor: Some(Actor::admin()) }
    }

    /// The same sandbox, where requests without credentials speak as somebody else, or, with `None`, as nobody.
    #[must_use]
    pub fn speaking_as(&self, actor: Option<Actor>) -> Self {
        Self { shared: self.shared.clone(), actor }
    }

    /// Looks at, or changes, anything. Controllers and watches hear of it.
    pub fn with<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.shared.lock();
        let looked = look(&mut world);
        let revision = world.cluster.store.revision();
        drop(world);
        self.shared.tell(revision);
        looked
    }

    /// Wakes the controllers although nothing changed in the store: after a change of the clock or of a fault.
    pub fn wake(&self) {
        self.shared.bell.ring();
    }

    /// Answers one request.
    async fn answer<B>(self, request: http::Request<B>) -> io::Result<Response<Body>>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (mut parts, body) = request.into_parts();
        port::take_token(&mut parts);
        let limited = match Limited::new(body, BODY).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                Err(Status::too_large(BODY))
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        let actor = self.authenticate(&parts.headers);
        let (request, strike) = {
            let mut world = self.shared.lock();
            let now = world.cluster.now();
            match (actor, limited) {
                (Ok(actor), Ok(body)) => {
                    let request = Request::new(&parts, body, actor, now);
                    let strike = api::strike(&mut world.cluster, &request);
                    (request, strike)
                }
                (Err(status), _) | (_, Err(status)) => return Ok(respond(&status.into(), now)),
            }
        };
        if !strike.latency.is_zero() {
            tokio::time::sleep(strike.latency).await;
        }
        let (reply, now) = {
            let mut world = self.shared.lock();
            let now = world.cluster.now();
            let request = Request { time: now, ..request };
            let reply = api::answer(&mut world.cluster, &request, strike.action.as_ref());
            let revision = world.cluster.store.revision();
            drop(world);
            self.shared.tell(revision);
            (reply, now)
        };
        match reply.content {
            api::Content::Reset => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            api::Content::Watch(watch) => Ok(body::watching(&self.shared, *watch)),
            _ => Ok(respond(&reply, now)),
        }
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
        port::actor_of(token).ok_or_else(Status::unauthorized)
    }
}

/// The answer, dated by the cluster's clock.
fn respond(reply: &Reply, now: Timestamp) -> Response<Body> {
    let (sort, bytes) = reply.bytes();
    let body =
        http_body_util::Full::new(Bytes::from(bytes)).map_err(|never: Infallible| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = reply.code;
    if let Some(sort) = sort {
        response.headers_mut().insert(header::CONTENT_TYPE, sort);
    }
    // A year that HTTP cannot write has no date.
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

/// Lets controllers have their turns whenever something changed or one of them is due, and faults happen at their
/// time, for as long as there is a sandbox.
async fn drive(shared: std::sync::Weak<Shared>, mut ear: Ear) {
    loop {
        let until = {
            let Some(shared) = shared.upgrade() else { return };
            ear.mark();
            let mut world = shared.lock();
            let world = &mut *world;
            let due = world.turn();
            let until = due.and_then(|due| world.cluster.clock.instant(due));
            let revision = world.cluster.store.revision();
            // What the controllers did themselves they have seen; only watches wait for it.
            shared.tell(revision);
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
            () = ear.wait() => {}
            () = sleep => {}
        }
    }
}
