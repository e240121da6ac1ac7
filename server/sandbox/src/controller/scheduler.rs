//! The scheduler: binds a Pod to a node that is ready, tolerated, selected and has its volumes; of these to one with
//! the fewest Pods. The seed decides between equals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, EventType};
use super::queue::Queue;
use super::read::{
    annotate, annotation, claims, ended, flag, is_deleting, label, list, name, namespace,
    set_condition, text,
};
use super::resource::{CLAIMS, NODES, PODS, STORAGE_CLASSES, VOLUMES};
use super::timing::Timing;
use super::{Next, Reconcile, binder};
use crate::status::Status;
use crate::store::{Change, Event, Key};

#[derive(Default)]
pub(super) struct Scheduler {
    /// Pods that fitted no node. They are tried again when a change may help them.
    pending: BTreeSet<Key>,
    /// The number of Pods on each node.
    load: BTreeMap<String, BTreeSet<Key>>,
}

impl Reconcile for Scheduler {
    type Work = Key;
    const NAME: &'static str = "default-scheduler";
    const USER: &'static str = "kube-scheduler";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        let (key, object) = (&event.key, &event.object);
        if PODS.has(key) {
            let node = text(object, "/spec/nodeName");
            if event.change == Change::Deleted || ended(object) {
                if let Some(load) = self.load.get_mut(node) {
                    load.remove(key);
                }
            } else if !node.is_empty() {
                self.load.entry(node.to_owned()).or_default().insert(key.clone());
            }
            if event.change == Change::Deleted || !node.is_empty() {
                self.pending.remove(key);
            } else if event.change == Change::Added || is_deleting(object) {
                queue.add(key.clone());
            }
        } else if NODES.has(key) {
            let relevant_fields =
                |it: &Value| (it["spec"].clone(), it["metadata"]["labels"].clone());
            if event.previous.as_deref().map(relevant_fields) != Some(relevant_fields(object)) {
                self.wake(queue);
            }
        } else if CLAIMS.has(key) || VOLUMES.has(key) {
            self.wake(queue);
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let waits = |it: &Arc<Value>| {
            text(it, "/spec/nodeName").is_empty() && !is_deleting(it) && !ended(it) && is_ours(it)
        };
        let Some(pod) = client.get(key).filter(waits) else {
            self.pending.remove(key);
            return Ok(Next::Rest);
        };
        match self.place(&pod, client) {
            Ok(None) => {
                self.pending.insert(key.clone());
            }
            Ok(Some(node)) => {
                if let Err(status) = client.bind(&pod, &node)
                    && !status.is_not_found()
                {
                    return Err(status);
                }
                self.load.entry(node.clone()).or_default().insert(key.clone());
                self.pending.remove(key);
                let message =
                    format!("Successfully assigned {}/{} to {node}", namespace(&pod), name(&pod));
                client.event(&pod, EventType::Normal, "Scheduled", &message);
            }
            Err(why) => {
                self.pending.insert(key.clone());
                let mut changed = Value::clone(&pod);
                let now = client.now();
                if set_condition(&mut changed, "PodScheduled", "False", "Unschedulable", &why, now)
                {
                    client.update_status(PODS, &changed)?;
                    client.event(&pod, EventType::Warning, "FailedScheduling", &why);
                }
            }
        }
        Ok(Next::Rest)
    }
}

impl Scheduler {
    fn wake(&self, queue: &mut Queue<Key>) {
        for key in &self.pending {
            queue.add(key.clone());
        }
    }

    /// A node for a Pod; `None` while a volume is being provisioned; or the reason why no node fits.
    fn place(&self, pod: &Value, client: &mut Client<'_>) -> Result<Option<String>, String> {
        let nodes = client.list(NODES, None);
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        let mut fitting = Vec::new();
        for node in &nodes {
            let refused = if flag(node, "/spec/unschedulable")
                && untolerated(pod, &unschedulable(), "NoSchedule").is_some()
            {
                Some("node(s) were unschedulable".to_owned())
            } else if let Some(taint) =
                untolerated(pod, node, "NoSchedule").or_else(|| untolerated(pod, node, "NoExecute"))
            {
                Some(format!(
                    "node(s) had untolerated taint(s) {{{}: {}}}",
                    text(taint, "/key"),
                    text(taint, "/value")
                ))
            } else if !selects_node(pod, node) {
                Some("node(s) didn't match Pod's node affinity/selector".to_owned())
            } else {
                None
            };
            match refused {
                Some(reason) => *reasons.entry(reason).or_default() += 1,
                None => fitting.push(name(node).to_owned()),
            }
        }
        let unavailable = |why: &str| format!("0/{} nodes are available: {why}.", nodes.len());
        // Kubernetes ends the message in this way when preemption could not help either.
        let hopeless = |why: &str| format!("{} not found", unavailable(why));
        let mut late = Vec::new();
        for claim_name in claims(pod) {
            let Some(claim) = client.find(CLAIMS, namespace(pod), &claim_name) else {
                return Err(hopeless(&format!("persistentvolumeclaim {claim_name:?} not found")));
            };
            if is_deleting(&claim) {
                return Err(hopeless(&format!(
                    "persistentvolumeclaim {claim_name:?} is being deleted"
                )));
            }
            if text(&claim, "/spec/volumeName").is_empty() {
                let class =
                    client.find(STORAGE_CLASSES, "", text(&claim, "/spec/storageClassName"));
                if class.is_none_or(|it| text(&it, "/volumeBindingMode") != "WaitForFirstConsumer")
                {
                    return Err(unavailable("pod has unbound immediate PersistentVolumeClaims"));
                }
                late.push(claim);
            }
        }
        if fitting.is_empty() {
            let reasons: Vec<String> =
                reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            let why = if nodes.is_empty() {
                "no nodes available to schedule pods".to_owned()
            } else {
                unavailable(&reasons.join(", "))
            };
            return Err(why);
        }
        client.random().shuffle(&mut fitting);
        let load = |node: &String| {
            let unloved = nodes.iter().any(|it| name(it) == node && !prefers(pod, it));
            (unloved, self.load.get(node).map_or(0, BTreeSet::len))
        };
        let Some(node) = fitting.into_iter().min_by_key(load) else { return Ok(None) };
        if late.is_empty() {
            return Ok(Some(node));
        }
        for claim in late {
            let selected = annotation(&claim, binder::SELECTED_NODE).is_some();
            if !selected {
                let key = CLAIMS.key(namespace(&claim), name(&claim));
                // Another controller was faster; the next change of the claim leads here again.
                drop(client.modify(&key, |it| annotate(it, binder::SELECTED_NODE, &node)));
            }
        }
        Ok(None)
    }
}

/// Whether a Pod names this scheduler.
fn is_ours(pod: &Value) -> bool {
    ["", Scheduler::NAME].contains(&text(pod, "/spec/schedulerName"))
}

/// A node with only the taint of a cordon.
fn unschedulable() -> Value {
    json!({"spec": {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}})
}

/// The first taint of this effect that a Pod does not tolerate.
pub(super) fn untolerated<'a>(pod: &Value, node: &'a Value, effect: &str) -> Option<&'a Value> {
    let taints = list(node, "/spec/taints").iter().filter(|it| text(it, "/effect") == effect);
    let mut taints = taints
        .filter(|taint| !list(pod, "/spec/tolerations").iter().any(|it| tolerates(it, taint)));
    taints.next()
}

/// Whether a toleration covers a taint (`ToleratesTaint`).
pub(super) fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (effect, key) = (text(toleration, "/effect"), text(toleration, "/key"));
    if (!effect.is_empty() && effect != text(taint, "/effect"))
        || (!key.is_empty() && key != text(taint, "/key"))
    {
        return false;
    }
    match text(toleration, "/operator") {
        "Exists" => true,
        _ => !key.is_empty() && text(toleration, "/value") == text(taint, "/value"),
    }
}

/// The node that a Pod's affinity names, as for those of DaemonSets.
pub(super) fn required_node(pod: &Value) -> Option<&str> {
    let terms = list(
        pod,
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    );
    let fields = terms.iter().flat_map(|it| list(it, "/matchFields"));
    let mut names =
        fields.filter(|it| text(it, "/key") == "metadata.name").flat_map(|it| list(it, "/values"));
    names.next().and_then(Value::as_str)
}

/// Whether a Pod prefers a node by one of its labels, or has no preference.
fn prefers(pod: &Value, node: &Value) -> bool {
    let terms =
        list(pod, "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution");
    let wanted = |it: &Value| {
        let found = label(node, text(it, "/key"));
        found.is_some_and(|found| list(it, "/values").iter().any(|value| value == found))
    };
    terms.is_empty()
        || terms.iter().any(|it| list(it, "/preference/matchExpressions").iter().all(wanted))
}

/// Whether a Pod's `nodeSelector` and named node allow a node.
pub(super) fn selects_node(pod: &Value, node: &Value) -> bool {
    let selector = pod.pointer("/spec/nodeSelector").and_then(Value::as_object);
    selector.is_none_or(|all| all.iter().all(|(key, value)| label(node, key) == value.as_str()))
        && required_node(pod).is_none_or(|it| it.is_empty() || it == name(node))
}
