//! Counts the notifications.

use std::sync::atomic::{AtomicI64, AtomicU64};

use jiff::Timestamp;
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};

/// The counters of the notifications. A clone counts together with its original.
#[derive(Clone, Debug)]
pub struct NotifyMetrics {
    pub(super) deliveries: Family<[(&'static str, &'static str); 1], Counter>,
    pub(super) lost: Counter,
    pub(super) pending: Gauge<i64, AtomicI64>,
    /// Seconds since 1970; 0 before the first look.
    pub(super) looked: Gauge<f64, AtomicU64>,
}

impl Default for NotifyMetrics {
    fn default() -> Self {
        let deliveries = Family::<[(&str, &str); 1], Counter>::default();
        for outcome in [true, false] {
            deliveries.get_or_create(&outcome_label(outcome)).inc_by(0);
        }
        let (lost, pending, looked) = (Counter::default(), Gauge::default(), Gauge::default());
        Self { deliveries, lost, pending, looked }
    }
}

fn outcome_label(is_taken: bool) -> [(&'static str, &'static str); 1] {
    [("outcome", if is_taken { "success" } else { "failure" })]
}

impl NotifyMetrics {
    /// Counts an attempt to deliver a notification.
    pub fn delivered(&self, is_taken: bool) {
        self.deliveries.get_or_create(&outcome_label(is_taken)).inc();
    }

    /// Counts a notification that nobody will get.
    pub fn lost(&self) {
        self.lost.inc();
    }

    /// Sets the number of notifications that wait for their delivery.
    pub fn set_pending(&self, number: usize) {
        self.pending.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// Notes that the trouble could be seen at this time.
    pub fn looked(&self, at: Timestamp) {
        self.looked.set(at.as_duration().as_secs_f64());
    }

    /// Notifications that wait, lost notifications, and deliveries that were taken and that failed.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (i64, u64, u64, u64) {
        let taken = |is_taken| self.deliveries.get_or_create(&outcome_label(is_taken)).get();
        (self.pending.get(), self.lost.get(), taken(true), taken(false))
    }
}
