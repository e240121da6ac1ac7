//! Deployments: one ReplicaSet for each template. RollingUpdate replaces Pods within its limits; Recreate starts nothing
//! new while an old Pod has not ended: pkg/controller/deployment.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, EventType};
use super::pods;
use super::queue::Queue;
use super::read::{
    annotate, annotation, controller_reference, ended, flag, generation, is_deleting, label, name,
    namespace, number, set, set_condition, small, text, uid,
};
use super::resource::{DEPLOYMENTS, PODS, REPLICA_SETS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::status::Status;
use crate::store::{Event, Key};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

pub(super) struct Deployments;

impl Reconcile for Deployments {
    type Work = Key;
    const NAME: &'static str = "deployment-controller";
    const USER: &'static str = "deployment-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        // The status of a ReplicaSet counts terminating Pods, so a Recreate that waits for them is reconciled.
        pods::notice(DEPLOYMENTS, REPLICA_SETS, event, queue);
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(deployment) = client.get(key) else { return Ok(Next::Rest) };
        if !is_deleting(&deployment) && !flag(&deployment, "/spec/paused") {
            let rollout = Rollout::new(deployment, client);
            match text(&rollout.deployment, "/spec/strategy/type") {
                "Recreate" => rollout.recreate(client)?,
                _ => rollout.roll(client)?,
            }
        }
        publish(key, client)?;
        Ok(Next::Rest)
    }
}

/// A Deployment with its ReplicaSets, by template.
struct Rollout {
    deployment: Arc<Value>,
    hash: String,
    new: Option<Arc<Value>>,
    old: Vec<Arc<Value>>,
}

fn replicas(object: &Value) -> i64 {
    small(number(object, "/spec/replicas").unwrap_or(1))
}

fn available(set: &Value) -> i64 {
    small(number(set, "/status/availableReplicas").unwrap_or_default())
}

impl Rollout {
    fn new(deployment: Arc<Value>, client: &Client<'_>) -> Self {
        let hash = pods::template_hash(&deployment["spec"]["template"]);
        let all = client.controlled(REPLICA_SETS, uid(&deployment));
        let (new, old): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| label(it, HASH) == Some(&hash));
        Self { deployment, hash, new: new.into_iter().next(), old }
    }

    fn recreate(self, client: &mut Client<'_>) -> Result<(), Status> {
        let active: Vec<_> = self.old.iter().filter(|it| replicas(it) > 0).collect();
        if !active.is_empty() {
            for set in active {
                self.scale(set, 0, client)?;
            }
            return Ok(());
        }
        if self
            .old
            .iter()
            .any(|set| client.controlled(PODS, uid(set)).iter().any(|pod| !ended(pod)))
        {
            return Ok(());
        }
        let wanted = replicas(&self.deployment);
        match &self.new {
            Some(set) => self.scale(set, wanted, client)?,
            None => self.create(wanted, client)?,
        }
        self.clean_up(client)
    }

    fn roll(self, client: &mut Client<'_>) -> Result<(), Status> {
        let wanted = replicas(&self.deployment);
        let surge = self.limit("/spec/strategy/rollingUpdate/maxSurge", wanted, true);
        let mut unavailable =
            self.limit("/spec/strategy/rollingUpdate/maxUnavailable", wanted, false);
        if surge == 0 && unavailable == 0 {
            unavailable = 1;
        }
        let old: i64 = self.old.iter().map(|it| replicas(it)).sum();
        let Some(new) = &self.new else {
            let room = (wanted + surge - old).min(wanted).max(0);
            return self.create(room, client);
        };
        let room = wanted + surge - old - replicas(new);
        if replicas(new) > wanted {
            self.scale(new, wanted, client)?;
        } else if replicas(new) < wanted && room > 0 {
            self.scale(new, (replicas(new) + room).min(wanted), client)?;
        }
        // Of the old Pods, first those that were never available, then as many as may be unavailable.
        let ready: i64 = available(new) + self.old.iter().map(|it| available(it)).sum::<i64>();
        let mut spare =
            (old + replicas(new)) - (wanted - unavailable) - (replicas(new) - available(new));
        let mut missable = ready - (wanted - unavailable);
        for set in &self.old {
            let mut left = replicas(set);
            let broken = (left - available(set)).min(spare).max(0);
            left -= broken;
            spare -= broken;
            let given = left.min(missable).max(0);
            left -= given;
            missable -= given;
            if left < replicas(set) {
                self.scale(set, left, client)?;
            }
        }
        if replicas(new) == wanted && old == 0 { self.clean_up(client) } else { Ok(()) }
    }

    /// An absolute number or a percentage; 25% if there is none.
    fn limit(&self, pointer: &str, of: i64, up: bool) -> i64 {
        let value = self.deployment.pointer(pointer);
        if let Some(absolute) = value.and_then(Value::as_i64) {
            return small(absolute);
        }
        let percent = value
            .and_then(Value::as_str)
            .and_then(|it| it.strip_suffix('%'))
            .and_then(|it| it.parse().ok());
        let share = of.saturating_mul(small(percent.unwrap_or(25)));
        if up { share.saturating_add(99) / 100 } else { share / 100 }
    }

    fn create(&self, replicas: i64, client: &mut Client<'_>) -> Result<(), Status> {
        let (deployment, hash) = (&*self.deployment, &self.hash);
        let mut template = deployment["spec"]["template"].clone();
        set(&mut template, &["metadata", "labels", HASH], json!(hash));
        let mut selector = deployment["spec"]["selector"].clone();
        set(&mut selector, &["matchLabels", HASH], json!(hash));
        let revision =
            self.old.iter().filter_map(|it| annotation(it, REVISION)?.parse::<u64>().ok()).max();
        let made = json!({
            "metadata": {
                "name": format!("{}-{hash}", name(deployment)),
                "namespace": namespace(deployment),
                "labels": template.pointer("/metadata/labels"),
                "annotations": {
                    REVISION: (revision.unwrap_or_default().saturating_add(1)).to_string(),
                    "deployment.kubernetes.io/desired-replicas": self::replicas(deployment).to_string(),
                },
                "ownerReferences": [controller_reference(deployment)],
            },
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        });
        let made = client.create(REPLICA_SETS, made)?;
        let message = format!("Scaled up replica set {} from 0 to {replicas}", name(&made));
        client.event(deployment, EventType::Normal, "ScalingReplicaSet", &message);
        let key = DEPLOYMENTS.key(namespace(deployment), name(deployment));
        client.modify(&key, |it| {
            annotate(it, REVISION, &(revision.unwrap_or_default().saturating_add(1)).to_string())
        })?;
        Ok(())
    }

    fn scale(&self, set_now: &Value, to: i64, client: &mut Client<'_>) -> Result<(), Status> {
        let from = replicas(set_now);
        if from == to {
            return Ok(());
        }
        let key = REPLICA_SETS.key(namespace(set_now), name(set_now));
        client.modify(&key, |it| set(it, &["spec", "replicas"], json!(to)))?;
        let direction = if to > from { "up" } else { "down" };
        let message =
            format!("Scaled {direction} replica set {} from {from} to {to}", name(set_now));
        client.event(&self.deployment, EventType::Normal, "ScalingReplicaSet", &message);
        Ok(())
    }

    /// Deletes the oldest of the emptied ReplicaSets beyond `revisionHistoryLimit`.
    fn clean_up(&self, client: &mut Client<'_>) -> Result<(), Status> {
        let limit = number(&self.deployment, "/spec/revisionHistoryLimit").unwrap_or(10);
        let mut empty: Vec<_> =
            self.old.iter().filter(|it| replicas(it) == 0 && !is_deleting(it)).collect();
        let extra = empty.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
        let revision = |it: &Value| {
            annotation(it, REVISION).and_then(|it| it.parse::<u64>().ok()).unwrap_or_default()
        };
        empty.sort_by_key(|it| revision(it));
        for set in &empty[..extra] {
            let deletion = super::client::Deletion::of(set).propagation(Propagation::Background);
            client.delete(&REPLICA_SETS.key(namespace(set), name(set)), &deletion)?;
        }
        Ok(())
    }
}

fn publish(key: &Key, client: &mut Client<'_>) -> Result<(), Status> {
    let Some(stored) = client.get(key) else { return Ok(()) };
    let rollout = Rollout::new(stored.clone(), client);
    let all = || rollout.old.iter().chain(&rollout.new);
    let sum = |pointer: &str| all().filter_map(|it| number(it, pointer)).map(small).sum::<i64>();
    let (current, ready, available) =
        (sum("/status/replicas"), sum("/status/readyReplicas"), sum("/status/availableReplicas"));
    let wanted = replicas(&stored);
    let mut changed = Value::clone(&stored);
    let mut status = json!({"observedGeneration": generation(&stored), "terminatingReplicas": sum("/status/terminatingReplicas")});
    for (member, value) in [
        ("replicas", current),
        (
            "updatedReplicas",
            rollout
                .new
                .as_ref()
                .and_then(|it| number(it, "/status/replicas"))
                .map(small)
                .unwrap_or_default(),
        ),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", (current.max(wanted) - available).max(0)),
    ] {
        if value > 0 {
            status[member] = json!(value);
        }
    }
    super::read::keep(&stored, &mut status);
    set(&mut changed, &["status"], status);
    let least =
        wanted - rollout.limit("/spec/strategy/rollingUpdate/maxUnavailable", wanted, false);
    let now = client.now();
    if available >= least {
        let message = "Deployment has minimum availability.";
        set_condition(&mut changed, "Available", "True", "MinimumReplicasAvailable", message, now);
    } else {
        let message = "Deployment does not have minimum availability.";
        set_condition(
            &mut changed,
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            message,
            now,
        );
    }
    progress(&stored, &mut changed, rollout.new.as_deref(), client);
    match client.update_status(DEPLOYMENTS, &changed) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}

/// Writes the progress of a rollout: `syncRolloutStatus` in pkg/controller/deployment/progress.go. A complete rollout
/// stays so until Pods of another template are counted.
fn progress(stored: &Value, changed: &mut Value, new: Option<&Value>, client: &Client<'_>) {
    let count = |it: &Value, member: &str| number(&it["status"], member).unwrap_or_default();
    let [replicas_now, updated, available] =
        ["/replicas", "/updatedReplicas", "/availableReplicas"]
            .map(|member| count(changed, member));
    let now = client.now();
    let reason = super::read::condition(stored, "Progressing")["reason"].clone();
    if flag(stored, "/spec/paused") {
        if reason != "DeploymentPaused" {
            set_condition(
                changed,
                "Progressing",
                "Unknown",
                "DeploymentPaused",
                "Deployment is paused",
                now,
            );
        }
        return;
    }
    if reason == "NewReplicaSetAvailable" && replicas_now == updated {
        return;
    }
    let wanted = replicas(stored);
    let set_name = new.map_or("", name);
    let seen =
        number(changed, "/status/observedGeneration") == number(stored, "/metadata/generation");
    if new.is_some() && seen && updated == wanted && replicas_now == wanted && available == wanted {
        let message = format!("ReplicaSet {set_name:?} has successfully progressed.");
        set_condition(changed, "Progressing", "True", "NewReplicaSetAvailable", &message, now);
    } else if updated > 0 {
        let message = format!("ReplicaSet {set_name:?} is progressing.");
        set_condition(changed, "Progressing", "True", "ReplicaSetUpdated", &message, now);
    } else if new.is_some() {
        let message = format!("Created new replica set {set_name:?}");
        set_condition(changed, "Progressing", "True", "NewReplicaSetCreated", &message, now);
    }
}
