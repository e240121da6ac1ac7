//! A driver stays as long as something needs a volume of it.

use super::*;
use crate::application::{CLASS, driver::PLUGIN};

fn plugin() -> Value {
    made("DaemonSet", "a", "csi", json!({"metadata": {"labels": {PLUGIN: "yes"}}}))
}

#[test]
fn driver_stays_while_it_has_volumes_to_remove() {
    let plugin = plugin();
    let volume = |policy: &str, source: &str| {
        let spec = json!({"persistentVolumeReclaimPolicy": policy, source: {}});
        made("PersistentVolume", "", "v", json!({"spec": spec}))
    };
    let violations_of =
        |volume: Value| plainly(&State::of([plugin.clone(), volume]), &plugin).len();
    assert_eq!(violations_of(volume("Delete", "csi")), 1);
    assert_eq!(violations_of(volume("Retain", "csi")), 0);
    assert_eq!(violations_of(volume("Delete", "nfs")), 0);
}

#[test]
fn csi_driver_stays_while_volumes_are_deleted_through_it() {
    let driver = made("CSIDriver", "", "d", json!({}));
    let volume = |policy: &str, source: Value| {
        let mut spec = json!({"persistentVolumeReclaimPolicy": policy});
        spec["csi"] = source;
        made("PersistentVolume", "", "v", json!({"spec": spec}))
    };
    let violations_of = |volume: Value| plainly(&State::of([driver.clone(), volume]), &driver);
    let held = ["its driver removes PersistentVolume v"];
    assert_eq!(violations_of(volume("Delete", json!({"driver": "d"}))), held);
    assert_eq!(violations_of(volume("Delete", json!({"driver": "another"}))), [""; 0]);
    assert_eq!(violations_of(volume("Retain", json!({"driver": "d"}))), [""; 0]);
}

#[test]
fn driver_stays_while_it_has_volumes_to_unmount() {
    let plugin = plugin();
    let claim = made("PersistentVolumeClaim", "b", "data", json!({}));
    let volume = |source: &str, of: &str| {
        let spec =
            json!({"persistentVolumeReclaimPolicy": "Retain", source: {}, "claimRef": {"uid": of}});
        made("PersistentVolume", "", "v", json!({"spec": spec}))
    };
    let violations_of = |objects: &[Value]| {
        let objects = objects.iter().cloned().chain([plugin.clone()]);
        plainly(&State::of(objects.collect::<Vec<_>>()), &plugin)
    };
    let of_claim = "it unmounts a volume of PersistentVolumeClaim b/data";
    assert_eq!(violations_of(&[claim.clone(), volume("csi", uid(&claim))]), [of_claim]);
    assert_eq!(violations_of(&[claim.clone(), volume("csi", "another")]), [""; 0]);
    assert_eq!(violations_of(&[claim.clone(), volume("nfs", uid(&claim))]), [""; 0]);
    let mounts = |volume: Value| pod(json!({"spec": {"volumes": [volume]}}));
    let of_pod = "it unmounts a volume of Pod a/p";
    assert_eq!(violations_of(&[mounts(json!({"csi": {"driver": "d"}}))]), [of_pod]);
    assert_eq!(violations_of(&[mounts(json!({"emptyDir": {}}))]), [""; 0]);
}

#[test]
fn driver_stays_while_it_may_have_to_make_a_volume() {
    let plugin = plugin();
    let violations_of = |object: Value| plainly(&State::of([plugin.clone(), object]), &plugin);
    let of_class = |class: &str| json!({"spec": {"storageClassName": class}});
    let set = |class: &str| {
        let spec = json!({"replicas": 0, "volumeClaimTemplates": [of_class(class)]});
        made("StatefulSet", "b", "db", json!({"spec": spec}))
    };
    assert_eq!(violations_of(set(CLASS)), ["it makes a volume for StatefulSet b/db"]);
    assert_eq!(violations_of(set("")), [""; 0]);
    let deployment = |class: &str| {
        let volume = json!({"ephemeral": {"volumeClaimTemplate": of_class(class)}});
        let spec = json!({"template": {"spec": {"volumes": [volume]}}});
        made("Deployment", "b", "web", json!({"spec": spec}))
    };
    assert_eq!(violations_of(deployment(CLASS)), ["it makes a volume for Deployment b/web"]);
    assert_eq!(violations_of(deployment("other")), [""; 0]);
    let claim = |volume: &str| {
        let spec = json!({"storageClassName": CLASS, "volumeName": volume});
        made("PersistentVolumeClaim", "b", "data", json!({"spec": spec}))
    };
    assert_eq!(violations_of(claim("")), ["it makes a volume for PersistentVolumeClaim b/data"]);
    assert_eq!(violations_of(claim("v")), [""; 0]);
}
