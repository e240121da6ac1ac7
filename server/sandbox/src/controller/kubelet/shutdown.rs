//! The graceful shutdown of a node: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go and its `_linux.go`. The node is not ready, the
//! Pods that run end in two groups, the critical ones last, and whatever has not ended when their time is over is lost with the power.
//! No Pod is deleted. One that is bound to the node meanwhile is rejected (`Admit` there).
//!
//! systemd tells a kubelet at once; here it notices with its next look at its node. A shutdown that is cancelled still ends the Pods
//! that were there when it began, as the real one does.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Kubelets, LOOK, Stage, Work};
use crate::controller::client::{Client, EventType};
use crate::controller::queue::{Queue, later};
use crate::controller::read::{ended, is_deleting, number, set, set_condition, text, uid};
use crate::controller::resource::{NODES, PODS};
use crate::controller::timing::SHUTDOWN_GRACE;
use crate::status::Status;

/// Status, reason and message of condition Ready (`ReadyCondition` in pkg/kubelet/nodestatus/setters.go).
pub(super) const NOT_READY: (&str, &str, &str) =
    ("False", "KubeletNotReady", "node is shutting down");
/// Of a Pod that the shutdown ended.
const TERMINATED: (&str, &str) =
    ("Terminated", "Pod was terminated in response to imminent node shutdown.");
/// Of a Pod that came too late. `rejectPod` in pkg/kubelet/kubelet.go writes the words in front.
const REJECTED: (&str, &str) = ("NodeShutdown", "Pod was rejected as the node is shutting down.");
/// The least priority of a critical Pod: `SystemCriticalPriority` in pkg/apis/scheduling/types.go.
const CRITICAL: i64 = 2_000_000_000;
/// The classes that have it. Nothing resolves the class of a Pod in the sandbox.
const CRITICAL_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// The groups of Pods that are still to be ended. The first of them is ending until this time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shutdown {
    groups: VecDeque<Group>,
    until: Option<Timestamp>,
}

/// Pods that end together, by UID, and the seconds that they have.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    pods: BTreeSet<String>,
    grace: i64,
}

impl Shutdown {
    /// The groups of these Pods, each with whether it is critical. Nobody waits for a group without Pods.
    fn of(pods: impl IntoIterator<Item = (String, bool)>) -> Self {
        let (mut regular, mut critical) = (BTreeSet::new(), BTreeSet::new());
        for (uid, is_critical) in pods {
            _ = if is_critical { critical.insert(uid) } else { regular.insert(uid) };
        }
        let groups = [regular, critical].into_iter().zip(SHUTDOWN_GRACE);
        let groups = groups.filter(|(pods, _)| !pods.is_empty());
        Self { groups: groups.map(|(pods, grace)| Group { pods, grace }).collect(), until: None }
    }
}

impl Kubelets {
    /// Goes on with the shutdown of a node. Returns the time until the next look at it, if there is one.
    pub(super) fn shut_down(
        &mut self,
        node: &str,
        is_shutting_down: bool,
        client: &mut Client<'_>,
        queue: &mut Queue<Work>,
    ) -> Result<Option<Duration>, Status> {
        let machine = self.nodes.entry(node.to_owned()).or_default();
        let was_shutting_down = std::mem::replace(&mut machine.is_shutting_down, is_shutting_down);
        if is_shutting_down != was_shutting_down {
            announce(node, is_shutting_down, client);
            if is_shutting_down {
                let pods = self.active_pods(node, client);
                let machine = self.nodes.entry(node.to_owned()).or_default();
                machine.shutdown.get_or_insert_with(|| Shutdown::of(pods));
            } else {
                // Those that were to be rejected.
                self.look_at_pods(node, client, queue);
            }
        }
        if is_shutting_down {
            self.reject(node, client)?;
        }
        self.end_groups(node, client.steady(), queue);
        if self.nodes.get(node).is_some_and(|it| it.shutdown.is_some()) {
            return Ok(Some(LOOK));
        }
        if is_shutting_down {
            client.power_off(node);
        }
        Ok(None)
    }

    /// The Pods of a node that have not ended, each with whether it is critical.
    fn active_pods(&self, node: &str, client: &Client<'_>) -> Vec<(String, bool)> {
        let held = self.pods.iter().filter(|(_, held)| held.node == node);
        let active = held.filter_map(|(uid_of, held)| {
            let pod = client.get(&held.key).filter(|it| uid(it) == *uid_of && !ended(it))?;
            Some((uid_of.clone(), is_critical(&pod)))
        });
        active.collect()
    }

    /// Begins to end the groups whose time has come. A group is over with its time, or once nothing of its Pods is left on the
    /// node: the kubelet waits for their volumes too (`WaitForAllPodsUnmount`).
    fn end_groups(&mut self, node: &str, now: Timestamp, queue: &mut Queue<Work>) {
        let Self { nodes, pods, .. } = self;
        let Some(machine) = nodes.get_mut(node) else { return };
        let Some(shutdown) = &mut machine.shutdown else { return };
        while let Some(group) = shutdown.groups.front() {
            let is_left = |uid: &String| pods.get(uid).is_some_and(|it| it.stage != Stage::Clean);
            match shutdown.until {
                Some(until) if until <= now || !group.pods.iter().any(is_left) => {
                    shutdown.groups.pop_front();
                    shutdown.until = None;
                }
                Some(_) => return,
                None => {
                    let grace = Duration::from_secs(group.grace.unsigned_abs());
                    shutdown.until = Some(later(now, grace));
                    for (uid, held) in pods.iter_mut().filter(|(uid, _)| group.pods.contains(*uid))
                    {
                        held.shutdown = Some(group.grace);
                        let (key, uid) = (held.key.clone(), uid.clone());
                        queue.add(Work::Pod { key, uid, node: node.to_owned() });
                    }
                }
            }
        }
        machine.shutdown = None;
    }

    /// Rejects the Pods that were bound to a node since its shutdown began.
    fn reject(&self, node: &str, client: &mut Client<'_>) -> Result<(), Status> {
        for pod in client.list(PODS, None) {
            let is_new = !self.pods.contains_key(uid(&pod)) && !ended(&pod) && !is_deleting(&pod);
            if text(&pod, "/spec/nodeName") != node || !is_new {
                continue;
            }
            let (reason, message) = REJECTED;
            client.event(&pod, EventType::Warning, reason, message);
            let mut changed = Value::clone(&pod);
            let message = format!("Pod was rejected: {message}");
            for (field, said) in [("phase", "Failed"), ("reason", reason), ("message", &*message)] {
                set(&mut changed, &["status", field], json!(said));
            }
            client.update_status(PODS, &changed)?;
        }
        Ok(())
    }
}

/// Reports that a shutdown begins or is cancelled.
fn announce(node: &str, begins: bool, client: &mut Client<'_>) {
    let Some(object) = client.find(NODES, "", node) else { return };
    let message = if begins {
        "Shutdown manager detected shutdown event"
    } else {
        "Shutdown manager detected shutdown cancellation"
    };
    client.event(&object, EventType::Normal, "Shutdown", message);
    if begins {
        let message = format!("Node {node} status is now: NodeNotReady");
        client.event(&object, EventType::Normal, "NodeNotReady", &message);
    }
}

fn is_critical(pod: &Value) -> bool {
    number(pod, "/spec/priority").is_some_and(|it| it >= CRITICAL)
        || CRITICAL_CLASSES.contains(&text(pod, "/spec/priorityClassName"))
}

/// Marks the status of a Pod that the shutdown of its node has ended. The kubelet reports that with the phase, and not before
/// (`mergePodStatus` in pkg/kubelet/status/status_manager.go).
pub(super) fn mark(pod: &mut Value, now: Timestamp) {
    let (reason, message) = TERMINATED;
    set(pod, &["status", "reason"], json!(reason));
    set(pod, &["status", "message"], json!(message));
    set_condition(pod, "DisruptionTarget", "True", "TerminationByKubelet", message, now);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(pods: &[(&str, bool)]) -> Vec<(Vec<String>, i64)> {
        let pods = pods.iter().map(|(uid, is_critical)| ((*uid).to_owned(), *is_critical));
        let groups = Shutdown::of(pods).groups.into_iter();
        groups.map(|group| (group.pods.into_iter().collect(), group.grace)).collect()
    }

    #[test]
    fn critical_pods_are_the_last_group_and_a_group_without_pods_is_none() {
        let names = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            groups(&[("dns", true), ("web", false), ("db", false)]),
            [(names(&["db", "web"]), 20), (names(&["dns"]), 10)]
        );
        assert_eq!(groups(&[("dns", true)]), [(names(&["dns"]), 10)]);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn pod_is_critical_by_its_priority_or_its_class() {
        for (spec, expected) in [
            (json!({"priority": 2_000_000_000}), true),
            (json!({"priority": 1_999_999_999}), false),
            (json!({"priorityClassName": "system-cluster-critical"}), true),
            (json!({"priorityClassName": "high"}), false),
            (json!({}), false),
        ] {
            assert_eq!(is_critical(&json!({"spec": spec})), expected, "{spec}");
        }
    }
}
