//! The side that a detach waits for: the node, the attach-detach controller, or the external-attacher of the driver.

use super::*;

/// A volume that cannot go before its attachment.
const VOLUME: &str = "pv disk-1 deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example handle=vol-1";
const IN_USE: &str = "node n1 inUse=kubernetes.io/csi/disk.example^vol-1";
const NOT_DELETED: &str = "attachment a1 volume=disk-1 node=n1 attacher=disk.example finalizers=external-attacher/disk-example";

/// The verdicts, each with the side that a detach waits for.
fn sides(text: &str) -> Vec<String> {
    let index = fixture::index(text);
    let found = diagnose(&index, &Graph::of(&index), fixture::now());
    let side = |it: &Diagnosis| {
        let cause = serde_json::to_value(&it.cause).unwrap();
        let side = cause["detach"].as_str().map(|side| format!(" {side}")).unwrap_or_default();
        format!("{}{side}", head(it))
    };
    found.iter().map(side).collect()
}

#[test]
fn detach_that_nobody_has_requested_waits_for_the_node_or_for_the_attach_detach_controller() {
    let world = |node: &str, attachment: &str| format!("{node}\n{VOLUME}\n{attachment}");
    let in_use = world(IN_USE, NOT_DELETED);
    assert_eq!(sides(&in_use), ["volumeAttached at VolumeAttachment a1 inUse"]);
    insta::assert_snapshot!(diagnoses(&in_use), @r#"
    volumeAttached at VolumeAttachment a1 (Inferred, waits)
      PersistentVolume disk-1
      - VolumeAttachment a1: status.attached true
      - Node n1: status.volumesInUse kubernetes.io/csi/disk.example^vol-1
    "#);
    let not_requested = ["volumeAttached at VolumeAttachment a1 notRequested"];
    for other in [
        "node n1",
        "node n1 inUse=kubernetes.io/csi/disk.example^vol-12",
        "node n1 inUse=kubernetes.io/csi/other.example^vol-1",
        "node n1\nnode n2 inUse=kubernetes.io/csi/disk.example^vol-1",
    ] {
        assert_eq!(sides(&world(other, NOT_DELETED)), not_requested, "{other}");
    }
    let mut unseen = fixture::index(&world("", NOT_DELETED));
    hide(&mut unseen, "nodes");
    assert_eq!(heads(&unseen), "volumeAttached at VolumeAttachment a1 (Inferred, waits)");
    let silent = "ready=Ready:Unknown:NodeStatusUnknown:600:stopped";
    let silent = IN_USE.replace("node n1", &format!("node n1 {silent}"));
    assert_eq!(sides(&world(&silent, NOT_DELETED)), ["nodeSilent at Node n1"]);
}

#[test]
fn detach_that_was_requested_waits_for_the_external_attacher() {
    let deleted = NOT_DELETED.replace("a1 ", "a1 deleted=200 ");
    let world = |attachment: &str| format!("{IN_USE}\n{VOLUME}\n{attachment}");
    let requested = ["volumeAttached at VolumeAttachment a1 requested"];
    assert_eq!(sides(&world(&deleted)), requested, "the node does not matter any more");
    let detached = deleted.replace("a1 ", "a1 attached=no ");
    assert_eq!(sides(&world(&detached)), ["volumeAttached at VolumeAttachment a1 notAttached"]);
    insta::assert_snapshot!(diagnoses(&world(&detached)), @r#"
    volumeAttached at VolumeAttachment a1 (Inferred, waits)
      VolumeAttachment a1
      PersistentVolume disk-1 for Attachment of VolumeAttachment a1
      - VolumeAttachment a1: metadata.finalizers external-attacher/disk-example
      - VolumeAttachment a1: status.attached false
    "#);
    // The attacher has done its part, and another program keeps the attachment.
    let kept = detached.replace("external-attacher/disk-example", "example.com/hold");
    assert_eq!(sides(&world(&kept)), ["finisherGone at VolumeAttachment "]);
}

#[test]
fn volume_that_a_pod_uses_waits_for_its_claim_and_not_for_a_detach() {
    let text = "
        node n1 inUse=kubernetes.io/csi/disk.example^vol-1
        pvc shop/data volume=disk-1
        pv disk-1 claim=shop/data deleted=300 driver=disk.example handle=vol-1 finalizers=kubernetes.io/pv-protection,external-attacher/disk-example
        pod shop/web node=n1 uses=claim:data
        attachment a1 volume=disk-1 node=n1 attacher=disk.example
    ";
    assert_eq!(sides(text), ["volumeBound at PersistentVolume disk-1"]);
    let elsewhere = text.replace("web node=n1", "web");
    let both =
        ["volumeAttached at VolumeAttachment a1 inUse", "volumeBound at PersistentVolume disk-1"];
    assert_eq!(sides(&elsewhere), both, "no Pod of the node wants it");
}

#[test]
fn way_out_is_at_the_side_that_a_detach_waits_for() {
    let ways = |text: &str| {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let found = diagnose(&index, &graph, fixture::now());
        let ways = crate::remedy::remedies(&found[0], &index, &graph, fixture::now());
        let act = |it: &crate::remedy::Remedy| {
            let act = serde_json::to_value(&it.act).unwrap();
            let name = act.as_object().and_then(|it| it.keys().next().cloned());
            let name = name.or_else(|| act.as_str().map(str::to_owned)).unwrap();
            if it.withheld.is_some() { format!("{name} withheld") } else { name }
        };
        ways.iter().map(act).collect::<Vec<_>>()
    };
    let deleted = NOT_DELETED.replace("a1 ", "a1 deleted=200 ");
    for (node, attachment, expected) in [
        (IN_USE, NOT_DELETED, &["wait", "restartKubelet"] as &[&str]),
        ("node n1", NOT_DELETED, &["wait", "repairController"]),
        (IN_USE, &*deleted, &["wait", "repairDriver", "removeFinalizer withheld"]),
        ("node n1", &*deleted, &["wait", "repairDriver", "removeFinalizer"]),
        (
            "node n1",
            &*deleted.replace("a1 ", "a1 attached=no "),
            &["repairDriver", "removeFinalizer"],
        ),
    ] {
        assert_eq!(
            ways(&format!("{node}\n{VOLUME}\n{attachment}")),
            expected,
            "{node}\n{attachment}"
        );
    }
}
