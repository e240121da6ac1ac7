//! HorizontalPodAutoscalers, only as somebody who writes `spec.replicas` of what others own: there are no metrics here,
//! so they keep their target within its bounds, or at what the annotation [`WANTED`] says:
//! pkg/controller/podautoscaler/horizontal.go.

use std::time::Duration;

use serde_json::json;

use super::client::{Client, EventType};
use super::queue::Queue;
use super::read::{annotation, is_deleting, namespace, number, set, set_condition, small, text};
use super::resource::AUTOSCALERS;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The number of replicas that metrics would ask for.
const WANTED: &str = "unwind.test/desired-replicas";
/// As many replicas as it asks for, whatever its bounds say: no cluster that it stands in for runs more, and the
/// sandbox would be busy with nothing else.
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

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if AUTOSCALERS.has(&event.key) && event.change == Change::Added {
            queue.add(event.key.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(scaler) = client.get(key).filter(|it| !is_deleting(it)) else {
            return Ok(Next::Rest);
        };
        let reference = &scaler["spec"]["scaleTargetRef"];
        let mut changed = serde_json::Value::clone(&scaler);
        let now = client.now();
        let target = client
            .kind_of(text(reference, "/apiVersion"), text(reference, "/kind"))
            .map(|kind| {
                Key::new(&kind.group, &kind.plural, namespace(&scaler), text(reference, "/name"))
            })
            .and_then(|key| Some((client.get(&key)?, key)));
        let Some((target, place)) = target else {
            let kind = text(reference, "/kind").to_lowercase();
            let message = format!(
                "the HPA controller was unable to get the target's current scale: {kind}s.apps {:?} not found",
                text(reference, "/name")
            );
            set_condition(&mut changed, "AbleToScale", "False", "FailedGetScale", &message, now);
            client.event(&scaler, EventType::Warning, "FailedGetScale", &message);
            client.update_status(AUTOSCALERS, &changed)?;
            return Ok(Next::After(self.period));
        };
        let current = number(&target, "/spec/replicas").unwrap_or(1);
        let asked = annotation(&scaler, WANTED).and_then(|it| it.parse().ok()).unwrap_or(current);
        let least = small(number(&scaler, "/spec/minReplicas").unwrap_or(1));
        let most = small(number(&scaler, "/spec/maxReplicas").unwrap_or(asked)).max(least);
        // Zero replicas mean that somebody switched scaling off.
        let wanted = if current == 0 { 0 } else { asked.clamp(least, most).min(MOST.max(current)) };
        set_condition(
            &mut changed,
            "AbleToScale",
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
            now,
        );
        if current == 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            set_condition(&mut changed, "ScalingActive", "False", "ScalingDisabled", message, now);
        }
        if wanted != current {
            client.modify(&place, |it| set(it, &["spec", "replicas"], json!(wanted)))?;
            let message = format!(
                "New size: {wanted}; reason: Current number of replicas outside of the Spec limits"
            );
            client.event(&scaler, EventType::Normal, "SuccessfulRescale", &message);
        }
        set(&mut changed, &["status", "currentReplicas"], json!(current));
        set(&mut changed, &["status", "desiredReplicas"], json!(wanted));
        client.update_status(AUTOSCALERS, &changed)?;
        Ok(Next::After(self.period))
    }
}
