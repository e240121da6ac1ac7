//! The texts about notifications that did not arrive: the notice on every page, and the page that the server writes about them.

use jiff::Timestamp;

use crate::text::{absolute, many};

/// The notice on every page, which leads to the page about the notifications.
pub const NOTIFICATIONS_NOTICE: &str = "Notifications do not arrive. See";

pub const NOTIFICATIONS: &str = "Notifications";
pub const NOTIFICATIONS_ARRIVE: &str =
    "No notification is overdue, and none was lost in the last 24 hours.";
pub const DELIVERY_FAILING_DO: &str = "Check that the receiver of --notify-url is up and reachable from this server. Unwind retries at least every 5 minutes, and gives a notification up after 24 hours.";
pub const NOTIFICATIONS_LOST: &str = "Notifications that were given up";
pub const NOTIFICATIONS_LOST_MEANS: &str =
    "They are not sent again. What is stuck now is on the page Trouble.";

/// The heading while the receiver does not take notifications.
pub fn delivery_failing(since: Timestamp) -> String {
    format!("No notification has been delivered since {}", absolute(since))
}

/// The meaning of a receiver that does not take notifications.
pub fn delivery_failing_means(waiting: usize) -> String {
    let waiting = many(waiting, "notification waits", "notifications wait");
    format!("{waiting} for delivery. Nobody who relies on them learns of new trouble.")
}

/// The end of a notification that was given up, and the reason.
pub fn notification_lost(at: Timestamp, why: &str) -> String {
    format!("Given up {}: {why}.", absolute(at))
}
