//! The limit on concurrent API calls. It grows while the API server keeps up and is halved when it does not.

use std::time::Duration;

/// The limit at the start.
const START: usize = 8;
/// One call is always allowed. Without any call nothing would show that the API server has recovered.
const MIN: usize = 1;
/// Each call has a connection of its own (HTTP/1.1) and takes a seat of the API server's priority level. More calls would
/// crowd out other clients.
const MAX: usize = 64;
/// Latency below this is never a sign of overload, whatever the lowest latency was. A local API server answers in 2 ms
/// and often takes twice that.
const NORMAL_LATENCY: Duration = Duration::from_millis(50);
/// The factor by which the lowest latency grows each time the limit does. A minimum from an idle minute must not count
/// for ever.
const DECAY: f64 = 1.05;
/// The longest `Retry-After` that is obeyed; a proxy may send an hour.
const MAX_HOLD: Duration = Duration::from_secs(30);
/// The delay after a 429 without `Retry-After`.
const DEFAULT_HOLD: Duration = Duration::from_secs(1);

/// Additive increase, multiplicative decrease, over the calls of all runs. Times are relative to any fixed moment.
#[derive(Clone, Debug)]
pub(super) struct ConcurrencyLimit {
    limit: usize,
    /// Answers without a sign of overload since the limit last changed.
    clean: usize,
    /// The lowest recent latency.
    min_latency: Option<Duration>,
    /// No call starts before this.
    held_until: Duration,
    /// The time of the last halving. A sign of overload from a call that began earlier does not halve the limit again.
    halved_at: Option<Duration>,
}

impl ConcurrencyLimit {
    /// Starts with a limit of eight.
    pub(super) fn new() -> Self {
        Self {
            limit: START,
            clean: 0,
            min_latency: None,
            held_until: Duration::ZERO,
            halved_at: None,
        }
    }

    /// The delay before another call may start; `None` while the limit is reached.
    pub(super) fn wait(&self, under_way: usize, now: Duration) -> Option<Duration> {
        (under_way < self.limit).then(|| self.held_until.saturating_sub(now))
    }

    /// Counts a call that began at `began` and was answered without an error of the server.
    pub(super) fn answered(&mut self, began: Duration, now: Duration) {
        let latency = now.saturating_sub(began);
        let min_latency = self.min_latency.map_or(latency, |min_latency| min_latency.min(latency));
        self.min_latency = Some(min_latency);
        if latency > NORMAL_LATENCY && latency > min_latency * 2 {
            self.halve(began, now);
            return;
        }
        self.clean += 1;
        if self.clean >= self.limit {
            self.clean = 0;
            self.limit = (self.limit + 1).min(MAX);
            self.min_latency = Some(min_latency.mul_f64(DECAY));
        }
    }

    /// Counts a call that began at `began` and was answered with 429 or `Retry-After`. No call starts for `after`.
    pub(super) fn throttled(&mut self, began: Duration, now: Duration, after: Option<Duration>) {
        self.held_until = self.held_until.max(now + after.unwrap_or(DEFAULT_HOLD).min(MAX_HOLD));
        self.halve(began, now);
    }

    /// Counts a call that began at `began` and was answered with 5xx or not in time.
    pub(super) fn unanswered(&mut self, began: Duration, now: Duration) {
        self.halve(began, now);
    }

    fn halve(&mut self, began: Duration, now: Duration) {
        self.clean = 0;
        if self.halved_at.is_some_and(|halved| began < halved) {
            return;
        }
        self.limit = (self.limit / 2).max(MIN);
        self.halved_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// As many calls as the limit allows, which all begin at `at` and take `latency`.
    fn round(concurrency: &mut ConcurrencyLimit, at: Duration, latency: Duration) {
        for _ in 0..concurrency.limit {
            concurrency.answered(at, at + latency);
        }
    }

    #[test]
    fn limit_grows_by_one_after_as_many_clean_answers() {
        let mut concurrency = ConcurrencyLimit::new();
        round(&mut concurrency, ms(0), ms(10));
        assert_eq!(concurrency.limit, START + 1);
        for n in 1..200 {
            round(&mut concurrency, ms(n * 100), ms(10));
        }
        assert_eq!(concurrency.limit, MAX);
        assert_eq!(
            (concurrency.wait(MAX, ms(0)), concurrency.wait(MAX - 1, ms(0))),
            (None, Some(ms(0)))
        );
    }

    #[test]
    fn answer_429_halves_the_limit_and_delays_calls() {
        let mut concurrency = ConcurrencyLimit::new();
        concurrency.throttled(ms(0), ms(100), Some(ms(3_000)));
        assert_eq!(concurrency.limit, 4);
        assert_eq!(concurrency.wait(0, ms(100)), Some(ms(3_000)));
        assert_eq!(concurrency.wait(0, ms(3_200)), Some(ms(0)));
        concurrency.throttled(ms(4_000), ms(4_000), Some(Duration::from_secs(86_400)));
        assert_eq!(concurrency.wait(0, ms(4_000)), Some(MAX_HOLD));
    }

    #[test]
    fn burst_of_429_halves_the_limit_once() {
        let mut concurrency = ConcurrencyLimit::new();
        for n in 0..8 {
            concurrency.throttled(ms(n), ms(100 + n), None);
        }
        assert_eq!(concurrency.limit, 4);
        for n in 0..9 {
            concurrency.unanswered(ms(200 + n * 200), ms(300 + n * 200));
        }
        assert_eq!(concurrency.limit, MIN);
        assert_eq!(concurrency.wait(0, ms(10_000)), Some(ms(0)));
    }

    #[test]
    fn latency_far_above_the_lowest_halves_the_limit() {
        let mut concurrency = ConcurrencyLimit::new();
        round(&mut concurrency, ms(0), ms(40));
        concurrency.answered(ms(1_000), ms(1_045));
        assert_eq!(concurrency.limit, START + 1);
        concurrency.answered(ms(2_000), ms(2_200));
        assert_eq!(concurrency.limit, 4);
    }

    #[test]
    fn low_latency_that_doubles_is_not_overload() {
        let mut concurrency = ConcurrencyLimit::new();
        concurrency.answered(ms(0), ms(1));
        concurrency.answered(ms(10), ms(40));
        assert_eq!(concurrency.limit, START);
    }
}
