//! Finalizers of volumes and of load balancers: their programs are found by the name of a driver, or of a cloud controller.

use super::notes;

const PROVISIONER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// A volume of a driver that is installed, with a Deployment and a DaemonSet of it that have so many ready Pods, and what the
/// account of the Deployment may change.
fn driver(controller: u8, plugin: u8, updates: &str) -> String {
    notes(&format!(
        "ns shop of=shop
         pvc shop/a of=shop volume=pv-a
         pv pv-a claim=shop/a driver=disk.example.com reclaim=Delete finalizers={PROVISIONER}
         csidriver disk.example.com labels=app.kubernetes.io/instance:disk
         ns disk
         deploy disk/disk-controller labels=app.kubernetes.io/instance:disk uses=account:disk replicas=1 ready={controller}
         ds disk/disk-node drivers=disk.example.com ready={plugin}
         clusterrole disk updates={updates}
         crb disk role=clusterrole/disk accounts=disk/disk"
    ))
}

#[test]
fn controller_of_a_driver_that_is_not_ready_leaves_the_volume() {
    insta::assert_snapshot!(driver(0, 1, "persistentvolumes"), @"Refusal Deployment disk/disk-controller clears external-provisioner.volume.kubernetes.io/finalizer and is not ready: PersistentVolume pv-a");
    assert_eq!(driver(1, 1, "persistentvolumes"), "", "it is ready");
    assert_eq!(driver(1, 0, "persistentvolumes"), "", "a plugin deletes no storage");
    assert_eq!(driver(0, 0, "configmaps"), "", "the controller may run outside of the cluster");
}

/// It may be the controller of another driver, or an autoscaler.
#[test]
fn program_that_only_may_change_volumes_is_not_taken_for_the_controller() {
    let text = format!(
        "ns shop of=shop
         pvc shop/a of=shop volume=pv-a
         pv pv-a claim=shop/a driver=disk.example.com reclaim=Delete finalizers={PROVISIONER}
         csidriver disk.example.com
         ns tools
         deploy tools/other uses=account:other replicas=1 ready=0
         clusterrole other updates=persistentvolumes
         crb other role=clusterrole/other accounts=tools/other"
    );
    assert_eq!(notes(&text), "");
}

#[test]
fn finalizer_of_a_driver_that_no_node_knows_holds_a_volume_whose_storage_is_kept() {
    insta::assert_snapshot!(notes("
        csidriver here.example.com
        ns shop of=shop
        cm shop/a of=shop
        pv pv-a of=shop phase=Available driver=away.example.com finalizers=external-attacher/away-example-com
        pv pv-b of=shop phase=Available driver=here.example.com finalizers=external-attacher/here-example-com
        pv pv-c of=shop phase=Available driver=away.example.com
    "), @"Warning no away.example.com anywhere to clear external-attacher/away-example-com: PersistentVolume pv-a");
}

#[test]
fn load_balancer_is_unpredicted_unless_its_controller_is_seen() {
    let cloud = |controller: &str| {
        notes(&format!(
            "ns shop of=shop
             svc shop/web of=shop type=LoadBalancer finalizers=service.kubernetes.io/load-balancer-cleanup
             svc shop/plain of=shop type=LoadBalancer
             ns kube-system
             {controller}"
        ))
    };
    insta::assert_snapshot!(cloud(""), @"Info cloud controller unseen: Service shop/web");
    let other = cloud("deploy kube-system/aws-load-balancer-controller replicas=1 ready=0");
    insta::assert_snapshot!(other, @"Info cloud controller unseen: Service shop/web");
    let ready = |count: u8| {
        cloud(&format!("ds kube-system/openstack-cloud-controller-manager ready={count}"))
    };
    insta::assert_snapshot!(ready(0), @"Refusal DaemonSet kube-system/openstack-cloud-controller-manager clears service.kubernetes.io/load-balancer-cleanup and is not ready: Service shop/web");
    assert_eq!(ready(1), "");
}
