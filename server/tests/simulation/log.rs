//! What the server says of itself, searched for what it must not say.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{adversity::DENIAL, application::is_given_away, oracle::Offence};

/// The log of one game. Nothing of it is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    has_canary: Arc<AtomicBool>,
}

impl Log {
    /// Listens to everything that is said on this thread, as long as the guard lives.
    pub(crate) fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let all = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("server=debug,warn"))
            .with_writer(self.clone())
            .without_time()
            // A word in two colours would be two words.
            .with_ansi(false)
            .finish();
        tracing::subscriber::set_default(all)
    }

    /// Whether it said what it must not.
    pub(crate) fn offence(&self) -> Option<Offence> {
        let has_canary = self.has_canary.load(Ordering::Relaxed);
        has_canary.then(|| Offence::new("I10", "a secret is in the log".to_owned()))
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        if is_given_away(&text) || text.contains(DENIAL) {
            self.has_canary.store(true, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
