//! The sandbox on a loopback port, for kubectl and for whoever else knows a URL and a token.

use std::{io, net::SocketAddr, time::Duration};

use http::{Request, Response, header, request, uri::PathAndQuery};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};
use tower::Service;

use super::{Body, Sandbox};
use crate::{api, cluster::Actor};

/// The token of the one who may do everything. No secret: nothing real is behind it, and only this machine hears it.
const ADMIN: &str = "sandbox-admin";

/// How a path begins that brings its token along.
const TOKEN: &str = "/token/";

/// A sandbox that listens.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
}

impl Port {
    /// Listens on a port of this machine; 0 takes a free one.
    ///
    /// # Errors
    ///
    /// If the port is taken.
    pub async fn bind(port: u16) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await? })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is dropped, and its connections with it.
    pub async fn serve(self, sandbox: &Sandbox) {
        let sandbox = sandbox.speaking_as(None);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        // Out of file descriptors, most likely: others will be free in a moment.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    let sandbox = sandbox.clone();
                    connections.spawn(async move {
                        let service = service_fn(move |request| guarded(sandbox.clone(), request));
                        let connection = http1::Builder::new()
                            .timer(TokioTimer::new())
                            .serve_connection(TokioIo::new(stream), service);
                        // One that breaks is the client's to notice; a fault that cuts it is an error here.
                        let _ = connection.await;
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// Lets in who is no web page: those could reach the port too, and say where they are from.
async fn guarded(mut sandbox: Sandbox, request: Request<Incoming>) -> io::Result<Response<Body>> {
    if request.headers().contains_key(header::ORIGIN) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    sandbox.call(request).await
}

/// Takes a token out of the path, `/token/TOKEN/api/...`, and makes it the credentials unless there are others.
/// kubectl sends none over plain HTTP, but keeps the path of its server's URL.
pub(super) fn take_token(parts: &mut request::Parts) {
    let uri = parts.uri.path_and_query().map_or("", PathAndQuery::as_str);
    let Some((token, rest)) =
        uri.strip_prefix(TOKEN).map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    else {
        return;
    };
    let token = percent_decode_str(token).decode_utf8_lossy().into_owned();
    let (Ok(uri), Ok(value)) = (format!("/{rest}").parse(), format!("Bearer {token}").parse())
    else {
        return;
    };
    parts.uri = uri;
    parts.headers.entry(header::AUTHORIZATION).or_insert(value);
}

/// Whom a token belongs to: `sandbox-admin`, one of a ServiceAccount, or `user:NAME[:GROUP,...]` for anybody.
pub(super) fn actor_of(token: &str) -> Option<Actor> {
    if token == ADMIN {
        return Some(Actor::admin());
    }
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

/// A kubeconfig for the sandbox at this address, as somebody with this token; JSON, which is YAML too.
#[must_use]
pub fn kubeconfig(address: SocketAddr, token: Option<&str>) -> String {
    let token = token.unwrap_or(ADMIN);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "sandbox",
        "clusters": [{"name": "sandbox", "cluster": {"server": format!("http://{address}{TOKEN}{token}")}}],
        "users": [{"name": "sandbox", "user": {"token": token}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox", "namespace": "default"}}],
    });
    format!("{config:#}\n")
}
