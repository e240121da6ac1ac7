//! The node lifecycle controller: notices nodes whose kubelet is silent, marks them and their Pods, and taints them,
//! unless every node is silent: pkg/controller/nodelifecycle/node_lifecycle_controller.go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::{Client, EventType};
use super::queue::{Queue, later};
use super::read::{condition, flag, list, name, set, set_condition, text, time, uid, written};
use super::resource::{LEASES, NODES, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// One node in this time is tainted: `--node-eviction-rate` of 0.1 per second.
const EVICTION_PERIOD: Duration = Duration::from_secs(10);
/// From this share of unhealthy nodes on, and more than two of them, a small cluster evicts nothing:
/// `--unhealthy-zone-threshold`, `ReducedQPSFunc` for clusters of up to 50 nodes.
const UNHEALTHY_PERCENT: usize = 55;

pub(super) struct NodeLifecycle {
    grace: Duration,
    period: Duration,
    health: BTreeMap<String, Health>,
    pods: BTreeMap<String, BTreeSet<Key>>,
    /// Whether no node was ready at the last check.
    disrupted: bool,
    /// The time of the next check.
    due: Timestamp,
    /// Whether a check that came late was put off.
    deferred: bool,
    /// The time at which the next node may be tainted.
    next_taint: Timestamp,
}

/// The last sign of life of a node, and its time.
struct Health {
    probed: Timestamp,
    heartbeat: String,
    renewed: String,
}

impl Reconcile for NodeLifecycle {
    /// There is one work item: all nodes.
    type Work = ();
    const NAME: &'static str = "node-lifecycle-controller";
    const USER: &'static str = "node-controller";
    const COMPONENT: &'static str = "node-controller";

    fn new(timing: &Timing) -> Self {
        Self {
            grace: timing.node_monitor_grace,
            period: timing.node_monitor_period,
            health: BTreeMap::new(),
            pods: BTreeMap::new(),
            disrupted: false,
            due: Timestamp::MAX,
            deferred: false,
            next_taint: Timestamp::MIN,
        }
    }

    fn begin(&mut self, queue: &mut Queue<()>) {
        queue.add(());
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<()>) {
        if PODS.has(&event.key) {
            let node = text(&event.object, "/spec/nodeName");
            if event.change == Change::Deleted {
                if let Some(pods) = self.pods.get_mut(node) {
                    pods.remove(&event.key);
                }
            } else if !node.is_empty() {
                self.pods.entry(node.to_owned()).or_default().insert(event.key.clone());
            }
        } else if NODES.has(&event.key) {
            let relevant_fields =
                |it: &Value| (condition(it, "Ready")["status"].clone(), it["spec"].clone());
            if event.previous.as_deref().map(relevant_fields)
                != Some(relevant_fields(&event.object))
            {
                queue.add(());
            }
        }
    }

    fn reconcile(
        &mut self,
        (): &(),
        client: &mut Client<'_>,
        _: &mut Queue<()>,
    ) -> Result<Next, Status> {
        let now = client.steady();
        if later(self.due, self.period) < now && !self.deferred {
            // Upstream has no such rule: `tryUpdateNodeHealth` judges a node however late the check runs. There the kubelets
            // run beside the controller; here all components run in turn. A late check means that none of them ran, for
            // example while the machine was suspended, so the kubelets renew their leases first.
            self.deferred = true;
            return Ok(Next::After(Duration::from_millis(1)));
        }
        self.deferred = false;
        self.due = later(now, self.period);
        let nodes = client.list(NODES, None);
        let names: BTreeSet<&str> = nodes.iter().map(|it| name(it)).collect();
        self.health.retain(|node, _| names.contains(node.as_str()));
        let mut current = Vec::new();
        for node in nodes {
            // The next check repeats a write that was refused.
            let seen = self.look(&node, client).unwrap_or(node);
            current.push(seen);
        }
        let status = |it: &Arc<Value>| text(condition(it, "Ready"), "/status").to_owned();
        let unhealthy = current.iter().filter(|it| status(it) != "True").count();
        let disrupted = !current.is_empty() && unhealthy == current.len();
        if self.disrupted && !disrupted {
            // Every node was silent, so no silence counts.
            for health in self.health.values_mut() {
                health.probed = client.steady();
            }
        }
        self.disrupted = disrupted;
        let partial = unhealthy > 2 && unhealthy * 100 >= current.len() * UNHEALTHY_PERCENT;
        client.random().shuffle(&mut current);
        for node in &current {
            self.taint(node, disrupted, partial, client)?;
        }
        Ok(Next::After(self.period))
    }
}

impl NodeLifecycle {
    /// Checks one node. Returns its new state.
    fn look(&mut self, node: &Arc<Value>, client: &mut Client<'_>) -> Result<Arc<Value>, Status> {
        let now = client.steady();
        let ready = condition(node, "Ready");
        let heartbeat = text(ready, "/lastHeartbeatTime").to_owned();
        let lease = client.find(LEASES, "kube-node-lease", name(node));
        let renewed = lease.as_deref().map_or("", |it| text(it, "/spec/renewTime")).to_owned();
        let created = time(node, "/metadata/creationTimestamp").unwrap_or_else(|| client.now());
        let health = self.health.entry(name(node).to_owned()).or_insert_with(|| {
            let message = format!("Registered Node {} in Controller", name(node));
            client.event(node, EventType::Normal, "RegisteredNode", &message);
            let probed = if ready.is_null() { client.steady_at(created) } else { now };
            Health { probed, heartbeat: heartbeat.clone(), renewed: renewed.clone() }
        });
        if health.heartbeat != heartbeat || health.renewed != renewed {
            *health = Health { probed: now, heartbeat, renewed };
        }
        if later(health.probed, self.grace) >= now || text(ready, "/status") == "Unknown" {
            return Ok(node.clone());
        }
        let was_ready = text(ready, "/status") == "True";
        let mut changed = Value::clone(node);
        for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
            let (reason, message) = if condition(node, kind).is_null() {
                ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
            } else {
                ("NodeStatusUnknown", "Kubelet stopped posting node status.")
            };
            let beat = condition(node, kind)["lastHeartbeatTime"].clone();
            set_condition(&mut changed, kind, "Unknown", reason, message, client.now());
            let beat = if beat.is_null() { written(created) } else { beat };
            keep_heartbeat(&mut changed, kind, beat);
        }
        let written = client.update_status(NODES, &changed)?;
        if was_ready {
            let message = format!("Node {} status is now: NodeNotReady", name(node));
            client.event(node, EventType::Normal, "NodeNotReady", &message);
            self.mark_pods(name(node), client)?;
        }
        Ok(written)
    }

    /// Marks the Pods of a lost node as not ready.
    fn mark_pods(&self, node: &str, client: &mut Client<'_>) -> Result<(), Status> {
        for key in self.pods.get(node).into_iter().flatten() {
            let Some(pod) = client.get(key) else { continue };
            let ready = condition(&pod, "Ready");
            if text(ready, "/status") != "True" {
                continue;
            }
            let mut changed = Value::clone(&pod);
            let (reason, message) = (text(ready, "/reason"), text(ready, "/message"));
            set_condition(&mut changed, "Ready", "False", reason, message, client.now());
            match client.update_status(PODS, &changed) {
                Err(status) if !status.is_not_found() => return Err(status),
                _ => client.event(&pod, EventType::Warning, "NodeNotReady", "Node is not ready"),
            }
        }
        Ok(())
    }

    /// Sets the taints of a node by its condition.
    fn taint(
        &mut self,
        node: &Value,
        disrupted: bool,
        partial: bool,
        client: &mut Client<'_>,
    ) -> Result<(), Status> {
        let status = text(condition(node, "Ready"), "/status");
        let wanted = match status {
            "True" => None,
            "Unknown" => Some(UNREACHABLE),
            _ => Some(NOT_READY),
        };
        let has = |key: &str, effect: &str| {
            list(node, "/spec/taints")
                .iter()
                .any(|it| text(it, "/key") == key && text(it, "/effect") == effect)
        };
        let evicting = has(NOT_READY, "NoExecute") || has(UNREACHABLE, "NoExecute");
        // A node that only exchanges its taint is not delayed.
        let may_evict = evicting || (!partial && client.steady() >= self.next_taint);
        let evicts =
            wanted.filter(|_| !disrupted && may_evict && !condition(node, "Ready").is_null());
        let mut taints: Vec<Value> = list(node, "/spec/taints").to_vec();
        let mut changed = false;
        for (key, effect, there) in [
            (NOT_READY, "NoSchedule", wanted == Some(NOT_READY)),
            (UNREACHABLE, "NoSchedule", wanted == Some(UNREACHABLE)),
            (NOT_READY, "NoExecute", evicts == Some(NOT_READY)),
            (UNREACHABLE, "NoExecute", evicts == Some(UNREACHABLE)),
            (UNSCHEDULABLE, "NoSchedule", flag(node, "/spec/unschedulable")),
        ] {
            if has(key, effect) == there {
                continue;
            }
            changed = true;
            if there {
                taints.push(
                    json!({"key": key, "effect": effect, "timeAdded": written(client.now())}),
                );
            } else {
                taints.retain(|it| text(it, "/key") != key || text(it, "/effect") != effect);
            }
        }
        if !changed {
            return Ok(());
        }
        if evicts.is_some() && !evicting {
            self.next_taint = later(client.steady(), EVICTION_PERIOD);
        }
        let key = NODES.key("", name(node));
        let uid_now = uid(node).to_owned();
        client.modify(&key, |it| {
            if uid(it) == uid_now {
                set(it, &["spec", "taints"], Value::Array(taints));
            }
        })?;
        Ok(())
    }
}

/// A condition that changed keeps the time of the last heartbeat.
pub(super) fn keep_heartbeat(node: &mut Value, kind: &str, beat: Value) {
    let conditions = node.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(condition) = conditions.and_then(|all| all.iter_mut().find(|it| it["type"] == kind))
    {
        condition["lastHeartbeatTime"] = beat;
    }
}
