//! The retry delay of forbidden watches of single namespaces. It grows with their number, so that together they do not
//! send too many requests.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use super::FORBIDDEN;

/// The delay that each forbidden namespace adds once there are many of them. Together they send at most five requests
/// a second, until the delay reaches [`FORBIDDEN_MAX`] at 1,200 namespaces.
const FORBIDDEN_EACH: Duration = Duration::from_millis(200);
/// The longest delay, however many namespaces are forbidden.
const FORBIDDEN_MAX: Duration = Duration::from_secs(240);

/// The number of forbidden watches of single namespaces that wait for their next try.
#[derive(Default)]
pub(in crate::cluster) struct Refusals(AtomicUsize);

/// A watch that waits; it counts until it is dropped.
pub(super) struct Waiting<'a>(&'a Refusals);

impl Refusals {
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }
}

impl Waiting<'_> {
    /// The delay of each watch that waits.
    pub(super) fn delay(&self) -> Duration {
        let all = u32::try_from(self.0.0.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        FORBIDDEN_EACH.saturating_mul(all).clamp(FORBIDDEN, FORBIDDEN_MAX)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_namespaces_send_five_requests_a_second_with_delays_up_to_four_minutes() {
        let refused = Refusals::default();
        for (many, seconds) in [(1, 30), (150, 30), (500, 100), (1_200, 240), (30_000, 240)] {
            let waiting: Vec<_> = (0..many).map(|_| refused.wait()).collect();
            assert_eq!(waiting[0].delay(), Duration::from_secs(seconds), "{many}");
        }
        assert_eq!(refused.wait().delay(), FORBIDDEN, "a dropped wait does not count");
    }
}
