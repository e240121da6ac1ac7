//! A deletion is late when it takes longer than others of its kind in this cluster.

use super::*;
use crate::observation::Observation;

/// A cluster in which twenty objects like this one took so many seconds to go. `like` is a name, and maybe fields.
fn after(text: &str, like: &str, seconds: i64) -> Index {
    let mut index = fixture::index(text);
    let (kind, rest) = like.split_once(' ').unwrap();
    let (name, fields) = rest.split_once(' ').unwrap_or((rest, ""));
    for n in 0..20 {
        let object = fixture::object(&format!("{kind} {name}{n} deleted={seconds} {fields}"));
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

/// The time after which the deletion of an object counts as stuck, and the last one at which it does not.
#[test]
fn deletion_is_stuck_once_it_outlives_the_work_that_it_waits_for() {
    let balancer = "finalizers=service.kubernetes.io/load-balancer-cleanup";
    for (object, fields, stuck) in [
        ("cm shop/c", "finalizers=queue.example/topic", 120),
        ("svc shop/web", "finalizers=example.com/x", 120),
        ("svc shop/web", balancer, 600),
        ("svc shop/web", "finalizers=example.com/x,service.k8s.aws/resources", 600),
        ("attachment a1", "volume=disk-1 node=n1 attacher=disk.example", 360),
        ("pv disk-1", "phase=Released finalizers=kubernetes.io/pv-controller", 180),
        (
            "pv disk-1",
            "phase=Released finalizers=external-provisioner.volume.kubernetes.io/finalizer",
            360,
        ),
        ("VolumeSnapshot.snapshot.storage.k8s.io shop/s", "finalizers=example.com/x", 360),
        ("Db.rds.example shop/db", "finalizers=finalizer.managedresource.crossplane.io", 1_200),
        ("App.argoproj.io shop/app", "finalizers=resources-finalizer.argocd.argoproj.io", 1_200),
        ("Order.acme.cert-manager.io shop/o", "finalizers=acme.cert-manager.io/finalizer", 120),
    ] {
        let is_stuck = |seconds: i64| {
            let index = fixture::index(&format!("node n1\n{object} deleted={seconds} {fields}"));
            diagnose(&index, &Graph::of(&index), fixture::now()).iter().any(|it| it.stuck)
        };
        assert!(!is_stuck(stuck - 1), "{object} {fields} is stuck before {stuck} s");
        assert!(is_stuck(stuck), "{object} {fields} is not stuck after {stuck} s");
    }
}

/// The longest of its works decides, and the last one is part of it.
#[test]
fn deletion_whose_longest_work_is_done_is_not_late_by_what_is_left() {
    let seen = |finalizers: &str| {
        fixture::object(&format!("Db.rds.example shop/db deleted=900 finalizers={finalizers}"))
    };
    let is_stuck = |finalizers: &[&str]| {
        let mut index = fixture::index("Db.rds.example shop/other");
        for object in finalizers.iter().map(|it| seen(it)) {
            index.apply([Observation::Applied(Box::new(object))], fixture::now());
        }
        diagnose(&index, &Graph::of(&index), fixture::now()).iter().any(|it| it.stuck)
    };
    let (external, own) = ("finalizer.managedresource.crossplane.io", "example.com/db");
    assert!(is_stuck(&[own]));
    let both = format!("{external},{own}");
    assert!(!is_stuck(&[&*both, own]));
}

#[test]
fn usual_duration_is_that_of_objects_that_wait_for_the_same_work() {
    let balancer = "finalizers=service.kubernetes.io/load-balancer-cleanup";
    let is_stuck = |like: &str, took: i64, waited: i64| {
        let text = format!("svc shop/web deleted={waited} {balancer}");
        let index = after(&text, like, took);
        diagnose(&index, &Graph::of(&index), fixture::now()).iter().any(|it| it.stuck)
    };
    let alike = format!("svc shop/old {balancer}");
    assert!(!is_stuck("svc shop/old", 1, 599), "a Service without a load balancer goes at once");
    assert!(is_stuck(&alike, 1, 300), "at least half as long");
    assert!(!is_stuck(&alike, 1, 299));
    assert!(!is_stuck(&alike, 5_000, 1_199), "at most twice as long");
    assert!(is_stuck(&alike, 5_000, 1_200));
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
