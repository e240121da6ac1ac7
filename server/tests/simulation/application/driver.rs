//! A CSI driver of the unit: its CSIDriver, the plugin on every node, and a workload whose claims it provisions. Without the plugin
//! nothing is mounted or unmounted on a node, and without any plugin nothing is provisioned, attached or detached.

use fastrand::Rng;
use serde_json::json;

use super::{Application, Generator, UNIT, object, rare_components};
use crate::state::name;

/// The label of the plugin's DaemonSet and of its Pods.
pub(crate) const PLUGIN: &str = "example.com/csi-plugin";
/// The beginning of the DaemonSet's name, which no other DaemonSet has.
pub(crate) const PLUGIN_NAME: &str = "csi";

impl Application {
    /// Adds the driver of the volumes that are provisioned on demand.
    pub(crate) fn add_driver(&mut self, rng: &mut Rng) {
        let namespaces = self.objects.iter().filter(|it| it["kind"] == "Namespace");
        let ours = namespaces.map(name).filter(|name| name.starts_with(UNIT));
        let namespaces = ours.map(str::to_owned).collect();
        let application = std::mem::take(self);
        // No object has this number or a higher one in its name.
        let number = application.objects.len();
        let mut generate = Generator { rng, application, namespaces, number, definition: false };
        generate.plugin();
        let namespace = generate.namespace();
        generate.stateful_set(&namespace);
        *self = generate.application;
    }
}

impl Generator<'_> {
    fn plugin(&mut self) {
        if !self.application.objects.iter().any(|it| it["kind"] == "CSIDriver") {
            let mut driver = object("storage.k8s.io/v1", "CSIDriver", "", rare_components::DRIVER);
            driver["spec"] = json!({"attachRequired": self.chance(50)});
            self.add(driver);
        }
        let (namespace, name) = (self.namespace(), self.name(PLUGIN_NAME));
        let mut template = self.template(&name);
        template["metadata"]["labels"][PLUGIN] = json!("yes");
        let path = format!("/var/lib/kubelet/plugins/{}", rare_components::DRIVER);
        template["spec"]["volumes"] = json!([{"name": "plugin", "hostPath": {"path": path}}]);
        let mut set = object("apps/v1", "DaemonSet", &namespace, &name);
        set["metadata"]["labels"] = json!({PLUGIN: "yes"});
        set["spec"] = json!({"selector": {"matchLabels": {"app": name}}, "template": template});
        self.add(set);
    }
}
