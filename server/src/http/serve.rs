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

use axum::{Extension, Router};
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

use super::{access, guard::OneTooMany, guarded_stream::GuardedStream};

/// How long the head of a request may take to arrive; also how long a connection may wait for its next request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// Header lines in a request; browsers send about 20.
const HEADERS: usize = 100;

/// Bytes of a request's head, give or take one read.
const HEAD_BYTES: usize = 64 * 1024;

/// Connections at a time, where the process may open enough files: more than one session's streams for every session
/// there can be.
const CONNECTIONS: usize = 2048;

/// Connections beyond the limit that are being told so. The next one waits to be accepted.
const REFUSED: usize = 16;

/// How long a connection beyond the limit may take to hear that it is.
const REFUSAL: Duration = Duration::from_secs(2);

/// How long an answer may wait for its reader before the connection ends. A reader that is merely slow reads something
/// in that time.
const STALLED: Duration = Duration::from_secs(30);

/// How many connections there may be, and for how long one may hold an answer up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time. Those beyond are answered with 503.
    pub connections: usize,
    /// How long nothing may be written to a reader that reads nothing.
    pub stalled: Duration,
}

impl Limits {
    /// The limits that fit this process. Its soft limit of open files is raised to the hard one first. A quarter of the
    /// files are connections: each may send a file, and the other half is for the cluster's watches and the journal.
    pub fn of_process() -> Self {
        let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
            tracing::warn!(error = %error, "cannot raise the limit of open files");
            rlimit::Resource::NOFILE.get_soft().unwrap_or(0)
        });
        Self { connections: connections(files), stalled: STALLED }
    }
}

fn connections(files: u64) -> usize {
    usize::try_from(files / 4).unwrap_or(usize::MAX).clamp(REFUSED, CONNECTIONS)
}

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
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    drain: CancellationToken,
) {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    let refusals = Arc::new(Semaphore::new(REFUSED));
    let refusing = router.clone().layer(Extension(OneTooMany));
    loop {
        // Whichever way the next connection goes, there is a place for it.
        let refusal = tokio::select! {
            () = drain.cancelled() => break,
            refusal = refusals.clone().acquire_owned() => refusal,
        };
        let Ok(refusal) = refusal else { break };
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
        let (drain, stalled) = (drain.clone(), limits.stalled);
        if let Ok(place) = places.clone().try_acquire_owned() {
            let router = router.clone();
            connections.spawn(async move {
                converse(stream, router, stalled, true, drain).await;
                drop(place);
            });
        } else {
            let refusing = refusing.clone();
            connections.spawn(async move {
                let told = converse(stream, refusing, stalled, false, drain);
                // A client that says nothing is not told.
                let _ = tokio::time::timeout(REFUSAL, told).await;
                drop(refusal);
            });
        }
    }
    drop(listener);
    let rest = tokio::time::timeout(LAST_ANSWERS, async {
        while connections.join_next().await.is_some() {}
    });
    if rest.await.is_err() {
        tracing::warn!(connections = connections.len(), "answers on their way are given up");
    }
}

/// One connection, to its end; for more than one request if `keep_alive`.
async fn converse(
    stream: TcpStream,
    router: Router,
    stalled: Duration,
    keep_alive: bool,
    drain: CancellationToken,
) {
    // Events are small and each is to be seen at once.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = %error, "cannot send without delay");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(keep_alive)
        .serve_connection(
            TokioIo::new(GuardedStream::new(stream, stalled)),
            TowerToHyperService::new(router),
        );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_their_files_leave_half_of_the_descriptors() {
        for files in [64, 256, 1_024, 4_096] {
            assert!(connections(files) as u64 * 2 <= files / 2, "{files}");
        }
        assert_eq!(connections(1_048_576), CONNECTIONS);
        assert_eq!(connections(0), REFUSED, "a few, whatever the limit says");
    }
}
