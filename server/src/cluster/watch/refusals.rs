//! Watches of single namespaces that may not see, and how long each waits so that all of them together do not ask too
//! often.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use super::FORBIDDEN;

/// What each single namespace that may not be seen adds to [`FORBIDDEN`] where they are many: together they ask no more than five
/// times a second, up to the 1,200 for which that is [`FORBIDDEN_HERE`].
const FORBIDDEN_EACH: Duration = Duration::from_millis(200);
/// The longest wait for a single namespace, however many there are.
const FORBIDDEN_HERE: Duration = Duration::from_secs(240);

/// How many watches of single namespaces wait to be tried again because they may not see.
#[derive(Default)]
pub(in crate::cluster) struct Refusals(AtomicUsize);

/// One that waits.
pub(super) struct Waiting<'a>(&'a Refusals);

impl Refusals {
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }
}

impl Waiting<'_> {
    /// How long, so that all of them together do not ask too often.
    pub(super) fn share(&self) -> Duration {
        let all = u32::try_from(self.0.0.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        FORBIDDEN_EACH.saturating_mul(all).clamp(FORBIDDEN, FORBIDDEN_HERE)
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
    fn those_that_are_refused_share_five_requests_a_second_up_to_four_minutes() {
        let refused = Refusals::default();
        for (many, seconds) in [(1, 30), (150, 30), (500, 100), (1_200, 240), (30_000, 240)] {
            let waiting: Vec<_> = (0..many).map(|_| refused.wait()).collect();
            assert_eq!(waiting[0].share(), Duration::from_secs(seconds), "{many}");
        }
        assert_eq!(refused.wait().share(), FORBIDDEN, "who does not wait any more does not count");
    }
}
