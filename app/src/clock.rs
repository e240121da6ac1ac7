//! Time for the reader. The first render knows none, so it shows absolute times; after hydration a clock ticks once a
//! second and times become relative. It stands still while the page is stale, so that nothing seems fresher than it is.

use std::time::Duration;

use jiff::Timestamp;
use leptos::prelude::*;

use crate::{erased::alive, live::Connection};

/// Seconds since 1970, once the browser runs.
#[derive(Clone, Copy, Default)]
pub struct Clock(RwSignal<Option<i64>>);

impl Clock {
    /// Seconds since `at`, once the clock runs.
    pub fn since(self, at: Timestamp) -> Option<i64> {
        self.0.get().map(|now| (now - at.as_second()).max(0))
    }
}

/// Starts the clock once the page is alive.
pub fn start() {
    let clock = expect_context::<Clock>();
    let connection = expect_context::<Connection>();
    alive(move || {
        clock.0.set(Some(seconds()));
        let tick = move || {
            if connection.is_live_untracked() {
                clock.0.set(Some(seconds()));
            }
        };
        let timer = set_interval_with_handle(tick, Duration::from_secs(1)).ok();
        on_cleanup(move || {
            if let Some(timer) = timer {
                timer.clear();
            }
        });
    });
}

fn seconds() -> i64 {
    (js_sys::Date::now() / 1000.0) as i64
}
