//! The Pod of a CSI driver on the node that has to unmount.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::*;
use crate::{object::Uid, observation::Observation};

/// A Pod that has ended and whose volume is mounted, and the driver's own Pod beside it.
fn node(plugin: &str) -> String {
    format!(
        "node n1
        node n2
        csidriver disk.example
        csinode n1 drivers=disk.example
        ds disk/disk-csi-node drivers=disk.example replicas=2 ready=1
        pod disk/disk-csi-node-a owner=ds/disk-csi-node node=n1 {plugin}
        pod disk/disk-csi-node-b owner=ds/disk-csi-node node=n2 ready=no
        pvc shop/data volume=disk-1
        pv disk-1 claim=shop/data driver=disk.example
        pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data
        pod shop/inline node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=driver:disk.example"
    )
}

#[test]
fn driver_whose_pod_on_the_node_is_not_ready_holds_all_pods_that_use_it() {
    insta::assert_snapshot!(diagnoses(&node("ready=no")), @"
    driverMissing at Pod disk/disk-csi-node-a (Inferred, stuck)
      Pod shop/inline
      Pod shop/web
      - Pod disk/disk-csi-node-a: status.conditions Ready False
      - Node n1: condition Ready True Kubelet
      - Pod shop/inline: metadata.deletionTimestamp 
      - Pod shop/inline: status Failed; c1 terminated
      - Pod shop/web: metadata.deletionTimestamp 
      - Pod shop/web: status Failed; c1 terminated
    ");
}

#[test]
fn driver_whose_pod_on_the_node_is_ready_is_not_to_blame() {
    let heads = |text: &str| heads(&fixture::index(text));
    let mounted = heads(&node("ready=yes"));
    insta::assert_snapshot!(mounted, @"
    volumesMounted at Pod shop/inline (Inferred, stuck)
    volumesMounted at Pod shop/web (Inferred, stuck)
    ");
    let of_another_node = node("ready=no")
        .replace("owner=ds/disk-csi-node node=n1", "owner=ds/disk-csi-node node=n2");
    assert_eq!(heads(&of_another_node), mounted, "its Pods are on another node");
    let other_driver = node("ready=no").replace(
        "ds disk/disk-csi-node drivers=disk.example",
        "ds disk/disk-csi-node drivers=other.example",
    );
    assert_eq!(heads(&other_driver), mounted, "it is the Pod of another driver");
    let second = node("ready=no")
        + "\nds disk/disk-csi-new drivers=disk.example\npod disk/disk-csi-new-a owner=ds/disk-csi-new node=n1";
    assert_eq!(heads(&second), mounted, "another one is ready");
}

/// A driver's own Pod, and a CSIDriver that is not there, stand beside the drivers that the CSINode lists.
#[test]
fn driver_that_is_not_registered_is_shown_with_its_pod_and_without_its_csi_driver() {
    let text = node("ready=no")
        .replace("csinode n1 drivers=disk.example", "csinode n1 drivers=other.example")
        .replace("csidriver disk.example", "csidriver other.example");
    insta::assert_snapshot!(diagnoses(&text), @"
    driverMissing at CSINode n1 (Inferred, stuck)
      Pod shop/inline
      Pod shop/web
      - CSINode n1: spec.drivers other.example
      - Node n1: condition Ready True Kubelet
      - Pod disk/disk-csi-node-a: status.conditions Ready False
      - Pod shop/inline: metadata.deletionTimestamp 
      - Pod shop/inline: status Failed; c1 terminated
      - Pod shop/web: metadata.deletionTimestamp 
      - Pod shop/web: status Failed; c1 terminated
      - CSIDriver disk.example: absent
    ");
}

/// A connection that nobody answers confirms what the Pod's readiness suggests.
#[test]
fn refused_connection_in_the_log_confirms_a_driver_that_is_not_ready() {
    const UID: &str = "11111111-2222-4333-8444-555555555555";
    let index = fixture::index(
        &node("ready=no").replace("pod shop/inline ", &format!("pod shop/inline uid={UID} ")),
    );
    let confidence = |said: &str| {
        let line = format!(
            r#"E0115 07:58:20.566432    1907 nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/csi/disk.example^disk-1 podName:{UID} nodeName:}}" failed. No retries permitted until 2027-01-15 08:00:22.566409131 +0000 UTC m=+65.995713484 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume "data" (UniqueName: "kubernetes.io/csi/disk.example^disk-1") pod "{UID}" (UID: "{UID}") : kubernetes.io/csi: Unmounter.TearDownAt failed: {said}"#
        );
        let (log, pod) = (kubelet_log::read(&line), Uid::new(UID));
        let report = KubeletReport::of(&log, &pod, AnswerOrigin::Queried, fixture::now());
        let mut found = diagnose(&index, &Graph::of(&index), fixture::now());
        add_reports(&mut found, &BTreeMap::from([(pod, report)]));
        let missing = found.iter().find(|it| matches!(it.cause, Cause::DriverMissing { .. }));
        missing.unwrap().confidence
    };
    let refused = r#"rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /tmp/node-k/csi.sock: connect: connection refused""#;
    assert_eq!(confidence(refused), Confidence::Confirmed);
    let busy = "rpc error: code = Internal desc = unmount failed: exit status 32, target is busy";
    assert_eq!(confidence(busy), Confidence::Inferred, "the driver has answered");
    let nfs = "mount.nfs: Connection refused for nfs.example:/exports/data";
    assert_eq!(confidence(nfs), Confidence::Inferred, "another server has refused it");
}

/// The DaemonSet is known by the folder that it mounts, whatever it is called.
#[test]
fn driver_that_was_uninstalled_before_the_deletion_stands_among_the_changes() {
    let text = node("ready=no")
        .replace("csinode n1 drivers=disk.example", "csinode n1 drivers=other.example")
        .replace("disk-csi-node", "storage-agent");
    let mut index = fixture::index(&text);
    let then = fixture::now() - SignedDuration::from_secs(500);
    for gone in ["ds disk/storage-agent drivers=disk.example", "csidriver disk.example"] {
        let object = fixture::object(gone);
        let gone = Observation::Deleted { kind: object.kind, uid: object.uid };
        index.apply([gone], then);
    }
    let found = diagnose(&index, &Graph::of(&index), fixture::now());
    let missing = found.iter().find(|it| matches!(it.cause, Cause::DriverMissing { .. })).unwrap();
    let before = super::super::before(&index, missing, |_| None);
    let before: Vec<String> = before.iter().map(|it| it.of.to_string()).collect();
    assert_eq!(before, ["DaemonSet disk/storage-agent", "CSIDriver disk.example"]);
}
