//! The CSINode of a node: the CSI drivers that are registered with its kubelet (pkg/volume/csi/nodeinfomanager/nodeinfomanager.go). A driver
//! registers when its plugin starts on the node, and is taken out when the plugin ends: then neither mount nor unmount works
//! (`newCsiDriverClient` in pkg/volume/csi/csi_client.go), and the external-attacher attaches nothing to the node.
//!
//! The plugin of a driver runs where its Pods do ([`crate::controller::driver_pods`]). That of a driver without such Pods is built in and
//! runs on every node, unless a fault says otherwise.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::controller::client::Client;
use crate::controller::read::{list, name, owner_reference, text};
use crate::controller::resource::{CSI_DRIVERS, CSI_NODES, VOLUMES};
use crate::status::Status;

/// Reports the drivers that are registered on a node.
pub(super) fn report(node: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    if !client.node_faults.has_csi_nodes {
        return Ok(());
    }
    let key = CSI_NODES.key("", name(node));
    let stored = match client.get(&key) {
        Some(stored) => stored,
        None => {
            let owners = [owner_reference(node)];
            let object = json!({
                "metadata": {"name": name(node), "ownerReferences": owners},
                "spec": {"drivers": []},
            });
            client.create_if_absent(CSI_NODES, object)?;
            let Some(created) = client.get(&key) else { return Ok(()) };
            created
        }
    };
    let before = list(&stored, "/spec/drivers");
    let mut drivers: Vec<Value> = before
        .iter()
        .filter(|it| client.node_faults.is_registered(name(node), text(it, "/name")))
        .cloned()
        .collect();
    for driver in installed(client) {
        let is_known = drivers.iter().any(|it| text(it, "/name") == driver);
        if !is_known && client.node_faults.is_registered(name(node), &driver) {
            drivers.push(json!({"name": driver, "nodeID": name(node), "topologyKeys": null}));
        }
    }
    if drivers != before {
        client.merge(&key, &json!({"spec": {"drivers": drivers}}))?;
    }
    Ok(())
}

/// The drivers of the cluster: those that a CSIDriver or a PersistentVolume names.
fn installed(client: &Client<'_>) -> BTreeSet<String> {
    let declared = client.list(CSI_DRIVERS, None).into_iter().map(|it| name(&it).to_owned());
    let volumes = client.list(VOLUMES, None).into_iter();
    let used = volumes.map(|it| text(&it, "/spec/csi/driver").to_owned());
    declared.chain(used).filter(|it| !it.is_empty()).collect()
}
