use sandbox::cluster::{Actor, Propagation::Background};
use sandbox::object;
use sandbox::patch::Patch;
use sandbox::store::Key;
use serde_json::{Value, json};

use crate::world::{World, claim, csi_class, deployment, nfs_class};

/// A volume made by hand.
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

fn phase(world: &World, path: &str) -> String {
    object::text(world.at(path), &["status", "phase"]).to_owned()
}

fn bound(world: &mut World) -> String {
    world.until(20, "a bound claim", |it| phase(it, "persistentvolumeclaims/shop/data") == "Bound");
    object::text(world.at("persistentvolumeclaims/shop/data"), &["spec", "volumeName"]).to_owned()
}

#[test]
fn a_claim_takes_the_smallest_volume_that_fits_and_leaves_it_released() {
    let mut world = World::new();
    world.namespace("shop");
    let mut large = volume("large", "by-hand", "Retain");
    large["spec"]["capacity"]["storage"] = json!("1Ti");
    world.create([large, volume("small", "by-hand", "Retain"), volume("other", "other", "Retain")]);
    world.create([claim("data", "by-hand", "ReadWriteOnce")]);
    assert_eq!(bound(&mut world), "small");
    assert_eq!(phase(&world, "persistentvolumes//large"), "Available");
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.run(2);
    assert!(!world.has("persistentvolumeclaims/shop/data"));
    assert_eq!(phase(&world, "persistentvolumes//small"), "Released");
    world.delete("persistentvolumes//small", Background);
    world.run(1);
    assert!(!world.has("persistentvolumes//small"));
}

#[test]
fn a_volume_nobody_can_delete_fails() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([volume("small", "by-hand", "Delete"), claim("data", "by-hand", "ReadWriteOnce")]);
    bound(&mut world);
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.run(2);
    assert_eq!(phase(&world, "persistentvolumes//small"), "Failed");
    let message = "error getting deleter volume plugin for volume \"small\": no deletable volume plugin matched";
    assert_eq!(world.events("VolumeFailedDelete"), [message]);
}

#[test]
fn a_bound_volume_is_kept_for_its_claim() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([volume("small", "by-hand", "Retain"), claim("data", "by-hand", "ReadWriteOnce")]);
    bound(&mut world);
    world.delete("persistentvolumes//small", Background);
    world.run(30);
    assert!(object::has_finalizer(
        world.at("persistentvolumes//small"),
        "kubernetes.io/pv-protection"
    ));
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.until(20, "both gone", |it| !it.has("persistentvolumes//small"));
}

#[test]
fn a_claim_whose_volume_vanished_is_lost() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([volume("small", "by-hand", "Retain"), claim("data", "by-hand", "ReadWriteOnce")]);
    bound(&mut world);
    world.off("persistentvolume-protection-controller");
    world.delete("persistentvolumes//small", Background);
    world.change("persistentvolumes//small", |it| {
        object::remove_finalizer(it, "kubernetes.io/pv-protection");
    });
    world.run(1);
    assert_eq!(phase(&world, "persistentvolumeclaims/shop/data"), "Lost");
}

fn using() -> World {
    let mut world = World::new();
    world.namespace("shop");
    world.create(csi_class());
    world.create([claim("data", "fast", "ReadWriteOnce"), deployment("web", 1, &["data"])]);
    world.until(30, "a ready Pod", |it| it.ready("web") == 1);
    world
}

#[test]
fn a_claim_in_use_waits_for_its_pods_and_then_all_of_it_goes_in_order() {
    let mut world = using();
    let volume = format!("persistentvolumes//{}", bound(&mut world));
    let finalizers: Vec<_> = object::finalizers(world.at(&volume)).map(String::from).collect();
    for wanted in [
        "kubernetes.io/pv-protection",
        "external-provisioner.volume.kubernetes.io/finalizer",
        "external-attacher/csi-unwind-test",
    ] {
        assert!(finalizers.iter().any(|it| it == wanted), "{wanted} in {finalizers:?}");
    }
    let [attachment] = world.list("storage.k8s.io/volumeattachments")[..] else {
        panic!("one attachment")
    };
    assert_eq!(attachment["status"]["attached"], true);

    world.delete("persistentvolumeclaims/shop/data", Background);
    world.run(60);
    assert!(object::has_finalizer(
        world.at("persistentvolumeclaims/shop/data"),
        "kubernetes.io/pvc-protection"
    ));
    assert_eq!(phase(&world, "persistentvolumeclaims/shop/data"), "Bound");
    world.delete("apps/deployments/shop/web", Background);
    world.until(6, "no Pod and no claim", |it| {
        it.pods("web").is_empty() && !it.has("persistentvolumeclaims/shop/data")
    });
    world.until(30, "neither volume nor attachment", |it| {
        !it.has(&volume) && it.list("storage.k8s.io/volumeattachments").is_empty()
    });
}

#[test]
fn a_pod_that_has_ended_still_uses_its_claim() {
    let mut world = using();
    let pod = object::name(world.pods("web")[0]).to_owned();
    world.delete("apps/deployments/shop/web", Background);
    world.off("kubelet");
    world.run(1);
    world
        .cluster
        .modify(
            &sandbox::cluster::Actor::admin(),
            &sandbox::store::Key::new("", "pods", "shop", &pod),
            "status",
            |it| it["status"]["phase"] = json!("Succeeded"),
        )
        .unwrap();
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.run(30);
    assert!(world.has("persistentvolumeclaims/shop/data"));
    world.on("kubelet");
    world.until(20, "the claim gone", |it| !it.has("persistentvolumeclaims/shop/data"));
}

#[test]
fn an_attachment_waits_for_its_attacher_and_its_volume_for_it() {
    let mut world = using();
    let volume = format!("persistentvolumes//{}", bound(&mut world));
    world.off("external-attacher");
    world.delete("apps/deployments/shop/web", Background);
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.until(20, "no claim", |it| !it.has("persistentvolumeclaims/shop/data"));
    world.run(60);
    let [attachment] = world.list("storage.k8s.io/volumeattachments")[..] else {
        panic!("one attachment")
    };
    assert!(
        object::is_deleting(attachment)
            && object::has_finalizer(attachment, "external-attacher/csi-unwind-test")
    );
    assert_eq!(phase(&world, &volume), "Released");
    assert!(world.events("VolumeFailedDelete")[0].contains("is still attached to node node-"));
    world.on("external-attacher");
    world.until(180, "no volume", |it| !it.has(&volume));
}

#[test]
fn a_volume_waits_for_its_provisioner() {
    let mut world = using();
    let volume = format!("persistentvolumes//{}", bound(&mut world));
    world.off("external-provisioner");
    world.delete("apps/deployments/shop/web", Background);
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.run(60);
    assert_eq!(phase(&world, &volume), "Released");
    world.on("external-provisioner");
    world.until(10, "no volume", |it| !it.has(&volume));
}

#[test]
fn a_class_may_wait_for_the_first_consumer() {
    let mut world = World::new();
    world.namespace("shop");
    let [mut class, driver] = csi_class();
    class["volumeBindingMode"] = json!("WaitForFirstConsumer");
    world.create([class, driver, claim("data", "fast", "ReadWriteOnce")]);
    world.run(30);
    assert_eq!(phase(&world, "persistentvolumeclaims/shop/data"), "Pending");
    assert_eq!(world.events("WaitForFirstConsumer").len(), 1);
    world.create([deployment("web", 1, &["data"])]);
    world.until(30, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn exports_of_a_server_are_shared_and_their_directories_go_with_the_claim() {
    let mut world = World::new();
    world.namespace("shop");
    world.create([
        nfs_class(),
        claim("data", "nfs", "ReadWriteMany"),
        deployment("web", 3, &["data"]),
    ]);
    world.until(30, "ready Pods", |it| it.ready("web") == 3);
    assert!(world.list("storage.k8s.io/volumeattachments").is_empty());
    let volume = bound(&mut world);
    world.delete("apps/deployments/shop/web", Background);
    world.until(10, "no Pods", |it| it.pods("web").is_empty());
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.until(5, "no volume", |it| !it.has(&format!("persistentvolumes//{volume}")));
    assert_eq!(world.controllers.breakage.removed_exports.len(), 1);
}

#[test]
fn a_pod_waits_for_what_it_mounts() {
    let mut world = World::new();
    world.namespace("shop");
    let mut web = deployment("web", 1, &[]);
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "tls", "secret": {"secretName": "web-tls"}}]);
    world.create([web]);
    world.run(5);
    assert_eq!(world.ready("web"), 0);
    assert_eq!(
        world.events("FailedMount"),
        ["MountVolume.SetUp failed for volume \"tls\" : secret \"web-tls\" not found"]
    );
    world.create([json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-tls", "namespace": "shop"}})]);
    world.until(5, "a ready Pod", |it| it.ready("web") == 1);
}

#[test]
fn a_class_of_attributes_stays_while_a_claim_or_a_volume_names_it() {
    let class = |name: &str| {
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttributesClass",
            "metadata": {"name": name},
            "driverName": "csi.unwind.test",
        })
    };
    let path = |name: &str| format!("storage.k8s.io/volumeattributesclasses//{name}");
    let mut world = World::new();
    world.namespace("shop");
    world.create(["idle", "wanted", "had", "coming", "of-volume"].map(class));
    let mut wanting = claim("data", "nowhere", "ReadWriteOnce");
    wanting["spec"]["volumeAttributesClassName"] = json!("wanted");
    let mut small = volume("small", "by-hand", "Retain");
    small["spec"]["volumeAttributesClassName"] = json!("of-volume");
    world.create([wanting, small]);
    let status = json!({"status": {
        "currentVolumeAttributesClassName": "had",
        "modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": "coming"},
    }});
    let key = Key::new("", "persistentvolumeclaims", "shop", "data");
    let patch = Patch::Merge(status);
    world.cluster.patch(&Actor::admin(), &key, &patch, "status").unwrap();
    for name in ["idle", "wanted", "had", "coming", "of-volume"] {
        world.delete(&path(name), Background);
    }
    world.run(1);
    assert!(!world.has(&path("idle")));
    for name in ["wanted", "had", "coming", "of-volume"] {
        let held = object::has_finalizer(world.at(&path(name)), "kubernetes.io/vac-protection");
        assert!(held, "{name}");
    }
    world.delete("persistentvolumeclaims/shop/data", Background);
    world.run(1);
    for name in ["wanted", "had", "coming"] {
        assert!(!world.has(&path(name)), "{name}");
    }
    world.delete("persistentvolumes//small", Background);
    world.run(1);
    assert!(!world.has(&path("of-volume")));
}
