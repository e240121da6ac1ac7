//! HorizontalPodAutoscalers: they write the replicas of their targets through the Scale. No metrics are served, so they
//! keep a target within its bounds, or at the number in the annotation [`WANTED`]:
//! pkg/controller/podautoscaler/horizontal.go.

mod metric;

use std::cmp::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, EventType};
use super::queue::Queue;
use super::read::{
    annotation, list, namespace, number, set, set_condition, small, text, unset, written,
};
use super::resource::AUTOSCALERS;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The number of replicas that metrics would ask for.
const WANTED: &str = "unwind.test/desired-replicas";
/// The largest number of replicas, whatever its bounds say. No cluster that the sandbox stands for runs more, and more
/// would leave time for nothing else.
const MOST: i64 = 100;

pub(super) struct Autoscalers {
    period: Duration,
}

impl Reconcile for Autoscalers {
    type Work = Key;
    const NAME: &'static str = "horizontal-pod-autoscaler-controller";
    const USER: &'static str = "horizontal-pod-autoscaler";
    const COMPONENT: &'static str = "horizontal-pod-autoscaler";

    fn new(timing: &Timing) -> Self {
        Self { period: timing.autoscaler_period }
    }

    /// An autoscaler is reconciled once in each period, for the first time after one period.
    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if AUTOSCALERS.has(&event.key) && event.change == Change::Added {
            queue.add_after(event.key.clone(), self.period);
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        // An autoscaler that a finalizer holds still works.
        let Some(scaler) = client.get(key) else { return Ok(Next::Rest) };
        let mut changed = Value::clone(&scaler);
        look(client, &mut changed);
        // The next reconciliation repeats a write that was refused.
        drop(client.update_status(AUTOSCALERS, &changed));
        Ok(Next::After(self.period))
    }
}

/// The reason for another number of replicas.
struct Rescale {
    wanted: i64,
    reason: &'static str,
}

/// Scales the target of an autoscaler, and records the result in its status.
fn look(client: &mut Client<'_>, scaler: &mut Value) {
    let now = client.now();
    let (place, scale) = match target(client, scaler) {
        Ok(found) => found,
        Err(why) => {
            client.event(scaler, EventType::Warning, "FailedGetScale", &why);
            let message =
                format!("the HPA controller was unable to get the target's current scale: {why}");
            set_condition(scaler, "AbleToScale", "False", "FailedGetScale", &message, now);
            return;
        }
    };
    let message = "the HPA controller was able to get the target's current scale";
    set_condition(scaler, "AbleToScale", "True", "SucceededGetScale", message, now);
    let current = number(&scale, "/spec/replicas").unwrap_or_default();
    let before = number(scaler, "/status/desiredReplicas").unwrap_or_default();
    let least = small(number(scaler, "/spec/minReplicas").unwrap_or(1));
    let most = small(number(scaler, "/spec/maxReplicas").unwrap_or(current)).max(least);
    let outside = |wanted, reason| Some(Rescale { wanted, reason });
    let rescale = if current == 0 {
        // Zero replicas mean that a user switched scaling off.
        let message = "scaling is disabled since the replica count of the target is zero";
        set_condition(scaler, "ScalingActive", "False", "ScalingDisabled", message, now);
        None
    } else if current > most {
        outside(most, "Current number of replicas above Spec.MaxReplicas")
    } else if current < least {
        outside(least, "Current number of replicas below Spec.MinReplicas")
    } else {
        match measured(client, scaler, &scale) {
            Ok(asked) => inside(asked.clamp(least, most), current),
            Err(metrics) => return note(scaler, current, before, metrics),
        }
    };
    let Some(Rescale { wanted, reason }) = rescale else {
        return note(scaler, current, current, Value::Null);
    };
    // At most the limit of the sandbox, unless a user asked for more.
    let wanted = wanted.min(MOST.max(current));
    if let Err(refused) = client.rescale(&place, scale, wanted) {
        let why = refused.message;
        let message = format!("New size: {wanted}; reason: {reason}; error: {why}");
        client.event(scaler, EventType::Warning, "FailedRescale", &message);
        let message = format!("the HPA controller was unable to update the target scale: {why}");
        set_condition(scaler, "AbleToScale", "False", "FailedUpdateScale", &message, now);
        return note(scaler, current, before, Value::Null);
    }
    let message = format!("the HPA controller was able to update the target scale to {wanted}");
    set_condition(scaler, "AbleToScale", "True", "SucceededRescale", &message, now);
    let message = format!("New size: {wanted}; reason: {reason}");
    client.event(scaler, EventType::Normal, "SuccessfulRescale", &message);
    note(scaler, current, wanted, Value::Null);
    set(scaler, &["status", "lastScaleTime"], written(now));
}

/// The target and its Scale, or the reason why there is none.
fn target(client: &Client<'_>, scaler: &Value) -> Result<(Key, Value), String> {
    let reference = &scaler["spec"]["scaleTargetRef"];
    let (version, kind) = (text(reference, "/apiVersion"), text(reference, "/kind"));
    let Some(found) = client.kind_of(version, kind) else {
        let group = crate::cluster::split_api_version(version).0;
        return Err(format!("no matches for kind {kind:?} in group {group:?}"));
    };
    let key = Key::new(&found.group, &found.plural, namespace(scaler), text(reference, "/name"));
    let scale = client.scale(&key).map_err(|refused| refused.message)?;
    Ok((key, scale))
}

/// The change that metrics ask for.
fn inside(wanted: i64, current: i64) -> Option<Rescale> {
    match wanted.cmp(&current) {
        Ordering::Equal => None,
        Ordering::Greater => Some(Rescale { wanted, reason: "annotation above target" }),
        Ordering::Less => Some(Rescale { wanted, reason: "All metrics below target" }),
    }
}

/// The number that metrics ask for, or the status where they are not available.
fn measured(client: &mut Client<'_>, scaler: &mut Value, scale: &Value) -> Result<i64, Value> {
    let now = client.now();
    if let Some(asked) = annotation(scaler, WANTED).and_then(|it| it.parse().ok()) {
        let message = format!(
            "the HPA was able to successfully calculate a replica count from the annotation {WANTED}"
        );
        set_condition(scaler, "ScalingActive", "True", "ValidMetricFound", &message, now);
        let message = "recommended size matches current size";
        set_condition(scaler, "AbleToScale", "True", "ReadyForNewScale", message, now);
        return Ok(asked);
    }
    if text(scale, "/status/selector").is_empty() {
        let why = "selector is required";
        client.event(scaler, EventType::Warning, "SelectorRequired", why);
        let message = "the HPA target's scale is missing a selector";
        unmeasured(client, scaler, "InvalidSelector", message, why);
        return Err(Value::Null);
    }
    let place = namespace(scaler).to_owned();
    let metrics = list(scaler, "/spec/metrics").iter();
    let all: Vec<_> = metrics.map(|it| metric::ask(it, &place)).collect();
    for one in &all {
        client.event(scaler, EventType::Warning, &one.reason, &one.why);
    }
    if let Some(first) = all.first() {
        let message = format!("the HPA was unable to compute the replica count: {}", first.why);
        let count = all.len();
        let all = format!("invalid metrics ({count} invalid out of {count})");
        let why = format!("{all}, first error is: {}", first.outer);
        unmeasured(client, scaler, &first.reason, &message, &why);
    }
    Err(vec![json!({"type": ""}); all.len()].into())
}

/// Reports that the number of replicas is unknown: in the condition by `message`, in an event by `why`.
fn unmeasured(client: &mut Client<'_>, scaler: &mut Value, reason: &str, message: &str, why: &str) {
    set_condition(scaler, "ScalingActive", "False", reason, message, client.now());
    client.event(scaler, EventType::Warning, "FailedComputeMetricsReplicas", why);
}

fn note(scaler: &mut Value, current: i64, desired: i64, metrics: Value) {
    if current == 0 {
        unset(scaler, &["status", "currentReplicas"]);
    } else {
        set(scaler, &["status", "currentReplicas"], json!(current));
    }
    set(scaler, &["status", "desiredReplicas"], json!(desired));
    set(scaler, &["status", "currentMetrics"], metrics);
}
