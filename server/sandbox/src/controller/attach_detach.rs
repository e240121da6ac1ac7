//! The attach-detach controller: requests that volumes are attached to the nodes of their Pods, and detached when no
//! Pod there needs them and the node has unmounted them: pkg/controller/volume/attachdetach.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::{Client, Deletion, EventType, fingerprint};
use super::queue::{Queue, later};
use super::read::{claims, ended, flag, is_deleting, is_true, list, name, namespace, text};
use super::resource::{ATTACHMENTS, CLAIMS, CSI_DRIVERS, NODES, PODS, VOLUMES};
use super::timing::{DETACH_PERIOD, FORCE_DETACH, Timing};
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Event, Key};

/// The annotation of a node whose attachments the controller manages.
pub(super) const MANAGED: &str = "volumes.kubernetes.io/controller-managed-attach-detach";

pub(super) struct AttachDetach {
    /// The time since which no Pod needs an attachment.
    idle: BTreeMap<String, Timestamp>,
    /// For each node, the attachments that an attachment to another node blocks, and that were reported to their Pods.
    refused: BTreeMap<String, BTreeSet<String>>,
    /// The failures of attachments that were reported to their Pods, by the times that they have.
    failed: BTreeMap<String, String>,
    /// The Pods with claims on each node.
    users: BTreeMap<String, BTreeSet<Key>>,
}

impl Reconcile for AttachDetach {
    /// The node's name.
    type Work = String;
    const NAME: &'static str = "persistentvolume-attach-detach-controller";
    const USER: &'static str = "attachdetach-controller";
    const COMPONENT: &'static str = "attachdetach-controller";

    fn new(_: &Timing) -> Self {
        Self {
            idle: BTreeMap::new(),
            refused: BTreeMap::new(),
            failed: BTreeMap::new(),
            users: BTreeMap::new(),
        }
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<String>) {
        let object = &event.object;
        if PODS.has(&event.key) {
            let node = text(object, "/spec/nodeName");
            if node.is_empty() || claims(object).next().is_none() {
                return;
            }
            let here = self.users.entry(node.to_owned()).or_default();
            let before = event.previous.as_deref();
            if event.change == crate::store::Change::Deleted {
                here.remove(&event.key);
            } else {
                here.insert(event.key.clone());
                if before.is_some_and(|it| {
                    ended(it) == ended(object) && text(it, "/spec/nodeName") == node
                }) {
                    return;
                }
            }
            queue.add(node.to_owned());
        } else if CLAIMS.has(&event.key) || VOLUMES.has(&event.key) {
            for node in self.users.keys() {
                queue.add(node.clone());
            }
        } else if ATTACHMENTS.has(&event.key) {
            queue.add(text(object, "/spec/nodeName").to_owned());
        } else if NODES.has(&event.key) {
            let relevant_fields = |it: &Value| {
                (
                    it["status"]["volumesInUse"].clone(),
                    is_true(it, "Ready"),
                    it["spec"]["taints"].clone(),
                    it["metadata"]["annotations"].get(MANAGED).is_some(),
                )
            };
            if event.previous.as_deref().map(relevant_fields) != Some(relevant_fields(object)) {
                queue.add(event.key.name.to_string());
            }
        }
    }

    fn reconcile(
        &mut self,
        node: &String,
        client: &mut Client<'_>,
        _: &mut Queue<String>,
    ) -> Result<Next, Status> {
        let machine = client.find(NODES, "", node);
        let managed = machine
            .as_deref()
            .is_none_or(|it| it["metadata"]["annotations"].get(MANAGED).is_some());
        let users = self.users.get(node).into_iter().flatten().filter_map(|key| client.get(key));
        let mut wanted: BTreeMap<String, Arc<Value>> = users
            .filter(|pod| managed && !ended(pod))
            .flat_map(|pod| {
                claims(&pod)
                    .filter_map(|claim| attachable(&pod, &claim, client))
                    .collect::<Vec<_>>()
            })
            .map(|volume| (attachment_name(&volume, node), volume))
            .collect();
        if machine.is_none() {
            // An existing attachment is managed all the same, but the controller adds no other.
            wanted.retain(|attachment, _| client.find(ATTACHMENTS, "", attachment).is_some());
        }
        let reported = self.refused.remove(node).unwrap_or_default();
        let mut refused = BTreeSet::new();
        for (attachment, volume) in &wanted {
            self.idle.remove(attachment);
            let existing = client.find(ATTACHMENTS, "", attachment);
            if let Some(existing) = &existing {
                self.report_failure(existing, volume, node, client);
            }
            let absent = existing.is_none();
            let others = attached_elsewhere(volume, node, client);
            // Nothing is reported while an attachment is being made or removed.
            let steady =
                others.iter().filter(|it| flag(it, "/status/attached") && !is_deleting(it));
            let holders: BTreeSet<&str> = steady.map(|it| text(it, "/spec/nodeName")).collect();
            if absent && !holders.is_empty() {
                if !reported.contains(attachment) {
                    self.refuse(volume, node, &holders, client);
                }
                refused.insert(attachment.clone());
            } else if absent && others.is_empty() {
                let object = json!({
                    "metadata": {"name": attachment},
                    "spec": {
                        "attacher": text(volume, "/spec/csi/driver"),
                        "nodeName": node,
                        "source": {"persistentVolumeName": name(volume)},
                    },
                });
                client.create_if_absent(ATTACHMENTS, object)?;
            }
        }
        self.refused.insert(node.clone(), refused);
        let waits_for_another = wanted.keys().any(|it| client.find(ATTACHMENTS, "", it).is_none());
        let mut waits = waits_for_another;
        for attachment in client.list(ATTACHMENTS, None) {
            let ours = text(&attachment, "/spec/nodeName") == node
                && !wanted.contains_key(name(&attachment));
            if ours && !is_deleting(&attachment) {
                waits |= !self.detach(&attachment, node, client)?;
            }
        }
        Ok(if waits { Next::After(DETACH_PERIOD) } else { Next::Rest })
    }
}

impl AttachDetach {
    /// Reports to the Pods on a node that the attacher could not attach a volume: `GenerateAttachVolumeFunc` in
    /// pkg/volume/util/operationexecutor/operation_generator.go. The controller waits for the attacher's next try.
    fn report_failure(
        &mut self,
        attachment: &Value,
        volume: &Value,
        node: &str,
        client: &mut Client<'_>,
    ) {
        let error = text(attachment, "/status/attachError/message");
        if error.is_empty() {
            self.failed.remove(name(attachment));
            return;
        }
        let time = text(attachment, "/status/attachError/time").to_owned();
        if self.failed.insert(name(attachment).to_owned(), time.clone()) == Some(time) {
            return;
        }
        let message = format!("AttachVolume.Attach failed for volume {:?} : {error}", name(volume));
        for pod in self.users_of(volume, node, client) {
            client.event(&pod, EventType::Warning, "FailedAttachVolume", &message);
        }
    }

    /// Reports to the Pods on a node that a volume is attached to other nodes, and names the Pods that use it there:
    /// `reportMultiAttachError`.
    fn refuse(
        &self,
        volume: &Value,
        node: &str,
        holders: &BTreeSet<&str>,
        client: &mut Client<'_>,
    ) {
        let others: Vec<_> =
            holders.iter().flat_map(|holder| self.users_of(volume, holder, client)).collect();
        for pod in self.users_of(volume, node, client) {
            let (near, far): (Vec<_>, Vec<_>) =
                others.iter().partition(|it| namespace(it) == namespace(&pod));
            let near: Vec<&str> = near.into_iter().map(|it| name(it)).collect();
            let near = near.join(", ");
            let why = match (near.is_empty(), far.len()) {
                (true, 0) => {
                    "exclusively attached to one node and can't be attached to another".into()
                }
                (true, far) => format!("used by {far} pod(s) in different namespaces"),
                (false, 0) => format!("used by pod(s) {near}"),
                (false, far) => {
                    format!("used by pod(s) {near} and {far} pod(s) in different namespaces")
                }
            };
            let message =
                format!("Multi-Attach error for volume {:?} Volume is already {why}", name(volume));
            client.event(&pod, EventType::Warning, "FailedAttachVolume", &message);
        }
    }

    /// The Pods on a node that need a volume.
    fn users_of(&self, volume: &Value, node: &str, client: &Client<'_>) -> Vec<Arc<Value>> {
        let there = self.users.get(node).into_iter().flatten().filter_map(|key| client.get(key));
        let wants = |pod: &Arc<Value>| {
            let mut volumes = claims(pod).filter_map(|claim| attachable(pod, &claim, client));
            !ended(pod) && volumes.any(|it| name(&it) == name(volume))
        };
        there.filter(wants).collect()
    }

    /// Requests a detachment unless the node still has the volume mounted. Returns whether it did.
    fn detach(
        &mut self,
        attachment: &Value,
        node: &str,
        client: &mut Client<'_>,
    ) -> Result<bool, Status> {
        let since =
            *self.idle.entry(name(attachment).to_owned()).or_insert_with(|| client.steady());
        if let Some(object) = client.find(NODES, "", node) {
            let volume =
                client.find(VOLUMES, "", text(attachment, "/spec/source/persistentVolumeName"));
            let unique = volume.as_deref().map(unique_name);
            let in_use = list(&object, "/status/volumesInUse")
                .iter()
                .any(|it| it.as_str() == unique.as_deref());
            let out_of_service = list(&object, "/spec/taints")
                .iter()
                .any(|it| text(it, "/key") == "node.kubernetes.io/out-of-service");
            let given_up =
                !is_true(&object, "Ready") && later(since, FORCE_DETACH) <= client.steady();
            if in_use && !out_of_service && !given_up {
                return Ok(false);
            }
        }
        self.idle.remove(name(attachment));
        self.failed.remove(name(attachment));
        match client.delete(&ATTACHMENTS.key("", name(attachment)), &Deletion::of(attachment)) {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(true),
        }
    }
}

/// The name by which a node reports a volume.
pub(super) fn unique_name(volume: &Value) -> String {
    format!(
        "kubernetes.io/csi/{}^{}",
        text(volume, "/spec/csi/driver"),
        text(volume, "/spec/csi/volumeHandle")
    )
}

/// The name of a volume's attachment to a node, which these two determine.
pub(super) fn attachment_name(volume: &Value, node: &str) -> String {
    let seed = format!("{}{node}", unique_name(volume));
    (0..4)
        .map(|part| format!("{:016x}", fingerprint(&format!("{part}{seed}"))))
        .fold("csi-".to_owned(), |all, it| all + &it)
}

/// The volume behind a Pod's claim, if it has to be attached.
pub(super) fn attachable(pod: &Value, claim: &str, client: &Client<'_>) -> Option<Arc<Value>> {
    let claim = client.find(CLAIMS, namespace(pod), claim)?;
    let volume = client.find(VOLUMES, "", text(&claim, "/spec/volumeName"))?;
    let driver = text(&volume, "/spec/csi/driver");
    let object = client.find(CSI_DRIVERS, "", driver);
    let attaches = object.is_none_or(|it| {
        it.pointer("/spec/attachRequired").is_none() || flag(&it, "/spec/attachRequired")
    });
    (!driver.is_empty() && attaches).then_some(volume)
}

/// The attachments to other nodes of a volume that can be attached only once.
fn attached_elsewhere(volume: &Value, node: &str, client: &Client<'_>) -> Vec<Arc<Value>> {
    let many = list(volume, "/spec/accessModes")
        .iter()
        .any(|it| it == "ReadWriteMany" || it == "ReadOnlyMany");
    if many {
        return vec![];
    }
    let attachments = client.list(ATTACHMENTS, None).into_iter();
    attachments
        .filter(|it| text(it, "/spec/source/persistentVolumeName") == name(volume))
        .filter(|it| text(it, "/spec/nodeName") != node)
        .collect()
}
