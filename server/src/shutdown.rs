//! Shutdown by signals. The first signal asks all tasks to finish; the second ends the process at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A second signal arrived before all tasks had finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a second signal ended the process before all calls were answered; open runs continue from the journal at the next start"
)]
pub struct Aborted;

/// Handlers for the signals that end the process.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Installs handlers for SIGINT and SIGTERM.
    ///
    /// # Errors
    /// Returns the operating system's error if it refuses a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Cancels `drain` at the first signal and returns at the second. The caller waits for this future or for the tasks
    /// that `drain` ends, whichever comes first.
    pub async fn drain_then_abort(mut self, drain: CancellationToken) -> Aborted {
        let name = self.next().await;
        tracing::info!(
            signal = name,
            "shutting down: streams end, and calls in flight are awaited"
        );
        drain.cancel();
        let name = self.next().await;
        tracing::warn!(signal = name, "shutting down at once, without waiting for calls in flight");
        Aborted
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
