//! A kubelet's reports about its node: the Node, its Lease, its status, its CSINode.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::csi_node;
use super::shutdown::{self, Shutdown};
use crate::controller::attach_detach::MANAGED;
use crate::controller::client::Client;
use crate::controller::queue::later;
use crate::controller::read::{controller_reference, is_true, written, written_micro};
use crate::controller::resource::{LEASES, NODES};
use crate::controller::timing::{STATUS_REPORT, Timing};
use crate::status::Status;

/// Status, reason and message of condition Ready.
const READY: (&str, &str, &str) = ("True", "KubeletReady", "kubelet is posting ready status");
const LEASE_NAMESPACE: &str = "kube-node-lease";

#[derive(Default)]
pub(super) struct NodeStatus {
    registered: bool,
    pub(super) silent: bool,
    /// The power losses of the machine that its kubelet knows of.
    pub(super) power_losses: u32,
    /// The time of the last full status report.
    pub(super) reported: Option<Timestamp>,
    renewed: Option<Timestamp>,
    /// The kubelet knows that the machine shuts down.
    pub(super) is_shutting_down: bool,
    /// The Pods that a shutdown still has to end.
    pub(super) shutdown: Option<Shutdown>,
}

impl NodeStatus {
    /// Sends the reports that are due. Returns the time until the next one. A Node that was deleted is not registered
    /// again, as with a kubelet that is not restarted.
    pub(super) fn report_due(
        &mut self,
        name: &str,
        timing: &Timing,
        client: &mut Client<'_>,
    ) -> Result<Duration, Status> {
        let renewal = timing.lease_renewal();
        let now = client.steady();
        if !self.registered {
            client.create_if_absent(NODES, node(name))?;
            self.registered = true;
        }
        if let Some(object) = client.find(NODES, "", name) {
            let stale = self.reported.is_none_or(|it| later(it, STATUS_REPORT) <= now);
            if stale || is_true(&object, "Ready") == self.is_shutting_down {
                let mut changed = Value::clone(&object);
                let ready = if self.is_shutting_down { shutdown::NOT_READY } else { READY };
                report(&mut changed, name, ready, client.now());
                client.update_status(NODES, &changed)?;
                self.reported = Some(now);
            }
            if self.renewed.is_none_or(|it| later(it, renewal) <= now) {
                renew(&object, name, timing, client)?;
                self.renewed = Some(now);
            }
            csi_node::report(&object, client)?;
        }
        let due = self.renewed.map_or(now, |it| later(it, renewal));
        Ok(Duration::try_from(due.duration_since(now))
            .unwrap_or_default()
            .max(Duration::from_millis(1)))
    }
}

fn node(name: &str) -> Value {
    json!({
        "metadata": {
            "name": name,
            "annotations": {(MANAGED): "true"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {},
    })
}

fn report(
    node: &mut Value,
    name: &str,
    (ready, reason, message): (&str, &str, &str),
    now: Timestamp,
) {
    for (kind, status, reason, message) in [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", ready, reason, message),
    ] {
        crate::object::set_condition(node, kind, status, reason, message, now);
        crate::controller::node_lifecycle::keep_heartbeat(node, kind, written(now));
    }
    let resources =
        json!({"cpu": "32", "memory": "64Gi", "ephemeral-storage": "500Gi", "pods": "500"});
    for member in ["capacity", "allocatable"] {
        crate::object::set(node, &["status", member], resources.clone());
    }
    let addresses = json!([{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": name}]);
    crate::object::set(node, &["status", "addresses"], addresses);
    let info = json!({
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.0.0",
        "kernelVersion": "sandbox",
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "sandbox",
        "systemUUID": "",
    });
    crate::object::set(node, &["status", "nodeInfo"], info);
}

fn renew(node: &Value, name: &str, timing: &Timing, client: &mut Client<'_>) -> Result<(), Status> {
    let now = written_micro(client.now());
    let key = LEASES.key(LEASE_NAMESPACE, name);
    if client.get(&key).is_some() {
        client.merge(&key, &json!({"spec": {"renewTime": now}}))?;
        return Ok(());
    }
    let mut owner = controller_reference(node);
    if let Some(map) = owner.as_object_mut() {
        map.remove("controller");
        map.remove("blockOwnerDeletion");
    }
    let lease = json!({
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": timing.lease.as_secs(), "renewTime": now},
    });
    client.create_if_absent(LEASES, lease)
}
