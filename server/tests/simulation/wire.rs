//! Between the server and the API server: what arrives is noted here, crashes and saboteurs strike here.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use sandbox::service::{Body, Sandbox};
use serde_json::Value;
use server::cluster::RequestBody;
use tower::Service;

use crate::{gate::Gate, ledger::Ledger, saboteur::Saboteur, story::Story, told::Told};

/// How long the network holds a call, with the saboteur whose calls outlive the process.
const HELD: Duration = Duration::from_secs(5);

/// How long a DELETE waits before it leaves, with the saboteur that does not hear what is said meanwhile.
const DEAF: Duration = Duration::from_secs(3);

/// Where namespaces are, of which the saboteur does not tell that they are gone.
const NAMESPACES: &str = "/api/v1/namespaces";

/// A DELETE as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// How many DELETEs of its UID had been announced durably by then.
    pub(crate) intents: u64,
    /// How many events of all runs were durable by then.
    pub(crate) durable: u64,
    /// The life of the server that sent it, from 0.
    pub(crate) life: u64,
    /// When it was sent, in milliseconds since the beginning.
    pub(crate) at: u64,
    /// When it was answered, or given up because its sender was dead; `None` while it is on its way.
    pub(crate) until: Option<u64>,
}

/// A DELETE on its way. It is until this goes.
struct Call {
    arrivals: Arrivals,
    number: usize,
    story: Story,
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut inner = self.arrivals.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrival) = inner.all.get_mut(self.number) {
            arrival.until = Some(self.story.now());
        }
    }
}

/// The arrivals of all lives, and at which the server dies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    all: Vec<Arrival>,
    /// The DELETE at which the server dies, and whether after its effect.
    cut: Option<(usize, bool)>,
}

impl Arrivals {
    /// Lets the server die at a DELETE, counted from now: before its effect, or after it.
    pub(crate) fn cut(&self, after: usize, with_effect: bool) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.cut = Some((inner.all.len() + after, with_effect));
    }

    pub(crate) fn all(&self) -> Vec<Arrival> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.len()
    }

    /// Notes one. Says its number, and whether the server dies of it, and if so whether after its effect.
    fn note(&self, arrival: Arrival) -> (usize, Option<bool>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = inner.all.len();
        inner.all.push(arrival);
        let cut = inner.cut.take_if(|(at, _)| *at <= number);
        (number, cut.map(|(_, with_effect)| with_effect))
    }
}

/// The way of one life of the server to the API server.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) sandbox: Sandbox,
    pub(crate) gate: Gate,
    pub(crate) ledger: Ledger,
    pub(crate) arrivals: Arrivals,
    pub(crate) told: Told,
    pub(crate) story: Story,
    pub(crate) saboteur: Option<Saboteur>,
    /// Which life of the server it is the way of.
    pub(crate) life: u64,
}

impl Wire {
    async fn carry(self, request: Request<RequestBody>) -> io::Result<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        if self.saboteur == Some(Saboteur::CachedGone) && is_list_of_pods(&parts.uri) {
            parts.uri = from_cache(&parts.uri);
        }
        if parts.method != Method::DELETE {
            return self.pass(Request::from_parts(parts, Full::new(body))).await;
        }
        let body = match self.saboteur {
            Some(Saboteur::NoPrecondition) => without_precondition(&body),
            Some(Saboteur::NoGrace) => without_grace(&body),
            _ => body,
        };
        if self.saboteur == Some(Saboteur::DeafToPause) {
            tokio::time::sleep(DEAF).await;
        }
        let answer = self.delete(Request::from_parts(parts.clone(), Full::new(body.clone()))).await;
        if self.saboteur == Some(Saboteur::RepeatByName) {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let body = Full::new(without_precondition(&body));
            return self.delete(Request::from_parts(parts, body)).await;
        }
        answer
    }

    async fn delete(&self, request: Request<Full<Bytes>>) -> io::Result<Response<Body>> {
        if self.gate.is_shut() {
            std::future::pending::<()>().await;
        }
        let path = request.uri().path().to_owned();
        let body = request.body().clone().collect().await.map(|body| body.to_bytes());
        let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
        let uid = body["preconditions"]["uid"].as_str().unwrap_or_default().to_owned();
        let (intents, durable) = self.ledger.durable(&uid);
        let (life, at) = (self.life, self.story.now());
        let arrival = Arrival { path, body, intents, durable, life, at, until: None };
        let (number, dies) = self.arrivals.note(arrival);
        let (arrivals, story) = (self.arrivals.clone(), self.story.clone());
        let call = Call { arrivals, number, story };
        if self.saboteur == Some(Saboteur::CallOutlives) {
            return self.outlive(request, call).await;
        }
        if dies == Some(false) {
            self.gate.shut("before a DELETE had its effect");
        }
        let answer = self.pass(request).await;
        if dies == Some(true) {
            self.gate.shut("after a DELETE had its effect");
            std::future::pending::<()>().await;
        }
        answer
    }

    /// The network holds the request for a while, and delivers it whether its sender still lives or not.
    async fn outlive(
        &self,
        request: Request<Full<Bytes>>,
        call: Call,
    ) -> io::Result<Response<Body>> {
        let mut sandbox = self.sandbox.clone();
        let held = tokio::spawn(async move {
            let _call = call;
            tokio::time::sleep(HELD).await;
            sandbox.call(request).await
        });
        held.await.map_err(io::Error::other)?
    }

    async fn pass(&self, request: Request<Full<Bytes>>) -> io::Result<Response<Body>> {
        if self.gate.is_shut() {
            std::future::pending::<()>().await;
        }
        let method = request.method().clone();
        let watches = request.uri().query().unwrap_or_default().contains("watch=");
        let path = request.uri().path().to_owned();
        let mut answer = self.sandbox.clone().call(request).await;
        if self.saboteur == Some(Saboteur::Unheard) && watches && path == NAMESPACES {
            answer = answer.map(without_ends);
        }
        let answer = answer.map(|answer| match (&method, answer.status().as_u16()) {
            (&Method::GET, 200) => self.told.listen(answer, self.life, &path, &self.story),
            _ => answer,
        });
        let said = match &answer {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(error) => error.to_string(),
        };
        if said != "200" || method == Method::DELETE {
            let watch = if watches { " (watch)" } else { "" };
            self.story.tell(format!("{method} {path}{watch}: {said}"));
        }
        answer
    }
}

/// Whether it is asked for the Pods of one namespace.
fn is_list_of_pods(uri: &Uri) -> bool {
    let path = uri.path();
    let watches = uri.query().unwrap_or_default().contains("watch=");
    path.starts_with(NAMESPACES) && path.ends_with("/pods") && !watches
}

/// As whoever is content with what a cache has.
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

/// A watch that never says that something is gone.
fn without_ends(watch: Response<Body>) -> Response<Body> {
    const GONE: &[u8] = br#""type":"DELETED""#;
    watch.map(|events| {
        let kept = events.map_frame(|frame| {
            frame.map_data(|event| {
                let is_end = event.windows(GONE.len()).any(|part| part == GONE);
                if is_end { Bytes::new() } else { event }
            })
        });
        kept.boxed_unsync()
    })
}

impl Service<Request<RequestBody>> for Wire {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Box::pin(self.clone().carry(request))
    }
}
