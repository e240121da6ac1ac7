//! The journal as the hub writes it. After a write that failed nothing more is written, until a write that changes nothing
//! has succeeded.
//!
//! # Decisions
//! - A failing journal does not end the process: the page and the watches go on, and a person who makes room on the disk has
//!   nothing to restart. Whatever a write would have announced does not happen meanwhile.
//! - A disk may fail after it has kept the bytes. Once it writes again, the hub therefore compares each run that it touched
//!   with the journal.

use std::{error::Error, time::Duration};

use jiff::Timestamp;
use tokio::time::Instant;

use super::journal_status::Failing;
use crate::{
    blocking::blocking,
    journal::{Journal, JournalError},
};

/// The delay before the first new try; each further one is twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The longest delay between two tries.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The next try at a failing journal.
struct Retry {
    failing: Failing,
    delay: Duration,
    at: Instant,
}

/// The journal, and whether it can be written.
pub(super) struct Writer {
    journal: Journal,
    retry: Option<Retry>,
    failures: u64,
}

impl Writer {
    /// A writer of this journal. If that cannot be written it says so from the start, and not only after the first click.
    pub(super) fn new(journal: Journal, now: Timestamp) -> Self {
        let mut writer = Self { journal, retry: None, failures: 0 };
        if !writer.journal.is_writable() {
            // A failure is the state of the writer.
            let _ = writer.write(now, Journal::check);
        }
        writer
    }

    /// The journal, to read it.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The problem, while the journal cannot be written.
    pub(super) fn failing(&self) -> Option<&Failing> {
        self.retry.as_ref().map(|retry| &retry.failing)
    }

    /// The number of writes that failed.
    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// The time of the next try, while the journal cannot be written.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retry.as_ref().map(|retry| retry.at)
    }

    /// Writes something, unless the journal is failing.
    ///
    /// # Errors
    /// The problem, which is the state of the journal from now on.
    pub(super) fn write<T>(
        &mut self,
        now: Timestamp,
        write: impl FnOnce(&mut Journal) -> Result<T, JournalError>,
    ) -> Result<T, Failing> {
        match &self.retry {
            Some(retry) => Err(retry.failing.clone()),
            None => {
                let written = blocking(|| write(&mut self.journal));
                written.map_err(|error| self.fail(now, &error))
            }
        }
    }

    /// Tries a failing journal again, if it is time to. Returns whether it has begun to work again.
    pub(super) fn retry(&mut self, now: Timestamp) -> bool {
        if self.retry.as_ref().is_none_or(|retry| Instant::now() < retry.at) {
            return false;
        }
        match blocking(|| self.journal.check()) {
            Ok(()) => {
                tracing::info!("the journal can be written again");
                self.retry = None;
                true
            }
            Err(error) => {
                self.fail(now, &error);
                false
            }
        }
    }

    /// Notes that the journal fails, and when it is tried again.
    pub(super) fn fail(&mut self, now: Timestamp, error: &JournalError) -> Failing {
        self.failures += 1;
        let why = chain(error);
        tracing::error!(error = why, "the journal cannot be written, so no call is sent");
        let (since, delay) = match self.retry.take() {
            Some(retry) => (retry.failing.since, (retry.delay * 2).min(LONGEST_RETRY)),
            None => (now, FIRST_RETRY),
        };
        let failing = Failing { since, why };
        let at = Instant::now() + delay;
        self.retry = Some(Retry { failing: failing.clone(), delay, at });
        failing
    }
}

/// An error with its causes.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text
}
