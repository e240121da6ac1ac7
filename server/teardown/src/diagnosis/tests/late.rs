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
