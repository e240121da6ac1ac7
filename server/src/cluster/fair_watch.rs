//! A value that many look at and wait for. As a watch channel, but its waiters wake in the order in which they began to
//! wait, so that the same game can be played again.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Where it is told. Whoever waits goes on waiting when this is gone.
#[derive(Debug)]
pub(super) struct FairSender<T>(Arc<Shared<T>>);

/// Where it is heard.
#[derive(Debug)]
pub(super) struct FairReceiver<T> {
    shared: Arc<Shared<T>>,
    /// The change that was looked at last.
    seen: u64,
}

#[derive(Debug)]
struct Shared<T> {
    /// With the number of its changes.
    value: Mutex<(u64, T)>,
    waiters: Notify,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, (u64, T)> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for FairReceiver<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T: Default> Default for FairSender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> FairSender<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Arc::new(Shared { value: Mutex::new((0, value)), waiters: Notify::new() }))
    }

    /// Somebody who has looked at it as it is now.
    pub(super) fn subscribe(&self) -> FairReceiver<T> {
        FairReceiver { seen: self.0.lock().0, shared: self.0.clone() }
    }

    /// Changes it; the change says whether it is one.
    pub(super) fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut value = self.0.lock();
        if change(&mut value.1) {
            value.0 += 1;
            self.0.waiters.notify_waiters();
        }
    }
}

impl<T> FairReceiver<T> {
    /// Reads it, without having looked.
    pub(super) fn borrow<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.shared.lock().1)
    }

    /// Looks at it.
    pub(super) fn borrow_and_update<R>(&mut self, read: impl FnOnce(&T) -> R) -> R {
        let value = self.shared.lock();
        self.seen = value.0;
        read(&value.1)
    }

    /// Waits until it is another than was looked at, and looks. Cancelling it loses nothing.
    pub(super) async fn changed(&mut self) {
        let seen = self.seen;
        self.seen = self.until(|(changes, _)| (*changes != seen).then_some(*changes)).await;
    }

    /// Waits until it says something, and gives that.
    pub(super) async fn wait_for<R>(&self, says: impl Fn(&T) -> Option<R>) -> R {
        self.until(|(_, value)| says(value)).await
    }

    async fn until<R>(&self, says: impl Fn(&(u64, T)) -> Option<R>) -> R {
        loop {
            let mut told = pin!(self.shared.waiters.notified());
            told.as_mut().enable();
            if let Some(said) = says(&self.shared.lock()) {
                return said;
            }
            told.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiters_wake_in_their_order_and_miss_nothing() {
        let sender = FairSender::new(0);
        let order = Arc::new(Mutex::new(vec![]));
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let (mut receiver, order) = (sender.subscribe(), order.clone());
                tokio::spawn(async move {
                    receiver.changed().await;
                    order.lock().unwrap().push(number);
                    receiver.wait_for(|value| (*value == 2).then_some(())).await;
                })
            })
            .collect();
        tokio::task::yield_now().await;
        sender.send_if_modified(|_| false);
        sender.send_if_modified(|value| {
            *value = 1;
            true
        });
        tokio::task::yield_now().await;
        sender.send_if_modified(|value| {
            *value = 2;
            true
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert!(order.lock().unwrap().iter().copied().eq(0..20));
        let mut receiver = sender.subscribe();
        sender.send_if_modified(|value| {
            *value = 3;
            true
        });
        receiver.changed().await;
        assert_eq!(receiver.borrow_and_update(|value| *value), receiver.borrow(|value| *value));
    }
}
