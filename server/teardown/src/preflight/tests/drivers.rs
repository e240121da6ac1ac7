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

/// A volume of a driver that is installed as two Deployments, of which these parts are said to run; with what both accounts may do.
fn split(provisioner: &str, attacher: &str, rights: &str) -> String {
    let found = notes(&format!(
        "ns shop of=shop
         pvc shop/a of=shop volume=pv-a
         pv pv-a claim=shop/a driver=disk.example.com reclaim=Delete finalizers={PROVISIONER},external-attacher/disk-example-com
         csidriver disk.example.com labels=app.kubernetes.io/instance:disk
         ns disk
         deploy disk/one labels=app.kubernetes.io/instance:disk uses=account:one replicas=1 {provisioner}
         deploy disk/two labels=app.kubernetes.io/instance:disk uses=account:two replicas=1 {attacher}
         deploy disk/resizer labels=app.kubernetes.io/instance:disk uses=account:three replicas=1 ready=1
         clusterrole change updates=persistentvolumes
         crb change role=clusterrole/change accounts=disk/one,disk/two,disk/three
         {rights}"
    ));
    found.trim_end().to_owned()
}

/// The rights of a provisioner and of an attacher, each of an account of its own.
const OWN_RIGHTS: &str = "clusterrole delete deletes=persistentvolumes
     crb delete role=clusterrole/delete accounts=disk/one
     clusterrole attach updates=volumeattachments.storage.k8s.io
     crb attach role=clusterrole/attach accounts=disk/two";

/// The same rights for both, as where all parts of a driver share one account.
const SHARED_RIGHTS: &str =
    "clusterrole delete deletes=persistentvolumes updates=volumeattachments.storage.k8s.io
     crb delete role=clusterrole/delete accounts=disk/one,disk/two,disk/three";

#[test]
fn ready_attacher_hides_no_provisioner_that_is_not_ready() {
    let dead = "Refusal Deployment disk/one clears external-provisioner.volume.kubernetes.io/finalizer and is not ready: PersistentVolume pv-a";
    let by_rights = |one: &str, two: &str| split(one, two, OWN_RIGHTS);
    assert_eq!(by_rights("ready=0", "ready=1"), dead);
    let by_names = |one: &str, two: &str| {
        let (one, two) =
            (format!("{one} sidecars=provisioner"), format!("{two} sidecars=attacher"));
        split(&one, &two, SHARED_RIGHTS)
    };
    assert_eq!(by_names("ready=0", "ready=1"), dead);
    for of in [by_rights("ready=1", "ready=1"), by_names("ready=1", "ready=1")] {
        assert_eq!(of, "");
    }
    let other = "Refusal Deployment disk/two clears external-attacher/disk-example-com and is not ready: PersistentVolume pv-a";
    assert_eq!(by_rights("ready=1", "ready=0"), other, "a ready provisioner hides no attacher");
    assert_eq!(by_names("ready=1", "ready=0"), other);
    // A Deployment that says that it runs the attacher alone deletes no storage, whatever it may do.
    let rights = SHARED_RIGHTS.replace("disk/one,disk/two,disk/three", "disk/one,disk/two");
    assert_eq!(split("ready=0", "ready=1 sidecars=attacher", &rights), dead);
}

#[test]
fn part_of_a_driver_that_nothing_tells_from_another_is_not_said_to_be_away() {
    // One of the three clears the finalizer, and two of them are ready.
    assert_eq!(split("ready=0", "ready=1", SHARED_RIGHTS), "");
    // One Deployment runs both sidecars, and is ready.
    let both = "ready=1 sidecars=provisioner,attacher";
    assert_eq!(split(both, "ready=0", SHARED_RIGHTS), "");
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
