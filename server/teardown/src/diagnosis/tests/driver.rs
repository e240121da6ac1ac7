//! The sidecars of a CSI driver: the readiness of the one that a volume or an attachment waits for.

use super::*;

/// A driver whose provisioner and attacher run apart with one account, and only one of which is ready.
fn driver(provisioner: u8, attacher: u8) -> String {
    format!(
        "csidriver disk.example labels=app.kubernetes.io/instance:disk
        deploy disk/csi-provisioner labels=app.kubernetes.io/instance:disk sidecars=provisioner uses=account:csi replicas=1 ready={provisioner}
        deploy disk/csi-attacher labels=app.kubernetes.io/instance:disk sidecars=attacher uses=account:csi replicas=1 ready={attacher}
        clusterrole csi updates=persistentvolumes,volumeattachments.storage.k8s.io deletes=persistentvolumes
        crb csi role=clusterrole/csi accounts=disk/csi
        node n1
        "
    )
}

#[test]
fn storage_that_is_left_names_the_provisioner_that_is_not_ready_and_no_attacher() {
    let volume = "pv disk-1 deleted=300 phase=Released reclaim=Delete driver=disk.example finalizers=external-provisioner.volume.kubernetes.io/finalizer";
    insta::assert_snapshot!(diagnoses(&format!("{}{volume}", driver(0, 1))), @r#"
    backendLeft at PersistentVolume disk-1 (Inferred, stuck)
      PersistentVolume disk-1
      - PersistentVolume disk-1: status.phase Released
      - Deployment disk/csi-provisioner: status.readyReplicas 0 / 1
    "#);
}

#[test]
fn detach_that_was_asked_for_names_the_attacher_and_no_provisioner() {
    let attachment = "attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=200 finalizers=external-attacher/disk-example";
    let text = format!("{}{attachment}", driver(1, 0));
    insta::assert_snapshot!(diagnoses(&text), @r#"
    volumeAttached at VolumeAttachment a1 (Inferred, stuck)
      VolumeAttachment a1
      - VolumeAttachment a1: status.attached true
      - Deployment disk/csi-attacher: status.readyReplicas 0 / 1
    "#);
    // Nobody has asked it for the detach of this one.
    let volume = "pv disk-1 deleted=300 phase=Released reclaim=Delete driver=disk.example finalizers=external-attacher/disk-example";
    let unasked = text.replace("deleted=200 ", "");
    let described = diagnoses(&format!("{unasked}\n{volume}"));
    assert!(described.starts_with("volumeAttached at"), "{described}");
    assert!(!described.contains("csi-attacher"), "{described}");
}
