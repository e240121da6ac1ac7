//! The server's own log, which is searched for secrets.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{application::contains_secret, fault_schedule::DENIAL, oracle::Violation};

/// The log of one run. Nothing of it is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerLog {
    has_canary: Arc<AtomicBool>,
}

impl ServerLog {
    /// Captures all logs of this thread as long as the guard lives.
    pub(crate) fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let all = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("server=debug,warn"))
            .with_writer(self.clone())
            .without_time()
            // Colour codes would split a secret.
            .with_ansi(false)
            .finish();
        tracing::subscriber::set_default(all)
    }

    /// The violation, where the log contains a secret.
    pub(crate) fn violation(&self) -> Option<Violation> {
        let has_canary = self.has_canary.load(Ordering::Relaxed);
        has_canary.then(|| Violation::new("I10", "a secret is in the log".to_owned()))
    }
}

impl io::Write for ServerLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        if contains_secret(&text) || text.contains(DENIAL) {
            self.has_canary.store(true, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for ServerLog {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
