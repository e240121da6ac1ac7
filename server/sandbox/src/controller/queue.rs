//! The work queue of a controller. It is a set, so an item that is added twice is reconciled once, and it has times for
//! items that are due later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

/// The first wait after a failure: `DefaultTypedControllerRateLimiter` in client-go/util/workqueue.
const FIRST_RETRY: Duration = Duration::from_millis(5);
/// The longest wait after failures, from the same place. Some controllers set their own.
pub(crate) const LAST_RETRY: Duration = Duration::from_secs(1000);

/// A rate-limiting work queue. Its time is an argument.
#[derive(Debug)]
pub struct Queue<W> {
    now: Timestamp,
    ready: BTreeSet<W>,
    /// The due times in order, and the earliest one of each item.
    waiting: BTreeSet<(Timestamp, W)>,
    due: BTreeMap<W, Timestamp>,
    failures: BTreeMap<W, u32>,
    first_retry: Duration,
    last_retry: Duration,
}

impl<W: Ord + Clone> Queue<W> {
    pub(crate) fn new(now: Timestamp, last_retry: Duration) -> Self {
        Self {
            now,
            ready: BTreeSet::new(),
            waiting: BTreeSet::new(),
            due: BTreeMap::new(),
            failures: BTreeMap::new(),
            first_retry: FIRST_RETRY,
            last_retry,
        }
    }

    /// Moves time forward; items that are due become ready.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        self.now = now;
        while let Some((at, _)) = self.waiting.first()
            && *at <= now
        {
            let Some((_, work)) = self.waiting.pop_first() else { break };
            self.due.remove(&work);
            self.ready.insert(work);
        }
    }

    pub fn add(&mut self, work: W) {
        self.ready.insert(work);
    }

    /// Makes an item ready after a while, unless it is ready earlier.
    pub fn add_after(&mut self, work: W, wait: Duration) {
        if wait.is_zero() {
            return self.add(work);
        }
        let at = later(self.now, wait);
        match self.due.get(&work) {
            Some(due) if *due <= at => return,
            Some(due) => {
                self.waiting.remove(&(*due, work.clone()));
            }
            None => {}
        }
        self.due.insert(work.clone(), at);
        self.waiting.insert((at, work));
    }

    /// Makes an item ready after a wait that doubles with each failure since [`Queue::forget`].
    pub(crate) fn retry(&mut self, work: W) {
        let failures = self.failures.entry(work.clone()).or_default();
        let wait = self.first_retry.saturating_mul(1 << (*failures).min(30)).min(self.last_retry);
        *failures += 1;
        self.add_after(work, wait);
    }

    pub(crate) fn forget(&mut self, work: &W) {
        self.failures.remove(work);
    }

    /// Takes all items that are ready.
    pub(crate) fn take(&mut self) -> Vec<W> {
        std::mem::take(&mut self.ready).into_iter().collect()
    }

    /// The time at which an item is ready next.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        if self.ready.is_empty() { self.waiting.first().map(|(at, _)| *at) } else { Some(self.now) }
    }
}

/// A time plus a wait; the largest timestamp if the sum is beyond it.
pub(crate) fn later(at: Timestamp, wait: Duration) -> Timestamp {
    at.checked_add(jiff::SignedDuration::try_from(wait).unwrap_or(jiff::SignedDuration::MAX))
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn queue_is_a_set_and_keeps_the_earliest_time() {
        let mut queue = Queue::new(at(0), LAST_RETRY);
        queue.add("a");
        queue.add("a");
        queue.add_after("b", Duration::from_millis(50));
        queue.add_after("b", Duration::from_millis(20));
        queue.add_after("b", Duration::from_millis(90));
        assert_eq!(queue.take(), ["a"]);
        assert_eq!(queue.next(), Some(at(20)));
        queue.advance(at(20));
        assert_eq!(queue.take(), ["b"]);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn failures_wait_longer_each_time_up_to_the_limit() {
        let mut queue = Queue::new(at(0), Duration::from_millis(15));
        let mut waits = Vec::new();
        for _ in 0..3 {
            queue.retry("a");
            let due = queue.next().unwrap();
            waits.push(due.as_millisecond() - queue.now.as_millisecond());
            queue.advance(due);
            queue.take();
        }
        assert_eq!(waits, [5, 10, 15]);
    }
}
