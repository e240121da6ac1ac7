//! The clock of the page. The first render knows none, so it shows absolute times in UTC; after hydration the clock ticks
//! once a second and writes every time of the document anew. It shows the cluster's time as the server reports it, because
//! every time on the page is of that clock and the browser's may be wrong. It stands still while the page is stale, so
//! that nothing seems fresher than it is.

use std::time::Duration;

use jiff::Timestamp;
use leptos::prelude::*;
use teardown::message::Demo;

use super::{connection::Connection, local_time::LocalTime};

/// The reader's clock.
#[derive(Clone, Copy)]
pub struct Clock {
    /// Seconds since 1970, once the browser runs.
    shown: RwSignal<Option<i64>>,
    hand: StoredValue<Hand>,
}

/// The moment that the clock counts from.
#[derive(Clone, Copy)]
struct Hand {
    /// Seconds since 1970, by the cluster's clock.
    cluster: f64,
    /// Seconds since 1970, by the browser's clock, at that moment.
    browser: f64,
    /// Seconds of the cluster per second.
    pace: f64,
}

impl Hand {
    fn shows(self) -> f64 {
        self.cluster + (seconds() - self.browser) * self.pace
    }
}

impl Clock {
    /// A clock that does not run yet; the cluster's showed this when the page was rendered.
    pub fn new(rendered: Timestamp) -> Self {
        let hand = Hand { cluster: rendered.as_second() as f64, browser: 0.0, pace: 1.0 };
        Self { shown: RwSignal::new(None), hand: StoredValue::new(hand) }
    }

    /// Seconds since `at`: until the clock runs, as they were when the page was rendered. The reader is woken every second.
    pub fn since(self, at: Timestamp) -> i64 {
        let now = self.shown.get().unwrap_or_else(|| self.hand.get_value().cluster as i64);
        (now - at.as_second()).max(0)
    }

    /// Seconds since `at`, once the clock runs, as they are now; negative while it is still to come.
    pub fn since_untracked(self, at: Timestamp) -> Option<i64> {
        self.shown.get_untracked().map(|now| now - at.as_second())
    }

    /// The cluster's clock shows this now.
    pub fn set(self, cluster: Timestamp) {
        self.hand.update_value(|hand| {
            (hand.cluster, hand.browser) = (cluster.as_second() as f64, seconds());
        });
    }

    fn set_pace(self, pace: u32) {
        self.hand.update_value(|hand| {
            (hand.cluster, hand.browser) = (hand.shows(), seconds());
            hand.pace = f64::from(pace);
        });
    }
}

/// Starts the clock once the page is alive.
pub fn start() {
    let clock = expect_context::<Clock>();
    let connection = expect_context::<Connection>();
    Effect::new(move |_| {
        clock.hand.update_value(|hand| hand.browser = seconds());
        let local = LocalTime::new();
        let tick = move || {
            let now = clock.hand.get_value().shows() as i64;
            clock.shown.set(Some(now));
            local.show_all(now);
        };
        tick();
        let beat = move || {
            if connection.is_live_untracked() {
                tick();
            }
        };
        let timer = set_interval_with_handle(beat, Duration::from_secs(1)).ok();
        on_cleanup(move || {
            if let Some(timer) = timer {
                timer.clear();
            }
        });
    });
}

/// Lets the clock run as fast as the simulated cluster's time does.
pub fn keep_pace(demo: Memo<Option<Demo>>) {
    let clock = expect_context::<Clock>();
    Effect::new(move || {
        clock.set_pace(demo.with(|demo| demo.as_ref().map_or(1, |demo| demo.speed)));
    });
}

fn seconds() -> f64 {
    js_sys::Date::now() / 1000.0
}
