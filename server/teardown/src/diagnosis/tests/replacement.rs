//! Pods that cannot start: the disk is attached to the node of a Pod that is gone.

use jiff::SignedDuration;

use super::*;
use crate::{
    diagnosis::course::{Due, Upcoming, course},
    observation::Observation,
};

/// A Pod that replaces one of a silent node, from which the disk has not been detached.
const REPLACED: &str = "
    node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped taints=node.kubernetes.io/unreachable:NoExecute
    node n2
    svc shop/db selector=app:db
    pod shop/db-new labels=app:db node=n2 age=100 ready=no phase=Pending uses=claim:data
    pvc shop/data volume=disk-1 access=ReadWriteOnce
    pv disk-1 claim=shop/data
    attachment a1 volume=disk-1 node=n1 attacher=disk.example
";
/// The Pod that it replaces.
const OLD: &str =
    "pod shop/db-old node=n1 deleted=400 grace=30 containers=db:running uses=claim:data";

/// The cluster so many seconds after somebody removed the old Pod from the API by force.
fn forced(text: &str, seconds: i64) -> Index {
    let mut index = fixture::index(&format!("{text}{OLD}"));
    let object = fixture::object(OLD);
    let deleted = Observation::Deleted { kind: object.kind, uid: object.uid };
    index.apply([deleted], fixture::now() - SignedDuration::from_secs(seconds));
    index
}

fn detach(index: &Index) -> Option<Due> {
    let graph = Graph::of(index);
    let found = diagnose(index, &graph, fixture::now());
    let mut course = found.iter().flat_map(|it| course(index, &graph, it, fixture::now()));
    course.find_map(|it| match it {
        Upcoming::ForcedDetach { due, .. } => Some(due),
        _ => None,
    })
}

#[test]
fn replacement_waits_for_a_silent_node_after_its_last_pod_was_forced_away() {
    let index = forced(REPLACED, 60);
    assert_eq!(index.going().count(), 0, "nothing is being deleted any more");
    insta::assert_snapshot!(describe(&index), @r#"
    nodeSilent at Node n1 (Inferred, waits)
      Pod shop/db-new is to start
      ! no endpoints of Service shop/db
      ! no disk for Pod shop/db-new
      - Node n1: condition Ready Unknown NodeStatusUnknown: stopped
      - Node n1: spec.taints node.kubernetes.io/unreachable:NoExecute
      - VolumeAttachment a1: spec.source.persistentVolumeName disk-1
    "#);
    let due = fixture::now() + SignedDuration::from_secs(300);
    assert_eq!(detach(&index), Some(Due::By(due)), "6 min after the Pod went");
    // Past that time and a minute, nobody does it by itself.
    assert!(heads(&forced(REPLACED, 430)).ends_with("(Inferred, stuck)"));
    // Of a Pod that went before anybody looked the time is not known.
    assert_eq!(heads(&fixture::index(REPLACED)), "nodeSilent at Node n1 (Inferred, waits)");
    assert_eq!(
        detach(&fixture::index(REPLACED)),
        Some(Due::Within(SignedDuration::from_secs(360)))
    );
}

#[test]
fn replacement_waits_for_the_attachment_where_the_node_is_gone_or_reports() {
    let gone = REPLACED.replace("node n1 ready=Ready", "node n9 ready=Ready");
    insta::assert_snapshot!(describe(&forced(&gone, 60)), @r#"
    volumeAttached at VolumeAttachment a1 (Inferred, waits)
      Pod shop/db-new is to start
      ! no endpoints of Service shop/db
      ! no disk for Pod shop/db-new
      - VolumeAttachment a1: spec.source.persistentVolumeName disk-1
      - VolumeAttachment a1: status.attached true
    "#);
    // A node that reports unmounts the disk in time, or never.
    for ready in ["Ready:True:Kubelet", "Ready:False:KubeletNotReady"] {
        let reports = REPLACED.replace("Ready:Unknown:NodeStatusUnknown", ready);
        assert_eq!(heads(&forced(&reports, 10)), "", "{ready}");
        let late = heads(&forced(&reports, 300));
        assert!(late.starts_with("volumeAttached at VolumeAttachment a1"), "{ready}: {late}");
        assert_eq!(heads(&fixture::index(&reports)), "", "{ready}: nobody was forced");
    }
}

#[test]
fn replacement_of_a_pod_that_the_shutdown_of_its_node_ended_waits_for_the_disk() {
    // The shutdown ends Pods and deletes none. The disk stays attached if the kubelet had no time to unmount it.
    let ended = "pod shop/db-old labels=app:db node=n1 phase=Failed ready=no containers=db:terminated disruption=TerminationByKubelet uses=claim:data";
    let silent = format!("{REPLACED}{ended}");
    insta::assert_snapshot!(describe(&fixture::index(&silent)), @r#"
    nodeSilent at Node n1 (Inferred, waits)
      Pod shop/db-new is to start
      ! no endpoints of Service shop/db
      ! no disk for Pod shop/db-new
      - Node n1: condition Ready Unknown NodeStatusUnknown: stopped
      - Node n1: spec.taints node.kubernetes.io/unreachable:NoExecute
      - VolumeAttachment a1: spec.source.persistentVolumeName disk-1
    "#);
    // Its kubelet says so until the machine is off.
    let shutting_down = silent.replace(
        "Ready:Unknown:NodeStatusUnknown:600:stopped",
        "Ready:False:KubeletNotReady:10:node_is_shutting_down",
    );
    assert_eq!(heads(&fixture::index(&shutting_down)), "", "it may still unmount it in time");
}

#[test]
fn disk_of_a_node_out_of_service_is_waited_for_only_once_its_detach_is_late() {
    let tainted =
        REPLACED.replace("taints=", "taints=node.kubernetes.io/out-of-service:NoExecute,");
    assert_eq!(heads(&forced(&tainted, 10)), "", "it is detached at once");
    assert_eq!(heads(&fixture::index(&tainted)), "");
    assert_eq!(heads(&forced(&tainted, 40)), "nodeSilent at Node n1 (Inferred, waits)");
}

#[test]
fn pod_that_does_not_wait_for_the_disk_of_another_one_is_no_trouble() {
    for (what, with) in [
        ("ready=no phase=Pending", "phase=Running"),
        ("node=n2 age", "age"),
        ("node=n2 age", "node=n1 age"),
        ("phase=Pending", "phase=Failed"),
        ("age=100 ready=no", "age=100 deleted=5 ready=no"),
        ("access=ReadWriteOnce", "access=ReadWriteMany"),
        ("node=n1 attacher", "node=n1 attached=no attacher"),
        ("claim=shop/data", "claim=other/data"),
    ] {
        assert!(REPLACED.contains(what), "{what}");
        let other = REPLACED.replace(what, with);
        assert!(!describe(&forced(&other, 60)).contains("is to start"), "{with}");
    }
    let both = format!("{REPLACED}attachment a2 volume=disk-1 node=n2 attacher=disk.example\n");
    assert_eq!(heads(&forced(&both, 60)), "", "it has the disk");
    // The old Pod wants the disk, and has the card.
    let old = describe(&fixture::index(&format!("{REPLACED}{OLD}")));
    assert!(old.contains("nodeSilent at Node n1") && !old.contains("is to start"), "{old}");
}

#[test]
fn detach_that_hangs_is_harm_to_the_pod_that_waits_for_the_disk() {
    let asked = REPLACED.replace("attachment a1 ", "attachment a1 deleted=200 ");
    let described = describe(&fixture::index(&asked));
    assert!(described.starts_with("volumeAttached at VolumeAttachment a1"), "{described}");
    assert!(described.contains("! no disk for Pod shop/db-new"), "{described}");
    assert!(described.contains("! no endpoints of Service shop/db"), "{described}");
}

#[test]
fn replacement_joins_the_card_of_the_other_pods_of_its_node() {
    let text =
        format!("{REPLACED}pod shop/other node=n1 deleted=400 grace=30 containers=web:running\n");
    let described = describe(&forced(&text, 60));
    assert_eq!(described.matches(" at ").count(), 1, "{described}");
    assert!(described.contains("  Pod shop/other\n"), "{described}");
    assert!(described.contains("  Pod shop/db-new is to start\n"), "{described}");
}
