//! StatefulSets: Pods by ordinal, each with its own claims. A Pod is created again only when the one with its ordinal
//! is gone: pkg/controller/statefulset/stateful_set_control.go.

mod claim;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::Client;
use super::pods;
use super::queue::Queue;
use super::read::{
    ended, generation, is_deleting, label, list, name, namespace, number, set, small, text, uid,
};
use super::resource::{CLAIMS, PODS, STATEFUL_SETS};
use super::timing::Timing;
use super::{Next, Reconcile, revision};
use crate::status::Status;
use crate::store::{Event, Key};

pub(super) struct StatefulSets;

impl Reconcile for StatefulSets {
    type Work = Key;
    const NAME: &'static str = "statefulset-controller";
    const USER: &'static str = "statefulset-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        pods::notice(STATEFUL_SETS, PODS, event, queue);
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(set) = client.get(key) else { return Ok(Next::Rest) };
        let hash = revision::record(&set, client)?;
        let mut done = Ok(());
        if !is_deleting(&set) {
            done = Members::new(&set, &hash, client).sync(client);
        }
        publish(key, &hash, client)?;
        done.map(|()| Next::Rest)
    }
}

/// The ordinal of a Pod of a set; `None` if its name has none.
fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    name(pod).strip_prefix(name(set))?.strip_prefix('-')?.parse().ok()
}

/// The ordinals a set should have.
fn range(set: &Value) -> std::ops::Range<i64> {
    let start = small(number(set, "/spec/ordinals/start").unwrap_or_default());
    start..start.saturating_add(small(number(set, "/spec/replicas").unwrap_or(1)))
}

struct Members<'a> {
    set: &'a Value,
    hash: &'a str,
    pods: BTreeMap<i64, Arc<Value>>,
    /// One Pod after the other, each only when the one before is ready (`OrderedReady`).
    ordered: bool,
}

impl<'a> Members<'a> {
    fn new(set: &'a Value, hash: &'a str, client: &Client<'_>) -> Self {
        let pods = client
            .controlled(PODS, uid(set))
            .into_iter()
            .filter_map(|it| Some((ordinal(set, &it)?, it)));
        let ordered = text(set, "/spec/podManagementPolicy") != "Parallel";
        Self { set, hash, pods: pods.collect(), ordered }
    }

    fn sync(&self, client: &mut Client<'_>) -> Result<(), Status> {
        for pod in self.pods.values() {
            claim::update(self.set, pod, client)?;
        }
        let wanted = range(self.set);
        let mut made = 0;
        for at in wanted.clone() {
            // The others follow when the first of these changes.
            if made == pods::BURST {
                return Ok(());
            }
            match self.pods.get(&at) {
                None => {
                    self.create(at, client)?;
                    made += 1;
                    if self.ordered {
                        return Ok(());
                    }
                }
                Some(pod) if ended(pod) && !is_deleting(pod) => {
                    pods::delete(self.set, pod, client)?;
                    if self.ordered {
                        return Ok(());
                    }
                }
                Some(pod) if self.ordered && (is_deleting(pod) || !pods::is_ready(pod)) => {
                    return Ok(());
                }
                Some(_) => {}
            }
        }
        // From the last Pod down; in order one at a time, and only while all Pods before it are ready.
        for (_, pod) in self.pods.iter().rev().filter(|(at, _)| !wanted.contains(at)) {
            if is_deleting(pod) {
                if self.ordered {
                    return Ok(());
                }
                continue;
            }
            pods::delete(self.set, pod, client)?;
            if self.ordered {
                return Ok(());
            }
        }
        self.roll(client)
    }

    /// Replaces Pods of an old template from the last one down, one at a time.
    fn roll(&self, client: &mut Client<'_>) -> Result<(), Status> {
        if text(self.set, "/spec/updateStrategy/type") == "OnDelete" {
            return Ok(());
        }
        let partition =
            number(self.set, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or_default();
        for (_, pod) in self
            .pods
            .iter()
            .rev()
            .filter(|(at, _)| **at >= partition && range(self.set).contains(at))
        {
            if is_deleting(pod) {
                return Ok(());
            }
            if label(pod, revision::HASH) != Some(self.hash) {
                return pods::delete(self.set, pod, client);
            }
            if !pods::is_ready(pod) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn create(&self, at: i64, client: &mut Client<'_>) -> Result<(), Status> {
        let member = format!("{}-{at}", name(self.set));
        let mut pod = pods::from_template(self.set, &self.set["spec"]["template"]);
        set(&mut pod, &["metadata", "name"], json!(member));
        for (key, value) in [
            ("statefulset.kubernetes.io/pod-name", member.as_str()),
            ("apps.kubernetes.io/pod-index", &at.to_string()),
            (revision::HASH, self.hash),
        ] {
            set(&mut pod, &["metadata", "labels", key], json!(value));
        }
        set(&mut pod, &["spec", "hostname"], json!(member));
        set(&mut pod, &["spec", "subdomain"], self.set["spec"]["serviceName"].clone());
        let templates = list(self.set, "/spec/volumeClaimTemplates");
        let mut volumes: Vec<Value> = templates
            .iter()
            .map(|it| json!({"name": name(it), "persistentVolumeClaim": {"claimName": format!("{}-{member}", name(it))}}))
            .collect();
        let own = list(&pod, "/spec/volumes").iter();
        let own: Vec<Value> = own
            .filter(|it| templates.iter().all(|template| name(template) != text(it, "/name")))
            .cloned()
            .collect();
        volumes.extend(own);
        if !volumes.is_empty() {
            set(&mut pod, &["spec", "volumes"], Value::Array(volumes));
        }
        for template in templates {
            let claim = format!("{}-{member}", name(template));
            match client.find(CLAIMS, namespace(self.set), &claim) {
                // The Pod is still terminating, so its name is not free.
                Some(claim) if is_deleting(&claim) => {
                    return Err(Status::internal(&format!(
                        "pvc {} is being deleted",
                        name(&claim)
                    )));
                }
                Some(_) => {}
                None => claim::create(self.set, template, &claim, client)?,
            }
        }
        pods::create(self.set, pod, client)
    }
}

fn publish(key: &Key, hash: &str, client: &mut Client<'_>) -> Result<(), Status> {
    let Some(stored) = client.get(key) else { return Ok(()) };
    let owned = client.controlled(PODS, uid(&stored));
    let live: Vec<_> = owned.iter().filter(|it| !ended(it)).collect();
    let ready = live.iter().filter(|it| pods::is_ready(it) && !is_deleting(it)).count();
    let current = live.iter().filter(|it| label(it, revision::HASH) == Some(hash)).count();
    let revision = format!("{}-{hash}", name(&stored));
    let mut changed = Value::clone(&stored);
    let mut status = json!({
        "observedGeneration": generation(&stored),
        "replicas": live.len(),
        "availableReplicas": ready,
        "collisionCount": 0,
        "currentRevision": revision,
        "updateRevision": revision,
    });
    for (member, count) in
        [("readyReplicas", ready), ("currentReplicas", current), ("updatedReplicas", current)]
    {
        if count > 0 {
            status[member] = json!(count);
        }
    }
    super::read::keep(&stored, &mut status);
    set(&mut changed, &["status"], status);
    match client.update_status(STATEFUL_SETS, &changed) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}
