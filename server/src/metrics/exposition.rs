//! Writes the metrics as OpenMetrics text.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicI64, AtomicU64},
};

use jiff::Timestamp;
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        counter::ConstCounter,
        family::Family,
        gauge::{ConstGauge, Gauge},
        info::Info,
    },
    registry::{Registry, Unit},
};
use serde::Serialize;
use teardown::{
    diagnosis::{Cause, Confidence},
    tally::{CompleteTally, Tally},
};

use super::{ApiMetrics, NotifyMetrics};
use crate::hub::Reading;

/// The media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The most hidden resources that are named; all are counted.
const NAMED: usize = 200;

/// Everything that a scrape reads.
#[derive(Clone, Copy, Debug)]
pub struct Scrape<'a> {
    /// The counts of the hub.
    pub reading: &'a Reading,
    /// The counters of the connection to the API server.
    pub api: &'a ApiMetrics,
    /// The counters of the notifications, if there are any.
    pub notifications: Option<&'a NotifyMetrics>,
    /// The open event streams.
    pub viewers: usize,
    /// The time of the scrape, by the clock of this machine.
    pub now: Timestamp,
}

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<i64, AtomicI64>>;
type Seconds = Family<Labels, Gauge<f64, AtomicU64>>;

/// The metrics of one scrape as OpenMetrics text.
pub fn exposition(scrape: &Scrape<'_>) -> String {
    let mut registry = Registry::with_prefix("unwind");
    let Scrape { reading, api, viewers, now, .. } = scrape;
    let Reading { tally, journal_failures, is_journal_failing, set_aside, diagnosis_time } =
        reading;
    registry.register(
        "build",
        "The version of the server",
        Info::new([("version", env!("CARGO_PKG_VERSION"))]),
    );
    sight(&mut registry, tally);
    if let Some(complete) = &tally.complete {
        work(&mut registry, complete);
        trouble(&mut registry, complete, tally.now);
    }
    connection(&mut registry, api, *now);
    if let Some(notifications) = scrape.notifications {
        notified(&mut registry, notifications);
    }
    let help = "Time that was spent to find the causes for which deletions wait";
    let spent = ConstCounter::new(diagnosis_time.took.as_secs_f64());
    registry.register_with_unit("diagnosis", help, Unit::Seconds, spent);
    let help = "Times that the causes for which deletions wait were looked for";
    registry.register("diagnosis_rounds", help, ConstCounter::new(diagnosis_time.rounds));
    let help = "Open event streams of browsers and programs";
    registry.register("viewers", help, ConstGauge::new(count(*viewers)));
    let help = "Writes of the journal that failed";
    registry.register("journal_failures", help, ConstCounter::new(*journal_failures));
    let help = "1 while the journal cannot be written, so that no call is sent, else 0";
    registry.register("journal_failing", help, ConstGauge::new(i64::from(*is_journal_failing)));
    let help = "Runs of this cluster that cannot be read and that nobody has released";
    registry.register("runs_set_aside", help, ConstGauge::new(count(*set_aside)));
    let mut text = String::new();
    // Writing to a string does not fail.
    encode(&mut text, &registry).unwrap_or_default();
    text
}

/// The part of the cluster that the server sees.
fn sight(registry: &mut Registry, tally: &Tally) {
    let mut gauge = |name: &str, help: &str, value: usize| {
        registry.register(name, help, ConstGauge::new(count(value)));
    };
    let help = "1 while the API server answers, else 0";
    gauge("api_server_reachable", help, tally.reachable.into());
    let help = "1 once every visible kind has been listed; while it is 0, the other counts of the cluster are absent";
    gauge("index_complete", help, tally.complete.is_some().into());
    gauge("kinds_listed", "Kinds that have been listed, or that are hidden", tally.kinds_listed);
    gauge("kinds_pending", "Kinds whose first list has not arrived yet", tally.kinds_pending);
    let help = "Kinds and group versions that cannot be listed or watched";
    gauge("hidden_kinds", help, tally.hidden.len());
    let hidden = Gauges::default();
    for (resource, cause) in tally.hidden.iter().take(NAMED) {
        set(&hidden, &[("resource", resource.clone()), ("reason", code(cause))], 1);
    }
    let help = "1 for each hidden kind or group version, at most 200, with the reason";
    registry.register("hidden_kind", help, hidden);
}

fn work(registry: &mut Registry, complete: &CompleteTally) {
    let help = "Objects of the cluster that are known";
    registry.register("objects", help, ConstGauge::new(count(complete.objects)));
    let (runs, steps) = (Gauges::default(), Gauges::default());
    for (state, number) in &complete.runs {
        set(&runs, &[("state", code(state))], *number);
    }
    for (state, number) in &complete.steps {
        set(&steps, &[("state", code(state))], *number);
    }
    registry.register("runs", "Runs of this cluster in the journal", runs);
    registry.register("run_steps", "Steps of the runs that are not over", steps);
}

/// Every cause has a value, so that 0 is a statement and an alert finds no gap when the first object waits.
fn trouble(registry: &mut Registry, complete: &CompleteTally, now: Timestamp) {
    let (objects, roots, stuck) = (Gauges::default(), Gauges::default(), Gauges::default());
    let mut oldest: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for cause in Cause::NAMES {
        for confidence in Confidence::ALL {
            let found = complete.waiting.get(&(cause, confidence));
            let labels = [("cause", cause.to_owned()), ("confidence", code(&confidence))];
            set(&objects, &labels, found.map_or(0, |it| it.objects));
            set(&roots, &labels, found.map_or(0, |it| it.roots));
            set(&stuck, &labels, found.map_or(0, |it| it.stuck));
            if let Some(found) = found {
                let first = oldest.entry(cause).or_insert(found.oldest);
                *first = found.oldest.min(*first);
            }
        }
    }
    let help = "Objects whose deletion waits, by cause; an object with two roots counts for each";
    registry.register("terminating_objects", help, objects);
    let help = "Roots for which deletions wait: places where the cause sits";
    registry.register("terminating_roots", help, roots);
    let help = "Roots with an object past its deadline; where waiting may end the cause, only objects at the root count";
    registry.register("stuck_roots", help, stuck);
    let help =
        "Objects that are being deleted and wait for no cause: they are within their expected time";
    registry.register("terminating_in_time", help, ConstGauge::new(count(complete.in_time)));
    let ages = Seconds::default();
    for (cause, since) in oldest {
        let age = now.duration_since(since).as_secs_f64();
        ages.get_or_create(&vec![("cause", cause.to_owned())]).set(age.max(0.0));
    }
    let help = "Time since the first of the objects that wait was deleted; absent for a cause without objects";
    registry.register_with_unit("terminating_oldest", help, Unit::Seconds, ages);
}

fn connection(registry: &mut Registry, api: &ApiMetrics, now: Timestamp) {
    let help = "Requests to the API server by verb and outcome";
    registry.register("api_calls", help, api.calls.clone());
    let help = "Time to the answer of a request to the API server; of a watch, to its start";
    registry.register_with_unit("api_call_duration", help, Unit::Seconds, api.durations.clone());
    let help = "Watches that started again for another reason than their regular end";
    registry.register("watch_restarts", help, api.watch_restarts.clone());
    let help = "Questions to kubelets by subject and outcome; none unless their logs are read";
    registry.register("kubelet_queries", help, api.kubelet_queries.clone());
    if let Some(silence) = api.watch_silence() {
        let last = now.as_duration().as_secs_f64() - silence.as_secs_f64();
        let help =
            "Time at which any watch last received an event or a bookmark, in seconds since 1970";
        let name = "watch_last_event_timestamp";
        registry.register_with_unit(name, help, Unit::Seconds, ConstGauge::new(last));
    }
}

fn notified(registry: &mut Registry, metrics: &NotifyMetrics) {
    let help = "Attempts to deliver a notification";
    registry.register("notification_deliveries", help, metrics.deliveries.clone());
    let help = "Notifications that were given up or refused, so nobody got them";
    registry.register("notifications_lost", help, metrics.lost.clone());
    let help = "Notifications that wait for their delivery";
    registry.register("notifications_pending", help, metrics.pending.clone());
    let help = "Time of the last look at the whole trouble of the cluster, in seconds since 1970; 0 before the first";
    let name = "notifier_last_look_timestamp";
    registry.register_with_unit(name, help, Unit::Seconds, metrics.looked.clone());
}

fn set(family: &Gauges, labels: &[(&'static str, String)], value: usize) {
    family.get_or_create(&labels.to_vec()).set(count(value));
}

fn count(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The code of a state or a reason: the name that the API has, which begins with a capital for the states of steps.
fn code(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    let mut name = value.as_str().unwrap_or_default().to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    name
}
