//! The transport between the server and the API server: something may change in the cluster in the moment before a change that
//! the server sends, or right after it, before the server has the answer.

use std::{
    io, mem,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use sandbox::{
    control_plane::ControlPlane,
    service::{Body, Sandbox},
};
use serde_json::Value;
use server::cluster::RequestBody;
use tower::Service;

type Change = Box<dyn FnOnce(&mut ControlPlane) + Send>;

/// A change that comes once.
#[derive(Clone, Default)]
struct Once(Arc<Mutex<Option<Change>>>);

impl Once {
    fn arm(&self, change: impl FnOnce(&mut ControlPlane) + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(change));
    }

    fn take(&self) -> Option<Change> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_armed(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// The changes that come in between.
#[derive(Clone, Default)]
pub(crate) struct Interruption {
    before: Once,
    after: Once,
}

impl Interruption {
    /// Has this happen before the next change of the server arrives.
    pub(crate) fn arm(&self, change: impl FnOnce(&mut ControlPlane) + Send + 'static) {
        self.before.arm(change);
    }

    /// Has this happen once the next change of the server is made, before the server has the answer.
    pub(crate) fn arm_after(&self, change: impl FnOnce(&mut ControlPlane) + Send + 'static) {
        self.after.arm(change);
    }

    /// Whether one of them has not happened yet.
    pub(crate) fn is_armed(&self) -> bool {
        self.before.is_armed() || self.after.is_armed()
    }
}

#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) sandbox: Sandbox,
    pub(crate) interruption: Interruption,
}

impl Transport {
    async fn send(self, request: Request<RequestBody>) -> io::Result<Response<Body>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let is_dry = parts.uri.query().is_some_and(|query| query.contains("dryRun"))
            || !sent["dryRun"].is_null();
        // A review of rights or of the own name is a POST that changes nothing.
        let is_change = parts.method != Method::GET && !parts.uri.path().ends_with("reviews");
        let is_real = is_change && !is_dry;
        let mut sandbox = self.sandbox;
        if is_real && let Some(change) = self.interruption.before.take() {
            sandbox.with(change);
        }
        let answer = sandbox.call(Request::from_parts(parts, Full::new(body))).await;
        if is_real && let Some(change) = self.interruption.after.take() {
            sandbox.with(change);
        }
        answer
    }
}

impl Service<Request<RequestBody>> for Transport {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}
