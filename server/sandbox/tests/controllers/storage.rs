use sandbox::cluster::{Actor, Propagation::Background};
use sandbox::object;
use sandbox::patch::Patch;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, claim, csi_class, deployment, nfs_class};

/// A volume that an administrator created.
fn volume(name: &str, class: &str, policy: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class,
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "capacity": {"storage": "2Gi"},
            "persistentVolumeReclaimPolicy": policy,
            "nfs": {"server": "nfs.example", "path": format!("/exports/{name}")},
        },
    })
}

fn phase(test: &TestCluster, path: &str) -> String {
    object::text(test.at(path), &["status", "phase"]).to_owned()
}

fn bound(test: &mut TestCluster) -> String {
    test.until(20, "a bound claim", |it| phase(it, "persistentvolumeclaims/shop/data") == "Bound");
    object::text(test.at("persistentvolumeclaims/shop/data"), &["spec", "volumeName"]).to_owned()
}

#[test]
fn claim_takes_the_smallest_volume_that_fits_and_releases_it() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let mut large = volume("large", "by-hand", "Retain");
    large["spec"]["capacity"]["storage"] = json!("1Ti");
    test.create([large, volume("small", "by-hand", "Retain"), volume("other", "other", "Retain")]);
    test.create([claim("data", "by-hand", "ReadWriteOnce")]);
    assert_eq!(bound(&mut test), "small");
    assert_eq!(phase(&test, "persistentvolumes//large"), "Available");
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(2);
    assert!(!test.has("persistentvolumeclaims/shop/data"));
    assert_eq!(phase(&test, "persistentvolumes//small"), "Released");
    test.delete("persistentvolumes//small", Background);
    test.run(1);
    assert!(!test.has("persistentvolumes//small"));
}

#[test]
fn volume_that_cannot_be_deleted_fails() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([volume("small", "by-hand", "Delete"), claim("data", "by-hand", "ReadWriteOnce")]);
    bound(&mut test);
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(2);
    assert_eq!(phase(&test, "persistentvolumes//small"), "Failed");
    let message = "error getting deleter volume plugin for volume \"small\": no deletable volume plugin matched";
    assert_eq!(test.events("VolumeFailedDelete"), [message]);
}

#[test]
fn bound_volume_is_protected_for_its_claim() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([volume("small", "by-hand", "Retain"), claim("data", "by-hand", "ReadWriteOnce")]);
    bound(&mut test);
    test.delete("persistentvolumes//small", Background);
    test.run(30);
    assert!(object::has_finalizer(
        test.at("persistentvolumes//small"),
        "kubernetes.io/pv-protection"
    ));
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.until(20, "both gone", |it| !it.has("persistentvolumes//small"));
}

#[test]
fn claim_whose_volume_vanished_is_lost() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([volume("small", "by-hand", "Retain"), claim("data", "by-hand", "ReadWriteOnce")]);
    bound(&mut test);
    test.off("persistentvolume-protection-controller");
    test.delete("persistentvolumes//small", Background);
    test.change("persistentvolumes//small", |it| {
        object::remove_finalizer(it, "kubernetes.io/pv-protection");
    });
    test.run(1);
    assert_eq!(phase(&test, "persistentvolumeclaims/shop/data"), "Lost");
}

fn using() -> TestCluster {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create(csi_class());
    test.create([claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])]);
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    test
}

#[test]
fn claim_in_use_waits_for_its_pods_and_is_then_deleted_in_order() {
    let mut test = using();
    let volume = format!("persistentvolumes//{}", bound(&mut test));
    let finalizers: Vec<_> = object::finalizers(test.at(&volume)).map(String::from).collect();
    for wanted in [
        "kubernetes.io/pv-protection",
        "external-provisioner.volume.kubernetes.io/finalizer",
        "external-attacher/csi-unwind-test",
    ] {
        assert!(finalizers.iter().any(|it| it == wanted), "{wanted} in {finalizers:?}");
    }
    let [attachment] = test.list("storage.k8s.io/volumeattachments")[..] else {
        panic!("one attachment")
    };
    assert_eq!(attachment["status"]["attached"], true);

    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(60);
    assert!(object::has_finalizer(
        test.at("persistentvolumeclaims/shop/data"),
        "kubernetes.io/pvc-protection"
    ));
    assert_eq!(phase(&test, "persistentvolumeclaims/shop/data"), "Bound");
    test.delete("apps/deployments/shop/web", Background);
    test.until(6, "no Pod and no claim", |it| {
        it.pods("web").is_empty() && !it.has("persistentvolumeclaims/shop/data")
    });
    test.until(30, "neither volume nor attachment", |it| {
        !it.has(&volume) && it.list("storage.k8s.io/volumeattachments").is_empty()
    });
}

#[test]
fn ended_pod_still_uses_its_claim() {
    let mut test = using();
    let pod = object::name(test.pods("web")[0]).to_owned();
    test.delete("apps/deployments/shop/web", Background);
    test.off("kubelet");
    test.run(1);
    test.cluster
        .modify(
            &sandbox::cluster::Actor::admin(),
            &sandbox::store::Key::new("", "pods", "shop", &pod),
            "status",
            |it| it["status"]["phase"] = json!("Succeeded"),
        )
        .unwrap();
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(30);
    assert!(test.has("persistentvolumeclaims/shop/data"));
    test.on("kubelet");
    test.until(20, "the claim gone", |it| !it.has("persistentvolumeclaims/shop/data"));
}

#[test]
fn attachment_waits_for_its_attacher_and_volume_for_its_attachment() {
    let mut test = using();
    let volume = format!("persistentvolumes//{}", bound(&mut test));
    test.off("external-attacher");
    test.delete("apps/deployments/shop/web", Background);
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.until(20, "no claim", |it| !it.has("persistentvolumeclaims/shop/data"));
    test.run(60);
    let [attachment] = test.list("storage.k8s.io/volumeattachments")[..] else {
        panic!("one attachment")
    };
    assert!(
        object::is_deleting(attachment)
            && object::has_finalizer(attachment, "external-attacher/csi-unwind-test")
    );
    assert_eq!(phase(&test, &volume), "Released");
    assert!(test.events("VolumeFailedDelete")[0].contains("is still attached to node node-"));
    test.on("external-attacher");
    test.until(180, "no volume", |it| !it.has(&volume));
}

#[test]
fn volume_waits_for_its_provisioner() {
    let mut test = using();
    let volume = format!("persistentvolumes//{}", bound(&mut test));
    test.off("external-provisioner");
    test.delete("apps/deployments/shop/web", Background);
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(60);
    assert_eq!(phase(&test, &volume), "Released");
    test.on("external-provisioner");
    test.until(10, "no volume", |it| !it.has(&volume));
}

#[test]
fn class_may_wait_for_the_first_consumer() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let [mut class, driver] = csi_class();
    class["volumeBindingMode"] = json!("WaitForFirstConsumer");
    test.create([class, driver, claim("data", "fast", "ReadWriteOnce")]);
    test.run(30);
    assert_eq!(phase(&test, "persistentvolumeclaims/shop/data"), "Pending");
    assert_eq!(test.events("WaitForFirstConsumer").len(), 1);
    test.create([deployment("web", 1, &["data"])]);
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn exports_are_shared_and_their_directories_go_with_the_claim() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create([
        nfs_class(),
        claim("data", "nfs", "ReadWriteMany"),
        deployment("web", 3, &["data"]),
    ]);
    test.until(30, "ready Pods", |it| it.ready("web") == 3);
    assert!(test.list("storage.k8s.io/volumeattachments").is_empty());
    let volume = bound(&mut test);
    test.delete("apps/deployments/shop/web", Background);
    test.until(10, "no Pods", |it| it.pods("web").is_empty());
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.until(5, "no volume", |it| !it.has(&format!("persistentvolumes//{volume}")));
    assert_eq!(test.controllers.node_faults.removed_exports.len(), 1);
}

#[test]
fn pod_waits_for_what_it_mounts() {
    let mut test = TestCluster::new();
    test.namespace("shop");
    let mut web = deployment("web", 1, &[]);
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "tls", "secret": {"secretName": "web-tls"}}]);
    test.create([web]);
    test.run(5);
    assert_eq!(test.ready("web"), 0);
    assert_eq!(
        test.events("FailedMount"),
        ["MountVolume.SetUp failed for volume \"tls\" : secret \"web-tls\" not found"]
    );
    test.create([json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-tls", "namespace": "shop"}})]);
    test.until(5, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn attributes_class_stays_while_a_claim_or_a_volume_names_it() {
    let class = |name: &str| {
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttributesClass",
            "metadata": {"name": name},
            "driverName": "csi.unwind.test",
        })
    };
    let path = |name: &str| format!("storage.k8s.io/volumeattributesclasses//{name}");
    let mut test = TestCluster::new();
    test.namespace("shop");
    test.create(["idle", "wanted", "had", "coming", "of-volume"].map(class));
    let mut wanting = claim("data", "nowhere", "ReadWriteOnce");
    wanting["spec"]["volumeAttributesClassName"] = json!("wanted");
    let mut small = volume("small", "by-hand", "Retain");
    small["spec"]["volumeAttributesClassName"] = json!("of-volume");
    test.create([wanting, small]);
    let status = json!({"status": {
        "currentVolumeAttributesClassName": "had",
        "modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": "coming"},
    }});
    let key = Key::new("", "persistentvolumeclaims", "shop", "data");
    let patch = Patch::Merge(status);
    test.cluster.patch(&Actor::admin(), &key, &patch, "status").unwrap();
    for name in ["idle", "wanted", "had", "coming", "of-volume"] {
        test.delete(&path(name), Background);
    }
    test.run(1);
    assert!(!test.has(&path("idle")));
    for name in ["wanted", "had", "coming", "of-volume"] {
        let held = object::has_finalizer(test.at(&path(name)), "kubernetes.io/vac-protection");
        assert!(held, "{name}");
    }
    test.delete("persistentvolumeclaims/shop/data", Background);
    test.run(1);
    for name in ["wanted", "had", "coming"] {
        assert!(!test.has(&path(name)), "{name}");
    }
    test.delete("persistentvolumes//small", Background);
    test.run(1);
    assert!(!test.has(&path("of-volume")));
}

/// The drivers in the CSINode of a node.
fn drivers<'a>(test: &'a TestCluster, node: &str) -> Vec<&'a str> {
    let node = test.at(&format!("storage.k8s.io/csinodes//{node}"));
    let drivers = node["spec"]["drivers"].as_array().unwrap();
    drivers.iter().map(|it| object::text(it, &["name"])).collect()
}

/// A Deployment with a disk of a CSI driver, in a cluster whose kubelets report their drivers.
fn with_csi_nodes() -> TestCluster {
    let mut test = TestCluster::new();
    test.controllers.add_csi_nodes();
    test.namespace("shop");
    test.create(csi_class());
    test.create([claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])]);
    test
}

#[test]
fn kubelets_report_the_drivers_of_the_cluster_in_their_csi_nodes() {
    let mut test = with_csi_nodes();
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    for node in ["node-a", "node-b", "node-c"] {
        assert_eq!(drivers(&test, node), ["csi.unwind.test"]);
        let csi_node = test.at(&format!("storage.k8s.io/csinodes//{node}"));
        let owner = &csi_node["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["name"]), (&json!("Node"), &json!(node)));
    }
    test.power_off("node-b");
    test.delete("nodes//node-b", Background);
    test.run(5);
    assert!(!test.has("storage.k8s.io/csinodes//node-b"), "it goes with its Node");
}

#[test]
fn cluster_without_csi_plugins_has_no_csi_nodes() {
    let mut test = TestCluster::new();
    test.create(csi_class());
    test.run(30);
    assert!(test.list("storage.k8s.io/csinodes").is_empty());
}

#[test]
fn volume_stays_mounted_while_its_driver_is_not_registered() {
    let mut test = with_csi_nodes();
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    let node = object::text(test.pods("web")[0], &["spec", "nodeName"]).to_owned();
    test.play(&format!("at 0s driver csi.unwind.test unregistered {node}"));
    test.until(11, "no driver", |it| drivers(it, &node).is_empty());
    test.delete("apps/deployments/shop/web", Background);
    test.run(60);
    let pod = test.pods("web")[0];
    assert_eq!(pod["status"]["phase"], "Failed");
    let is_warning = |it: &Value| it["source"]["component"] == "kubelet" && it["type"] == "Warning";
    assert!(!test.list("events").into_iter().any(is_warning), "nothing is said of an unmount");
    let log = &test.controllers.node_faults.kubelet_logs[&node];
    let words = "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name csi.unwind.test not found in the list \
                 of registered CSI drivers";
    assert!(log.iter().filter(|line| line.ends_with(words)).count() > 3, "{log:?}");
    let in_use = &test.at(&format!("nodes//{node}"))["status"]["volumesInUse"];
    assert_eq!(in_use.as_array().map(Vec::len), Some(1));
    test.play(&format!("at 0s driver csi.unwind.test registered {node}"));
    test.until(123, "the end within one back-off", |it| it.pods("web").is_empty());
    test.until(11, "the driver", |it| drivers(it, &node) == ["csi.unwind.test"]);
    test.until(5, "a detached disk", |it| it.list("storage.k8s.io/volumeattachments").is_empty());
}

#[test]
fn disk_is_not_attached_to_a_node_without_its_driver() {
    let mut test = with_csi_nodes();
    for node in ["node-a", "node-b", "node-c"] {
        test.play(&format!("at 0s driver csi.unwind.test unregistered {node}"));
    }
    test.run(30);
    assert_eq!(test.ready("web"), 0);
    let node = object::text(test.pods("web")[0], &["spec", "nodeName"]).to_owned();
    let attachment = test.list("storage.k8s.io/volumeattachments")[0];
    let error = format!("CSINode {node} does not contain driver csi.unwind.test");
    assert_eq!(attachment["status"]["attachError"]["message"], error.as_str());
    let volume = object::text(attachment, &["spec", "source", "persistentVolumeName"]);
    let message = format!("AttachVolume.Attach failed for volume {volume:?} : {error}");
    assert_eq!(test.events("FailedAttachVolume"), [message.as_str()]);
    test.play(&format!("at 0s driver csi.unwind.test registered {node}"));
    test.until(300, "a ready Pod", |it| it.ready("web") == 1);
    let attachment = test.list("storage.k8s.io/volumeattachments")[0];
    assert!(attachment["status"].get("attachError").is_none());
}

#[test]
fn disk_is_not_mounted_without_its_driver() {
    let why = "driver name csi.unwind.test not found in the list of registered CSI drivers";
    let mut test = with_csi_nodes();
    test.until(30, "a ready Pod", |it| it.ready("web") == 1);
    let node = object::text(test.pods("web")[0], &["spec", "nodeName"]).to_owned();
    test.play(&format!("at 0s driver csi.unwind.test unregistered {node}"));
    let volume = bound(&mut test);
    let mut second = deployment("second", 1, &["data"]);
    second["spec"]["template"]["spec"]["nodeName"] = json!(node);
    test.create([second]);
    test.run(5);
    assert_eq!(test.ready("second"), 0);
    let message = format!(
        "MountVolume.SetUp failed for volume {volume:?} : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: {why}"
    );
    assert_eq!(test.events("FailedMount"), [message.as_str()], "the first has it mounted there");
    test.controllers.node_faults.repair();
    test.until(2, "a ready Pod", |it| it.ready("second") == 1);

    let mut test = TestCluster::new();
    test.namespace("shop");
    let [class, mut driver] = csi_class();
    driver["spec"]["attachRequired"] = json!(false);
    test.create([class, driver, claim("data", "fast", "ReadWriteOnce")]);
    for node in ["node-a", "node-b", "node-c"] {
        test.play(&format!("at 0s driver csi.unwind.test unregistered {node}"));
    }
    test.create([deployment("web", 1, &["data"])]);
    test.run(10);
    let volume = bound(&mut test);
    let message = format!(
        "MountVolume.MountDevice failed for volume {volume:?} : kubernetes.io/csi: attacher.MountDevice failed to create \
         newCsiDriverClient: {why}"
    );
    assert_eq!(test.events("FailedMount"), [message.as_str()]);
}
