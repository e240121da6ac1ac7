//! The Pods of CSI drivers: the plugin on each node, and the controller, whose sidecars provision, attach and detach.
//!
//! A Pod is the plugin of a driver if it mounts the driver's folder from its node, `/var/lib/kubelet/plugins/disk.csi.example`, or
//! registers a socket in it, with `--kubelet-registration-path` of the node-driver-registrar
//! (<https://kubernetes-csi.github.io/docs/deploying.html>). Nothing in the Pod of a controller names the driver, so its sidecars
//! serve the drivers whose plugins are in its namespace. A driver without a controller has the sidecars in its plugins, as
//! csi-driver-host-path does. A driver that never had a plugin is built in: it works everywhere, always.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::read::{list, namespace, text, uid};

/// The containers that provision and attach, by their names or those of their images
/// (<https://kubernetes-csi.github.io/docs/sidecar-containers.html>).
const SIDECARS: [&str; 4] =
    ["csi-provisioner", "csi-attacher", "external-provisioner", "external-attacher"];

/// The Pods of CSI drivers that any kubelet was ever given. A driver whose Pods are all gone is not built in.
#[derive(Debug, Default)]
pub(crate) struct DriverPods {
    /// The plugins of each driver, as namespace and UID.
    plugins: BTreeMap<String, BTreeSet<(String, String)>>,
    /// The controllers, as namespace and UID.
    controllers: BTreeSet<(String, String)>,
}

impl DriverPods {
    /// Notes a Pod if it belongs to a driver.
    pub(crate) fn note(&mut self, pod: &Value) {
        let identity = || (namespace(pod).to_owned(), uid(pod).to_owned());
        for driver in drivers(pod) {
            self.plugins.entry(driver.to_owned()).or_default().insert(identity());
        }
        if has_sidecar(pod) {
            self.controllers.insert(identity());
        }
    }

    /// Whether a Pod is the plugin of any driver.
    pub(crate) fn is_plugin(&self, uid: &str) -> bool {
        self.plugins.values().flatten().any(|(_, its)| its == uid)
    }

    /// The UIDs of a driver's plugins; `None` if it is built in.
    pub(crate) fn plugins(&self, driver: &str) -> Option<impl Iterator<Item = &str>> {
        Some(self.plugins.get(driver)?.iter().map(|(_, uid)| &**uid))
    }

    /// The UIDs of the Pods that provision, attach and detach for a driver; `None` if it is built in.
    pub(crate) fn controllers(&self, driver: &str) -> Option<Vec<&str>> {
        let plugins = self.plugins.get(driver)?;
        let is_beside =
            |(namespace, _): &&(String, String)| plugins.iter().any(|(its, _)| its == namespace);
        let beside: Vec<_> = self.controllers.iter().filter(is_beside).collect();
        let serving = if beside.is_empty() { plugins.iter().collect() } else { beside };
        Some(serving.into_iter().map(|(_, uid)| &**uid).collect())
    }
}

/// The drivers whose plugin a Pod is.
fn drivers(pod: &Value) -> impl Iterator<Item = &str> {
    let folders = list(pod, "/spec/volumes").iter().map(|it| text(it, "/hostPath/path"));
    let arguments = containers(pod)
        .flat_map(|it| list(it, "/command").iter().chain(list(it, "/args")))
        .filter_map(|it| it.as_str()?.strip_prefix("--kubelet-registration-path="));
    folders.chain(arguments).filter_map(driver_in)
}

/// The driver that a path below the folder of the kubelet's plugins names. The kubelet's own plugins have a folder there, too.
fn driver_in(path: &str) -> Option<&str> {
    let (root, folder) = path.split_once("/plugins/")?;
    let name = folder.split('/').next().filter(|name| name.contains('.'))?;
    (root.ends_with("/kubelet") && name != "kubernetes.io").then_some(name)
}

fn has_sidecar(pod: &Value) -> bool {
    let is_sidecar = |it: &str| SIDECARS.iter().any(|sidecar| it.contains(sidecar));
    containers(pod).any(|it| {
        let image = text(it, "/image");
        is_sidecar(text(it, "/name")) || is_sidecar(image.rsplit('/').next().unwrap_or(image))
    })
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod, "/spec/initContainers").iter().chain(list(pod, "/spec/containers"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(namespace: &str, uid: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": namespace, "uid": uid}, "spec": spec})
    }

    #[test]
    fn plugin_is_known_by_its_folder_or_by_its_socket() {
        let of_folder = |path: &str| {
            let volumes = json!([{"name": "config", "configMap": {"name": "x"}},
                {"name": "plugin", "hostPath": {"path": path}}]);
            drivers(&pod("a", "1", &json!({"volumes": volumes}))).next().map(str::to_owned)
        };
        let found = Some("disk.csi.example".to_owned());
        assert_eq!(of_folder("/var/lib/kubelet/plugins/disk.csi.example"), found);
        assert_eq!(of_folder("/data/kubelet/plugins/disk.csi.example/"), found);
        for other in [
            "/var/lib/kubelet/plugins",
            "/var/lib/kubelet/plugins/kubernetes.io/csi",
            "/srv/plugins/a.b",
        ] {
            assert_eq!(of_folder(other), None, "{other}");
        }
        let path = "--kubelet-registration-path=/var/lib/kubelet/plugins/disk.csi.example/csi.sock";
        for member in ["containers", "initContainers"] {
            let registrar = json!([{"name": "registrar", "args": ["--v=5", path]}]);
            let registrar = pod("a", "1", &json!({(member): registrar}));
            assert!(drivers(&registrar).eq(["disk.csi.example"]), "{member}");
        }
    }

    #[test]
    fn controller_serves_the_drivers_of_its_namespace() {
        let plugin = |namespace: &str, uid: &str| {
            let path = format!("/var/lib/kubelet/plugins/{namespace}.csi.example");
            pod(namespace, uid, &json!({"volumes": [{"hostPath": {"path": path}}]}))
        };
        let mut pods = DriverPods::default();
        pods.note(&plugin("a", "plugin-a"));
        pods.note(&plugin("b", "plugin-b"));
        let sidecar =
            json!([{"name": "x", "image": "registry.k8s.io/sig-storage/csi-attacher:v4.8.0"}]);
        pods.note(&pod("a", "controller", &json!({"containers": sidecar})));
        assert_eq!(pods.controllers("a.csi.example"), Some(vec!["controller"]));
        assert_eq!(pods.controllers("b.csi.example"), Some(vec!["plugin-b"]));
        assert_eq!(pods.controllers("c.csi.example"), None);
        assert!(pods.is_plugin("plugin-a") && !pods.is_plugin("controller"));
    }
}
