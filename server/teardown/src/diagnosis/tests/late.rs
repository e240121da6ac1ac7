//! A deletion is late when it takes longer than others of its kind in this cluster.

use super::*;
use crate::observation::Observation;

/// A cluster in which twenty objects like this one took so many seconds to go.
fn after(text: &str, like: &str, seconds: i64) -> Index {
    let mut index = fixture::index(text);
    for n in 0..20 {
        let object = fixture::object(&format!("{like}{n} deleted={seconds}"));
        let (kind, uid) = (object.kind.clone(), object.uid.clone());
        index.apply([Observation::Applied(Box::new(object))], fixture::now());
        index.apply([Observation::Deleted { kind, uid }], fixture::now());
    }
    index
}

#[test]
fn namespace_is_diagnosed_once_it_takes_longer_than_namespaces_here() {
    for (usual, waited, is_late) in
        [(110, 70, false), (110, 125, true), (5, 25, false), (5, 35, true)]
    {
        let text = format!("ns shop deleted={waited}\npod shop/a");
        let found = heads(&after(&text, "ns old", usual));
        assert_eq!(!found.is_empty(), is_late, "{waited} s where {usual} s are usual: {found}");
    }
}

/// The broker may take an hour to stop, and the kubelet then has 150 s for the rest.
#[test]
fn objects_behind_a_pod_within_its_grace_period_are_late_and_not_stuck() {
    let found = |waited: i64| {
        let text = format!(
            "
            node n1
            ns shop deleted={waited}
            pvc shop/data deleted={waited} finalizers=kubernetes.io/pvc-protection
            pod shop/db node=n1 deleted={waited} grace=3600 containers=db:running uses=claim:data
            "
        );
        heads(&fixture::index(&text))
    };
    assert_eq!(found(40), "");
    for waited in [400, 1_800, 3_590] {
        assert_eq!(found(waited), "withinGrace at Pod shop/db (Inferred, waits)", "{waited} s");
    }
    assert_eq!(found(3_700), "containersRunning at Pod shop/db (Inferred, waits)");
    assert_eq!(found(3_760), "containersRunning at Pod shop/db (Inferred, stuck)");
}

/// The Pod was deleted long after its claim, and its kubelet is not through with it.
#[test]
fn objects_behind_a_pod_that_its_kubelet_ends_are_late_as_the_pod_is() {
    let found = |waited: i64| {
        let text = format!(
            "
            node n1
            pvc shop/data deleted=900 finalizers=kubernetes.io/pvc-protection
            pod shop/db node=n1 deleted={waited} grace=30 phase=Failed containers=db:terminated uses=claim:data
            "
        );
        heads(&fixture::index(&text))
    };
    assert_eq!(found(40), "volumesMounted at Pod shop/db (Inferred, waits)");
    assert_eq!(found(170), "volumesMounted at Pod shop/db (Inferred, waits)");
    assert_eq!(found(190), "volumesMounted at Pod shop/db (Inferred, stuck)");
}

/// Nothing ends it by itself, so the claim waits in vain for as long as it waits.
#[test]
fn objects_behind_a_cause_that_does_not_pass_are_stuck_by_their_own_wait() {
    let text = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        pvc shop/data deleted=900 finalizers=kubernetes.io/pvc-protection
        pod shop/db node=n1 deleted=40 grace=30 containers=db:running uses=claim:data
    ";
    assert_eq!(heads(&fixture::index(text)), "nodeSilent at Node n1 (Inferred, stuck)");
}

#[test]
fn detach_is_diagnosed_once_it_takes_longer_than_detaches_here() {
    // The Pod that wrote to the disk went by force 40 s ago.
    let text = "
        node n1
        node n2
        pod shop/new node=n2 age=40 ready=no phase=Pending uses=claim:data
        pvc shop/data volume=disk-1 access=ReadWriteOnce
        pv disk-1 claim=shop/data
        attachment a1 volume=disk-1 node=n1 attacher=disk.example
        pod shop/old node=n1 deleted=400 grace=30 containers=db:running uses=claim:data
    ";
    let found = |usual| {
        let mut index = after(text, "attachment old", usual);
        let old = fixture::object("pod shop/old");
        let deleted = Observation::Deleted { kind: old.kind, uid: old.uid };
        index.apply([deleted], fixture::now() - jiff::SignedDuration::from_secs(40));
        heads(&index)
    };
    assert_eq!(found(50), "");
    assert!(found(5).starts_with("volumeAttached at VolumeAttachment a1"), "{}", found(5));
}
