//! How the process ends: the first signal asks everybody to finish, the second does not wait for them.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A second signal came before everybody had finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a second signal came before everything had ended; open runs go on from the journal at the next start"
)]
pub struct Aborted;

/// The signals that end the process, listened to from the moment it is made.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens to SIGINT and SIGTERM.
    ///
    /// # Errors
    /// Where the operating system refuses a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Cancels `drain` at the first signal and ends at the second. Its caller waits for whatever ends first: this, or
    /// everything that the drain token ends.
    pub async fn drain_then_abort(mut self, drain: CancellationToken) -> Aborted {
        let name = self.next().await;
        tracing::info!(
            signal = name,
            "ending: streams are told to reconnect, calls on their way are awaited"
        );
        drain.cancel();
        let name = self.next().await;
        tracing::warn!(signal = name, "ending at once");
        Aborted
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
