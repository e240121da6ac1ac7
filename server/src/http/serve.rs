//! Listening and serving: HTTP/1.1 with limits on what a connection may hold up, and an end that waits for answers on
//! their way but not for ever.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::access;

/// How long the head of a request may take to arrive; also how long a connection may wait for its next request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// Header lines in a request; browsers send about 20.
const HEADERS: usize = 100;

/// Bytes of a request's head, give or take one read.
const HEAD_BYTES: usize = 64 * 1024;

/// Connections at a time: more than one session's streams for every session there can be. The next one waits.
const CONNECTIONS: usize = 2048;

/// How long answers on their way are waited for at the end. Streams end by themselves at once.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could reach it.
    #[error(
        "{0} is not a loopback address; whoever reaches the server can delete with your credentials"
    )]
    NotLoopback(IpAddr),
    /// Another program listens there.
    #[error("port {} of {} is taken; end the program that uses it, or choose another one with --port", .0.port(), .0.ip())]
    Taken(SocketAddr),
    /// Another reason.
    #[error("cannot listen on {address}")]
    Other {
        /// Where.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Listens on `port`, or without one on the port of the last start as `state` has it, so that open pages find the server
/// again; where that is taken, on a free one.
///
/// # Errors
/// [`ListenError`].
pub async fn listen(
    address: IpAddr,
    port: Option<u16>,
    state: Option<&Path>,
) -> Result<TcpListener, ListenError> {
    if !address.is_loopback() {
        return Err(ListenError::NotLoopback(address));
    }
    if let Some(port) = port {
        return bind(SocketAddr::new(address, port)).await;
    }
    if let Some(port) = state.and_then(access::last_port)
        && let Ok(listener) = bind(SocketAddr::new(address, port)).await
    {
        return Ok(listener);
    }
    bind(SocketAddr::new(address, 0)).await
}

async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::Taken(address),
        _ => ListenError::Other { address, source },
    })
}

/// Serves until `drain` is cancelled and the answers on their way are given.
pub async fn serve(listener: TcpListener, router: Router, drain: CancellationToken) {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let stream = tokio::select! {
            () = drain.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, mostly: connections that end give some back.
                    tracing::warn!(error = %error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
        };
        let (router, drain) = (router.clone(), drain.clone());
        connections.spawn(async move {
            converse(stream, router, drain).await;
            drop(place);
        });
    }
    drop(listener);
    let rest = tokio::time::timeout(LAST_ANSWERS, async {
        while connections.join_next().await.is_some() {}
    });
    if rest.await.is_err() {
        tracing::warn!(connections = connections.len(), "answers on their way are given up");
    }
}

/// One connection, to its end.
async fn converse(stream: TcpStream, router: Router, drain: CancellationToken) {
    // Events are small and each is to be seen at once.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = %error, "cannot send without delay");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drain.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = %error, "a connection broke off");
    }
}
