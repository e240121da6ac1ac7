//! The driver of claims that do not exist yet, or have no volume yet.

use super::*;

/// The edges to classes and programs: from, kind, to, strength.
fn needs(text: &str) -> Vec<String> {
    let graph = fixture::graph(text);
    let mut found: Vec<String> = graph
        .edges()
        .map(|edge| format!("{} {:?} {} {:?}", edge.from, edge.kind, edge.to, edge.strength))
        .filter(|edge| edge.contains(" Provisions ") || edge.contains(" Mounts class:"))
        .collect();
    found.sort();
    found
}

#[test]
fn set_without_claims_goes_before_its_class_and_the_driver() {
    check(
        "sts shop/db replicas=0 templates=data uses=class:fast
         class fast driver=disk.example
         csidriver disk.example
         ds disk/disk-csi-node drivers=disk.example",
        "class:fast Provisions csidriver:disk.example; class:fast first, Gone; provisioner = disk.example
         csidriver:disk.example Provisions ds:disk/disk-csi-node; free; metadata.name = disk.example
         sts:shop/db Mounts class:fast; sts:shop/db first, PodsGone; spec.template.spec.class = fast
         sts:shop/db Provisions ds:disk/disk-csi-node; sts:shop/db first, PodsGone; spec.template.spec.class = disk.example",
    );
    // A class of this name in another group, another class, and the plugin of another driver.
    check(
        "sts shop/db replicas=0 templates=data uses=class:fast
         StorageClass.example.com fast
         class slow driver=disk.example
         ds disk/disk-csi-node drivers=disk.example
         ds disk/file-csi-node drivers=file.example",
        "",
    );
    check(
        "sts shop/db replicas=0 templates=data uses=class:fast
         class fast driver=disk.example
         ds disk/file-csi-node drivers=file.example",
        "sts:shop/db Mounts class:fast; sts:shop/db first, PodsGone; spec.template.spec.class = fast",
    );
}

#[test]
fn default_class_is_the_newest_and_then_the_first_by_name() {
    let fixture = "
        sts shop/db uses=defaultclass
        class old driver=old.example default=yes age=900
        class b driver=b.example default=yes age=60
        class a driver=a.example default=yes age=60
        class newest driver=newest.example age=10
        ds disk/a drivers=a.example
        ds disk/others drivers=old.example,b.example,newest.example
    ";
    let [class, driver] =
        ["sts:shop/db Mounts class:a Hard", "sts:shop/db Provisions ds:disk/a Hard"];
    assert_eq!(needs(fixture), [class, driver]);
    assert_eq!(needs(&fixture.replace("default=yes ", "")), [""; 0]);
    let alone = fixture.replace(" default=yes age=60", "");
    assert_eq!(
        needs(&alone),
        ["sts:shop/db Mounts class:old Hard", "sts:shop/db Provisions ds:disk/others Hard"]
    );
}

#[test]
fn every_workload_with_ephemeral_volumes_goes_before_the_driver() {
    for kind in ["deploy", "ds", "cronjob", "pod"] {
        let fixture = format!(
            "{kind} shop/web uses=class:fast
             class fast driver=disk.example
             ds disk/disk-csi-node drivers=disk.example"
        );
        let user = format!("{kind}:shop/web");
        assert_eq!(
            needs(&fixture),
            [
                format!("{user} Mounts class:fast Hard"),
                format!("{user} Provisions ds:disk/disk-csi-node Hard"),
            ]
        );
    }
}

#[test]
fn possible_driver_of_a_class_only_goes_later() {
    let fixture = "
        sts shop/db uses=class:shared
        class shared driver=files.example
        deploy files/provisioner uses=account:provisioner
        clusterrole provisioner updates=persistentvolumes
        crb provisioner accounts=files/provisioner role=clusterrole/provisioner
    ";
    let class = "sts:shop/db Mounts class:shared Hard";
    assert_eq!(needs(fixture), [class, "sts:shop/db Provisions deploy:files/provisioner Yielding"]);
    // The volumes of this class are made by hand.
    let by_hand = fixture.replace("files.example", "kubernetes.io/no-provisioner");
    assert_eq!(needs(&by_hand), [class]);
}

#[test]
fn set_of_the_driver_itself_does_not_wait_for_the_driver() {
    let fixture = "
        sts disk/csi drivers=disk.example uses=class:fast
        pod disk/csi-0 owner=sts/csi uses=class:fast
        class fast driver=disk.example
    ";
    let classes = ["pod:disk/csi-0 Mounts class:fast Hard", "sts:disk/csi Mounts class:fast Hard"];
    assert_eq!(needs(fixture), classes);
}

#[test]
fn owner_of_the_driver_goes_before_the_sets_that_it_owns() {
    let fixture = "
        Storage.example.com disk/main
        ds disk/csi drivers=disk.example owner=Storage.example.com/main
        sts disk/db owner=Storage.example.com/main uses=class:fast
        class fast driver=disk.example
    ";
    let class = "sts:disk/db Mounts class:fast Hard";
    assert_eq!(needs(fixture), [class, "sts:disk/db Provisions ds:disk/csi Hard"]);
    let of_another = fixture.replace("disk/db owner=Storage.example.com/main", "disk/db");
    assert_eq!(
        needs(&of_another),
        [
            class,
            "sts:disk/db Provisions Storage.example.com:disk/main Hard",
            "sts:disk/db Provisions ds:disk/csi Hard",
        ]
    );
}

#[test]
fn claim_without_a_volume_goes_before_the_driver_of_its_class() {
    let fixture = "
        pvc shop/data class=fast
        class fast driver=disk.example
        ds disk/disk-csi-node drivers=disk.example
    ";
    let class = "pvc:shop/data Provisions class:fast Hard";
    assert_eq!(needs(fixture), [class, "pvc:shop/data Provisions ds:disk/disk-csi-node Hard"]);
    let bound = fixture.replace("class=fast", "class=fast volume=pv");
    assert_eq!(needs(&bound), [class]);
    let by_hand = fixture.replace("driver=disk.example\n", "driver=kubernetes.io/no-provisioner\n");
    assert_eq!(needs(&by_hand), [class]);
    // The driver that runs on the claim.
    let its_own = fixture
        .replace("shop/data", "disk/data")
        .replace("drivers=disk.example", "drivers=disk.example uses=claim:data");
    assert_eq!(needs(&its_own), ["pvc:disk/data Provisions class:fast Hard"]);
}

#[test]
fn set_goes_before_the_attributes_class_of_its_templates() {
    check(
        "sts shop/db replicas=0 templates=data uses=attributes:gold
         vac gold driver=disk.example
         ds disk/disk-csi-node drivers=disk.example",
        "sts:shop/db Mounts vac:gold; sts:shop/db first, PodsGone; spec.template.spec.attributes = gold",
    );
    // A class of this name in another group, a StorageClass of this name, and another class.
    check(
        "sts shop/db replicas=0 templates=data uses=attributes:gold
         VolumeAttributesClass.example.com gold
         class gold
         vac silver",
        "",
    );
    // A set that names a StorageClass of the same name.
    check(
        "sts shop/db uses=class:gold
         vac gold",
        "",
    );
}
