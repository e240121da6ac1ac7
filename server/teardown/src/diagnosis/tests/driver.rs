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

/// A volume that its claim has released, and whose storage that driver deletes.
const RELEASED: &str = "pv disk-1 deleted=300 phase=Released reclaim=Delete driver=disk.example finalizers=external-provisioner.volume.kubernetes.io/finalizer";

#[test]
fn released_volume_waits_for_its_provisioner_that_is_not_ready() {
    insta::assert_snapshot!(diagnoses(&format!("{}{RELEASED}", driver(0, 1))), @r#"
    finisherNotReady at Deployment disk/csi-provisioner (Inferred, waits)
      PersistentVolume disk-1
      - Deployment disk/csi-provisioner: status.readyReplicas 0 / 1
      - PersistentVolume disk-1: metadata.finalizers external-provisioner.volume.kubernetes.io/finalizer
      - PersistentVolume disk-1: status.phase Released
    "#);
    let many = format!("{}{RELEASED}\n{}", driver(0, 1), RELEASED.replace("disk-1", "disk-2"));
    assert_eq!(heads(&fixture::index(&many)).lines().count(), 1, "one program is one root");
}

#[test]
fn released_volume_whose_provisioner_is_ready_or_of_another_driver_names_its_storage() {
    let storage = "backendLeft at PersistentVolume disk-1 (Inferred, waits)";
    let attacher_away = format!("{}{RELEASED}", driver(1, 0));
    assert_eq!(heads(&fixture::index(&attacher_away)).trim(), storage);
    let other = driver(0, 1).replace("csidriver disk.example", "csidriver other.example");
    let other = heads(&fixture::index(&format!("{other}{RELEASED}")));
    assert_eq!(other.trim(), storage);
}

/// The provisioner has said that it failed before it went away.
#[test]
fn failed_volume_whose_provisioner_is_not_ready_has_both_roots() {
    let text = format!("{}{}", driver(0, 1), RELEASED.replace("Released", "Failed"));
    insta::assert_snapshot!(heads(&fixture::index(&text)), @r#"
    backendLeft at PersistentVolume disk-1 (Confirmed, waits)
    finisherNotReady at Deployment disk/csi-provisioner (Inferred, waits)
    "#);
}

#[test]
fn finalizer_of_a_provisioner_is_not_removed_by_hand_while_the_volume_is_attached() {
    let text = format!("{}{RELEASED}\n", driver(0, 1));
    let ways = |text: &str| {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let found = diagnose(&index, &graph, fixture::now());
        let of_program = |it: &&Diagnosis| matches!(it.cause, Cause::FinisherNotReady { .. });
        let of_program = found.iter().filter(of_program);
        let ways =
            of_program.flat_map(|it| crate::remedy::remedies(it, &index, &graph, fixture::now()));
        let removals =
            ways.filter(|it| matches!(it.act, crate::remedy::RemedyAct::RemoveFinalizer { .. }));
        removals.map(|it| it.withheld).collect::<Vec<_>>()
    };
    assert_eq!(ways(&text), [None]);
    let detaching =
        format!("{text}attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=5");
    let node = "n1".into();
    assert_eq!(ways(&detaching), [Some(crate::remedy::Withheld::Attached { node })]);
}

#[test]
fn detach_that_was_asked_for_names_the_attacher_and_no_provisioner() {
    let attachment = "attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=200 finalizers=external-attacher/disk-example";
    let text = format!("{}{attachment}", driver(1, 0));
    insta::assert_snapshot!(diagnoses(&text), @r#"
    volumeAttached at VolumeAttachment a1 (Inferred, waits)
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
