//! An API server in a closure, for tests. It maps a request to a response, without a socket and without a clock.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use teardown::{
    action::{Action, ActionTarget},
    api_problem::ApiProblem,
    object::{Kind, ObjectRef, Uid},
    plan::StepId,
};
use tokio::sync::mpsc;
use tower::service_fn;

use super::request::ApiClient;
use crate::metrics::ApiMetrics;

/// A request as the fake saw it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: String,
    /// Path and query.
    pub(super) path: String,
    pub(super) accept: String,
    pub(super) body: String,
}

impl Seen {
    /// The value of a query parameter.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    /// The path without its query.
    pub(super) fn bare(&self) -> &str {
        self.path.split('?').next().unwrap()
    }

    pub(super) fn is_watch(&self) -> bool {
        self.query("watch") == Some("true") || self.query("watch") == Some("1")
    }
}

/// The fake's reaction to a request.
pub(super) enum Reply {
    /// A code and a body.
    Answer(u16, String),
    /// As [`Reply::Answer`], with a `Retry-After`.
    Later(u16, &'static str, String),
    /// As [`Reply::Answer`], with a `Content-Type`.
    Typed(u16, &'static str, String),
    /// As [`Reply::Answer`], with a `Date`.
    Dated(&'static str, String),
    /// The connection breaks.
    Broken,
    /// The request is never answered.
    Silence,
    /// 200 with the chunks of this channel until the sender is dropped; an error breaks the connection.
    Stream(mpsc::UnboundedReceiver<Result<String, &'static str>>),
}

/// Every request so far.
pub(super) type Log = Arc<Mutex<Vec<Seen>>>;

/// A client whose API server is this closure.
pub(super) fn client(
    answer: impl Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
) -> (ApiClient, Log) {
    let log = Log::default();
    let seen_so_far = log.clone();
    let answer = Arc::new(answer);
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let (answer, log) = (answer.clone(), seen_so_far.clone());
        async move {
            let (namespace_watches, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let seen = Seen {
                method: namespace_watches.method.to_string(),
                path: namespace_watches.uri.to_string(),
                accept: namespace_watches.headers["accept"].to_str().unwrap().to_owned(),
                body: String::from_utf8(body.to_vec()).unwrap(),
            };
            log.lock().unwrap().push(seen.clone());
            let (code, header, body) = match answer(seen).await {
                Reply::Answer(code, body) => (code, None, Body::from(body)),
                Reply::Later(code, after, body) => {
                    (code, Some(("retry-after", after)), Body::from(body))
                }
                Reply::Typed(code, media_type, body) => {
                    (code, Some(("content-type", media_type)), Body::from(body))
                }
                Reply::Dated(date, body) => (200, Some(("date", date)), Body::from(body)),
                Reply::Broken => {
                    return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
                }
                Reply::Silence => std::future::pending().await,
                Reply::Stream(receiver) => {
                    let chunks = futures::stream::unfold(receiver, async |mut receiver| {
                        let chunk = receiver.recv().await?;
                        Some((chunk.map(Bytes::from).map_err(std::io::Error::other), receiver))
                    });
                    (200, None, Body::from_stream(chunks))
                }
            };
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            if let Some((name, value)) = header {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            Ok::<_, std::io::Error>(response)
        }
    });
    (ApiClient::new(Client::new(service, "default"), ApiMetrics::default()), log)
}

/// An answer that is ready at once.
pub(super) fn now(code: u16, body: impl Into<String>) -> BoxFuture<'static, Reply> {
    let reply = Reply::Answer(code, body.into());
    Box::pin(std::future::ready(reply))
}

/// The quoted text or the code, in the form that tests compare.
pub(super) fn words(problem: &ApiProblem) -> String {
    match problem {
        ApiProblem::Quoted(text) => text.clone(),
        ApiProblem::Code(code) => format!("{code:?}"),
    }
}

/// A claim, as a call names it.
pub(super) fn claim_target(namespace: &str, name: &str) -> ActionTarget {
    let kind = "PersistentVolumeClaim";
    ActionTarget {
        kind: Kind {
            group: "".into(),
            kind: kind.into(),
            version: "v1".into(),
            plural: "persistentvolumeclaims".into(),
            namespaced: true,
        },
        object: ObjectRef {
            group: "".into(),
            kind: kind.into(),
            namespace: Some(namespace.into()),
            name: name.into(),
        },
        uid: Uid::new("u"),
        version: None,
    }
}

/// The read of a namespace's Pods before a claim of it goes.
pub(super) fn read_pods_action(namespace: &str) -> Action {
    Action::ReadPods { step: StepId(0), target: claim_target(namespace, "data") }
}
