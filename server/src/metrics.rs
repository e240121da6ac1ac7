//! The metrics for Prometheus. The names and their meaning stand in `server/monitoring/metrics.md`; a test compares that
//! table, the alert rules and the dashboard with the [`exposition()`].
//!
//! # Decisions
//! - The crate is `prometheus-client`, the OpenMetrics library of the Prometheus project. It has no global registry, so that
//!   two servers in one test do not share counters, and it writes OpenMetrics, which every Prometheus since 2.5 reads.
//! - Whatever the hub or a table of the server knows is read at the scrape, and only events are counted as they happen.
//!   Two books for one number would differ some day.
//! - A label is a code, a state, or the name of a resource. No label holds the name of an object or a namespace.

mod api;
mod exposition;
mod notifications;
#[cfg(test)]
mod tests;

pub use self::{
    api::{ApiMetrics, Call, CallOutcome, RestartReason, Verb},
    exposition::{CONTENT_TYPE, Scrape, exposition},
    notifications::NotifyMetrics,
};
