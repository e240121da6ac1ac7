//! The hub's clock. It shows the cluster's time, because objects carry timestamps of that clock, and it advances with
//! the monotonic clock. It stops while time is paused in tests.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The uncertainty of an answer's `Date`: it has whole seconds, and the answer took some time to arrive.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(2);

/// The hub's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
    /// The time that it showed at `anchor`.
    shown: Timestamp,
    anchor: Instant,
    /// Seconds that pass in the cluster per second of real time.
    pace: u32,
}

impl Clock {
    /// A clock that shows `wall` now.
    pub(super) fn start(wall: Timestamp) -> Self {
        let now = Instant::now();
        Self { start: now, shown: wall, anchor: now, pace: 1 }
    }

    pub(super) fn now(&self) -> Timestamp {
        let passed = self.anchor.elapsed().saturating_mul(self.pace);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.shown.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// Follows the cluster's clock, forward or backward.
    pub(super) fn follow(&mut self, cluster: Timestamp) {
        if cluster.duration_since(self.now()).abs() > TOLERANCE {
            (self.shown, self.anchor) = (cluster, Instant::now());
        }
    }

    /// Changes the speed from now on.
    pub(super) fn set_pace(&mut self, pace: u32) {
        if pace != self.pace {
            (self.shown, self.anchor) = (self.now(), Instant::now());
            self.pace = pace.max(1);
        }
    }

    /// Milliseconds since the start, by the monotonic clock.
    pub(super) fn milliseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The instant of a time; for a past time, the current instant.
    pub(super) fn instant(&self, at: Timestamp) -> Instant {
        let after = Duration::try_from(at.duration_since(self.shown)).unwrap_or_default();
        // A timer needs no more than a year. The additional nanosecond makes up for the division, so that no timer
        // fires too early.
        let after = after.min(Duration::from_secs(365 * 24 * 3600)) / self.pace;
        self.anchor + after + Duration::from_nanos(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn clock_follows_the_cluster_and_advances_by_itself() {
        let wall = Timestamp::from_second(1_800_000_000).unwrap();
        let mut clock = Clock::start(wall);
        clock.follow(wall + seconds(1));
        assert_eq!(clock.now(), wall, "an answer's Date is no finer than that");
        clock.follow(wall + seconds(300));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(clock.now(), wall + seconds(305));
        clock.follow(wall);
        assert_eq!(clock.now(), wall);
        assert_eq!(clock.milliseconds(), 5_000);
    }

    #[tokio::test(start_paused = true)]
    async fn new_pace_applies_from_its_change_on_and_to_timers() {
        let wall = Timestamp::from_second(1_800_000_000).unwrap();
        let mut clock = Clock::start(wall);
        tokio::time::advance(Duration::from_secs(3)).await;
        clock.set_pace(10);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now(), wall + seconds(23));
        let due = wall + seconds(43);
        tokio::time::sleep_until(clock.instant(due)).await;
        assert!(clock.now() >= due && clock.now() < due + seconds(1), "{}", clock.now());
        clock.set_pace(1);
        let then = clock.now();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now(), then + seconds(2));
        assert!(clock.instant(wall) <= Instant::now());
    }
}
