//! Sends a notification to its address with one POST.
//!
//! # Decisions
//! - The client is hyper's with rustls, both of which kube already needs. It follows no redirect and asks no proxy.
//! - The path and the query of the address are secrets, because they are all that a chat asks for. They are never logged,
//!   and neither are errors of the connection, which may quote them.

use std::{fmt, io, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::timeout;
use tower::{BoxError, Service, ServiceExt, util::BoxCloneSyncService};

use super::format::{BODY, Format};

/// The deadline of a delivery.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An address with a secret in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Uri);

/// The reason why notifications cannot be sent. No message quotes the address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It is no address.
    #[error("--notify-url is not an address such as https://hooks.example.com/path")]
    Malformed,
    /// The certificates of the system cannot be used.
    #[error("the certificates of this system cannot be used to check the receiver of --notify-url")]
    Certificates(#[source] rustls::Error),
}

impl Address {
    /// Reads an address of the scheme `https` or `http`. A user and a password in it are refused, because they would not be
    /// sent.
    ///
    /// # Errors
    /// [`AddressError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let uri: Uri = text.trim().parse().map_err(|_| AddressError::Malformed)?;
        let is_known = matches!(uri.scheme_str(), Some("https" | "http"));
        let has_user = uri.authority().is_none_or(|authority| authority.as_str().contains('@'));
        if is_known && !has_user { Ok(Self(uri)) } else { Err(AddressError::Malformed) }
    }
}

/// The host, which is no secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.host().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self}/…)")
    }
}

/// The body of an answer.
pub(super) type AnswerBody = http_body_util::combinators::UnsyncBoxBody<Bytes, io::Error>;

type Post = BoxCloneSyncService<Request<Full<Bytes>>, Response<AnswerBody>, BoxError>;

/// The receiver of the notifications.
pub(super) struct Webhook {
    address: Address,
    format: Format,
    post: Post,
}

/// The reason why a delivery failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The receiver answers that this body is wrong, so a repetition would not help.
    Refused(u16),
    /// Another status, with its `Retry-After`.
    Status(u16, Option<Duration>),
    /// The answer has a status of success and says that the notification was not taken.
    NotTaken,
    /// No connection, or it broke.
    Connection,
    /// No complete answer in time.
    Timeout,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(status) | Self::Status(status, _) => write!(f, "status {status}"),
            Self::NotTaken => f.write_str("not taken"),
            Self::Connection => f.write_str("no connection"),
            Self::Timeout => f.write_str("no answer in time"),
        }
    }
}

impl Webhook {
    /// A receiver on the network.
    ///
    /// # Errors
    /// [`AddressError::Certificates`].
    pub(super) fn new(address: Address, format: Format) -> Result<Self, AddressError> {
        let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .and_then(BuilderVerifierExt::with_platform_verifier)
            .map_err(AddressError::Certificates)?
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .build();
        // Notifications are rare, so no connection is kept.
        let client =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let client = client.map_response(|response: Response<hyper::body::Incoming>| {
            response.map(|body| body.map_err(io::Error::other).boxed_unsync())
        });
        Ok(Self::over(address, format, client))
    }

    /// A receiver behind this service.
    pub(super) fn over<S>(address: Address, format: Format, service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<AnswerBody>>,
        S: Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        let post = BoxCloneSyncService::new(service.map_err(Into::into));
        Self { address, format, post }
    }

    /// The format of the bodies.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The host of the receiver.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Delivers a body.
    pub(super) fn deliver(
        &self,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
        let request = Request::post(self.address.0.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("unwind/", env!("CARGO_PKG_VERSION")))
            .body(Full::from(body));
        let (post, format) = (self.post.clone(), self.format);
        let delivered = async move {
            let request = request.map_err(|_| Failure::Connection)?;
            let answer = post.oneshot(request).await.map_err(|_| Failure::Connection)?;
            judge(answer, format).await
        };
        async { timeout(TIMEOUT, delivered).await.unwrap_or(Err(Failure::Timeout)) }
    }
}

async fn judge(answer: Response<AnswerBody>, format: Format) -> Result<(), Failure> {
    let status = answer.status();
    match status {
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNPROCESSABLE_ENTITY => Err(Failure::Refused(status.as_u16())),
        _ if status.is_success() => {
            let body = Limited::new(answer.into_body(), BODY).collect().await;
            let body = body.map_err(|_| Failure::Connection)?.to_bytes();
            if format.is_taken(&body) { Ok(()) } else { Err(Failure::NotTaken) }
        }
        // A redirect is among these: the notification goes nowhere but to the address that was given.
        _ => {
            let after = answer.headers().get(header::RETRY_AFTER);
            let seconds = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            Err(Failure::Status(status.as_u16(), seconds.map(Duration::from_secs)))
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// Delivers a body to a listener on this machine that gives this answer. Returns the result and the request.
    async fn deliver(format: Format, answer: String) -> (Result<(), Failure>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/services/secret?key=1", listener.local_addr().unwrap());
        let received = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![];
            while !request.ends_with(b"{}") {
                assert!(stream.read_buf(&mut request).await.unwrap() > 0);
            }
            // The client may close before it has read everything.
            let _ = stream.write_all(answer.as_bytes()).await;
            String::from_utf8(request).unwrap()
        });
        let webhook = Webhook::new(Address::parse(&address).unwrap(), format).unwrap();
        let delivered = webhook.deliver(b"{}".to_vec()).await;
        (delivered, received.await.unwrap())
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn delivery_is_one_post_with_json() {
        let (delivered, request) = deliver(Format::Slack, answer("200 OK", "", "ok")).await;
        assert_eq!(delivered, Ok(()));
        assert!(request.starts_with("POST /services/secret?key=1 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("content-type: application/json\r\n"), "{request}");
    }

    #[tokio::test]
    async fn answer_says_whether_a_repetition_helps() {
        let large = "x".repeat(BODY + 1);
        for (format, answer, expected) in [
            (Format::Json, answer("204 No Content", "", ""), Ok(())),
            (Format::Lark, answer("200 OK", "", r#"{"code":0}"#), Ok(())),
            (Format::Lark, answer("200 OK", "", r#"{"code":9499}"#), Err(Failure::NotTaken)),
            (Format::Json, answer("400 Bad Request", "", "x"), Err(Failure::Refused(400))),
            (Format::Json, answer("404 Not Found", "", "x"), Err(Failure::Status(404, None))),
            (
                Format::Json,
                answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
                Err(Failure::Status(302, None)),
            ),
            (
                Format::Json,
                answer("429 Too Many Requests", "retry-after: 30\r\n", ""),
                Err(Failure::Status(429, Some(Duration::from_secs(30)))),
            ),
            (Format::Json, answer("200 OK", "", &large), Err(Failure::Connection)),
            (Format::Json, "no HTTP\r\n\r\n".to_owned(), Err(Failure::Connection)),
        ] {
            let (delivered, _) = deliver(format, answer.clone()).await;
            assert_eq!(delivered, expected, "{format:?} {answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_receiver_fails_after_the_deadline() {
        let silent = tower::service_fn(|_| {
            std::future::pending::<Result<Response<AnswerBody>, std::convert::Infallible>>()
        });
        let address = Address::parse("https://hooks.example.com/x").unwrap();
        let webhook = Webhook::over(address, Format::Json, silent);
        let begin = tokio::time::Instant::now();
        assert_eq!(webhook.deliver(vec![]).await, Err(Failure::Timeout));
        assert_eq!(begin.elapsed(), TIMEOUT);
    }

    #[test]
    fn address_is_a_url_whose_secrets_are_shown_nowhere() {
        let address =
            Address::parse(" https://hooks.example.com/services/T0/secret?key=1 ").unwrap();
        assert_eq!(
            format!("{address} {address:?}"),
            "hooks.example.com Address(hooks.example.com/…)"
        );
        for text in [
            "",
            "hooks.example.com/secret",
            "ftp://hooks.example.com/secret",
            "https:///secret",
            "https://user:secret@hooks.example.com/",
            "https://hooks.example.com/sec ret",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{text}");
        }
    }
}
