//! Copies of volumes, attachments, classes and drivers.

use super::*;
use crate::relation::{EdgeKind, Strength};

/// The edges of one kind: from, to, strength.
fn strengths(text: &str, kind: EdgeKind) -> Vec<String> {
    let graph = fixture::graph(text);
    let edges = graph.edges().filter(|edge| edge.kind == kind);
    let mut found: Vec<String> =
        edges.map(|edge| format!("{} {} {:?}", edge.from, edge.to, edge.strength)).collect();
    found.sort();
    found
}

#[test]
fn snapshots_go_before_the_claim_that_they_come_from() {
    check(
        "pvc shop/data
         snapshot shop/before claim=data content=c age=60
         content c of-snapshot=shop/before",
        "snapshot:shop/before Binds content:c; snapshot:shop/before first, Gone; status.boundVolumeSnapshotContentName = c
         snapshot:shop/before Snapshots pvc:shop/data; snapshot:shop/before first, Gone; spec.source.persistentVolumeClaimName = data",
    );
    // A claim of another namespace, a snapshot of another group, and contents of other snapshots.
    check(
        "pvc other/data
         snapshot shop/before claim=data content=c
         VolumeSnapshot.example.com shop/before claim=data content=c
         content c of-snapshot=other/before",
        "",
    );
    // The claim was restored from the snapshot, under the name of the one that it was taken from.
    check(
        "pvc shop/data age=10
         snapshot shop/before claim=data age=60",
        "",
    );
}

#[test]
fn clones_and_restored_claims_go_before_their_source() {
    check(
        "pvc shop/data
         pvc shop/clone from=pvc/data
         pvc lab/restored from=snapshot/shop/before
         snapshot shop/before",
        "pvc:lab/restored Snapshots snapshot:shop/before; pvc:lab/restored first, Gone; spec.dataSourceRef = VolumeSnapshot before
         pvc:shop/clone Snapshots pvc:shop/data; pvc:shop/clone first, Gone; spec.dataSourceRef = PersistentVolumeClaim data",
    );
    check(
        "pvc other/data
         pvc shop/clone from=pvc/data
         pvc shop/filled from=Populator.example.com/data
         Populator.example.com shop/data",
        "",
    );
}

#[test]
fn copy_that_is_complete_does_not_keep_its_source() {
    let fixture = |ready: &str, phase: &str| {
        format!(
            "pvc shop/data
             snapshot shop/s claim=data ready={ready} age=60
             pvc shop/clone from=pvc/data phase={phase}"
        )
    };
    for (ready, phase, strength) in
        [("yes", "Bound", Strength::Yielding), ("no", "Pending", Strength::Hard)]
    {
        let graph = fixture::graph(&fixture(ready, phase));
        let copies: Vec<_> =
            graph.edges().filter(|edge| edge.kind == EdgeKind::Snapshots).collect();
        assert_eq!(copies.len(), 2);
        for edge in copies {
            assert_eq!((edge.strength, edge.keeps()), (strength, strength == Strength::Hard));
        }
    }
}

#[test]
fn attachment_is_gone_before_its_volume() {
    check(
        "pv pv-1
         node n1
         attachment a volume=pv-1 node=n1 attacher=disk.example",
        "attachment:a Attaches node:n1; free; spec.nodeName = n1
         attachment:a Attaches pv:pv-1; attachment:a first, Gone; spec.source.persistentVolumeName = pv-1",
    );
    check(
        "PersistentVolume.example.com shop/pv-1
         pv pv-2
         node n2
         attachment a volume=pv-1 node=n1",
        "",
    );
}

#[test]
fn classes_and_drivers_go_after_what_names_them() {
    check(
        "pvc shop/data class=fast attributes=gold
         pv pv-1 class=fast attributes=gold driver=disk.example
         snapshot shop/s class=snap
         content c class=snap driver=disk.example
         class fast driver=disk.example
         vac gold driver=disk.example
         snapclass snap driver=disk.example
         attachment a attacher=disk.example
         csidriver disk.example",
        "attachment:a Provisions csidriver:disk.example; attachment:a first, Gone; spec.attacher = disk.example
         class:fast Provisions csidriver:disk.example; class:fast first, Gone; provisioner = disk.example
         content:c Provisions csidriver:disk.example; content:c first, Gone; spec.driver = disk.example
         content:c Provisions snapclass:snap; content:c first, Gone; spec.volumeSnapshotClassName = snap
         pv:pv-1 Provisions class:fast; pv:pv-1 first, Gone; spec.storageClassName = fast
         pv:pv-1 Provisions csidriver:disk.example; pv:pv-1 first, Gone; spec.csi.driver = disk.example
         pv:pv-1 Provisions vac:gold; pv:pv-1 first, Gone; spec.volumeAttributesClassName = gold
         pvc:shop/data Provisions class:fast; pvc:shop/data first, Gone; spec.storageClassName = fast
         pvc:shop/data Provisions csidriver:disk.example; pvc:shop/data first, Gone; spec.storageClassName = disk.example
         pvc:shop/data Provisions vac:gold; pvc:shop/data first, Gone; spec.volumeAttributesClassName = gold
         snapclass:snap Provisions csidriver:disk.example; snapclass:snap first, Gone; driver = disk.example
         snapshot:shop/s Provisions snapclass:snap; snapshot:shop/s first, Gone; spec.volumeSnapshotClassName = snap
         vac:gold Provisions csidriver:disk.example; vac:gold first, Gone; driver = disk.example",
    );
    // Classes and drivers of these names in other groups, and others of the right kinds.
    check(
        "pvc shop/data class=fast attributes=gold
         pv pv-1 class=fast driver=disk.example
         snapshot shop/s class=snap
         StorageClass.example.com fast
         VolumeAttributesClass.example.com gold
         VolumeSnapshotClass.example.com snap
         CSIDriver.example.com disk.example
         class slow
         csidriver other.example",
        "",
    );
}

/// A driver: the plugin on the nodes, its controller, and the rights of the controller.
const DRIVER: &str = "
    csidriver disk.example
    pv pv-1 driver=disk.example reclaim=Delete
    ds disk/disk-csi-node drivers=disk.example
    deploy disk/disk-csi-controller uses=account:controller
    clusterrole provisioner updates=persistentvolumes
    crb provisioner accounts=disk/controller role=clusterrole/provisioner
";

fn drivers(text: &str) -> Vec<String> {
    let mut found = strengths(text, EdgeKind::Provisions);
    found.retain(|edge| edge.starts_with("pv:") && !edge.contains("csidriver:"));
    found
}

#[test]
fn plugin_and_the_controller_installed_with_it_are_the_driver() {
    let both =
        ["pv:pv-1 deploy:disk/disk-csi-controller Hard", "pv:pv-1 ds:disk/disk-csi-node Hard"];
    assert_eq!(drivers(DRIVER), both);
    // The controller of another driver in the same namespace, and a controller of the same name elsewhere.
    let with_others = format!(
        "{DRIVER}
         deploy disk/file-csi-controller uses=account:controller
         deploy other/disk-csi-controller uses=account:controller
         crb other accounts=other/controller role=clusterrole/provisioner"
    );
    assert_eq!(drivers(&with_others), both);
}

#[test]
fn workload_of_another_driver_provisions_nothing_of_this_one() {
    let other = DRIVER.replace("pv pv-1 driver=disk.example", "pv pv-1 driver=file.example");
    // Its controller may change volumes, so it may be this driver too: a possible one.
    assert_eq!(drivers(&other), ["pv:pv-1 deploy:disk/disk-csi-controller Yielding"]);
    let without_rights =
        other.replace("updates=persistentvolumes", "updates=persistentvolumes.example.com");
    assert_eq!(drivers(&without_rights), [""; 0]);
    assert_eq!(
        drivers(&DRIVER.replace("updates=persistentvolumes", "updates=configmaps")),
        ["pv:pv-1 ds:disk/disk-csi-node Hard"]
    );
}

#[test]
fn driver_object_has_the_programs_that_are_only_possible_as_possible_ones() {
    let of_object = |text: &str| {
        let mut found = strengths(text, EdgeKind::Provisions);
        found.retain(|edge| edge.starts_with("csidriver:"));
        found
    };
    assert_eq!(
        of_object(DRIVER),
        [
            "csidriver:disk.example deploy:disk/disk-csi-controller Hard",
            "csidriver:disk.example ds:disk/disk-csi-node Hard",
        ]
    );
    let without_plugin = DRIVER.replace("ds disk/disk-csi-node drivers=disk.example", "");
    assert_eq!(
        of_object(&without_plugin),
        ["csidriver:disk.example deploy:disk/disk-csi-controller Yielding"]
    );
}

#[test]
fn controller_in_the_release_of_the_driver_object_is_the_driver() {
    let fixture = "
        csidriver disk.example labels=app.kubernetes.io/instance:disk
        pv pv-1 driver=disk.example
        deploy disk/runner uses=account:controller labels=app.kubernetes.io/instance:disk
        deploy file/runner uses=account:controller labels=app.kubernetes.io/instance:file
        clusterrole attacher updates=volumeattachments.storage.k8s.io
        crb attacher accounts=disk/controller,file/controller role=clusterrole/attacher
    ";
    assert_eq!(drivers(fixture), ["pv:pv-1 deploy:disk/runner Hard"]);
}

#[test]
fn owner_of_the_driver_goes_after_the_volumes_unless_it_owns_their_claim() {
    let owned = "
        Storage.example.com disk/main
        ds disk/disk-csi-node drivers=disk.example owner=Storage.example.com/main
        pv pv-1 driver=disk.example claim=disk/data
    ";
    let both = ["pv:pv-1 Storage.example.com:disk/main Hard", "pv:pv-1 ds:disk/disk-csi-node Hard"];
    assert_eq!(drivers(owned), both);
    let its_own = format!("{owned} pvc disk/data volume=pv-1 owner=Storage.example.com/main");
    assert_eq!(drivers(&its_own), both[1..]);
}

#[test]
fn workload_that_mounts_the_volume_is_not_its_driver() {
    let fixture = "
        sts disk/disk-csi-node drivers=disk.example uses=claim:data
        pvc disk/data volume=pv-1
        pv pv-1 driver=disk.example claim=disk/data
    ";
    assert_eq!(drivers(fixture), [""; 0]);
    let elsewhere = fixture.replace("claim=disk/data", "claim=other/data");
    assert_eq!(drivers(&elsewhere), ["pv:pv-1 sts:disk/disk-csi-node Hard"]);
}

#[test]
fn claim_goes_before_the_driver_of_the_volume_that_it_is_bound_to() {
    let bound = DRIVER.replace("reclaim=Delete", "claim=shop/data");
    let of_claim = |text: &str| {
        let mut found = strengths(text, EdgeKind::Provisions);
        found.retain(|edge| edge.starts_with("pvc:"));
        found
    };
    assert_eq!(
        of_claim(&format!("{bound} pvc shop/data volume=pv-1")),
        [
            "pvc:shop/data csidriver:disk.example Hard",
            "pvc:shop/data deploy:disk/disk-csi-controller Hard",
            "pvc:shop/data ds:disk/disk-csi-node Hard",
        ]
    );
    // The volume is that of a claim of the same name elsewhere.
    assert_eq!(of_claim(&format!("{bound} pvc other/data volume=pv-1")), [""; 0]);
    // The driver of the volume has other programs.
    let other = bound.replace("disk.example claim", "file.example claim");
    let found = of_claim(&format!("{other} pvc shop/data volume=pv-1"));
    assert_eq!(found, ["pvc:shop/data deploy:disk/disk-csi-controller Yielding"]);
}

#[test]
fn driver_that_stores_on_a_claim_may_go_before_it() {
    let fixture = "
        sts disk/disk-csi-node drivers=disk.example templates=data
        pvc disk/data-disk-csi-node-0 volume=pv-1
        pv pv-1 driver=disk.example claim=disk/data-disk-csi-node-0
    ";
    assert_eq!(strengths(fixture, EdgeKind::Provisions), [""; 0]);
    let elsewhere = fixture.replace("disk/data-", "other/data-");
    assert_eq!(
        strengths(&elsewhere, EdgeKind::Provisions),
        [
            "pv:pv-1 sts:disk/disk-csi-node Hard",
            "pvc:other/data-disk-csi-node-0 sts:disk/disk-csi-node Hard",
        ]
    );
}

#[test]
fn owner_of_the_driver_goes_before_a_claim_that_its_own_workload_uses() {
    let fixture = "
        Storage.example.com disk/main
        ds disk/disk-csi-node drivers=disk.example owner=Storage.example.com/main
        sts disk/db owner=Storage.example.com/main templates=data
        pvc disk/data-db-0 volume=pv
        pv pv claim=disk/data-db-0 driver=disk.example
    ";
    let plugin_alone =
        ["pv:pv ds:disk/disk-csi-node Hard", "pvc:disk/data-db-0 ds:disk/disk-csi-node Hard"];
    assert_eq!(strengths(fixture, EdgeKind::Provisions), plugin_alone);
    // The StatefulSet is nobody's, or makes other claims.
    for others in [
        fixture.replace("owner=Storage.example.com/main templates", "templates"),
        fixture.replace("templates=data", "templates=logs"),
    ] {
        let found = strengths(&others, EdgeKind::Provisions);
        assert!(
            found.contains(&"pvc:disk/data-db-0 Storage.example.com:disk/main Hard".to_owned()),
            "{found:?}"
        );
        assert_eq!(found.len(), 4, "{found:?}");
    }
}

#[test]
fn driver_may_go_before_the_claims_that_its_own_pods_made() {
    let fixture = "
        ds disk/disk-csi-node drivers=disk.example
        pod disk/disk-csi-node-1 owner=ds/disk-csi-node uses=claim:disk-csi-node-1-scratch
        pvc disk/disk-csi-node-1-scratch owner=pod/disk-csi-node-1 volume=pv
        pv pv claim=disk/disk-csi-node-1-scratch driver=disk.example
    ";
    assert_eq!(strengths(fixture, EdgeKind::Provisions), [""; 0]);
    let of_another = fixture.replace("owner=ds/disk-csi-node ", "");
    assert_eq!(
        strengths(&of_another, EdgeKind::Provisions),
        [
            "pv:pv ds:disk/disk-csi-node Hard",
            "pvc:disk/disk-csi-node-1-scratch ds:disk/disk-csi-node Hard",
        ]
    );
}

#[test]
fn driver_of_devices_may_go_before_the_claims_that_its_own_pods_made() {
    let fixture = "
        ds gpu/plugin drivers=gpu.example uses=template:gpus
        pod gpu/plugin-1 owner=ds/plugin uses=devices:plugin-1-gpu
        devices gpu/plugin-1-gpu owner=pod/plugin-1 driver=gpu.example
    ";
    assert_eq!(strengths(fixture, EdgeKind::Provisions), [""; 0]);
    let of_another = fixture.replace("owner=ds/plugin ", "");
    assert_eq!(
        strengths(&of_another, EdgeKind::Provisions),
        ["devices:gpu/plugin-1-gpu ds:gpu/plugin Hard"]
    );
}

#[test]
fn owner_of_the_device_driver_goes_before_a_claim_that_its_own_workload_uses() {
    let fixture = "
        Cluster.example.com gpu/main
        ds gpu/plugin drivers=gpu.example owner=Cluster.example.com/main
        deploy gpu/check owner=Cluster.example.com/main uses=devices:shared
        devices gpu/shared driver=gpu.example
    ";
    let plugin_alone = ["devices:gpu/shared ds:gpu/plugin Hard"];
    assert_eq!(strengths(fixture, EdgeKind::Provisions), plugin_alone);
    let unused = fixture.replace("devices:shared", "devices:other");
    assert_eq!(
        strengths(&unused, EdgeKind::Provisions),
        ["devices:gpu/shared Cluster.example.com:gpu/main Hard", plugin_alone[0]]
    );
}

#[test]
fn driver_that_an_operators_deployment_owns_is_the_driver() {
    let fixture = "
        pv pv-1 driver=disk.example
        deploy disk/operator
        ds disk/disk-csi-node drivers=disk.example owner=deploy/operator
        deploy disk/disk-csi-controller owner=deploy/operator uses=account:controller sidecars=provisioner
        clusterrole provisioner updates=persistentvolumes
        crb provisioner accounts=disk/controller role=clusterrole/provisioner
    ";
    // The operator's own edges say that it owns the controller, and the plugin.
    let all = [
        "pv:pv-1 deploy:disk/disk-csi-controller Hard",
        "pv:pv-1 deploy:disk/operator Hard",
        "pv:pv-1 deploy:disk/operator Hard",
        "pv:pv-1 ds:disk/disk-csi-node Hard",
    ];
    assert_eq!(drivers(fixture), all);
    // The ReplicaSet of a Deployment is made from its template, and is no driver beside it.
    let with_replicas = format!(
        "{fixture}
         rs disk/disk-csi-controller-1 owner=deploy/disk-csi-controller uses=account:controller sidecars=provisioner
         deploy disk/disk-csi-cache drivers=disk.example
         rs disk/disk-csi-cache-1 owner=deploy/disk-csi-cache drivers=disk.example"
    );
    let mut found = drivers(&with_replicas);
    found.retain(|edge| edge.contains(" rs:"));
    assert_eq!(found, [""; 0]);
}

#[test]
fn pods_go_before_the_driver_of_their_inline_volumes() {
    check(
        "pod shop/web uses=driver:disk.example
         deploy shop/api uses=driver:disk.example
         csidriver disk.example
         ds disk/disk-csi-node drivers=disk.example",
        "csidriver:disk.example Provisions ds:disk/disk-csi-node; free; metadata.name = disk.example
         deploy:shop/api Mounts csidriver:disk.example; deploy:shop/api first, PodsGone; spec.template.spec.driver = disk.example
         deploy:shop/api Provisions ds:disk/disk-csi-node; deploy:shop/api first, PodsGone; spec.template.spec.driver = disk.example
         pod:shop/web Mounts csidriver:disk.example; pod:shop/web first, Gone; spec.driver = disk.example
         pod:shop/web Provisions ds:disk/disk-csi-node; pod:shop/web first, Gone; spec.driver = disk.example",
    );
    // An object of the name in another group, and a plugin of the name that is another driver.
    check(
        "pod shop/web uses=driver:disk.example
         CSIDriver.example.com disk.example
         ds disk/disk-csi-node drivers=file.example",
        "",
    );
}

#[test]
fn controller_that_may_be_of_any_driver_mounts_no_inline_volume() {
    let without_plugin = DRIVER.replace("ds disk/disk-csi-node drivers=disk.example", "");
    let fixture = format!("{without_plugin} pod shop/web uses=driver:disk.example");
    let found = strengths(&fixture, EdgeKind::Provisions);
    assert_eq!(drivers(&fixture), ["pv:pv-1 deploy:disk/disk-csi-controller Yielding"]);
    assert!(found.iter().all(|edge| !edge.starts_with("pod:")), "{found:?}");
}

#[test]
fn pod_of_a_driver_does_not_go_before_its_own_workload() {
    let fixture = "
        ds disk/disk-csi-node drivers=disk.example uses=driver:disk.example
        pod disk/disk-csi-node-1 owner=ds/disk-csi-node uses=driver:disk.example
    ";
    assert_eq!(strengths(fixture, EdgeKind::Provisions), [""; 0]);
}

#[test]
fn released_volume_to_retain_keeps_neither_class_nor_driver() {
    let fixture = "pv pv-1 class=fast phase=Released\n class fast";
    assert_eq!(strengths(fixture, EdgeKind::Provisions), ["pv:pv-1 class:fast Yielding"]);
    let bound = fixture.replace("Released", "Bound");
    assert_eq!(strengths(&bound, EdgeKind::Provisions), ["pv:pv-1 class:fast Hard"]);
    let deletes = fixture.replace("class=fast ", "class=fast reclaim=Delete ");
    assert_eq!(strengths(&deletes, EdgeKind::Provisions), ["pv:pv-1 class:fast Hard"]);
}

#[test]
fn pods_go_before_their_classes_and_resource_claims() {
    check(
        "pod shop/web uses=priority:high,runtime:gvisor,devices:gpu
         deploy shop/web uses=template:gpus
         priority high
         runtime gvisor
         devices shop/gpu
         template shop/gpus",
        "deploy:shop/web Mounts template:shop/gpus; deploy:shop/web first, PodsGone; spec.template.spec.template = gpus
         pod:shop/web Mounts devices:shop/gpu; pod:shop/web first, Gone; spec.devices = gpu
         pod:shop/web Mounts priority:high; pod:shop/web first, Gone; spec.priority = high
         pod:shop/web Mounts runtime:gvisor; pod:shop/web first, Gone; spec.runtime = gvisor",
    );
    check(
        "pod shop/web uses=priority:high,runtime:gvisor,devices:gpu
         PriorityClass.example.com high
         RuntimeClass.example.com gvisor
         priority low
         devices other/gpu",
        "",
    );
}

#[test]
fn resource_claims_go_before_the_driver_of_their_devices() {
    let fixture = "
        devices shop/gpu driver=gpu.example
        ds gpu/plugin drivers=gpu.example
        ds gpu/publisher uses=account:publisher
        clusterrole publisher updates=resourceslices.resource.k8s.io
        crb publisher accounts=gpu/publisher role=clusterrole/publisher
    ";
    let of_claim = |text: &str| strengths(text, EdgeKind::Provisions);
    assert_eq!(of_claim(fixture), ["devices:shop/gpu ds:gpu/plugin Hard"]);
    // The plugin is another driver's, and who may publish devices may be the driver.
    let other = fixture.replace("drivers=gpu.example", "drivers=nic.example");
    assert_eq!(of_claim(&other), ["devices:shop/gpu ds:gpu/publisher Yielding"]);
    let of_example = other.replace("resourceslices.resource.k8s.io", "resourceslices.example.com");
    assert_eq!(of_claim(&of_example), [""; 0]);
    // A CSIDriver of the name is no driver of devices.
    let storage = format!("{of_example} csidriver gpu.example");
    assert_eq!(of_claim(&storage), [""; 0]);
    // A claim that the driver itself uses goes after its Pods.
    let its_own = fixture
        .replace("shop/gpu", "gpu/gpu")
        .replace("drivers=gpu.example", "drivers=gpu.example uses=devices:gpu");
    assert_eq!(of_claim(&its_own), [""; 0]);
}
