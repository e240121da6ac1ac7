//! The Pod garbage collector: removes Pods of nodes that are gone, terminating Pods on nodes that are out of service,
//! and terminating Pods that never had a node: pkg/controller/podgc/gc_controller.go.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::{Client, Deletion};
use super::queue::{Queue, later};
use super::read::{ended, is_deleting, is_true, list, name, namespace, set, set_condition, text};
use super::resource::{NODES, PODS};
use super::timing::{POD_GC_PERIOD, POD_GC_QUARANTINE, Timing};
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::Event;

const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

#[derive(Default)]
pub(super) struct PodGc {
    /// Nodes that Pods name and that do not exist, each with the time since which it is missing.
    missing: BTreeMap<String, Timestamp>,
}

impl Reconcile for PodGc {
    /// There is one work item: all Pods.
    type Work = ();
    const NAME: &'static str = "pod-garbage-collector-controller";
    const USER: &'static str = "pod-garbage-collector";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn begin(&mut self, queue: &mut Queue<()>) {
        queue.add(());
    }

    fn observe(&mut self, _: &Event, _: &mut Queue<()>) {}

    fn reconcile(
        &mut self,
        (): &(),
        client: &mut Client<'_>,
        _: &mut Queue<()>,
    ) -> Result<Next, Status> {
        let now = client.steady();
        let nodes: BTreeMap<String, _> =
            client.list(NODES, None).into_iter().map(|it| (name(&it).to_owned(), it)).collect();
        let mut pods = client.list(PODS, None);
        client.random().shuffle(&mut pods);
        let mut missing = BTreeSet::new();
        for pod in &pods {
            let place = text(pod, "/spec/nodeName");
            if place.is_empty() {
                if is_deleting(pod) {
                    remove(pod, None, client);
                }
                continue;
            }
            let Some(node) = nodes.get(place) else {
                missing.insert(place.to_owned());
                if self
                    .missing
                    .get(place)
                    .is_some_and(|since| later(*since, POD_GC_QUARANTINE) <= now)
                {
                    remove(pod, Some("PodGC: node no longer exists"), client);
                }
                continue;
            };
            let out_of_service =
                list(node, "/spec/taints").iter().any(|it| text(it, "/key") == OUT_OF_SERVICE);
            if is_deleting(pod) && out_of_service && !is_true(node, "Ready") {
                remove(pod, None, client);
            }
        }
        self.missing.retain(|node, _| missing.contains(node));
        for node in missing {
            self.missing.entry(node).or_insert(now);
        }
        Ok(Next::After(POD_GC_PERIOD))
    }
}

/// Marks a Pod as failed and deletes it without grace. The next check repeats a refused request.
fn remove(pod: &Value, why: Option<&str>, client: &mut Client<'_>) {
    if !ended(pod) {
        let mut changed = pod.clone();
        set(&mut changed, &["status", "phase"], json!("Failed"));
        if let Some(message) = why {
            set_condition(
                &mut changed,
                "DisruptionTarget",
                "True",
                "DeletionByPodGC",
                message,
                client.now(),
            );
        }
        if client.update_status(PODS, &changed).is_err() {
            return;
        }
    }
    drop(client.delete(&PODS.key(namespace(pod), name(pod)), &Deletion::default().grace(0)));
}
