//! The end of subscriptions.

use leptos::{
    prelude::on_cleanup,
    reactive::graph::{Observer, Subscriber},
};

/// Ends what the running effect or view subscribed to as soon as its owner ends.
///
/// A dropped effect stays in the lists of the signals that it read until those signals change. A row that comes and goes
/// would stay in the lists of signals that hardly ever change, such as the selection, for as long as the page is open.
/// Called where a row reads a signal that outlives it.
pub fn end_with_owner() {
    if let Some(subscriber) = Observer::get() {
        on_cleanup(move || subscriber.clear_sources(&subscriber));
    }
}
