//! Wakes the tasks that wait for another revision of the store. Unlike tokio's watch channel it wakes them in the order
//! in which they began to wait, because a seed must fix that order too.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

/// The sending side. Clones are handles to the same signal.
#[derive(Clone, Default)]
pub(super) struct RevisionSignal(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The number of signals so far, and the revision of the last one.
    last: Mutex<(u64, u64)>,
    waiters: Notify,
}

/// The receiving side, with the number of signals that it has seen.
pub(super) struct RevisionListener {
    signal: RevisionSignal,
    seen: u64,
}

impl RevisionSignal {
    /// Signals if the revision has changed.
    pub(super) fn signal_change(&self, revision: u64) {
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.1 != revision {
            *last = (last.0 + 1, revision);
            self.0.waiters.notify_waiters();
        }
    }

    pub(super) fn wake_all(&self) {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
        self.0.waiters.notify_waiters();
    }

    fn count(&self) -> u64 {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn listen(&self) -> RevisionListener {
        RevisionListener { signal: self.clone(), seen: self.count() }
    }
}

impl RevisionListener {
    /// Counts all signals so far as seen.
    pub(super) fn mark(&mut self) {
        self.seen = self.signal.count();
    }

    /// Waits for a signal that was not seen.
    pub(super) async fn wait(&mut self) {
        loop {
            let mut notified = pin!(self.signal.0.waiters.notified());
            notified.as_mut().enable();
            let count = self.signal.count();
            if count != self.seen {
                self.seen = count;
                return;
            }
            notified.await;
        }
    }
}
