//! Objects that go with an object whose last finalizer is removed by hand.

use super::*;

/// A database whose operator is gone: its claim has the data, and its StatefulSet the Pod.
const DATABASE: &str = "
    ns shop
    Database.db.example shop/main deleted=400 finalizers=db.example/backup
    sts shop/main owner=Database.db.example/main
    pod shop/main-0 owner=sts/main uses=claim:data
    pvc shop/data owner=Database.db.example/main volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
";

fn removal(index: &Index) -> (Diagnosis, Remedy) {
    let mut found = found(index);
    found.retain(|(_, all)| all.iter().any(|it| is_removal(&it.act)));
    let (diagnosis, remedies) = found.remove(0);
    (diagnosis, remedies.into_iter().find(|it| is_removal(&it.act)).unwrap())
}

fn is_removal(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::RemoveFinalizer { .. })
}

#[test]
fn finalizer_of_an_owner_takes_its_claims_and_the_data_with_it() {
    let index = fixture::index(DATABASE);
    assert_eq!(acts(&index), ["restoreFinisher", "retainVolume", "removeFinalizer"]);
    let (_, remedy) = removal(&index);
    assert_eq!(remedy.harm, Harm::DataLoss);
    assert!(remedy.loses.contains(&Loss::Data), "{:?}", remedy.loses);
    assert_eq!(
        reaches(&remedy.reaches),
        [
            "Pod shop/main-0 with PersistentVolumeClaim shop/data",
            "and deletes PersistentVolumeClaim shop/data",
            "StatefulSet shop/main",
        ]
    );
    let kept = DATABASE.replace(" reclaim=Delete", "");
    let index = fixture::index(&kept);
    assert_eq!(acts(&index), ["restoreFinisher", "removeFinalizer"]);
    let (_, remedy) = removal(&index);
    assert_eq!(remedy.harm, Harm::Leftovers, "the volume stays");
    assert_eq!(remedy.loses, [Loss::CleanUp, Loss::Kept]);
    assert_eq!(remedy.reaches.going.len(), 1, "its claim goes all the same");
}

#[test]
fn confirmation_does_not_hold_for_a_claim_that_comes_later() {
    let hash = |index: &Index| {
        let (diagnosis, remedy) = removal(index);
        remedy.hash(&diagnosis)
    };
    let mut index = fixture::index(DATABASE);
    let before = hash(&index);
    let other = fixture::object("pvc shop/log owner=Database.db.example/main volume=pv-2");
    index.apply([Observation::Applied(Box::new(other))], fixture::now());
    assert_ne!(hash(&index), before);
    let (_, remedy) = removal(&index);
    assert_eq!(remedy.reaches.going.len(), 2);
}

#[test]
fn nothing_is_removed_where_claims_or_their_volumes_cannot_be_seen() {
    for resource in ["persistentvolumeclaims", "persistentvolumes"] {
        let mut index = fixture::index(DATABASE);
        hide(&mut index, resource);
        let (_, remedy) = removal(&index);
        let expected = Withheld::CannotSee { resource: resource.to_owned() };
        assert_eq!(remedy.withheld, Some(expected), "{resource}");
    }
    let alone = "ns shop\n Topic.queue.example shop/a deleted=400 finalizers=example.com/x";
    let mut index = fixture::index(alone);
    hide(&mut index, "persistentvolumes");
    assert_eq!(removal(&index).1.withheld, None, "it has no claim");
    hide(&mut index, "persistentvolumeclaims");
    let expected = Withheld::CannotSee { resource: "persistentvolumeclaims".to_owned() };
    assert_eq!(removal(&index).1.withheld, Some(expected), "one may be among its dependents");
}

#[test]
fn nothing_goes_with_an_object_that_another_finalizer_keeps() {
    for (finalizers, goes) in [
        ("db.example/backup,other.example/x", false),
        ("db.example/backup,orphan", false),
        ("db.example/backup,foregroundDeletion", true),
    ] {
        let world = DATABASE.replace("db.example/backup", finalizers);
        let (_, remedy) = removal(&fixture::index(&world));
        assert_eq!(!remedy.reaches.is_none(), goes, "{finalizers}");
        assert_eq!(remedy.harm == Harm::DataLoss, goes, "{finalizers}");
    }
}

#[test]
fn dependent_goes_unless_another_owner_stays() {
    let others = [
        ("cm shop/other", false),
        ("cm shop/other deleted=400 finalizers=foregroundDeletion", true),
        ("", true),
    ];
    for (other, goes) in others {
        let owners = "owner=Database.db.example/main,cm/other volume";
        let world = DATABASE.replace("owner=Database.db.example/main volume", owners);
        let (_, remedy) = removal(&fixture::index(&format!("{world}\n{other}")));
        assert_eq!(!remedy.reaches.going.is_empty(), goes, "{other}");
    }
    let deleted = DATABASE.replace("volume=pv-1", "volume=pv-1 deleted=90");
    let (_, remedy) = removal(&fixture::index(&deleted));
    assert_eq!(remedy.reaches.going, [], "somebody has deleted it");
}

#[test]
fn claim_that_is_held_by_a_program_goes_with_its_data() {
    let world = "
        ns shop
        pvc shop/data volume=pv-1 deleted=400 finalizers=kubernetes.io/pvc-protection,example.com/backup
        pv pv-1 claim=shop/data reclaim=Delete
    ";
    let (_, remedy) = removal(&fixture::index(world));
    assert_eq!(remedy.harm, Harm::DataLoss);
    assert_eq!(reaches(&remedy.reaches), ["PersistentVolume pv-1"]);
    assert!(acts(&fixture::index(world)).contains(&"retainVolume".to_owned()));
    let kept = fixture::index(&world.replace(" reclaim=Delete", ""));
    assert_eq!(removal(&kept).1.harm, Harm::Leftovers);
    let mut unseen = fixture::index(world);
    hide(&mut unseen, "persistentvolumes");
    assert!(removal(&unseen).1.withheld.is_some());
}

#[test]
fn volume_that_goes_with_its_owner_takes_its_data_with_it() {
    let world = "
        Cache.db.example main deleted=400 finalizers=db.example/backup
        pv pv-1 owner=Cache.db.example/main reclaim=Delete
    ";
    let (_, remedy) = removal(&fixture::index(world));
    assert_eq!((remedy.harm, remedy.loses.contains(&Loss::Data)), (Harm::DataLoss, true));
}

#[test]
fn removal_that_loses_keys_or_leaves_a_second_writer_stands_among_what_loses_data() {
    for (object, harm) in [
        ("secret rook/mon finalizers=ceph.rook.io/disaster-protection", Harm::DataLoss),
        (
            "VirtualMachine.kubevirt.io rook/vm finalizers=kubevirt.io/virtualMachineControllerFinalize",
            Harm::DataLoss,
        ),
        (
            "CephBlockPool.ceph.rook.io rook/pool finalizers=cephblockpool.ceph.rook.io",
            Harm::Leftovers,
        ),
    ] {
        let (_, remedy) = removal(&fixture::index(&format!("ns rook\n{object} deleted=400")));
        assert_eq!(remedy.harm, harm, "{object}");
    }
}
