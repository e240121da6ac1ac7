//! Copies of volumes, classes and drivers in a plan.

use super::*;

/// Whether each object goes, and in an earlier wave than the next.
#[track_caller]
fn check_order(plan: &Plan, uids: &[&str]) {
    let wave = |uid: &&str| {
        let step = plan.steps.iter().find(|step| step.uid == fixture::uid(uid));
        step.unwrap_or_else(|| panic!("{uid} does not go")).wave
    };
    let waves: Vec<u32> = uids.iter().map(wave).collect();
    assert!(waves.is_sorted_by(|a, b| a < b), "{uids:?} go in the waves {waves:?}");
}

/// The objects that a plan keeps, and why.
fn kept(plan: &Plan) -> Vec<String> {
    text(plan).lines().filter_map(|line| line.strip_prefix("keep ")).map(str::to_owned).collect()
}

/// A unit with its own driver and class, and one volume of them.
const DRIVER: &str = "
    ns shop of=shop
    sts shop/db of=shop selector=app:db template=app:db uses=claim:data
    pvc shop/data of=shop class=fast volume=pv
    pv pv claim=shop/data class=fast driver=disk.example reclaim=Delete
    class fast of=shop driver=disk.example
    csidriver disk.example of=shop
    ds shop/disk-csi-node of=shop selector=app:disk template=app:disk drivers=disk.example
";

#[test]
fn driver_outlives_its_volumes_and_the_class_goes_after_them() {
    let plan = plan_of(DRIVER, "shop").unwrap();
    check_order(&plan, &["sts:shop/db", "pvc:shop/data", "pv:pv", "ds:shop/disk-csi-node"]);
    check_order(&plan, &["pv:pv", "class:fast", "csidriver:disk.example"]);
    assert_eq!(kept(&plan), [""; 0]);
}

#[test]
fn driver_outlives_the_claims_whose_volumes_stay() {
    let plan = plan_of(&DRIVER.replace(" reclaim=Delete", ""), "shop").unwrap();
    check_order(&plan, &["sts:shop/db", "pvc:shop/data", "ds:shop/disk-csi-node"]);
    check_order(&plan, &["pvc:shop/data", "csidriver:disk.example"]);
}

/// A unit with its own driver and class, and a set that has no claims yet.
const EMPTY_SET: &str = "
    ns shop of=shop
    sts shop/db of=shop replicas=0 selector=app:db template=app:db templates=data uses=class:fast
    class fast of=shop driver=disk.example
    csidriver disk.example of=shop
    ds shop/disk-csi-node of=shop selector=app:disk template=app:disk drivers=disk.example
";

#[test]
fn driver_outlives_a_set_that_has_no_claims_yet() {
    let plan = plan_of(EMPTY_SET, "shop").unwrap();
    check_order(&plan, &["sts:shop/db", "ds:shop/disk-csi-node"]);
    check_order(&plan, &["sts:shop/db", "class:fast", "csidriver:disk.example"]);
    assert_eq!((kept(&plan), given_up(&plan)), (vec![], vec![]));
    let other = EMPTY_SET.replace("uses=class:fast", "uses=class:other");
    let plan = plan_of(&other, "shop").unwrap();
    let wave = |uid: &str| plan.steps.iter().find(|it| it.uid == fixture::uid(uid)).unwrap().wave;
    assert_eq!(wave("sts:shop/db"), wave("ds:shop/disk-csi-node"));
}

#[test]
fn class_and_driver_of_a_set_of_others_without_claims_are_kept() {
    let others = "sts other/db replicas=0 templates=data uses=class:fast";
    assert_eq!(
        kept(&plan_of(&format!("{EMPTY_SET}{others}"), "shop").unwrap()),
        [
            "ns:shop: needed by DaemonSet shop/disk-csi-node (Contains)",
            "ds:shop/disk-csi-node: used by StatefulSet other/db (Provisions)",
            "csidriver:disk.example: needed by StorageClass fast (Provisions)",
            "class:fast: used by StatefulSet other/db (Mounts)",
        ]
    );
    let namesake = others.replace("class:fast", "class:faster");
    assert_eq!(kept(&plan_of(&format!("{EMPTY_SET}{namesake}"), "shop").unwrap()), [""; 0]);
}

#[test]
fn workload_that_is_another_driver_does_not_wait_for_the_claims() {
    for reclaim in ["", " reclaim=Delete"] {
        let fixture = DRIVER.replace(" reclaim=Delete", reclaim);
        let other = fixture.replace("drivers=disk.example", "drivers=file.example");
        check_order(&plan_of(&other, "shop").unwrap(), &["ds:shop/disk-csi-node", "pvc:shop/data"]);
    }
}

#[test]
fn driver_outlives_the_pods_that_mount_it_inline() {
    let fixture = "
        ns shop of=shop
        sts shop/web of=shop selector=app:web template=app:web uses=driver:disk.example
        csidriver disk.example of=shop
        ds shop/disk-csi-node of=shop selector=app:disk template=app:disk drivers=disk.example
    ";
    check_order(&plan_of(fixture, "shop").unwrap(), &["sts:shop/web", "ds:shop/disk-csi-node"]);
    let other = fixture.replace("drivers=disk.example", "drivers=file.example");
    let plan = plan_of(&other, "shop").unwrap();
    check_order(&plan, &["ds:shop/disk-csi-node", "csidriver:disk.example"]);
}

#[test]
fn object_that_owns_the_driver_and_a_user_of_it_goes_before_both() {
    let users = [
        "sts shop/db owner=Storage.example.com/main templates=data",
        "deploy shop/db owner=Storage.example.com/main uses=claim:data-db-0",
    ];
    for (user, uid) in users.into_iter().zip(["sts:shop/db", "deploy:shop/db"]) {
        let fixture = format!(
            "Storage.example.com shop/main of=shop
             ds shop/csi drivers=disk.example owner=Storage.example.com/main
             {user}
             pvc shop/data-db-0 of=shop volume=pv
             pv pv claim=shop/data-db-0 driver=disk.example"
        );
        let plan = plan_of(&fixture, "shop").unwrap();
        check_order(&plan, &["Storage.example.com:shop/main", uid, "pvc:shop/data-db-0"]);
        check_order(&plan, &["pvc:shop/data-db-0", "ds:shop/csi"]);
        assert_eq!(given_up(&plan), [""; 0]);
    }
}

#[test]
fn driver_whose_own_pods_use_it_is_taken_apart() {
    let stores = "
        ds shop/csi of=shop drivers=disk.example
        pod shop/csi-1 owner=ds/csi uses=claim:csi-1-scratch
        pvc shop/csi-1-scratch owner=pod/csi-1 volume=pv
        pv pv claim=shop/csi-1-scratch driver=disk.example reclaim=Delete
    ";
    let devices = "
        ds shop/plugin of=shop drivers=gpu.example uses=template:gpus
        pod shop/plugin-1 owner=ds/plugin uses=devices:plugin-1-gpu
        devices shop/plugin-1-gpu owner=pod/plugin-1 driver=gpu.example
    ";
    for fixture in [stores, devices] {
        assert_eq!(given_up(&plan_of(fixture, "shop").unwrap()), [""; 0]);
    }
}

#[test]
fn driver_of_devices_outlives_the_pods_that_use_them() {
    let fixture = "
        ns shop of=shop
        deploy shop/web of=shop selector=app:web template=app:web
        rs shop/web-1 owner=deploy/web selector=app:web template=app:web
        pod shop/web-1-a owner=rs/web-1 labels=app:web
        devices shop/web-1-a-gpu owner=pod/web-1-a driver=gpu.example
        ds shop/plugin of=shop selector=app:gpu template=app:gpu drivers=gpu.example
    ";
    check_order(&plan_of(fixture, "shop").unwrap(), &["deploy:shop/web", "ds:shop/plugin"]);
    let other = fixture.replace("drivers=gpu.example", "drivers=nic.example");
    let plan = plan_of(&other, "shop").unwrap();
    let wave = |uid: &str| plan.steps.iter().find(|it| it.uid == fixture::uid(uid)).unwrap().wave;
    assert_eq!(wave("deploy:shop/web"), wave("ds:shop/plugin"));
}

#[test]
fn driver_that_mounts_inline_for_others_is_kept() {
    let fixture = format!("{DRIVER} pod other/web uses=driver:disk.example");
    assert_eq!(
        kept(&plan_of(&fixture, "shop").unwrap()),
        [
            "ns:shop: needed by DaemonSet shop/disk-csi-node (Contains)",
            "ds:shop/disk-csi-node: used by Pod other/web (Provisions)",
            "csidriver:disk.example: used by Pod other/web (Mounts)",
        ]
    );
}

#[test]
fn class_and_driver_that_others_use_are_kept() {
    let others = "
        pvc other/data class=fast volume=pv-2
        pv pv-2 claim=other/data class=fast driver=disk.example
    ";
    let plan = plan_of(&format!("{DRIVER}{others}"), "shop").unwrap();
    assert_eq!(
        kept(&plan),
        [
            "ns:shop: needed by DaemonSet shop/disk-csi-node (Contains)",
            "ds:shop/disk-csi-node: used by PersistentVolume pv-2 (Provisions)",
            "csidriver:disk.example: used by PersistentVolume pv-2 (Provisions)",
            "class:fast: used by PersistentVolume pv-2 (Provisions)",
        ]
    );
    check_order(&plan, &["sts:shop/db", "pvc:shop/data", "pv:pv"]);
}

#[test]
fn volume_that_stays_as_released_keeps_neither_class_nor_driver() {
    let plan = plan_of(&DRIVER.replace(" reclaim=Delete", ""), "shop").unwrap();
    let kept: Vec<String> = plan.kept.iter().map(|kept| kept.uid.to_string()).collect();
    assert_eq!(kept, ["pv:pv"]);
    // Unless a person keeps the claim: then the volume stays in use.
    let plan = plan_with(&DRIVER.replace(" reclaim=Delete", ""), "shop", &["keep=data"]).unwrap();
    let kept: Vec<String> = plan.kept.iter().map(|kept| kept.uid.to_string()).collect();
    assert!(kept.contains(&"ds:shop/disk-csi-node".to_owned()), "{kept:?}");
    assert!(kept.contains(&"class:fast".to_owned()), "{kept:?}");
}

/// A snapshot of a claim, its content, and a claim restored from it.
const COPIES: &str = "
    ns shop of=shop
    pvc shop/data of=shop age=3600
    snapshot shop/before of=shop claim=data content=c age=600
    content c of-snapshot=shop/before policy=Delete
    pvc shop/restored of=shop from=snapshot/before age=60
";

#[test]
fn snapshots_and_clones_go_before_the_claims_that_they_come_from() {
    let plan = plan_of(COPIES, "shop").unwrap();
    check_order(&plan, &["pvc:shop/restored", "snapshot:shop/before", "pvc:shop/data"]);
}

#[test]
fn content_that_goes_with_its_snapshot_is_no_step() {
    let plan = plan_of(COPIES, "shop").unwrap();
    let left: Vec<String> = plan.left_to_cluster.iter().map(|it| it.uid.to_string()).collect();
    assert_eq!(left, ["content:c"]);
    let retained = plan_of(&COPIES.replace(" policy=Delete", ""), "shop").unwrap();
    let kept: Vec<&KeptReason> = retained.kept.iter().map(|it| &it.reason).collect();
    assert_eq!(kept, [&KeptReason::RetainedVolume]);
    assert_eq!(retained.left_to_cluster, []);
    let kept_data =
        plan_with(&format!("{COPIES} cm shop/a of=shop"), "shop", &["keep=data"]).unwrap();
    let kept: Vec<String> = kept_data.kept.iter().map(|it| it.uid.to_string()).collect();
    assert!(kept.contains(&"content:c".to_owned()), "{kept:?}");
    assert_eq!(kept_data.left_to_cluster, []);
}

#[test]
fn complete_copy_of_another_unit_does_not_keep_its_source() {
    let shop = "ns shop of=shop\n pvc shop/data of=shop age=3600\n ";
    let copy = "snapshot shop/backup of=backup claim=data age=60";
    let is_kept = |copy: &str| {
        let plan = plan_of(&format!("{shop}{copy}"), "shop");
        plan.map_or(true, |plan| plan.kept.iter().any(|it| &*it.object.name == "data"))
    };
    assert!(!is_kept(copy));
    assert!(is_kept(&format!("{copy} ready=no")), "the snapshot is being taken");
}

#[test]
fn attachment_that_the_cluster_made_keeps_no_volume() {
    let fixture = format!("{DRIVER} attachment a volume=pv node=n1 attacher=disk.example");
    let plan = plan_of(&fixture, "shop").unwrap();
    assert_eq!(plan.kept, []);
    assert!(plan.steps.iter().all(|step| &*step.object.kind != "VolumeAttachment"));
}

#[test]
fn topics_go_before_their_kafka_and_certificates_before_their_issuer() {
    let plan = plan_of(
        "Kafka.kafka.strimzi.io shop/main of=shop
         KafkaTopic.kafka.strimzi.io shop/orders of=shop labels=strimzi.io/cluster:main
         Issuer.cert-manager.io shop/ca of=shop
         Certificate.cert-manager.io shop/web of=shop refs=spec.issuerRef:Issuer.cert-manager.io/ca,spec.secretName:secret/tls
         secret shop/tls of=shop",
        "shop",
    )
    .unwrap();
    check_order(
        &plan,
        &["KafkaTopic.kafka.strimzi.io:shop/orders", "Kafka.kafka.strimzi.io:shop/main"],
    );
    check_order(&plan, &["Certificate.cert-manager.io:shop/web", "Issuer.cert-manager.io:shop/ca"]);
    check_order(&plan, &["Certificate.cert-manager.io:shop/web", "secret:shop/tls"]);
}

#[test]
fn content_stays_with_a_snapshot_that_a_person_left_out() {
    let left_out = ["without=VolumeSnapshot.snapshot.storage.k8s.io"];
    let plan = plan_with(COPIES, "shop", &left_out).unwrap();
    let content = "content:c: needed by VolumeSnapshot shop/before (Binds)".to_owned();
    assert!(kept(&plan).contains(&content), "{:?}", kept(&plan));
    assert_eq!(plan.left_to_cluster, []);
}

#[test]
fn declared_volume_is_deleted_by_the_run_unless_its_controller_deletes_it() {
    let step = |claim: &str, volume: &str| {
        let fixture = format!("pvc shop/data of=shop {claim}\n pv pv of=shop {volume}");
        let text = text(&plan_of(&fixture, "shop").unwrap());
        text.lines().find(|line| line.contains("pv:pv")).unwrap().to_owned()
    };
    let bound = |reclaim: &str| step("volume=pv", &format!("claim=shop/data reclaim={reclaim}"));
    assert_eq!(bound("Delete"), "2 pv:pv await < pvc:shop/data");
    assert_eq!(bound("Retain"), "2 pv:pv < pvc:shop/data");
    assert_eq!(step("", "reclaim=Delete"), "1 pv:pv", "no claim is bound to it");
}

#[test]
fn volume_reserved_for_a_claim_that_goes_goes_as_well() {
    let plan = plan_of("pvc shop/data of=shop\n pv pv of=shop claim=shop/data", "shop").unwrap();
    assert_eq!(kept(&plan), [""; 0], "{}", text(&plan));
}

/// It belongs to the unit through its owner, and not through a claim.
#[test]
fn volume_of_a_pool_goes_unless_a_claim_elsewhere_is_bound_to_it() {
    let pool =
        "cm shop/a of=shop\n Pool.example.com pool of=shop\n pv pv owner=Pool.example.com/pool";
    assert_eq!(kept(&plan_of(pool, "shop").unwrap()), [""; 0]);
    let bound = format!("{pool} claim=lab/data\n pvc lab/data volume=pv");
    let stays = kept(&plan_of(&bound, "shop").unwrap());
    let volume = "pv:pv: used by PersistentVolumeClaim lab/data (Binds)".to_owned();
    assert!(stays.contains(&volume), "{stays:?}");
}
