//! Tells whoever waits that the store has moved. As a watch channel, but its waiters wake in the order in which they
//! began to wait: a seed must fix that too.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

/// What is rung. Clones of the handle are of the same bell.
#[derive(Clone, Default)]
pub(super) struct Bell(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// How often it was rung, and for which revision last.
    rung: Mutex<(u64, u64)>,
    waiters: Notify,
}

/// Somebody who listens, and what they have heard.
pub(super) struct Ear {
    bell: Bell,
    heard: u64,
}

impl Bell {
    /// Rings if the revision is another one.
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

    pub(super) fn listen(&self) -> Ear {
        Ear { bell: self.clone(), heard: self.count() }
    }
}

impl Ear {
    /// Takes all rings so far as heard.
    pub(super) fn mark(&mut self) {
        self.heard = self.bell.count();
    }

    /// Waits for a ring that was not heard.
    pub(super) async fn wait(&mut self) {
        loop {
            let mut ring = pin!(self.bell.0.waiters.notified());
            ring.as_mut().enable();
            let count = self.bell.count();
            if count != self.heard {
                self.heard = count;
                return;
            }
            ring.await;
        }
    }
}
