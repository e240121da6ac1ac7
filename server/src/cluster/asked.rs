//! The time at which something that is asked again and again is due.

use tokio::time::{Instant, sleep_until};

/// When it is due, and how often in a row it has failed.
pub(super) struct Asked {
    pub(super) due: Instant,
    pub(super) failures: u32,
}

/// Waits until that time; for ever, if nothing is due.
pub(super) async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
