//! Evicts Pods from nodes with `NoExecute` taints that they do not tolerate, or no longer:
//! pkg/controller/tainteviction/taint_eviction.go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::client::{Client, Deletion, EventType};
use super::queue::{Queue, later};
use super::read::{list, name, namespace, number, set_condition, text, uid};
use super::resource::{NODES, PODS};
use super::scheduler::tolerates;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

#[derive(Default)]
pub(super) struct TaintEviction {
    pods: BTreeMap<String, BTreeSet<Key>>,
    scheduled: BTreeMap<Key, Eviction>,
}

/// A scheduled eviction.
struct Eviction {
    uid: String,
    /// The time since which the taint counts.
    since: Timestamp,
    due: Timestamp,
    done: bool,
}

impl Reconcile for TaintEviction {
    /// The Pod.
    type Work = Key;
    const NAME: &'static str = "taint-eviction-controller";
    const USER: &'static str = "node-controller";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        let (key, object) = (&event.key, &event.object);
        if PODS.has(key) {
            let node = text(object, "/spec/nodeName");
            if node.is_empty() {
                return;
            }
            if event.change == Change::Deleted {
                self.pods.entry(node.to_owned()).or_default().remove(key);
                self.scheduled.remove(key);
                return;
            }
            self.pods.entry(node.to_owned()).or_default().insert(key.clone());
            let relevant_fields =
                |it: &Value| (it["spec"]["nodeName"].clone(), it["spec"]["tolerations"].clone());
            if event.previous.as_deref().map(relevant_fields) != Some(relevant_fields(object)) {
                queue.add(key.clone());
            }
        } else if NODES.has(key) {
            let taints = |it: &Value| it["spec"]["taints"].clone();
            if event.previous.as_deref().map(taints) != Some(taints(object)) {
                for pod in self.pods.get(&*key.name).into_iter().flatten() {
                    queue.add(pod.clone());
                }
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(pod) = client.get(key) else { return Ok(Next::Rest) };
        let node = client.find(NODES, "", text(&pod, "/spec/nodeName"));
        let taints: Vec<&Value> = node
            .iter()
            .flat_map(|it| list(it, "/spec/taints"))
            .filter(|it| text(it, "/effect") == "NoExecute")
            .collect();
        let now = client.steady();
        let wait = match toleration(&pod, &taints) {
            Toleration::Forever => {
                self.cancel(&pod, key, client);
                return Ok(Next::Rest);
            }
            Toleration::None => Duration::ZERO,
            Toleration::For(wait) => wait,
        };
        let known = self.scheduled.get(key).filter(|it| it.uid == uid(&pod));
        if known.is_some_and(|it| it.done) {
            return Ok(Next::Rest);
        }
        let since = known.map_or(now, |it| it.since);
        let due = if wait.is_zero() { now } else { later(since, wait) };
        let due = known.map_or(due, |it| due.min(it.due));
        let mut eviction = Eviction { uid: uid(&pod).to_owned(), since, due, done: false };
        if due > now {
            self.scheduled.insert(key.clone(), eviction);
            return Ok(Next::After(
                Duration::try_from(due.duration_since(now)).unwrap_or_default(),
            ));
        }
        evict(key, &pod, client)?;
        eviction.done = true;
        self.scheduled.insert(key.clone(), eviction);
        Ok(Next::Rest)
    }
}

impl TaintEviction {
    fn cancel(&mut self, pod: &Value, key: &Key, client: &mut Client<'_>) {
        if self.scheduled.remove(key).is_some_and(|it| !it.done) {
            let message = format!("Cancelling deletion of Pod {}/{}", namespace(pod), name(pod));
            client.event(pod, EventType::Normal, "TaintManagerEviction", &message);
        }
    }
}

/// The time for which a Pod tolerates the taints.
enum Toleration {
    None,
    For(Duration),
    Forever,
}

fn toleration(pod: &Value, taints: &[&Value]) -> Toleration {
    let tolerations = list(pod, "/spec/tolerations");
    let mut shortest = None;
    for taint in taints {
        let Some(found) = tolerations.iter().find(|it| tolerates(it, taint)) else {
            return Toleration::None;
        };
        if let Some(seconds) = number(found, "/tolerationSeconds") {
            let wait = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
            shortest = Some(shortest.map_or(wait, |it: Duration| it.min(wait)));
        }
    }
    shortest.map_or(Toleration::Forever, Toleration::For)
}

fn evict(key: &Key, pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    let message = format!("Marking for deletion Pod {}/{}", namespace(pod), name(pod));
    client.event(pod, EventType::Normal, "TaintManagerEviction", &message);
    let mut changed = pod.clone();
    let message = "Taint manager: deleting due to NoExecute taint";
    set_condition(
        &mut changed,
        "DisruptionTarget",
        "True",
        "DeletionByTaintManager",
        message,
        client.now(),
    );
    client.update_status(PODS, &changed)?;
    match client.delete(key, &Deletion::default()) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}
