//! A Pod's volumes on a node: the conditions under which they can be mounted, and the reasons why they stay mounted at
//! the Pod's end.

use serde_json::Value;

use super::words::{FailedUnmount, UnmountFailure, failed_mount};
use crate::controller::attach_detach::{attachable, attachment_name, unique_name};
use crate::controller::client::Client;
use crate::controller::node_faults::{NodeFaults, export_of};
use crate::controller::read::{flag, is_deleting, list, name, namespace, text, uid};
use crate::controller::resource::{ATTACHMENTS, CLAIMS, CONFIG_MAPS, NODES, SECRETS, VOLUMES};
use crate::fault::NodeFault;

/// A mounted volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The name of the PersistentVolume, or of the Pod's own volume if there is none.
    volume: String,
    /// Its name within the kubelet.
    name_on_node: String,
    /// The CSI driver that mounts it; empty for any other volume.
    driver: String,
    /// `server:path` of an NFS export.
    export: Option<String>,
    /// The container that mounts a sub-path of it, if there is one.
    sub_path: Option<String>,
    /// It is a volume of the Pod itself, and not of a claim.
    is_inline: bool,
    /// The name under which the node reports it, if it has to be attached.
    pub(super) unique_name: Option<String>,
}

/// The reason why a Pod's volumes are not all there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unmounted {
    /// A volume is not attached to the node yet. The attach-detach controller reports the obstacle.
    Unattached,
    /// An object that a volume needs does not exist, or its driver is not registered on the node.
    Lacks(String),
}

/// The mounts of a Pod, if everything exists that they need, and their drivers are registered on its node.
pub(super) fn mounts(pod: &Value, client: &Client<'_>) -> Result<Vec<Mount>, Unmounted> {
    let mounts = found(pod, client)?;
    let node = text(pod, "/spec/nodeName");
    let is_refused = |it: &&Mount| !client.node_faults.is_registered(node, &it.driver);
    if let Some(refused) = mounts.iter().find(is_refused) {
        let machine = client.find(NODES, "", node);
        let mut in_use = machine.iter().flat_map(|it| list(it, "/status/volumesInUse"));
        let is_in_use = in_use.any(|it| it.as_str() == Some(refused.name_on_node()));
        let needs_device = !refused.is_inline && !is_in_use;
        let words = failed_mount(&refused.volume, &refused.driver, needs_device);
        return Err(Unmounted::Lacks(words));
    }
    Ok(mounts)
}

/// The mounts that a kubelet which comes back finds on the node, whether their drivers are registered or not.
pub(super) fn found(pod: &Value, client: &Client<'_>) -> Result<Vec<Mount>, Unmounted> {
    let mut mounts = Vec::new();
    for volume in list(pod, "/spec/volumes") {
        let claim = match text(volume, "/persistentVolumeClaim/claimName") {
            "" if volume.get("ephemeral").is_some() => {
                format!("{}-{}", name(pod), text(volume, "/name"))
            }
            claim => claim.to_owned(),
        };
        if !claim.is_empty() {
            mounts.push(of_claim(pod, volume, &claim, client)?);
        } else if let Some(server) = volume.pointer("/nfs/server").and_then(Value::as_str) {
            mounts.push(Mount {
                volume: text(volume, "/name").to_owned(),
                name_on_node: nfs_name(pod, text(volume, "/name")),
                driver: String::new(),
                export: Some(format!("{server}:{}", text(volume, "/nfs/path"))),
                sub_path: sub_path(pod, volume),
                is_inline: true,
                unique_name: None,
            });
        } else if let Some(driver) = volume.pointer("/csi/driver").and_then(Value::as_str) {
            mounts.push(Mount {
                volume: text(volume, "/name").to_owned(),
                name_on_node: format!("kubernetes.io/csi/{}-{}", uid(pod), text(volume, "/name")),
                driver: driver.to_owned(),
                export: None,
                sub_path: sub_path(pod, volume),
                is_inline: true,
                unique_name: None,
            });
        }
        needed(pod, volume, client)?;
    }
    Ok(mounts)
}

fn of_claim(
    pod: &Value,
    volume: &Value,
    claim_name: &str,
    client: &Client<'_>,
) -> Result<Mount, Unmounted> {
    let place = format!("{}/{claim_name}", namespace(pod));
    let refused = |why: &str| {
        Unmounted::Lacks(format!(
            "Unable to attach or mount volumes: unmounted volumes=[{}], unattached volumes=[], failed to process \
             volumes=[{}]: error processing PVC {place}: {why}",
            text(volume, "/name"),
            text(volume, "/name")
        ))
    };
    let claim = client.find(CLAIMS, namespace(pod), claim_name);
    let claim = claim.ok_or_else(|| {
        refused(&format!(
            "failed to fetch PVC from API server: persistentvolumeclaims {claim_name:?} not found"
        ))
    })?;
    if is_deleting(&claim) {
        return Err(refused("PVC is being deleted"));
    }
    let bound = client.find(VOLUMES, "", text(&claim, "/spec/volumeName"));
    let bound = bound.filter(|_| text(&claim, "/status/phase") == "Bound");
    let bound = bound.ok_or_else(|| refused("PVC is not bound"))?;
    let mut unique = None;
    if attachable(pod, claim_name, client).is_some() {
        let attachment =
            client.find(ATTACHMENTS, "", &attachment_name(&bound, text(pod, "/spec/nodeName")));
        if !attachment.is_some_and(|it| flag(&it, "/status/attached")) {
            return Err(Unmounted::Unattached);
        }
        unique = Some(unique_name(&bound));
    }
    let export = export_of(&bound);
    Ok(Mount {
        volume: name(&bound).to_owned(),
        name_on_node: if export.is_some() {
            nfs_name(pod, name(&bound))
        } else {
            unique_name(&bound)
        },
        driver: text(&bound, "/spec/csi/driver").to_owned(),
        export,
        sub_path: sub_path(pod, volume),
        is_inline: false,
        unique_name: unique,
    })
}

/// The Secrets and ConfigMaps that a volume needs.
fn needed(pod: &Value, volume: &Value, client: &Client<'_>) -> Result<(), Unmounted> {
    let parts = list(volume, "/projected/sources").iter().chain([volume]);
    for part in parts {
        for (member, key, resource) in [
            ("secret", "/secretName", SECRETS),
            ("secret", "/name", SECRETS),
            ("configMap", "/name", CONFIG_MAPS),
        ] {
            let Some(source) = part.get(member).filter(|it| !flag(it, "/optional")) else {
                continue;
            };
            let wanted = text(source, key);
            if !wanted.is_empty() && client.find(resource, namespace(pod), wanted).is_none() {
                let what = member.to_lowercase();
                let message = format!(
                    "MountVolume.SetUp failed for volume {:?} : {what} {wanted:?} not found",
                    text(volume, "/name")
                );
                return Err(Unmounted::Lacks(message));
            }
        }
    }
    Ok(())
}

/// The first container that mounts a sub-path of a volume.
fn sub_path(pod: &Value, volume: &Value) -> Option<String> {
    let partly = |container: &&Value| {
        list(container, "/volumeMounts").iter().any(|it| {
            text(it, "/name") == text(volume, "/name")
                && (it.get("subPath").is_some() || it.get("subPathExpr").is_some())
        })
    };
    list(pod, "/spec/containers").iter().find(partly).map(|it| text(it, "/name").to_owned())
}

impl Mount {
    /// Its name within the kubelet.
    pub(super) fn name_on_node(&self) -> &str {
        &self.name_on_node
    }

    /// Whether an unmount would hang: no answer comes, and no error.
    pub(super) fn hangs(&self, node_faults: &NodeFaults) -> bool {
        self.export.as_deref().is_some_and(|export| node_faults.is_dead(export))
    }

    /// Unmounts the volume, or returns the failure.
    pub(super) fn unmount<'a>(
        &'a self,
        pod: &'a str,
        node: &str,
        fault: Option<NodeFault>,
        node_faults: &NodeFaults,
    ) -> Result<(), FailedUnmount<'a>> {
        let stale = |it: &str| fault == Some(NodeFault::StaleNfs) || node_faults.is_stale(it);
        let is_stale = self.export.as_deref().is_some_and(stale);
        let is_busy = fault == Some(NodeFault::Busy) || node_faults.busy.contains(&self.volume);
        let is_left = self.sub_path.is_some() && node_faults.leftovers.contains(&self.volume);
        let cause = if is_left {
            UnmountFailure::NotEmpty
        } else if !node_faults.is_registered(node, &self.driver) {
            UnmountFailure::Unregistered
        } else if is_stale {
            UnmountFailure::Stale
        } else if is_busy {
            UnmountFailure::Busy
        } else {
            return Ok(());
        };
        Err(FailedUnmount {
            pod,
            volume: &self.volume,
            unique_name: &self.name_on_node,
            driver: &self.driver,
            sub_path: self.sub_path.as_deref(),
            is_nfs: self.export.is_some(),
            cause,
        })
    }
}

/// The name of an NFS volume within the kubelet: each Pod has a mount of its own.
fn nfs_name(pod: &Value, volume: &str) -> String {
    format!("kubernetes.io/nfs/{}-{volume}", uid(pod))
}
