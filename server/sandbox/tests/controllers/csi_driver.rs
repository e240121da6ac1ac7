//! CSI drivers whose plugin and controller run in Pods of the cluster.

use sandbox::cluster::Propagation::Background;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, claim, csi_class, deployment, template};

/// The end of the kubelet's entry about a volume whose driver is not registered.
const UNREGISTERED: &str = "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name csi.unwind.test not found in \
                            the list of registered CSI drivers";

/// The plugin of the driver on every node.
fn plugin() -> Value {
    let mut template = template("plugin", &[]);
    let folder = "/var/lib/kubelet/plugins/csi.unwind.test/";
    template["spec"]["volumes"] = json!([{"name": "socket", "hostPath": {"path": folder}}]);
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "plugin"}}, "template": template},
    })
}

/// The controller of the driver.
fn controller() -> Value {
    let mut controller = deployment("controller", 1, &[]);
    let sidecars = ["csi-provisioner", "csi-attacher"];
    let sidecars =
        sidecars.map(|it| json!({"name": it, "image": format!("registry.example/{it}:1")}));
    controller["spec"]["template"]["spec"]["containers"] = json!(sidecars);
    controller
}

/// The drivers in the CSINodes.
fn drivers(test: &TestCluster) -> Vec<&Value> {
    let nodes = test.list("storage.k8s.io/csinodes").into_iter();
    nodes.flat_map(|it| it["spec"]["drivers"].as_array().unwrap()).collect()
}

/// A cluster in which the plugin of the driver runs, and then these objects.
fn with_plugin(objects: impl IntoIterator<Item = Value>) -> TestCluster {
    let mut test = TestCluster::new();
    test.controllers.add_csi_nodes();
    test.namespace("shop");
    test.create(csi_class());
    test.create([plugin()]);
    test.until(30, "plugins on three nodes", |it| it.ready("plugin") == 3);
    test.create(objects);
    test
}

/// The same with a Deployment that mounts a disk of the driver.
fn with_disk() -> TestCluster {
    let objects = [claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])];
    let mut test = with_plugin(objects);
    test.until(60, "a ready Pod", |it| it.ready("web") == 1);
    test
}

#[test]
fn driver_is_registered_on_a_node_while_its_plugin_runs_there() {
    let mut test = with_plugin([]);
    test.until(5, "a driver on three nodes", |it| drivers(it).len() == 3);
    test.change("apps/daemonsets/shop/plugin", |it| {
        it["spec"]["template"]["spec"]["nodeSelector"] =
            json!({"kubernetes.io/hostname": "node-a"});
    });
    test.until(60, "a driver on one node", |it| {
        let node = it.at("storage.k8s.io/csinodes//node-a");
        drivers(it).len() == 1 && node["spec"]["drivers"][0]["name"] == "csi.unwind.test"
    });
    test.delete("apps/daemonsets/shop/plugin", Background);
    test.until(60, "no driver", |it| drivers(it).is_empty());
    test.run(60);
    assert!(drivers(&test).is_empty(), "a driver that had a plugin is not built in");
}

#[test]
fn pod_stays_terminating_once_the_plugin_of_its_driver_is_gone() {
    let mut test = with_disk();
    let node = object::text(test.pods("web")[0], &["spec", "nodeName"]).to_owned();
    test.delete("apps/daemonsets/shop/plugin", Background);
    test.until(60, "no plugin", |it| it.pods("plugin").is_empty());
    test.delete("apps/deployments/shop/web", Background);
    test.run(120);
    let pod = test.pods("web")[0];
    assert!(object::is_deleting(pod));
    assert_eq!(pod["status"]["phase"], "Failed");
    let log = &test.controllers.node_faults.kubelet_logs[&node];
    assert!(log.iter().filter(|line| line.ends_with(UNREGISTERED)).count() > 3, "{log:?}");
    assert_eq!(test.list("storage.k8s.io/volumeattachments").len(), 1);

    test.create([plugin()]);
    test.until(150, "the end within one back-off", |it| it.pods("web").is_empty());
    test.until(5, "a detached disk", |it| it.list("storage.k8s.io/volumeattachments").is_empty());
}

#[test]
fn kubelet_that_comes_back_still_has_what_a_driver_without_a_plugin_mounted() {
    let mut test = with_disk();
    test.delete("apps/daemonsets/shop/plugin", Background);
    test.until(60, "no plugin", |it| it.pods("plugin").is_empty());
    test.off("kubelet");
    test.on("kubelet");
    test.delete("apps/deployments/shop/web", Background);
    test.run(120);
    assert!(object::is_deleting(test.pods("web")[0]), "it is still mounted");
}

#[test]
fn inline_volume_is_neither_mounted_nor_unmounted_without_the_plugin() {
    let mut web = deployment("web", 1, &[]);
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "inline", "csi": {"driver": "csi.unwind.test"}}]);
    let mut second = web.clone();
    second["metadata"]["name"] = json!("second");
    for place in ["/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
        second.pointer_mut(place).unwrap()["app"] = json!("second");
    }
    let mut test = with_plugin([web]);
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    let pod = test.pods("web")[0];
    let node = object::text(pod, &["spec", "nodeName"]).to_owned();
    let unique_name = format!("kubernetes.io/csi/{}-inline", object::uid(pod));
    test.delete("apps/daemonsets/shop/plugin", Background);
    test.until(60, "no plugin", |it| it.pods("plugin").is_empty());
    test.delete("apps/deployments/shop/web", Background);
    test.create([second]);
    test.run(60);
    assert!(object::is_deleting(test.pods("web")[0]));
    let log = &test.controllers.node_faults.kubelet_logs[&node];
    let is_about_it = |line: &&String| line.ends_with(UNREGISTERED) && line.contains(&unique_name);
    assert!(log.iter().any(|line| is_about_it(&line)), "{log:?}");
    assert_eq!(test.ready("second"), 0);
    assert_eq!(
        test.events("FailedMount"),
        [
            "MountVolume.SetUp failed for volume \"inline\" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name \
          csi.unwind.test not found in the list of registered CSI drivers"
        ]
    );
    test.create([plugin()]);
    test.until(150, "both go on", |it| it.pods("web").is_empty() && it.ready("second") == 1);
}

#[test]
fn nothing_is_provisioned_attached_or_detached_without_the_controller() {
    let mut test = with_plugin([controller()]);
    test.until(30, "a ready controller", |it| it.ready("controller") == 1);
    test.create([claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])]);
    test.until(60, "a ready Pod", |it| it.ready("web") == 1);
    test.delete("apps/deployments/shop/controller", Background);
    test.until(30, "no controller", |it| it.pods("controller").is_empty());
    test.create([claim("more", "fast", "ReadWriteOnce")]);
    test.delete("apps/deployments/shop/web", Background);
    test.until(30, "no Pod, as the plugin unmounts", |it| it.pods("web").is_empty());
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(60);
    let [attachment] = test.list("storage.k8s.io/volumeattachments")[..] else {
        panic!("one attachment")
    };
    assert!(object::is_deleting(attachment));
    let volumes = test.list("persistentvolumes");
    assert_eq!(volumes.len(), 1, "the first is not removed, and the second is not made");

    test.create([controller()]);
    test.until(600, "one volume, which is not attached", |it| {
        let [volume] = it.list("persistentvolumes")[..] else { return false };
        it.list("storage.k8s.io/volumeattachments").is_empty()
            && volume["spec"]["claimRef"]["name"] == "more"
    });
}
