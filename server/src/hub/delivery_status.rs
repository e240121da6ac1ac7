//! The state of the notifications, as a person reads it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of the notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// The problem, while the receiver does not take them.
    pub failing: Option<FailingDelivery>,
    /// The number of those that wait for their delivery.
    pub waiting: usize,
    /// Those that were given up lately, the latest last.
    pub lost: Vec<LostNotification>,
}

/// A receiver that does not take notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingDelivery {
    /// The time of the first delivery that failed.
    pub since: Timestamp,
    /// The problem with the last one.
    pub why: String,
}

/// A notification that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostNotification {
    /// The time when it was given up.
    #[serde(with = "teardown::millis::required")]
    pub at: Timestamp,
    /// Its title.
    pub title: String,
    /// The reason.
    pub why: String,
}

impl DeliveryStatus {
    /// The number of things that a person should see to.
    pub fn problems(&self) -> usize {
        usize::from(self.failing.is_some()) + self.lost.len()
    }
}
