//! The transcript of a run, for people.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Lines with their time in milliseconds since the start. Clones write to the same transcript.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    begin: Instant,
    lines: Arc<Mutex<Vec<(u64, String)>>>,
}

impl Transcript {
    /// An empty transcript that starts now.
    pub(crate) fn begin() -> Self {
        Self { begin: Instant::now(), lines: Arc::default() }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn log(&self, line: impl Into<String>) {
        let at = self.now();
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push((at, line.into()));
    }

    pub(crate) fn lines(&self) -> Vec<(u64, String)> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Seconds with milliseconds, aligned.
pub(crate) fn seconds(milliseconds: u64) -> String {
    format!("{:>6}.{:03}", milliseconds / 1000, milliseconds % 1000)
}
