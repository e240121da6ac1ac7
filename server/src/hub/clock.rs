//! Wall-clock times that never jump: the time at the start plus what the monotonic clock has counted since. Under
//! paused time in tests it stands still with everything else.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The hub's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    wall: Timestamp,
    start: Instant,
}

impl Clock {
    /// A clock that reads `wall` now.
    pub(super) fn start(wall: Timestamp) -> Self {
        Self { wall, start: Instant::now() }
    }

    pub(super) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        self.wall.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// Milliseconds since the start.
    pub(super) fn milliseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The instant of a time; the start for times before it.
    pub(super) fn instant(&self, at: Timestamp) -> Instant {
        let after = Duration::try_from(at.duration_since(self.wall)).unwrap_or_default();
        // A year from now is never for a timer.
        self.start + after.min(Duration::from_secs(365 * 24 * 3600))
    }
}
