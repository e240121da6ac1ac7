//! Provisioners that are no CSI drivers, and volumes of Kubernetes' own plugins that were migrated to one.

use super::*;
use crate::{
    observation::{HiddenCause, Observation},
    relation::{EdgeKind, Reason},
};

/// The edges to provisioners and drivers: from, to, strength, reason.
fn needs(text: &str) -> Vec<String> {
    needs_in(&fixture::graph(text))
}

fn needs_in(graph: &crate::graph::Graph) -> Vec<String> {
    let provisions = graph.edges().filter(|edge| edge.kind == EdgeKind::Provisions);
    let mut found: Vec<String> = provisions
        .map(|edge| {
            let Reason { field, value, .. } = edge.reason;
            format!("{} {} {:?}; {field} = {value}", edge.from, edge.to, edge.strength)
        })
        .collect();
    found.sort();
    found
}

/// A provisioner that states its name, with rights to delete volumes, and a volume that it made.
const NFS: &str = "
    pvc shop/data volume=pv
    pv pv claim=shop/data reclaim=Delete provisioner=example.com/nfs
    deploy nfs/nfs-client-provisioner provisions=example.com/nfs uses=account:nfs
    clusterrole nfs deletes=persistentvolumes
    crb nfs accounts=nfs/nfs role=clusterrole/nfs
";

const BY_NAME: [&str; 2] = [
    "pv:pv deploy:nfs/nfs-client-provisioner Hard; metadata.annotations[pv.kubernetes.io/provisioned-by] = example.com/nfs",
    "pvc:shop/data deploy:nfs/nfs-client-provisioner Hard; spec.volumeName = example.com/nfs",
];

#[test]
fn claim_and_volume_go_before_the_provisioner_that_states_the_name() {
    assert_eq!(needs(NFS), BY_NAME);
    let all = edges(NFS);
    for line in [
        "pv:pv Provisions deploy:nfs/nfs-client-provisioner; pv:pv first, Gone; metadata.annotations[pv.kubernetes.io/provisioned-by] = example.com/nfs",
        "pvc:shop/data Provisions deploy:nfs/nfs-client-provisioner; pvc:shop/data first, Gone; spec.volumeName = example.com/nfs",
    ] {
        assert!(all.lines().any(|it| it == line), "{all}");
    }
}

#[test]
fn namesake_that_states_another_name_or_may_delete_no_volume_is_no_provisioner() {
    // Of the same name in another namespace, with the same rights, for other volumes.
    let with_others = format!(
        "{NFS}
         deploy other/nfs-client-provisioner provisions=example.com/other uses=account:nfs
         crb other accounts=other/nfs role=clusterrole/nfs
         deploy third/nfs-client-provisioner provisions=example.com/nfs uses=account:nfs
         deploy third/tester provisions=example.com/nfs"
    );
    assert_eq!(needs(&with_others), BY_NAME);
    // A workload that states another name is not even a possible one.
    let other = NFS.replace("provisions=example.com/nfs", "provisions=example.com/other");
    assert_eq!(needs(&other), [""; 0]);
    let without_rights = NFS.replace("deletes=persistentvolumes", "updates=configmaps");
    assert_eq!(needs(&without_rights), [""; 0]);
    let job = NFS.replace("deploy nfs/", "job nfs/");
    assert_eq!(needs(&job), [""; 0]);
}

#[test]
fn volume_that_is_retained_or_made_by_hand_needs_no_provisioner() {
    assert_eq!(needs(&NFS.replace("reclaim=Delete", "reclaim=Retain")), [""; 0]);
    assert_eq!(needs(&NFS.replace(" provisioner=example.com/nfs", "")), [""; 0]);
    // The controller manager deletes the volumes of its own plugin.
    let of_kubernetes =
        NFS.replace("provisioner=example.com/nfs", "provisioner=kubernetes.io/host-path");
    assert_eq!(needs(&of_kubernetes), [""; 0]);
}

#[test]
fn provisioner_that_states_no_name_is_a_possible_one() {
    let unstated = NFS.replace("provisions=example.com/nfs ", "");
    assert_eq!(needs(&unstated), BY_NAME.map(|it| it.replace("Hard", "Yielding")));
    // One that states the name leaves no other possible.
    let two = format!(
        "{NFS}
         deploy other/disks uses=account:disks
         crb disks accounts=other/disks role=clusterrole/nfs"
    );
    assert_eq!(needs(&two), BY_NAME);
}

#[test]
fn rule_for_everything_and_rights_that_nobody_sees_leave_a_stated_name_its_word() {
    for rule in ["updates=*.*", "updates=*", "updates=persistentvolumes"] {
        assert_eq!(needs(&NFS.replace("deletes=persistentvolumes", rule)), BY_NAME, "{rule}");
    }
    // A RoleBinding gives no right to what is in no namespace.
    assert_eq!(needs(&NFS.replace("crb nfs", "rb nfs/nfs")), [""; 0]);
    let mut index = fixture::index(&NFS.replace("crb nfs", "cm nfs/nfs"));
    let hidden = Observation::Hidden {
        resource: "clusterrolebindings.rbac.authorization.k8s.io".into(),
        cause: HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    index.apply([hidden], fixture::now());
    assert_eq!(needs_in(&crate::graph::Graph::of(&index)), BY_NAME);
}

#[test]
fn program_of_the_provisioners_project_is_the_provisioner() {
    let of = |name: &str, workload: &str| {
        let namespace = workload.split('/').next().unwrap_or_default();
        let text = NFS
            .replace("accounts=nfs/", &format!("accounts={namespace}/"))
            .replace("provisions=example.com/nfs ", "")
            .replace("example.com/nfs", name)
            .replace("nfs/nfs-client-provisioner", workload);
        let second = "
            deploy other/disks uses=account:disks
            crb disks accounts=other/disks role=clusterrole/nfs
        ";
        let mut found = needs(&(text + second));
        found.retain(|edge| edge.starts_with("pv:"));
        found
            .into_iter()
            .map(|edge| edge.split(';').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    for (name, workload) in [
        ("rancher.io/local-path", "kube-system/local-path-provisioner"),
        ("k8s-sigs.io/nfs-subdir-external-provisioner", "nfs/nfs-client-provisioner"),
        ("ceph.rook.io/block", "rook-ceph/rook-ceph-operator"),
        ("example.com/aws-efs", "efs/efs-provisioner"),
        ("local-volume-provisioner-node-1-8ee5", "disks/local-static-provisioner"),
    ] {
        assert_eq!(of(name, workload), [format!("pv:pv deploy:{workload} Hard")]);
    }
    // A program of another project, and one that is only named like the provisioner.
    for (name, workload) in [
        ("rancher.io/local-path", "nfs/nfs-client-provisioner"),
        ("example.com/local-path", "kube-system/local-path-provisioner"),
        ("local-volumes.example.com", "disks/local-static-provisioner"),
    ] {
        assert_eq!(
            of(name, workload).iter().filter(|it| it.ends_with("Hard")).count(),
            0,
            "{name} {workload}"
        );
    }
    // The same program with another name of its own.
    let renamed = NFS
        .replace(
            "pv pv claim=shop/data reclaim=Delete provisioner=example.com/nfs",
            "pv pv reclaim=Delete provisioner=rancher.io/local-path",
        )
        .replace("nfs/nfs-client-provisioner", "nfs/local-path-provisioner");
    assert_eq!(needs(&renamed), [""; 0]);
}

#[test]
fn provisioner_that_stores_on_its_own_volume_does_not_wait_for_it() {
    let its_own = NFS
        .replace("uses=account:nfs", "uses=account:nfs,claim:data")
        .replace("shop/data", "nfs/data");
    assert_eq!(needs(&its_own), [""; 0]);
}

#[test]
fn set_and_claim_without_a_volume_go_before_the_provisioner_of_their_class() {
    let fixture = "
        sts shop/db uses=class:shared
        pvc shop/data class=shared
        class shared driver=example.com/nfs
        deploy nfs/provisioner provisions=example.com/nfs uses=account:nfs
        deploy nfs/other provisions=example.com/other uses=account:nfs
        clusterrole nfs deletes=persistentvolumes
        crb nfs accounts=nfs/nfs role=clusterrole/nfs
    ";
    assert_eq!(
        needs(fixture),
        [
            "pvc:shop/data class:shared Hard; spec.storageClassName = shared",
            "pvc:shop/data deploy:nfs/provisioner Hard; spec.storageClassName = example.com/nfs",
            "sts:shop/db deploy:nfs/provisioner Hard; spec.template.spec.class = example.com/nfs",
        ]
    );
}

#[test]
fn volume_of_a_plugin_of_kubernetes_goes_before_the_driver_that_it_was_migrated_to() {
    let fixture = "
        pvc shop/data volume=pv class=gp2
        pv pv claim=shop/data reclaim=Delete provisioner=kubernetes.io/aws-ebs class=gp2
        pvc shop/new class=gp2
        class gp2 driver=kubernetes.io/aws-ebs
        csidriver ebs.csi.aws.com
        ds kube-system/ebs-csi-node drivers=ebs.csi.aws.com
        ds kube-system/efs-csi-node drivers=efs.csi.aws.com
    ";
    assert_eq!(
        needs(fixture),
        [
            "class:gp2 csidriver:ebs.csi.aws.com Hard; provisioner = kubernetes.io/aws-ebs",
            "csidriver:ebs.csi.aws.com ds:kube-system/ebs-csi-node Hard; metadata.name = ebs.csi.aws.com",
            "pv:pv class:gp2 Hard; spec.storageClassName = gp2",
            "pv:pv csidriver:ebs.csi.aws.com Hard; metadata.annotations[pv.kubernetes.io/provisioned-by] = ebs.csi.aws.com",
            "pv:pv ds:kube-system/ebs-csi-node Hard; metadata.annotations[pv.kubernetes.io/provisioned-by] = ebs.csi.aws.com",
            "pvc:shop/data class:gp2 Hard; spec.storageClassName = gp2",
            "pvc:shop/data csidriver:ebs.csi.aws.com Hard; spec.volumeName = ebs.csi.aws.com",
            "pvc:shop/data ds:kube-system/ebs-csi-node Hard; spec.volumeName = ebs.csi.aws.com",
            "pvc:shop/new class:gp2 Hard; spec.storageClassName = gp2",
            "pvc:shop/new csidriver:ebs.csi.aws.com Hard; spec.storageClassName = ebs.csi.aws.com",
            "pvc:shop/new ds:kube-system/ebs-csi-node Hard; spec.storageClassName = ebs.csi.aws.com",
        ]
    );
    // A plugin that was never migrated, and a name of another domain.
    for name in ["kubernetes.io/host-path", "example.com/aws-ebs"] {
        let found = needs(&fixture.replace("kubernetes.io/aws-ebs", name));
        let is_of_driver = |edge: &String| edge.contains(" ds:") && !edge.starts_with("csidriver:");
        assert!(!found.iter().any(is_of_driver), "{found:?}");
    }
}

#[test]
fn volume_says_which_field_of_its_names_the_driver() {
    let field = |source: &str| {
        let text = format!(
            "pv pv driver=disk.csi.azure.com source={source}
             ds kube-system/csi-azuredisk-node drivers=disk.csi.azure.com"
        );
        needs(&text).join(" ")
    };
    assert!(field("csi").ends_with("; spec.csi.driver = disk.csi.azure.com"));
    assert!(field("azureDisk").ends_with("; spec.azureDisk = disk.csi.azure.com"));
}
