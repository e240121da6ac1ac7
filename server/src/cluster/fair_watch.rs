//! A watch channel whose receivers wake in the order in which they began to wait. Tokio's watch channel wakes them in a
//! random order, and a simulation run could then not be repeated.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The sending half. Receivers continue to wait after it is dropped.
#[derive(Debug)]
pub(super) struct FairSender<T>(Arc<Shared<T>>);

/// A receiving half.
#[derive(Debug)]
pub(super) struct FairReceiver<T> {
    shared: Arc<Shared<T>>,
    /// The version of the value that this receiver saw last.
    seen: u64,
}

#[derive(Debug)]
struct Shared<T> {
    /// The version, which counts the changes, and the value.
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

    /// A receiver that has seen the current value.
    pub(super) fn subscribe(&self) -> FairReceiver<T> {
        FairReceiver { seen: self.0.lock().0, shared: self.0.clone() }
    }

    /// Modifies the value and wakes the receivers if `modify` returns `true`.
    pub(super) fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) {
        let mut value = self.0.lock();
        if modify(&mut value.1) {
            value.0 += 1;
            self.0.waiters.notify_waiters();
        }
    }
}

impl<T> FairReceiver<T> {
    /// Reads the value without marking it as seen.
    pub(super) fn borrow<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.shared.lock().1)
    }

    /// Reads the value and marks it as seen.
    pub(super) fn borrow_and_update<R>(&mut self, read: impl FnOnce(&T) -> R) -> R {
        let value = self.shared.lock();
        self.seen = value.0;
        read(&value.1)
    }

    /// Waits until the value differs from the one seen last, and marks it as seen. Cancelling it loses no change.
    pub(super) async fn changed(&mut self) {
        let seen = self.seen;
        self.seen = self.until(|(changes, _)| (*changes != seen).then_some(*changes)).await;
    }

    /// Waits until `find` returns a result for the value, and returns that.
    pub(super) async fn wait_for<R>(&self, find: impl Fn(&T) -> Option<R>) -> R {
        self.until(|(_, value)| find(value)).await
    }

    async fn until<R>(&self, find: impl Fn(&(u64, T)) -> Option<R>) -> R {
        loop {
            let mut notified = pin!(self.shared.waiters.notified());
            notified.as_mut().enable();
            if let Some(found) = find(&self.shared.lock()) {
                return found;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn receivers_wake_in_the_order_they_waited_and_miss_no_change() {
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
