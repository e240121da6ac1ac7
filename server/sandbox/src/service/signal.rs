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
    rung: Mutex<(u64, u64)>,
    waiters: Notify,
}

/// The receiving side, with the number of signals that it has seen.
pub(super) struct RevisionListener {
    signal: RevisionSignal,
    heard: u64,
}

impl RevisionSignal {
    /// Signals if the revision has changed.
    pub(super) fn tell(&self, revision: u64) {
        let mut rung = self.0.rung.lock().unwrap_or_else(PoisonError::into_inner);
        if rung.1 != revision {
            *rung = (rung.0 + 1, revision);
            self.0.waiters.notify_waiters();
        }
    }

    pub(super) fn ring(&self) {
        self.0.rung.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
        self.0.waiters.notify_waiters();
    }

    fn count(&self) -> u64 {
        self.0.rung.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn listen(&self) -> RevisionListener {
        RevisionListener { signal: self.clone(), heard: self.count() }
    }
}

impl RevisionListener {
    /// Counts all signals so far as seen.
    pub(super) fn mark(&mut self) {
        self.heard = self.signal.count();
    }

    /// Waits for a signal that was not seen.
    pub(super) async fn wait(&mut self) {
        loop {
            let mut ring = pin!(self.signal.0.waiters.notified());
            ring.as_mut().enable();
            let count = self.signal.count();
            if count != self.heard {
                self.heard = count;
                return;
            }
            ring.await;
        }
    }
}
