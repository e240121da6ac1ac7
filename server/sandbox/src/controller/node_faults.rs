//! The faults below the API: mounts, NFS exports, and owners that create objects again. Scheduled faults set them;
//! kubelets, volume drivers and operators run into them. The fault of a node as a whole is in
//! [`crate::fault::Faults::node`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::driver_pods::DriverPods;
use super::read::text;
use super::runtime::Runtime;
use crate::store::Key;

/// The number of lines of a kubelet's log that are kept: enough for the last failures of each of its Pods.
const LOG_LINES: usize = 200;

/// The world outside the API, and its faults.
#[derive(Debug, Default)]
pub struct NodeFaults {
    /// The nodes that have a kubelet. A Node that a client creates has none.
    pub kubelets: BTreeSet<String>,
    /// Whether kubelets report their CSI drivers in CSINodes.
    pub has_csi_nodes: bool,
    /// The CSI drivers whose plugin does not run on a node, as node and driver: it is not registered with the kubelet there.
    pub unregistered: BTreeSet<(String, String)>,
    /// Volumes whose unmount fails because something still has them open, by the name of the PersistentVolume.
    pub busy: BTreeSet<String>,
    /// Volumes with a file below the mount point of a subPath, by the name of the PersistentVolume.
    pub leftovers: BTreeSet<String>,
    /// NFS servers that answer every handle with `ESTALE`.
    pub stale_servers: BTreeSet<String>,
    /// NFS servers that do not answer, so that an unmount hangs.
    pub dead_servers: BTreeSet<String>,
    /// NFS exports whose directory was removed, as `server:path`. A node that still has one mounted has a stale handle.
    pub removed_exports: BTreeSet<String>,
    /// Objects that a program outside the cluster creates again whenever they are gone, with the state that they had
    /// when it began, if they existed.
    pub recreated: BTreeMap<Key, Option<Arc<Value>>>,
    /// The words with which the cloud refuses to remove a load balancer.
    pub cloud: Option<String>,
    /// The last lines of each kubelet's log, by node.
    pub kubelet_logs: BTreeMap<String, VecDeque<String>>,
    /// The container runtime of each node.
    pub(crate) runtimes: BTreeMap<String, Runtime>,
    /// The Pods of CSI drivers.
    pub(crate) driver_pods: DriverPods,
}

impl NodeFaults {
    /// Repairs everything. The nodes with their logs and runtimes stay, and so do the Pods of drivers.
    pub fn repair(&mut self) {
        self.unregistered.clear();
        self.busy.clear();
        self.leftovers.clear();
        self.stale_servers.clear();
        self.dead_servers.clear();
        self.removed_exports.clear();
        self.recreated.clear();
        self.cloud = None;
    }

    /// Repairs a server and restores the directories of its exports.
    pub fn restore(&mut self, server: &str) {
        self.stale_servers.remove(server);
        self.dead_servers.remove(server);
        self.removed_exports.retain(|it| it.split_once(':').is_none_or(|(its, _)| its != server));
    }

    /// Ends whatever keeps a volume mounted.
    pub fn free(&mut self, volume: &str) {
        self.busy.remove(volume);
        self.leftovers.remove(volume);
    }

    /// Whether a CSI driver is registered with the kubelet of a node: its plugin runs there, and no fault says otherwise.
    pub(crate) fn is_registered(&self, node: &str, driver: &str) -> bool {
        let mut unregistered = self.unregistered.iter();
        let runs = |uid: &str| self.runtimes.get(node).is_some_and(|it| it.runs(uid));
        !unregistered.any(|(its, it)| its == node && it == driver)
            && self.driver_pods.plugins(driver).is_none_or(|mut plugins| plugins.any(runs))
    }

    /// Whether a Pod runs that provisions, attaches and detaches for a CSI driver.
    pub(crate) fn has_driver_controller(&self, driver: &str) -> bool {
        let runs = |uid: &str| self.runtimes.values().any(|it| it.runs(uid));
        let controllers = self.driver_pods.controllers(driver);
        controllers.is_none_or(|controllers| controllers.into_iter().any(runs))
    }

    /// Whether the handle of an export is stale.
    pub(crate) fn is_stale(&self, export: &str) -> bool {
        self.removed_exports.contains(export) || self.stale_servers.contains(server_of(export))
    }

    /// Whether the server of an export does not answer.
    pub(crate) fn is_dead(&self, export: &str) -> bool {
        self.dead_servers.contains(server_of(export))
    }

    /// The number of containers that run on a node, whatever the API says of their Pods.
    pub fn running_containers(&self, node: &str) -> usize {
        self.runtimes.get(node).map_or(0, Runtime::running_containers)
    }

    pub(crate) fn runtime(&mut self, node: &str) -> &mut Runtime {
        self.runtimes.entry(node.to_owned()).or_default()
    }

    pub(crate) fn log(&mut self, node: &str, line: String) {
        let log = self.kubelet_logs.entry(node.to_owned()).or_default();
        if log.len() == LOG_LINES {
            log.pop_front();
        }
        log.push_back(line);
    }
}

fn server_of(export: &str) -> &str {
    export.split_once(':').map_or(export, |(server, _)| server)
}

/// The export behind an NFS volume, as `server:path`.
pub(crate) fn export_of(volume: &Value) -> Option<String> {
    let server = text(volume, "/spec/nfs/server");
    (!server.is_empty()).then(|| format!("{server}:{}", text(volume, "/spec/nfs/path")))
}
