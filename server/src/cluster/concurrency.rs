//! The limits on concurrent API calls: one for each target, and one for all calls together. A limit grows while the API
//! server keeps up and is halved when it does not.
//!
//! # Decisions
//! - A target is a resource, such as `configmaps`: what makes calls slow is nearly always a webhook, a storage driver or an
//!   aggregated API server that concerns some resources only. Latency, timeouts and errors count for the target alone.
//! - The read of Pods that precedes the DELETE of a claim counts for the claims, and the read of a namespace's content for the
//!   namespaces. Otherwise reads that succeed would be followed by ever more DELETEs that hang.
//! - A 429 with `Retry-After` counts for all calls: API Priority and Fairness sends it, and all calls of this process are in
//!   one flow of one priority level. A 503 with `Retry-After` may be one aggregated API, so it counts for the target.
//! - One target gets at most half of the limit on all calls, so that a resource whose calls begin to hang leaves the other
//!   half to the others, even in the ten seconds before the first timeout.
//! - One dead webhook may guard several resources, whose calls would together take all. So a target has few calls until the first
//!   answer, a call without an answer for a second no longer counts for the limit on all calls, and a target most of whose calls
//!   are that slow starts no other one. Lists of any size take seconds, so they do not count as slow.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use teardown::action::Action;

/// The limits at the start, on one target and on all calls.
const START: (usize, usize) = (8, 16);
/// One call is always allowed. Without any call nothing would show that the API server has recovered.
const MIN: usize = 1;
/// The most calls. Each call has a connection of its own (HTTP/1.1) and takes a seat of the API server's priority level.
/// More calls would crowd out other clients.
const MAX: usize = 64;
/// The most targets whose limits are remembered while they have no call in flight.
const MAX_TARGETS: usize = 256;
/// A call that takes longer than this probably hangs.
const SLOW: Duration = Duration::from_secs(1);
/// The most calls to a target that has not answered yet.
const UNTRIED: usize = 2;
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

/// The resource that a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target(String);

impl Target {
    /// A target by the name of its resource.
    #[cfg(test)]
    pub(super) fn new(resource: &str) -> Self {
        Self(resource.to_owned())
    }

    /// The target of an action.
    pub(super) fn of(action: &Action) -> Self {
        Self(action.target().kind.resource())
    }
}

/// The load of the API server, as far as the outcome of a call shows it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// An answer without a server error, to a call whose latency can be compared with that of others.
    Normal,
    /// 429.
    Throttled(Option<Duration>),
    /// Another answer with `Retry-After`.
    Unavailable(Duration),
    /// No answer, or 5xx.
    Unanswered,
    /// The latency shows nothing, because it depends on the size of the list.
    Unknown,
}

/// The limits of all targets, over the calls of all runs. Times are relative to any fixed moment.
#[derive(Debug)]
pub(super) struct Limits {
    whole: Lane,
    targets: HashMap<Target, Lane>,
}

/// A limit and the calls in flight.
#[derive(Debug)]
struct Lane {
    limit: ConcurrencyLimit,
    /// The earliest first.
    under_way: VecDeque<UnderWay>,
    has_answered: bool,
}

/// A call in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UnderWay {
    began: Duration,
    is_list: bool,
}

impl Lane {
    fn new(start: usize) -> Self {
        Self {
            limit: ConcurrencyLimit::new(start),
            under_way: VecDeque::new(),
            has_answered: false,
        }
    }

    fn end(&mut self, began: Duration) {
        if let Some(place) = self.under_way.iter().position(|it| it.began == began) {
            self.under_way.remove(place);
        }
    }

    /// The delay before another call to this target may start; `None` until one has ended.
    fn wait_of_target(&self, most: usize, now: Duration) -> Option<Duration> {
        let limit = self.limit.limit.min(most);
        let limit = if self.has_answered { limit } else { limit.min(UNTRIED) };
        let is_slow = |it: &&UnderWay| !it.is_list && now.saturating_sub(it.began) >= SLOW;
        let slow = self.under_way.iter().filter(is_slow).count();
        let is_free = self.under_way.len() < limit && slow * 2 < limit.max(2);
        is_free.then(|| self.limit.hold(now))
    }

    /// The delay before another call to any target may start; `None` until one has ended.
    fn wait_of_all(&self, now: Duration) -> Option<Duration> {
        let hold = self.limit.hold(now);
        if self.under_way.len() >= MAX {
            return None;
        }
        // With this one more they would be too many, unless it is slow.
        let Some(place) = self.under_way.len().checked_sub(self.limit.limit) else {
            return Some(hold);
        };
        let slow_at = self.under_way.get(place)?.began + SLOW;
        Some(hold.max(slow_at.saturating_sub(now)))
    }
}

impl Limits {
    /// The limits before the first call.
    pub(super) fn new() -> Self {
        Self { whole: Lane::new(START.1), targets: HashMap::new() }
    }

    /// The delay before another call to a target may start; `None` while a limit is reached. An urgent call ignores the
    /// number of calls in flight.
    pub(super) fn wait(&self, target: &Target, is_urgent: bool, now: Duration) -> Option<Duration> {
        let share = (self.whole.limit.limit / 2).max(MIN);
        let lane = self.targets.get(target);
        if is_urgent {
            let own = lane.map_or(Duration::ZERO, |lane| lane.limit.hold(now));
            return Some(self.whole.limit.hold(now).max(own));
        }
        let own = lane.map_or(Some(Duration::ZERO), |lane| lane.wait_of_target(share, now))?;
        Some(self.whole.wait_of_all(now)?.max(own))
    }

    /// Counts the start of a call, or of a list.
    pub(super) fn started(&mut self, target: &Target, is_list: bool, now: Duration) {
        if !self.targets.contains_key(target) && self.targets.len() >= MAX_TARGETS {
            self.targets.retain(|_, lane| !lane.under_way.is_empty());
        }
        let call = UnderWay { began: now, is_list };
        self.whole.under_way.push_back(call);
        let lane = self.targets.entry(target.clone()).or_insert_with(|| Lane::new(START.0));
        lane.under_way.push_back(call);
    }

    /// Counts the end of a call that began at `began`.
    pub(super) fn ended(&mut self, target: &Target, load: Load, began: Duration, now: Duration) {
        self.whole.end(began);
        let Some(lane) = self.targets.get_mut(target) else { return };
        lane.end(began);
        lane.has_answered |= !matches!(load, Load::Unanswered);
        match load {
            Load::Normal => {
                lane.limit.answered(began, now);
                self.whole.limit.grow();
            }
            Load::Throttled(after) => {
                lane.limit.throttled(began, now, after);
                if after.is_some() {
                    self.whole.limit.throttled(began, now, after);
                }
            }
            Load::Unavailable(after) => lane.limit.throttled(began, now, Some(after)),
            Load::Unanswered => lane.limit.halve(began, now),
            Load::Unknown => {}
        }
    }
}

/// Additive increase, multiplicative decrease. Times are relative to any fixed moment.
#[derive(Clone, Debug)]
struct ConcurrencyLimit {
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
    fn new(limit: usize) -> Self {
        Self { limit, clean: 0, min_latency: None, held_until: Duration::ZERO, halved_at: None }
    }

    /// The delay before another call may start.
    fn hold(&self, now: Duration) -> Duration {
        self.held_until.saturating_sub(now)
    }

    /// Counts a call that began at `began` and was answered without an error of the server.
    fn answered(&mut self, began: Duration, now: Duration) {
        let latency = now.saturating_sub(began);
        let min_latency = self.min_latency.map_or(latency, |min_latency| min_latency.min(latency));
        self.min_latency = Some(min_latency);
        if latency > NORMAL_LATENCY && latency > min_latency * 2 {
            self.halve(began, now);
            return;
        }
        if self.grow() {
            self.min_latency = Some(min_latency.mul_f64(DECAY));
        }
    }

    /// Counts an answer without a sign of overload. Returns whether the limit has grown.
    fn grow(&mut self) -> bool {
        self.clean += 1;
        let is_due = self.clean >= self.limit;
        if is_due {
            self.clean = 0;
            self.limit = (self.limit + 1).min(MAX);
        }
        is_due
    }

    /// Counts a call that began at `began` and was answered with 429 or `Retry-After`. No call starts for `after`.
    fn throttled(&mut self, began: Duration, now: Duration, after: Option<Duration>) {
        self.held_until = self.held_until.max(now + after.unwrap_or(DEFAULT_HOLD).min(MAX_HOLD));
        self.halve(began, now);
    }

    /// Counts a sign of overload from a call that began at `began`, such as no answer in time.
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
        let mut concurrency = ConcurrencyLimit::new(START.0);
        round(&mut concurrency, ms(0), ms(10));
        assert_eq!(concurrency.limit, START.0 + 1);
        for n in 1..200 {
            round(&mut concurrency, ms(n * 100), ms(10));
        }
        assert_eq!(concurrency.limit, MAX);
    }

    #[test]
    fn answer_429_halves_the_limit_and_delays_calls() {
        let mut concurrency = ConcurrencyLimit::new(START.0);
        concurrency.throttled(ms(0), ms(100), Some(ms(3_000)));
        assert_eq!(concurrency.limit, 4);
        assert_eq!(concurrency.hold(ms(100)), ms(3_000));
        assert_eq!(concurrency.hold(ms(3_200)), ms(0));
        concurrency.throttled(ms(4_000), ms(4_000), Some(Duration::from_secs(86_400)));
        assert_eq!(concurrency.hold(ms(4_000)), MAX_HOLD);
    }

    #[test]
    fn burst_of_429_halves_the_limit_once() {
        let mut concurrency = ConcurrencyLimit::new(START.0);
        for n in 0..8 {
            concurrency.throttled(ms(n), ms(100 + n), None);
        }
        assert_eq!(concurrency.limit, 4);
        for n in 0..9 {
            concurrency.halve(ms(200 + n * 200), ms(300 + n * 200));
        }
        assert_eq!(concurrency.limit, MIN);
        assert_eq!(concurrency.hold(ms(10_000)), ms(0));
    }

    #[test]
    fn latency_far_above_the_lowest_halves_the_limit() {
        let mut concurrency = ConcurrencyLimit::new(START.0);
        round(&mut concurrency, ms(0), ms(40));
        concurrency.answered(ms(1_000), ms(1_045));
        assert_eq!(concurrency.limit, START.0 + 1);
        concurrency.answered(ms(2_000), ms(2_200));
        assert_eq!(concurrency.limit, 4);
    }

    #[test]
    fn low_latency_that_doubles_is_not_overload() {
        let mut concurrency = ConcurrencyLimit::new(START.0);
        concurrency.answered(ms(0), ms(1));
        concurrency.answered(ms(10), ms(40));
        assert_eq!(concurrency.limit, START.0);
    }

    /// Starts as many calls to a target as the limits allow, and returns their number.
    fn start_all(limits: &mut Limits, name: &str, now: Duration) -> usize {
        let target = Target::new(name);
        let mut started = 0;
        while limits.wait(&target, false, now) == Some(ms(0)) {
            limits.started(&target, false, now);
            started += 1;
        }
        started
    }

    /// Limits after an answer from each of these targets.
    fn tried(names: &[&str]) -> Limits {
        let mut limits = Limits::new();
        for target in names.iter().map(|name| Target::new(name)) {
            limits.started(&target, false, ms(0));
            limits.ended(&target, Load::Normal, ms(0), ms(0));
        }
        limits
    }

    #[test]
    fn target_has_at_most_half_of_all_calls() {
        let mut limits = tried(&["a", "b", "c"]);
        assert_eq!(start_all(&mut limits, "a", ms(0)), 8);
        assert_eq!(start_all(&mut limits, "b", ms(0)), 8);
        assert_eq!(start_all(&mut limits, "c", ms(0)), 0, "all calls have a limit too");
        for _ in 0..8 {
            limits.ended(&Target::new("a"), Load::Normal, ms(0), ms(5));
        }
        for n in 0..5_000 {
            limits.started(&Target::new("a"), false, ms(n));
            limits.ended(&Target::new("a"), Load::Normal, ms(n), ms(n + 5));
        }
        assert_eq!(start_all(&mut limits, "a", ms(9_000)), MAX / 2);
        assert_eq!(start_all(&mut limits, "c", ms(9_000)), 8);
    }

    #[test]
    fn target_that_hangs_shrinks_alone() {
        let mut limits = tried(&["hanging", "other"]);
        let mut now = ms(0);
        for expected in [8, 4, 2, 1, 1] {
            let started = start_all(&mut limits, "hanging", now);
            assert_eq!(started, expected);
            now += Duration::from_secs(10);
            for _ in 0..started {
                limits.ended(&Target::new("hanging"), Load::Unanswered, now - ms(10_000), now);
            }
        }
        assert_eq!(start_all(&mut limits, "other", now), 8);
    }

    #[test]
    fn target_has_few_calls_until_its_first_answer() {
        let mut limits = Limits::new();
        let target = Target::new("a");
        assert_eq!(start_all(&mut limits, "a", ms(0)), UNTRIED);
        limits.ended(&target, Load::Unanswered, ms(0), ms(10_000));
        assert_eq!(start_all(&mut limits, "a", ms(10_000)), 0, "another call has no answer yet");
        limits.ended(&target, Load::Normal, ms(0), ms(11_000));
        assert_eq!(start_all(&mut limits, "a", ms(11_000)), START.0 / 2, "it was halved");
    }

    #[test]
    fn target_goes_on_beside_a_slow_call_or_slow_lists() {
        let mut limits = tried(&["a"]);
        limits.started(&Target::new("a"), false, ms(0));
        assert_eq!(start_all(&mut limits, "a", ms(5_000)), START.0 - 1);
        let mut limits = tried(&["a"]);
        (0..5).for_each(|_| limits.started(&Target::new("a"), true, ms(0)));
        assert_eq!(start_all(&mut limits, "a", ms(5_000)), START.0 - 5);
    }

    #[test]
    fn call_without_an_answer_for_a_second_holds_its_own_target_alone() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let mut limits = tried(&names);
        assert_eq!(start_all(&mut limits, "a", ms(0)), 8);
        assert_eq!(start_all(&mut limits, "b", ms(400)), 8);
        let wait = |limits: &Limits, name, at| limits.wait(&Target::new(name), false, ms(at));
        assert_eq!(wait(&limits, "c", 400), Some(ms(600)), "the calls to a are slow from then on");
        assert_eq!(start_all(&mut limits, "c", ms(1_000)), 8);
        for _ in 0..4 {
            assert_eq!(wait(&limits, "a", 1_100), None, "most of its calls have no answer");
            limits.ended(&Target::new("a"), Load::Unknown, ms(0), ms(1_100));
        }
        for _ in 0..4 {
            limits.ended(&Target::new("a"), Load::Unanswered, ms(0), ms(1_300));
        }
        assert_eq!(wait(&limits, "a", 1_500), Some(ms(0)));
        for (n, name) in names[3..].iter().enumerate() {
            start_all(&mut limits, name, ms(9_000 + n as u64 * 2_000));
        }
        assert_eq!(limits.whole.under_way.len(), MAX, "there is a limit on slow ones too");
    }

    #[test]
    fn retry_after_holds_all_calls_with_429_and_one_target_with_503() {
        for (load, other) in [
            (Load::Throttled(Some(ms(3_000))), Some(ms(3_000))),
            (Load::Throttled(None), Some(ms(0))),
            (Load::Unavailable(ms(3_000)), Some(ms(0))),
        ] {
            let mut limits = Limits::new();
            limits.started(&Target::new("a"), false, ms(0));
            limits.ended(&Target::new("a"), load, ms(0), ms(0));
            assert!(limits.wait(&Target::new("a"), true, ms(0)) >= Some(ms(1_000)), "{load:?}");
            assert_eq!(limits.wait(&Target::new("b"), false, ms(0)), other, "{load:?}");
        }
    }

    #[test]
    fn number_of_remembered_targets_is_bounded() {
        let mut limits = Limits::new();
        limits.started(&Target::new("in flight"), false, ms(0));
        for n in 0..2_000 {
            let target = Target::new(&n.to_string());
            limits.started(&target, false, ms(n));
            limits.ended(&target, Load::Normal, ms(n), ms(n));
        }
        assert!(limits.targets.len() <= MAX_TARGETS, "{}", limits.targets.len());
        assert!(limits.targets.contains_key(&Target::new("in flight")));
    }
}
