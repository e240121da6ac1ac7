//! How many calls may be under way at once: more while the API server keeps up, half as many when it does not.

use std::time::Duration;

/// The concurrency a run begins with.
const START: usize = 8;
/// One call is always allowed, or nothing would ever show that the API server has recovered.
const MIN: usize = 1;
/// Each call has a connection of its own (HTTP/1.1) and a seat of the API server's priority level: more would crowd
/// out the people it also serves.
const MAX: usize = 64;
/// Latency below this is never a sign of overload, however small the smallest was: a local API server answers in 2 ms
/// and doubles that at every hiccup.
const NORMAL_LATENCY: Duration = Duration::from_millis(50);
/// What the smallest latency is raised by, per clean concurrency: a minimum from an idle minute must not bind for ever.
const DECAY: f64 = 1.05;
/// The longest `Retry-After` that holds everything back; a proxy may say an hour.
const MAX_HOLD: Duration = Duration::from_secs(30);
/// How long to hold back when the API server asks for patience without saying how much.
const DEFAULT_HOLD: Duration = Duration::from_secs(1);

/// Additive increase, multiplicative decrease over the calls of all runs. Times are since any fixed moment.
#[derive(Clone, Debug)]
pub(super) struct ConcurrencyLimit {
    limit: usize,
    /// Answers without a sign of overload since the concurrency last changed.
    clean: usize,
    /// The smallest latency seen lately.
    min_latency: Option<Duration>,
    /// Nothing begins before this.
    held_until: Duration,
    /// Signs of overload from calls that began before this say nothing new: the concurrency was halved after they left.
    halved_at: Option<Duration>,
}

impl ConcurrencyLimit {
    /// A concurrency of eight.
    pub(super) fn new() -> Self {
        Self {
            limit: START,
            clean: 0,
            min_latency: None,
            held_until: Duration::ZERO,
            halved_at: None,
        }
    }

    /// How long to wait before another call may begin; none while as many are under way as may be.
    pub(super) fn wait(&self, under_way: usize, now: Duration) -> Option<Duration> {
        (under_way < self.limit).then(|| self.held_until.saturating_sub(now))
    }

    /// A call that began at `began` was answered in good order.
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

    /// A call that began at `began` was answered with 429, or otherwise asked for patience: nothing begins for `after`.
    pub(super) fn throttled(&mut self, began: Duration, now: Duration, after: Option<Duration>) {
        self.held_until = self.held_until.max(now + after.unwrap_or(DEFAULT_HOLD).min(MAX_HOLD));
        self.halve(began, now);
    }

    /// A call that began at `began` was not answered in time, or with 5xx.
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

    /// One full concurrency of calls that all begin at `at` and take `latency`.
    fn round(concurrency: &mut ConcurrencyLimit, at: Duration, latency: Duration) {
        for _ in 0..concurrency.limit {
            concurrency.answered(at, at + latency);
        }
    }

    #[test]
    fn a_clean_window_adds_one() {
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
    fn a_429_halves_and_holds_back() {
        let mut concurrency = ConcurrencyLimit::new();
        concurrency.throttled(ms(0), ms(100), Some(ms(3_000)));
        assert_eq!(concurrency.limit, 4);
        assert_eq!(concurrency.wait(0, ms(100)), Some(ms(3_000)));
        assert_eq!(concurrency.wait(0, ms(3_200)), Some(ms(0)));
        concurrency.throttled(ms(4_000), ms(4_000), Some(Duration::from_secs(86_400)));
        assert_eq!(concurrency.wait(0, ms(4_000)), Some(MAX_HOLD));
    }

    #[test]
    fn one_burst_halves_once() {
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
    fn latency_far_above_the_least_halves() {
        let mut concurrency = ConcurrencyLimit::new();
        round(&mut concurrency, ms(0), ms(40));
        concurrency.answered(ms(1_000), ms(1_045));
        assert_eq!(concurrency.limit, START + 1);
        concurrency.answered(ms(2_000), ms(2_200));
        assert_eq!(concurrency.limit, 4);
    }

    #[test]
    fn hiccups_of_a_fast_server_are_no_overload() {
        let mut concurrency = ConcurrencyLimit::new();
        concurrency.answered(ms(0), ms(1));
        concurrency.answered(ms(10), ms(40));
        assert_eq!(concurrency.limit, START);
    }
}
