//! The sandbox on a loopback port, for kubectl and for programs that know the port's secret.
//!
//! Every program on this machine, and every web page in a browser on it, can reach the port. Hence:
//! - `Host` (and the authority of an absolute target) must name this port, so that a page cannot reach it by a DNS name
//!   that it points at 127.0.0.1;
//! - a request that a browser sends for a page is refused: it has an `Origin`, or a `Sec-Fetch-Site` other than `none`;
//! - a request with any rights must present the secret that is drawn at each start; see [`Credentials`].

use std::{
    fs,
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, Method, Request, Response, header, request, uri::PathAndQuery};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use percent_encoding::percent_decode_str;
use serde_json::json;
use subtle::ConstantTimeEq;
use tokio::{net::TcpListener, task::JoinSet};
use tower::Service;

use super::{Body, Sandbox, actor_of};
use crate::{cluster::Actor, status::Status};

/// The beginning of a path that carries its credentials: `/token/CREDENTIALS/api/...`. kubectl sends no `Authorization`
/// over plain HTTP, but it keeps the path of its server's URL.
const TOKEN: &str = "/token/";

/// The time for the head of a request to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// A port of this machine on which a sandbox can be served.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
    credentials: Arc<Credentials>,
}

impl Port {
    /// Listens on a port of this machine; 0 takes a free one.
    ///
    /// # Errors
    ///
    /// If the port is taken, or the system has no random numbers.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, credentials: Arc::new(Credentials::draw()?) })
    }

    /// The address of the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The secret that lets a request act as the cluster's administrator.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.credentials.secret
    }

    /// A kubeconfig of the administrator, as JSON, which is YAML too.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let secret = self.secret();
        let server = format!("http://{}{TOKEN}{secret}", self.address);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "sandbox",
            "clusters": [{"name": "sandbox", "cluster": {"server": server}}],
            "users": [{"name": "sandbox", "user": {"token": secret}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox", "namespace": "default"}}],
        });
        format!("{config:#}\n")
    }

    /// Writes the kubeconfig to a new file that only its owner can read, in the place of a file that is there.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        // An existing file would keep its permissions, and a symbolic link would be followed.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(self.kubeconfig().as_bytes())
    }

    /// Serves until it is dropped, and its connections with it.
    pub async fn serve(self, sandbox: &Sandbox) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        // Most likely there are no free file descriptors; a connection that closes frees one.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    let gate = Gate {
                        sandbox: sandbox.clone(),
                        address: self.address,
                        credentials: self.credentials.clone(),
                    };
                    connections.spawn(async move {
                        let service = service_fn(move |request| gate.clone().answer(request));
                        let connection = http1::Builder::new()
                            .timer(TokioTimer::new())
                            .header_read_timeout(HEAD_TIMEOUT)
                            .serve_connection(TokioIo::new(stream), service);
                        // A broken connection concerns only its client; a fault that cuts it is an error here.
                        let _ = connection.await;
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// The checks that a request has to pass before the API server sees it.
#[derive(Clone)]
struct Gate {
    sandbox: Sandbox,
    address: SocketAddr,
    credentials: Arc<Credentials>,
}

impl Gate {
    async fn answer(self, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        let checked = self.check_host(&parts).and_then(|()| check_target(&parts));
        let checked = checked.and_then(|()| check_site(&parts.headers));
        match checked.and_then(|()| self.credentials.authenticate(&mut parts)) {
            Ok(actor) => {
                self.sandbox.speaking_as(actor).call(Request::from_parts(parts, body)).await
            }
            Err(status) => {
                let mut response = self.sandbox.refuse(status);
                // The body is not read, so nothing can follow on this connection.
                let close = header::HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
                Ok(response)
            }
        }
    }

    /// 421 unless `Host`, and the authority of the target where it has one, name this port.
    fn check_host(&self, parts: &request::Parts) -> Result<(), Status> {
        let port = self.address.port();
        let is_this = |authority: &str| {
            let known = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
            known.iter().any(|one| one.eq_ignore_ascii_case(authority))
        };
        let hosts: Vec<_> = parts.headers.get_all(header::HOST).iter().collect();
        let host_is_this = match hosts.as_slice() {
            [host] => host.to_str().is_ok_and(is_this),
            _ => false,
        };
        let target_is_this = parts.uri.authority().is_none_or(|it| is_this(it.as_str()));
        if host_is_this && target_is_this {
            return Ok(());
        }
        Err(Status::plain(421, "the request is for another host than this sandbox"))
    }
}

/// 400 for a target without a path: `CONNECT`, the form of an authority alone, and `*`. To answer `CONNECT` with 200
/// would open a tunnel.
fn check_target(parts: &request::Parts) -> Result<(), Status> {
    if parts.method == Method::CONNECT || !parts.uri.path().starts_with('/') {
        return Err(Status::bad_request("the target of the request has no path"));
    }
    Ok(())
}

/// 403 for a request that a browser sends for a web page.
fn check_site(headers: &HeaderMap) -> Result<(), Status> {
    let site = headers.get("sec-fetch-site");
    if headers.contains_key(header::ORIGIN) || site.is_some_and(|site| site != "none") {
        return Err(Status::plain(403, "the sandbox answers no web page"));
    }
    Ok(())
}

/// The credentials that a request must present: `SECRET` for the administrator, or `SECRET.IDENTITY` for another actor,
/// `user:NAME[:GROUP,...]` or `serviceaccount:NAMESPACE:NAME`. They come as a bearer token or in the path. If the path
/// has the secret, the bearer token may be an identity alone.
struct Credentials {
    secret: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    fn draw() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self { secret: URL_SAFE_NO_PAD.encode(bytes) })
    }

    /// The actor of a request, `None` for an anonymous one. Takes the credentials out of the request.
    fn authenticate(&self, parts: &mut request::Parts) -> Result<Option<Actor>, Status> {
        let in_path = take_token(parts);
        let header = parts.headers.remove(header::AUTHORIZATION);
        let path_identity = in_path
            .map(|token| self.identity(&token).map(str::to_owned).ok_or_else(Status::unauthorized))
            .transpose()?;
        let Some(header) = header else {
            return path_identity.map(|identity| actor(&identity)).transpose();
        };
        let token = header.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let token = token.ok_or_else(Status::unauthorized)?;
        match self.identity(token) {
            Some(identity) => actor(identity).map(Some),
            None if path_identity.is_some() => actor(token).map(Some),
            None => Err(Status::unauthorized()),
        }
    }

    /// The identity in credentials that begin with the secret; empty for the administrator.
    fn identity<'a>(&self, credentials: &'a str) -> Option<&'a str> {
        let (secret, identity) = credentials.split_once('.').unwrap_or((credentials, ""));
        bool::from(secret.as_bytes().ct_eq(self.secret.as_bytes())).then_some(identity)
    }
}

fn actor(identity: &str) -> Result<Actor, Status> {
    match identity {
        "" => Ok(Actor::admin()),
        identity => actor_of(identity).ok_or_else(Status::unauthorized),
    }
}

/// Takes the credentials out of a path that carries them.
fn take_token(parts: &mut request::Parts) -> Option<String> {
    let uri = parts.uri.path_and_query().map_or("", PathAndQuery::as_str);
    let rest = uri.strip_prefix(TOKEN)?;
    let (token, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let token = percent_decode_str(token).decode_utf8_lossy().into_owned();
    parts.uri = format!("/{rest}").parse().ok()?;
    Some(token)
}
