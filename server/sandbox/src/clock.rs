//! The cluster's clock: it begins at a given time, runs at a given speed, and jumps only when a fault says so.
//!
//! There are two clocks. The wall clock, which a fault may set, gives the times that are written into objects. The
//! steady clock counts waits, as `time.After` does in Go.
//!
//! It counts with tokio's clock, so a test that pauses tokio's time pauses the cluster.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

/// The clock of a cluster. Changing the speed never moves it back; [`Clock::jump`] may.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The steady time at `anchor`.
    base: Timestamp,
    anchor: Instant,
    speed: u32,
    /// The difference between the wall clock and the steady clock.
    skew: SignedDuration,
}

impl Clock {
    /// A clock that reads `start` now.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self { base: start, anchor: Instant::now(), speed: 1, skew: SignedDuration::ZERO }
    }

    /// A clock that reads `start` and stands still.
    #[must_use]
    pub fn still(start: Timestamp) -> Self {
        Self { speed: 0, ..Self::new(start) }
    }

    /// The time of the wall clock, which is written and compared with what was written.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        moved(self.steady(), self.skew)
    }

    /// The time of the steady clock, which no jump changes; at most the largest timestamp.
    #[must_use]
    pub fn steady(&self) -> Timestamp {
        let passed = self.anchor.elapsed().saturating_mul(self.speed);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.base.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The instant of tokio's clock at a steady time, if the speed stays the same. `None` for a time that never comes.
    #[must_use]
    pub fn instant(&self, time: Timestamp) -> Option<Instant> {
        let left = Duration::try_from(time.duration_since(self.base)).unwrap_or(Duration::ZERO);
        // One nanosecond more, because integer division must not wake a task too early.
        let left = left.checked_div(self.speed)?.saturating_add(Duration::from_nanos(1));
        self.anchor.checked_add(left)
    }

    /// Seconds of the cluster per second of tokio's clock.
    #[must_use]
    pub fn speed(&self) -> u32 {
        self.speed
    }

    /// Runs `speed` times as fast from now on; 0 stands still.
    pub fn set_speed(&mut self, speed: u32) {
        self.base = self.steady();
        self.anchor = Instant::now();
        self.speed = speed;
    }

    /// Sets the wall clock, forwards or backwards, as when a virtual machine wakes up.
    pub fn jump(&mut self, by: SignedDuration) {
        self.skew = self.skew.saturating_add(by);
    }

    /// Sets the wall clock to the steady one.
    pub fn unskew(&mut self) {
        self.skew = SignedDuration::ZERO;
    }

    /// Lets time pass at once, for a clock that stands still.
    pub fn advance(&mut self, by: Duration) {
        self.base =
            moved(self.steady(), SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX));
        self.anchor = Instant::now();
    }
}

fn moved(time: Timestamp, by: SignedDuration) -> Timestamp {
    let limit = if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(by).unwrap_or(limit)
}

/// A time as in metadata (`metav1.Time`): whole seconds, UTC.
#[must_use]
pub fn written(time: Timestamp) -> Value {
    Value::String(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A time with microseconds, as in Leases and Events (`metav1.MicroTime`).
#[must_use]
pub fn written_micro(time: Timestamp) -> Value {
    Value::String(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

/// Reads a time from an object.
#[must_use]
pub fn read(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn faster_is_never_earlier() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut clock = Clock::new(start);
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.set_speed(10);
        assert_eq!(clock.now(), start + SignedDuration::from_secs(5));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now(), start + SignedDuration::from_secs(15));
        clock.set_speed(1);
        assert_eq!(clock.now(), start + SignedDuration::from_secs(15));
        let due = clock.instant(start + SignedDuration::from_secs(20)).unwrap();
        tokio::time::sleep_until(due).await;
        assert!(clock.now() >= start + SignedDuration::from_secs(20));
        let steady = clock.steady();
        clock.jump(SignedDuration::from_secs(-15));
        assert!(clock.now() < start + SignedDuration::from_secs(6));
        assert_eq!(clock.steady(), steady);
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.steady(), steady + SignedDuration::from_secs(1));
        assert!(clock.now() < start + SignedDuration::from_secs(7));
        clock.unskew();
        assert_eq!(clock.now(), clock.steady());
        assert_eq!(written(start), "2026-01-01T00:00:00Z");
        assert_eq!(written_micro(start), "2026-01-01T00:00:00.000000Z");
    }

    #[test]
    fn clock_at_the_end_of_time_does_not_panic() {
        let mut clock = Clock::new(Timestamp::MAX);
        clock.jump(SignedDuration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
        clock.jump(SignedDuration::MIN);
        clock.jump(SignedDuration::MIN);
        assert_eq!(clock.now(), Timestamp::MIN);
        clock.advance(Duration::MAX);
        clock.set_speed(u32::MAX);
        clock.set_speed(0);
        assert_eq!(clock.instant(Timestamp::MAX), None);
    }
}
