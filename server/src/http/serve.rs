//! Listens and serves HTTP/1.1. Limits bound the resources of a connection, and shutdown waits for answers in progress
//! for a limited time.

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

/// The deadline for the head of a request, and the longest time that a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The most header lines of a request; browsers send about 20.
const HEADERS: usize = 100;

/// The most bytes of a request's head, up to the size of one read.
const HEAD_BYTES: usize = 64 * 1024;

/// The most connections, if the process may open enough files. It exceeds the number of streams of all sessions.
const CONNECTIONS: usize = 2048;

/// The most connections beyond the limit that get an answer at once. The next one waits to be accepted.
const REFUSED: usize = 16;

/// The deadline for the refusal of a connection beyond the limit.
const REFUSAL: Duration = Duration::from_secs(2);

/// The longest time without progress on an answer before the connection is closed. A slow reader reads some bytes in
/// that time.
const STALLED: Duration = Duration::from_secs(30);

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections. Connections beyond it get 503.
    pub connections: usize,
    /// The longest time for which a reader may read nothing.
    pub stalled: Duration,
}

impl Limits {
    /// The limits that fit this process. It first raises the soft limit of open files to the hard one. A quarter of the
    /// files are for connections, and each may send a file; the other half is for the cluster's watches and the journal.
    pub fn of_process() -> Self {
        let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
            tracing::warn!(error = %error, "cannot raise the limit of open files");
            rlimit::Resource::NOFILE.get_soft().unwrap_or(0)
        });
        Self { connections: connections(files), stalled: STALLED }
    }

    /// The limits of the listener of the metrics.
    pub fn of_metrics() -> Self {
        Self { connections: SCRAPERS, stalled: STALLED }
    }
}

fn connections(files: u64) -> usize {
    usize::try_from(files / 4).unwrap_or(usize::MAX).clamp(REFUSED, CONNECTIONS)
}

/// The most connections to the listener of the metrics: a few Prometheus servers, each with one.
const SCRAPERS: usize = 16;

/// The longest wait for answers in progress at shutdown. Streams end at once.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The reason why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could reach the address.
    #[error(
        "{0} is not a loopback address; everybody who reaches the server can delete with your credentials, so use 127.0.0.1 or ::1"
    )]
    NotLoopback(IpAddr),
    /// Another program listens on the port.
    #[error("port {} of {} is taken; end the program that uses it, or choose another one with --port", .0.port(), .0.ip())]
    Taken(SocketAddr),
    /// The listener of the metrics cannot be opened.
    #[error("cannot listen on {address}; choose another address for --metrics-address")]
    Metrics {
        /// The address to listen on.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The operating system refused for another reason.
    #[error("cannot listen on {address}; choose another address or port with --address or --port")]
    Other {
        /// The address to listen on.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
}

/// Listens on `port`. Without one it uses the port of the last start from `state`, so that open pages reconnect, or a
/// free port if that is taken.
///
/// # Errors
/// Returns a [`ListenError`] if the address is not loopback or cannot be used.
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

/// Listens for scrapes of the metrics.
///
/// # Errors
/// [`ListenError::Metrics`] if the address cannot be used.
pub async fn listen_for_metrics(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| ListenError::Metrics { address, source })
}

async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::Taken(address),
        _ => ListenError::Other { address, source },
    })
}

/// Serves until `drain` is cancelled and the answers in progress are sent.
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
        // The next connection is accepted or refused; both have a permit now.
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
                    // Usually the process is out of file descriptors, and connections that end free some.
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
                let answered = converse(stream, refusing, stalled, false, drain);
                // A client that sends no request gets no answer.
                let _ = tokio::time::timeout(REFUSAL, answered).await;
                drop(refusal);
            });
        }
    }
    drop(listener);
    let rest = tokio::time::timeout(LAST_ANSWERS, async {
        while connections.join_next().await.is_some() {}
    });
    if rest.await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "shutdown does not wait longer; connections are closed before their answers are complete"
        );
    }
}

/// Serves one connection to its end, with more than one request if `keep_alive`.
async fn converse(
    stream: TcpStream,
    router: Router,
    stalled: Duration,
    keep_alive: bool,
    drain: CancellationToken,
) {
    // Events are small, and each must arrive at once.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = %error, "cannot set TCP_NODELAY; events may arrive late");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
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
