//! DaemonSets: one Pod on every node that fits, which tolerates that its node is lost: pkg/controller/daemon.

use serde_json::{Value, json};

use super::client::Client;
use super::pods;
use super::queue::Queue;
use super::read::{ended, generation, is_deleting, label, list, name, set, text, uid};
use super::resource::{DAEMON_SETS, NODES, PODS};
use super::timing::Timing;
use super::{Next, Reconcile, revision, scheduler};
use crate::status::Status;
use crate::store::{Change, Event, Key};

pub(super) struct DaemonSets {
    known: std::collections::BTreeSet<Key>,
}

impl Reconcile for DaemonSets {
    type Work = Key;
    const NAME: &'static str = "daemonset-controller";
    const USER: &'static str = "daemon-set-controller";

    fn new(_: &Timing) -> Self {
        Self { known: std::collections::BTreeSet::new() }
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if DAEMON_SETS.has(&event.key) {
            if event.change == Change::Deleted {
                self.known.remove(&event.key);
            } else {
                self.known.insert(event.key.clone());
                queue.add(event.key.clone());
            }
        } else if NODES.has(&event.key) {
            let fits = |it: &Value| (it["metadata"]["labels"].clone(), it["spec"].clone());
            if event.change == Change::Deleted
                || event.previous.as_deref().map(fits) != Some(fits(&event.object))
            {
                for key in &self.known {
                    queue.add(key.clone());
                }
            }
        } else if PODS.has(&event.key) {
            for key in pods::controllers_of(event, DAEMON_SETS) {
                queue.add(key);
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(daemon) = client.get(key) else { return Ok(Next::Rest) };
        let hash = revision::record(&daemon, client)?;
        let model = pod_for(&daemon, "", &hash);
        let owned = client.controlled(PODS, uid(&daemon));
        let mut counts = [0_usize; 4];
        for node in client.list(NODES, None) {
            let here: Vec<_> = owned.iter().filter(|it| node_of(it) == name(&node)).collect();
            let fits = scheduler::selects_node(&model, &node)
                && scheduler::untolerated(&model, &node, "NoExecute").is_none();
            if !is_deleting(&daemon) {
                if here.is_empty()
                    && fits
                    && scheduler::untolerated(&model, &node, "NoSchedule").is_none()
                {
                    pods::create(&daemon, pod_for(&daemon, name(&node), &hash), client)?;
                }
                for pod in here.iter().filter(|it| !is_deleting(it)) {
                    let outdated = label(pod, revision::HASH) != Some(&hash)
                        && text(&daemon, "/spec/updateStrategy/type") != "OnDelete";
                    if !fits || ended(pod) || outdated {
                        pods::delete(&daemon, pod, client)?;
                    }
                }
            }
            let ready = here.iter().filter(|it| pods::is_ready(it) && !is_deleting(it)).count();
            counts[0] += usize::from(fits);
            counts[1] += usize::from(fits && !here.is_empty());
            counts[2] += usize::from(!fits && !here.is_empty());
            counts[3] += ready;
        }
        publish(key, counts, client)?;
        Ok(Next::Rest)
    }
}

/// The node of a daemon's Pod, or the node that it is meant for.
fn node_of(pod: &Value) -> &str {
    match text(pod, "/spec/nodeName") {
        "" => scheduler::required_node(pod).unwrap_or_default(),
        node => node,
    }
}

/// A daemon's Pod for one node: pinned to it, and with the tolerations of pkg/controller/daemon/util.
fn pod_for(daemon: &Value, node: &str, hash: &str) -> Value {
    let mut pod = pods::from_template(daemon, &daemon["spec"]["template"]);
    set(&mut pod, &["metadata", "labels", revision::HASH], json!(hash));
    let terms =
        json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]);
    if !node.is_empty() {
        let path = [
            "spec",
            "affinity",
            "nodeAffinity",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "nodeSelectorTerms",
        ];
        set(&mut pod, &path, terms);
    }
    let mut tolerations = list(&pod, "/spec/tolerations").to_vec();
    for (taint, effect) in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ] {
        tolerations.push(json!({"key": format!("node.kubernetes.io/{taint}"), "operator": "Exists", "effect": effect}));
    }
    set(&mut pod, &["spec", "tolerations"], Value::Array(tolerations));
    pod
}

fn publish(key: &Key, counts: [usize; 4], client: &mut Client<'_>) -> Result<(), Status> {
    let Some(stored) = client.get(key) else { return Ok(()) };
    let [desired, current, misplaced, ready] = counts;
    let mut changed = Value::clone(&stored);
    let mut status = json!({
        "observedGeneration": generation(&stored),
        "desiredNumberScheduled": desired,
        "currentNumberScheduled": current,
        "updatedNumberScheduled": current,
        "numberMisscheduled": misplaced,
        "numberReady": ready,
    });
    if ready > 0 {
        status["numberAvailable"] = json!(ready);
    }
    if desired > ready {
        status["numberUnavailable"] = json!(desired - ready);
    }
    super::read::keep(&stored, &mut status);
    set(&mut changed, &["status"], status);
    match client.update_status(DAEMON_SETS, &changed) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}
