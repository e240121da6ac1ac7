//! Tests of claims and volumes.

use super::script::{endings, transcript};

#[test]
fn claim_waits_if_its_deletion_destroys_unlisted_data() {
    let cluster = "
        ns shop of=shop
        pvc shop/data of=shop volume=pv
        pv pv claim=shop/data
        pvc shop/new of=shop";
    let script = "pause first
        applied pv pv claim=shop/data reclaim=Delete
        applied pv late claim=shop/new reclaim=Recycle
        applied pvc shop/new of=shop volume=late
        resume
        applied pv pv claim=shop/data
        applied pv late claim=shop/new";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pv pv claim=shop/data reclaim=Delete
    > applied pv late claim=shop/new reclaim=Recycle
    > applied pvc shop/new of=shop volume=late
    > resume
    PersistentVolumeClaim shop/data would destroy PersistentVolume pv
    PersistentVolumeClaim shop/new would destroy PersistentVolume late
    > applied pv pv claim=shop/data
    LIST pods in shop
    > applied pv late claim=shop/new
    LIST pods in shop
    ");
}

/// A volume without a claim, a snapshot, its content and a custom resource stand for data as well, and so do the claims that
/// an operator deletes.
#[test]
fn object_waits_if_a_policy_that_was_changed_destroys_unlisted_data() {
    let cluster = "
        pv old of=shop claim=lab/gone
        content kept of=shop
        snapshot shop/daily of=shop
        content daily of-snapshot=shop/daily
        Bucket.example.com shop/files of=shop data=leaves
        Kafka.example.com shop/events of=shop
        pvc shop/log labels=kafka:events volume=log
        pv log claim=shop/log reclaim=Delete
        cm shop/settings of=shop";
    let changes = [
        "pv old of=shop claim=lab/gone reclaim=Delete",
        "content kept of=shop policy=Delete",
        "content daily of-snapshot=shop/daily policy=Delete",
        "Bucket.example.com shop/files of=shop data=destroys",
        "Kafka.example.com shop/events of=shop data=deletes-claims:kafka",
        "cm shop/settings of=shop",
    ];
    let script = |change: &str| format!("pause first\n applied {change}\n resume");
    insta::assert_snapshot!(endings(cluster, changes, script), @"
    pv old of=shop claim=lab/gone reclaim=Delete
        PersistentVolume old would destroy PersistentVolume old
        DELETE Bucket shop/files
        DELETE ConfigMap shop/settings
        DELETE Kafka shop/events
        DELETE VolumeSnapshot shop/daily
        DELETE VolumeSnapshotContent kept
    content kept of=shop policy=Delete
        VolumeSnapshotContent kept would destroy VolumeSnapshotContent kept
        DELETE Bucket shop/files
        DELETE ConfigMap shop/settings
        DELETE Kafka shop/events
        DELETE PersistentVolume old
        DELETE VolumeSnapshot shop/daily
    content daily of-snapshot=shop/daily policy=Delete
        VolumeSnapshot shop/daily would destroy VolumeSnapshot shop/daily
        DELETE Bucket shop/files
        DELETE ConfigMap shop/settings
        DELETE Kafka shop/events
        DELETE PersistentVolume old
        DELETE VolumeSnapshotContent kept
    Bucket.example.com shop/files of=shop data=destroys
        Bucket shop/files would destroy Bucket shop/files
        DELETE ConfigMap shop/settings
        DELETE Kafka shop/events
        DELETE PersistentVolume old
        DELETE VolumeSnapshot shop/daily
        DELETE VolumeSnapshotContent kept
    Kafka.example.com shop/events of=shop data=deletes-claims:kafka
        Kafka shop/events would destroy PersistentVolume log
        DELETE Bucket shop/files
        DELETE ConfigMap shop/settings
        DELETE PersistentVolume old
        DELETE VolumeSnapshot shop/daily
        DELETE VolumeSnapshotContent kept
    cm shop/settings of=shop
        DELETE Bucket shop/files
        DELETE ConfigMap shop/settings
        DELETE Kafka shop/events
        DELETE PersistentVolume old
        DELETE VolumeSnapshot shop/daily
        DELETE VolumeSnapshotContent kept
    ");
}

#[test]
fn volume_waits_for_the_claim_it_names() {
    let cluster = "
        ns lab
        cm shop/c of=shop
        pv pv of=shop claim=lab/data";
    let script = "pause first
        applied pvc lab/data
        resume
        gone pvc lab/data & hidden persistentvolumeclaims
        visible persistentvolumeclaims";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pvc lab/data
    > resume
    PersistentVolume pv is used by PersistentVolumeClaim lab/data
    DELETE ConfigMap shop/c
    > gone pvc lab/data & hidden persistentvolumeclaims
    PersistentVolume pv cannot be told without persistentvolumeclaims
    > visible persistentvolumeclaims
    DELETE PersistentVolume pv
    ");
}

/// A Pod of a StatefulSet may write to its storage even if it mounts no claim, so its owner and its labels count.
#[test]
fn claim_waits_for_pods_of_its_statefulset_that_mount_nothing() {
    let cluster = "
        ns shop of=shop
        sts shop/db of=shop selector=app:db template=app:db templates=data
        pvc shop/data-db-0 of=shop";
    let script = "accepted sts:shop/db
        gone sts shop/db
        pods pvc:shop/data-db-0: pod shop/db-0 owner=sts/db labels=role:old
        +120
        pods pvc:shop/data-db-0: pod shop/db-1 labels=app:db
        +120
        pods pvc:shop/data-db-0: pod shop/other labels=app:web";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE StatefulSet shop/db
    > accepted sts:shop/db
    > gone sts shop/db
    StatefulSet shop/db is gone
    LIST pods in shop
    > pods pvc:shop/data-db-0: pod shop/db-0 owner=sts/db labels=role:old
    PersistentVolumeClaim shop/data-db-0 is used by Pod shop/db-0
    > +120
    LIST pods in shop
    > pods pvc:shop/data-db-0: pod shop/db-1 labels=app:db
    PersistentVolumeClaim shop/data-db-0 is used by Pod shop/db-1
    > +120
    LIST pods in shop
    > pods pvc:shop/data-db-0: pod shop/other labels=app:web
    DELETE PersistentVolumeClaim shop/data-db-0
    ");
}

/// A custom resource has no template that shows what its Pods use, so it may re-create them as long as it exists.
#[test]
fn claim_of_a_pod_waits_for_the_owner_that_would_recreate_the_pod() {
    let cluster = "
        ns shop of=shop
        Database.example.com shop/db of=shop
        pod shop/db-0 owner=Database.example.com/db labels=app:db uses=claim:data deleted=0
        pvc shop/data of=shop";
    // The operator may be about to make another Pod.
    let script = "refused Database.example.com:shop/db
        gone pod shop/db-0
        look at pvc:shop/data
        gone Database.example.com shop/db";
    insta::assert_snapshot!(transcript(cluster, script), @"
    Pod shop/db-0 is terminating
    DELETE Database shop/db
    > refused Database.example.com:shop/db
    Database shop/db was refused: 403
    > gone pod shop/db-0
    Pod shop/db-0 is gone
    > look at pvc:shop/data
    PersistentVolumeClaim shop/data is waiting, after Database shop/db
    > gone Database.example.com shop/db
    Database shop/db is gone
    LIST pods in shop
    ");
    let script = "refused Database.example.com:shop/db
        skip Database.example.com:shop/db
        gone pod shop/db-0";
    insta::assert_snapshot!(transcript(cluster, script), @"
    Pod shop/db-0 is terminating
    DELETE Database shop/db
    > refused Database.example.com:shop/db
    Database shop/db was refused: 403
    > skip Database.example.com:shop/db
    Database shop/db is skipped
    PersistentVolumeClaim shop/data is skipped
    Namespace shop is skipped
    > gone pod shop/db-0
    Pod shop/db-0 is gone
    the run has finished
    ");
}

#[test]
fn claim_is_not_blocked_by_the_volume_of_another_claim() {
    let cluster = "
        ns shop of=shop
        pvc shop/data of=shop volume=pv
        pv pv claim=lab/data reclaim=Delete";
    insta::assert_snapshot!(transcript(cluster, ""), @"LIST pods in shop");
}

#[test]
fn volume_does_not_wait_for_a_claim_bound_to_another_volume() {
    let cluster = "
        ns lab
        pvc lab/data volume=other
        pv other claim=lab/data
        pv pv of=shop claim=lab/data";
    insta::assert_snapshot!(transcript(cluster, ""), @"DELETE PersistentVolume pv");
}

/// An autoscaler starts the set while the run has begun, and its controller makes a claim from the template.
#[test]
fn driver_waits_for_a_set_without_claims_and_for_the_claim_that_it_gets() {
    let cluster = "
        sts shop/db of=shop replicas=0 templates=data uses=class:fast
        class fast of=shop driver=disk.example
        ds shop/disk-csi-node of=shop drivers=disk.example";
    let script = "applied pvc shop/data-db-0 class=fast phase=Pending age=0
        accepted sts:shop/db
        gone sts shop/db
        gone pvc shop/data-db-0";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE StatefulSet shop/db
    > applied pvc shop/data-db-0 class=fast phase=Pending age=0
    > accepted sts:shop/db
    > gone sts shop/db
    StatefulSet shop/db is gone
    DaemonSet shop/disk-csi-node is used by PersistentVolumeClaim shop/data-db-0
    StorageClass fast is used by PersistentVolumeClaim shop/data-db-0
    > gone pvc shop/data-db-0
    DELETE DaemonSet shop/disk-csi-node
    DELETE StorageClass fast
    ");
}
