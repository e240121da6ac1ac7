//! Sends one request to the API server with a deadline, counts it, and returns the code, headers and body of the answer.
//! This module does not retry and does not log; the caller judges the answer.

use std::{sync::Arc, time::Duration};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use jiff::{Timestamp, fmt::rfc2822};
use kube::client::{Body, Client};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    object::{Kind, ObjectRef},
};
use tokio::{sync::Notify, time::timeout};

use super::{
    status::{self, Status},
    text::{bounded, chain},
};
use crate::metrics::{ApiMetrics, CallOutcome, Verb};

/// The largest body or line that is read. It is above a plausible page of the largest objects in etcd (1.5 MiB), and
/// below the size that would exhaust the memory.
const LARGEST: usize = 256 << 20;

/// A client of the API server whose requests are counted.
#[derive(Clone)]
pub(super) struct ApiClient {
    client: Client,
    metrics: ApiMetrics,
    /// Notified of answers about kinds that are served otherwise than discovery found them.
    unserved: Option<Arc<Notify>>,
}

impl ApiClient {
    /// Counts the requests of `client` in `metrics`.
    pub(super) fn new(client: Client, metrics: ApiMetrics) -> Self {
        Self { client, metrics, unserved: None }
    }

    /// The same client, which notifies `unserved` when an answer says that the kind is not served in this version, or not with
    /// this verb.
    pub(super) fn noticing(&self, unserved: Arc<Notify>) -> Self {
        Self { unserved: Some(unserved), ..self.clone() }
    }

    /// The counters.
    pub(super) fn metrics(&self) -> &ApiMetrics {
        &self.metrics
    }

    /// The namespace of the kubeconfig's context.
    pub(super) fn default_namespace(&self) -> &str {
        self.client.default_namespace()
    }
}

/// An answer with any status code.
#[derive(Debug)]
pub(super) struct Answer {
    /// The HTTP status code.
    pub(super) code: u16,
    /// `Retry-After`, if it is in seconds, as the API server sends it.
    pub(super) retry_after: Option<Duration>,
    /// `Date`: the time of the API server's clock.
    pub(super) date: Option<Timestamp>,
    /// `Content-Type` in lower case without its parameters; empty if there is none.
    pub(super) media_type: String,
    /// The complete body.
    pub(super) body: Bytes,
}

impl Answer {
    /// Whether the request succeeded.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether it says that the kind is not served in this version, or not with this verb. A 404 about an object, or about its
    /// namespace, has the name of that.
    fn is_about_endpoint(&self) -> bool {
        if !matches!(self.code, 404 | 405) {
            return false;
        }
        let status = Status::read(&self.body);
        // A webhook chooses its code freely.
        if status.as_ref().is_some_and(Status::is_denial) {
            return false;
        }
        let is_named = |status: Status| status.details.is_some_and(|it| !it.name.is_empty());
        self.code == 405 || !status.is_some_and(is_named)
    }

    /// The message in the body.
    pub(super) fn message(&self) -> ApiProblem {
        status::message(self.code, &self.body)
    }
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No answer arrived in time.
    Silence(Duration),
    /// The connection could not be made or broke.
    Connection(String),
    /// The credentials could not be obtained. The plugin's output is left out, because it may hold a token.
    Credentials,
    /// A body or a line is larger than anything the API server sends.
    TooLarge,
}

impl From<&Failure> for ApiProblem {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Silence(waited) => ProblemCode::Timeout { seconds: waited.as_secs() }.into(),
            Failure::Connection(said) => Self::Quoted(said.clone()),
            Failure::Credentials => ProblemCode::Credentials.into(),
            Failure::TooLarge => ProblemCode::TooLarge { mebibytes: LARGEST as u64 >> 20 }.into(),
        }
    }
}

/// A GET of `path` that accepts this media type.
pub(super) fn get(path: &str, accept: &str) -> Result<Request<Body>, Failure> {
    build(Method::GET, path, accept, Body::empty())
}

/// A DELETE of `path` with a JSON body that accepts this media type, because the answer may hold the object.
pub(super) fn delete(path: &str, accept: &str, body: Vec<u8>) -> Result<Request<Body>, Failure> {
    build(Method::DELETE, path, accept, Body::from(body))
}

/// A request with a JSON body of this media type, if it has one; the answer is JSON.
pub(super) fn with_body(
    method: Method,
    path: &str,
    body: Option<(&'static str, &serde_json::Value)>,
) -> Result<Request<Body>, Failure> {
    let (content, body) = match body {
        Some((content, body)) => (content, Body::from(body.to_string().into_bytes())),
        None => (JSON, Body::empty()),
    };
    let mut request = build(method, path, JSON, body)?;
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content));
    Ok(request)
}

/// Plain JSON.
pub(super) const JSON: &str = "application/json";
/// A JSON patch (RFC 6902).
pub(super) const JSON_PATCH: &str = "application/json-patch+json";

fn build(method: Method, path: &str, accept: &str, body: Body) -> Result<Request<Body>, Failure> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, accept)
        .header(header::CONTENT_TYPE, JSON)
        .body(body)
        .map_err(|error| Failure::Connection(chain(&error)))
}

/// Sends the request, if it could be made, and reads the whole answer within `deadline`.
pub(super) async fn ask(
    client: &ApiClient,
    request: Result<Request<Body>, Failure>,
    deadline: Duration,
) -> Result<Answer, Failure> {
    ask_at_most(client, request?, deadline, LARGEST).await
}

/// The same with a limit on the body in bytes.
pub(super) async fn ask_at_most(
    client: &ApiClient,
    request: Request<Body>,
    deadline: Duration,
    largest: usize,
) -> Result<Answer, Failure> {
    let call = client.metrics.begin(verb(&request));
    let answer =
        timeout(deadline, async { read(send(&client.client, request).await?, largest).await })
            .await
            .unwrap_or(Err(Failure::Silence(deadline)));
    call.end(answer.as_ref().map_or_else(outcome, |answer| CallOutcome::Answered(answer.code)));
    if let (Some(unserved), Ok(answer)) = (&client.unserved, &answer)
        && answer.is_about_endpoint()
    {
        unserved.notify_one();
    }
    answer
}

/// The verb that Kubernetes has for a request of this module.
fn verb(request: &Request<Body>) -> Verb {
    let query = request.uri().query().unwrap_or_default();
    match *request.method() {
        Method::DELETE => Verb::Delete,
        Method::PATCH => Verb::Patch,
        Method::PUT => Verb::Update,
        Method::POST => Verb::Create,
        _ if query.split('&').any(|pair| pair == "watch=true") => Verb::Watch,
        _ if query.starts_with("limit=") => Verb::List,
        _ => Verb::Get,
    }
}

fn outcome(failure: &Failure) -> CallOutcome {
    match failure {
        Failure::Silence(_) => CallOutcome::Timeout,
        Failure::Connection(_) | Failure::TooLarge => CallOutcome::Connection,
        Failure::Credentials => CallOutcome::Credentials,
    }
}

/// Sends the request and returns the lines of the answer as a stream; `deadline` limits its start. An answer that is not
/// a success is read to its end instead.
pub(super) async fn open(
    client: &ApiClient,
    request: Request<Body>,
    deadline: Duration,
) -> Result<Result<Lines, Answer>, Failure> {
    let call = client.metrics.begin(verb(&request));
    let opened = timeout(deadline, async {
        let response = send(&client.client, request).await?;
        if response.status().is_success() {
            Ok(Ok(Lines { body: response.into_body(), buffer: BytesMut::new(), searched: 0 }))
        } else {
            read(response, LARGEST).await.map(Err)
        }
    })
    .await
    .unwrap_or(Err(Failure::Silence(deadline)));
    call.end(match &opened {
        Ok(Ok(_)) => CallOutcome::Answered(200),
        Ok(Err(answer)) => CallOutcome::Answered(answer.code),
        Err(failure) => outcome(failure),
    });
    opened
}

async fn send(client: &Client, request: Request<Body>) -> Result<Response<Body>, Failure> {
    client.send(request).await.map_err(|error| match error {
        kube::Error::Auth(_) => Failure::Credentials,
        // These two wrap the error that matters, so only that is kept.
        kube::Error::Service(error) => Failure::Connection(chain(&*error)),
        kube::Error::HyperError(error) => Failure::Connection(chain(&error)),
        error => Failure::Connection(chain(&error)),
    })
}

async fn read(response: Response<Body>, largest: usize) -> Result<Answer, Failure> {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.trim().parse::<u32>().ok())
        .map(|seconds| Duration::from_secs(seconds.into()));
    // HTTP's dates are valid dates of RFC 2822: a weekday, a day, a time, GMT.
    let date = response
        .headers()
        .get(header::DATE)
        .and_then(|value| rfc2822::parse(value.to_str().ok()?).ok())
        .map(|date| date.timestamp());
    let media_type = response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok()?.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase())
        .unwrap_or_default();
    let body = Limited::new(response.into_body(), largest).collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            Failure::TooLarge
        } else {
            Failure::Connection(bounded(&error.to_string()))
        }
    })?;
    Ok(Answer { code, retry_after, date, media_type, body: body.to_bytes() })
}

/// The lines of an answer that does not end by itself, which is a watch. The body is a stream of frames with trailers, not the
/// `AsyncRead` that the line codecs of tokio-util read.
#[derive(Debug)]
pub(super) struct Lines {
    body: Body,
    buffer: BytesMut,
    /// The length of the start of the buffer that has no line break.
    searched: usize,
}

impl Lines {
    /// Returns the next complete line, or `None` at the end of the answer. An incomplete last line is dropped, because a
    /// resumed watch sends it again. Cancelling it loses no data.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + end).freeze();
                self.buffer.advance(1);
                self.searched = 0;
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > LARGEST {
                return Err(Failure::TooLarge);
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(Failure::Connection(chain(&error))),
            }
        }
    }
}

/// The characters that are escaped in a segment of a path. Names have a `:` often, as in `system:node`.
const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Escapes a name as one segment of a path. Names in RBAC groups may hold nearly any character but `/` and `%`. Returns
/// `None` for `.` and `..`, which are not valid names and would change the path.
pub(super) fn segment(name: &str) -> Option<String> {
    if matches!(name, "" | "." | "..") {
        return None;
    }
    Some(utf8_percent_encode(name, SEGMENT).to_string())
}

/// The path of one page of a list; `next` is empty for the first page. Without `resourceVersion` the list is consistent.
pub(super) fn page(path: &str, limit: usize, next: &str) -> String {
    if next.is_empty() {
        return format!("{path}?limit={limit}");
    }
    // The token is opaque. Today it is URL-safe base64, which escaping does not change.
    format!("{path}?limit={limit}&continue={}", segment(next).unwrap_or_default())
}

/// The path of an object.
pub(super) fn object_path(kind: &Kind, object: &ObjectRef) -> Option<String> {
    let namespace = if kind.namespaced { Some(object.namespace.as_deref()?) } else { None };
    Some(format!("{}/{}", path(kind, namespace)?, segment(&object.name)?))
}

/// The path of a kind's objects, in the whole cluster or in one namespace.
pub(super) fn path(kind: &Kind, namespace: Option<&str>) -> Option<String> {
    let version = segment(&kind.version)?;
    let base = if kind.group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{}/{version}", segment(&kind.group)?)
    };
    let plural = segment(&kind.plural)?;
    Some(match namespace {
        Some(namespace) => format!("{base}/namespaces/{}/{plural}", segment(namespace)?),
        None => format!("{base}/{plural}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_special_characters_becomes_one_segment() {
        assert_eq!(segment("system:node"), Some("system:node".to_owned()));
        assert_eq!(segment("a b/ü?#"), Some("a%20b%2F%C3%BC%3F%23".to_owned()));
        assert_eq!(segment(".."), None);
        assert_eq!(segment(""), None);
    }
}
