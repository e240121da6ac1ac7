//! Objects that wait for a program, for their users or for the garbage collector.

use super::*;

#[test]
fn finalizer_goes_after_its_operator_was_given_back_and_the_owner_was_deleted_again() {
    let mut index = fixture::index("
        ns s4
        deploy s4/queue-operator
        Topic.queue.example s4/orders deleted=90 finalizers=foregroundDeletion
        Topic.queue.example s4/child owner=Topic.queue.example/orders deleted=90 finalizers=a.example/x,queue.example/topic
    ");
    let operator = fixture::object("deploy s4/queue-operator");
    let deleted = Observation::Deleted { kind: operator.kind, uid: operator.uid };
    index.apply([deleted], fixture::now());
    insta::assert_snapshot!(describe(&index), @r#"
    finisherGone at Topic 
      None: restoreFinisher:finalizer:a.example/x,candidates:[group:apps,kind:Deployment,namespace:s4,name:queue-operator] → Deployment s4/queue-operator
        ? kubectl --context=prod --namespace=s4 get topics.queue.example/child --output=yaml --show-managed-fields
        ? kubectl --context=prod get deployments,statefulsets --all-namespaces
      Deletion: deleteAgain:insteadOf:foregroundDeletion → Topic s4/orders
        reaches Topic s4/child
        loses ownerFirst
        = kubectl --context=prod --namespace=s4 get topics.queue.example/orders --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"Topic.queue.example:s4/orders"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/apis/queue.example/v1/namespaces/s4/topics/orders --filename=-
      Leftovers: removeFinalizer:finalizer:a.example/x → Topic s4/child
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod --namespace=s4 get topics.queue.example/child --output=yaml
        ! kubectl --context=prod --namespace=s4 patch topics.queue.example/child --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Topic.queue.example:s4/child"},{"op":"test","path":"/metadata/finalizers/0","value":"a.example/x"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    finisherGone at Topic 
      None: restoreFinisher:finalizer:queue.example/topic,candidates:[group:apps,kind:Deployment,namespace:s4,name:queue-operator] → Deployment s4/queue-operator
        ? kubectl --context=prod --namespace=s4 get topics.queue.example/child --output=yaml --show-managed-fields
        ? kubectl --context=prod get deployments,statefulsets --all-namespaces
      Deletion: deleteAgain:insteadOf:foregroundDeletion → Topic s4/orders
        reaches Topic s4/child
        loses ownerFirst
        = kubectl --context=prod --namespace=s4 get topics.queue.example/orders --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"Topic.queue.example:s4/orders"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/apis/queue.example/v1/namespaces/s4/topics/orders --filename=-
      Leftovers: removeFinalizer:finalizer:queue.example/topic → Topic s4/child
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod --namespace=s4 get topics.queue.example/child --output=yaml
        ! kubectl --context=prod --namespace=s4 patch topics.queue.example/child --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Topic.queue.example:s4/child"},{"op":"test","path":"/metadata/finalizers/1","value":"queue.example/topic"},{"op":"remove","path":"/metadata/finalizers/1"}]'
    "#);
}

#[test]
fn collector_that_is_silent_gets_the_delete_again() {
    insta::assert_snapshot!(describe(&fixture::index("
        ns shop
        cm shop/kept owner=cm/parent
        cm shop/parent deleted=200 finalizers=orphan
    ")), @r#"
    controllerSilent at ConfigMap shop/parent
      None: repairController:controller:garbage-collector-controller → ConfigMap shop/parent
        ? kubectl --context=prod --namespace=shop get configmaps/parent --output=yaml --show-managed-fields
        ? kubectl --context=prod --namespace=kube-system get leases/kube-controller-manager --output=yaml
      DataLoss: deleteAgain:insteadOf:orphan → ConfigMap shop/parent
        reaches ConfigMap shop/kept
        loses dependents
        = kubectl --context=prod --namespace=shop get configmaps/parent --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"cm:shop/parent"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/configmaps/parent --filename=-
    "#);
}

#[test]
fn claim_in_use_needs_its_workload_to_end() {
    insta::assert_snapshot!(describe(&fixture::index("
        node n1
        ns shop
        pvc shop/live deleted=300 finalizers=kubernetes.io/pvc-protection
        deploy shop/web replicas=2
        rs shop/web-1 owner=deploy/web replicas=2
        pod shop/web-1-a owner=rs/web-1 node=n1 uses=claim:live
        pod shop/static owner=node/n1 node=n1 uses=claim:live
        pvc shop/done deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/job node=n1 phase=Succeeded uses=claim:done
    ")), @r#"
    claimInUse at PersistentVolumeClaim shop/live
      Interruption: scaleDown:replicas:2 → Deployment shop/web
        reaches Pod shop/web-1-a with PersistentVolumeClaim shop/live
        loses workload
        loses comesBack
        undo setBack
        ! kubectl --context=prod --namespace=shop patch deployments.apps/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"deploy:shop/web"},{"op":"test","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":0}]'
        < kubectl --context=prod --namespace=shop patch deployments.apps/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"deploy:shop/web"},{"op":"test","path":"/spec/replicas","value":0},{"op":"replace","path":"/spec/replicas","value":2}]'
      Deletion: deleteUser → Pod shop/static
        loses comesBack
        = kubectl --context=prod --namespace=shop get pods/static --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pod:shop/static"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/static --filename=-
      Deletion: deleteUser → Deployment shop/web
        reaches ReplicaSet shop/web-1
        = kubectl --context=prod --namespace=shop get deployments.apps/web --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"deploy:shop/web"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/apis/apps/v1/namespaces/shop/deployments/web --filename=-
    claimHeldByCompletedPods at PersistentVolumeClaim shop/done
      Deletion: deleteUser → Pod shop/job
        loses output
        = kubectl --context=prod --namespace=shop get pods/job --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pod:shop/job"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/job --filename=-
    "#);
}

#[test]
fn data_of_a_claim_is_kept_before_anything_that_uses_it_ends() {
    let world = "
        ns shop
        pvc shop/live volume=pv-1 deleted=300 finalizers=kubernetes.io/pvc-protection
        pv pv-1 claim=shop/live reclaim=Delete
        deploy shop/web replicas=2
        rs shop/web-1 owner=deploy/web replicas=2
        node n1
        pod shop/web-1-a owner=rs/web-1 node=n1 uses=claim:live
    ";
    let described = describe(&fixture::index(world));
    let (_, first) = described.split_once("PersistentVolumeClaim shop/live\n").unwrap();
    let (first, _) = first.split_once("  Interruption: scaleDown").unwrap();
    insta::assert_snapshot!(format!("claimInUse\n{first}"), @r#"
    claimInUse
      Reversible: retainVolume:was:Delete → PersistentVolume pv-1
        loses kept
        undo setBack
        ! kubectl --context=prod patch persistentvolumes/pv-1 --type=json -p '[{"op":"test","path":"/metadata/uid","value":"pv:pv-1"},{"op":"test","path":"/spec/persistentVolumeReclaimPolicy","value":"Delete"},{"op":"replace","path":"/spec/persistentVolumeReclaimPolicy","value":"Retain"}]'
        < kubectl --context=prod patch persistentvolumes/pv-1 --type=json -p '[{"op":"test","path":"/metadata/uid","value":"pv:pv-1"},{"op":"test","path":"/spec/persistentVolumeReclaimPolicy","value":"Retain"},{"op":"replace","path":"/spec/persistentVolumeReclaimPolicy","value":"Delete"}]'
    "#);
    let kept = world.replace(" reclaim=Delete", "");
    assert_eq!(acts(&fixture::index(&kept))[0], "scaleDown", "its data stays anyway");
}

#[test]
fn storage_of_a_volume_stays_behind_a_finalizer_that_goes() {
    insta::assert_snapshot!(describe(&fixture::index("
        pv old deleted=300 phase=Released finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer driver=disk.example reclaim=Delete
    ")), @r#"
    backendLeft at PersistentVolume old
      None: repairDriver:driver:disk.example,part:provisioner,node:null → PersistentVolume old
        ? kubectl --context=prod describe persistentvolumes/old
      Reversible: nudge → PersistentVolume old
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch persistentvolumes/old --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"pv:old"}}'
        < kubectl --context=prod annotate persistentvolumes/old unwind/look-again-
      Leftovers: removeFinalizer:finalizer:external-provisioner.volume.kubernetes.io/finalizer → PersistentVolume old
        needs notAttached Yes
        loses storage
        = kubectl --context=prod get persistentvolumes/old --output=yaml
        ! kubectl --context=prod patch persistentvolumes/old --type=json -p '[{"op":"test","path":"/metadata/uid","value":"pv:old"},{"op":"test","path":"/metadata/finalizers/1","value":"external-provisioner.volume.kubernetes.io/finalizer"},{"op":"remove","path":"/metadata/finalizers/1"}]'
    "#);
}

/// The record says so for ever where the attacher was uninstalled. Whoever checks the storage system takes it on.
#[test]
fn attachment_loses_its_finalizer_only_after_a_check_of_the_storage_system() {
    let attachment = "
        node n1
        attachment a1 volume=pv node=n1 attacher=disk.example deleted=200 error=disk_is_busy finalizers=external-attacher/disk-example
    ";
    insta::assert_snapshot!(describe(&fixture::index(attachment)), @r#"
    detachFailed at VolumeAttachment a1
      None: repairDriver:driver:disk.example,part:attacher,node:n1 → VolumeAttachment a1
        ? kubectl --context=prod get volumeattachments.storage.k8s.io/a1 --output=yaml --show-managed-fields
        ? kubectl --context=prod get nodes/n1 '--output=jsonpath={.status.volumesInUse}'
      DataLoss: removeFinalizer:finalizer:external-attacher/disk-example → VolumeAttachment a1
        needs detachChecked Unknown
        loses attachment
        = kubectl --context=prod get volumeattachments.storage.k8s.io/a1 --output=yaml
        ! kubectl --context=prod patch volumeattachments.storage.k8s.io/a1 --type=json -p '[{"op":"test","path":"/metadata/uid","value":"attachment:a1"},{"op":"test","path":"/status/attached","value":true},{"op":"test","path":"/metadata/finalizers/0","value":"external-attacher/disk-example"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    "#);
    let checked = |text: &str| {
        let index = fixture::index(text);
        let found = found(&index).into_iter().flat_map(|(_, remedies)| remedies);
        let is_removal = |it: &Remedy| matches!(it.act, RemedyAct::RemoveFinalizer { .. });
        found.filter(is_removal).map(|it| (it.needs, it.harm)).collect::<Vec<_>>()
    };
    let by_hand =
        [(vec![Need { code: NeedCode::DetachChecked, holds: Holds::Unknown }], Harm::DataLoss)];
    for text in [
        attachment.to_owned(),
        attachment.replace("error=disk_is_busy", ""),
        attachment.replace("error=", "attached=no error="),
    ] {
        assert_eq!(checked(&text), by_hand, "{text}");
    }
    let kept = attachment.replace("deleted=200", "");
    assert_eq!(checked(&kept), [], "nobody has asked for the detach");
}

#[test]
fn load_balancer_stays_behind_its_finalizer() {
    insta::assert_snapshot!(describe(&fixture::index("
        ns shop
        svc shop/front deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup
    ")), @r#"
    loadBalancerLeft at Service shop/front
      None: repairLoadBalancer → Service shop/front
        ? kubectl --context=prod --namespace=shop describe services/front
      Leftovers: removeFinalizer:finalizer:service.kubernetes.io/load-balancer-cleanup → Service shop/front
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses loadBalancer
        = kubectl --context=prod --namespace=shop get services/front --output=yaml
        ! kubectl --context=prod --namespace=shop patch services/front --type=json -p '[{"op":"test","path":"/metadata/uid","value":"svc:shop/front"},{"op":"test","path":"/metadata/finalizers/0","value":"service.kubernetes.io/load-balancer-cleanup"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    "#);
}

#[test]
fn volume_that_is_bound_needs_its_claim_to_go() {
    insta::assert_snapshot!(describe(&fixture::index("
        node n1
        pvc shop/data volume=pv
        pod shop/a node=n1 uses=claim:data
        pv pv deleted=400 finalizers=kubernetes.io/pv-protection claim=shop/data reclaim=Delete
    ")), @r#"
    volumeBound at PersistentVolume pv
      Reversible: retainVolume:was:Delete → PersistentVolume pv
        loses kept
        undo setBack
        ! kubectl --context=prod patch persistentvolumes/pv --type=json -p '[{"op":"test","path":"/metadata/uid","value":"pv:pv"},{"op":"test","path":"/spec/persistentVolumeReclaimPolicy","value":"Delete"},{"op":"replace","path":"/spec/persistentVolumeReclaimPolicy","value":"Retain"}]'
        < kubectl --context=prod patch persistentvolumes/pv --type=json -p '[{"op":"test","path":"/metadata/uid","value":"pv:pv"},{"op":"test","path":"/spec/persistentVolumeReclaimPolicy","value":"Retain"},{"op":"replace","path":"/spec/persistentVolumeReclaimPolicy","value":"Delete"}]'
      DataLoss: deleteUser → PersistentVolumeClaim shop/data
        reaches Pod shop/a
        loses data
        = kubectl --context=prod --namespace=shop get persistentvolumeclaims/data --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pvc:shop/data"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/persistentvolumeclaims/data --filename=-
    "#);
}

#[test]
fn definition_is_never_robbed_of_its_finalizer() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        crd topics.queue.example defines=Topic.queue.example deleted=400 finalizers=customresourcecleanup.apiextensions.k8s.io
    ")), @r#"
    [
        "repairController",
        "nudge",
    ]
    "#);
}

#[test]
fn finalizer_of_a_forced_pod_may_end_it_while_it_runs() {
    let forced = "
        ns shop
        pod shop/a node=n1 deleted=400 finalizers=example.com/x containers=web:running
    ";
    let harm = |text: &str| found(&fixture::index(text)).remove(0).1.last().unwrap().harm;
    assert_eq!(harm(forced), Harm::DataLoss);
    assert_eq!(harm(&forced.replace("running", "terminated")), Harm::Leftovers);
}

#[test]
fn node_that_reports_keeps_the_finalizer_that_drains_it() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        node n1 deleted=400 finalizers=karpenter.sh/termination
        pod shop/a node=n1
    ")), @r#"
    [
        "restoreFinisher",
        "removeFinalizer withheld nodeReports",
    ]
    "#);
}

#[test]
fn finalizer_of_a_node_with_pods_is_withheld_like_its_deletion() {
    let silent = "ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped";
    let withheld = |nodes: &str| {
        let index = watched(&format!("{nodes}\n pod shop/a node=n1 containers=web:running"));
        let acts = acts(&index);
        let mut found = acts.iter().filter(|act| act.starts_with("removeFinalizer"));
        found.next().unwrap_or_else(|| panic!("{acts:?}")).clone()
    };
    let held = "deleted=400 finalizers=karpenter.sh/termination";
    assert_eq!(withheld(&format!("node n1 {held} {silent}")), "removeFinalizer");
    assert_eq!(withheld(&format!("node n1 {held}")), "removeFinalizer withheld nodeReports");
    let label = "labels=node-role.kubernetes.io/control-plane:true";
    assert_eq!(
        withheld(&format!("node n1 {held} {silent} {label}")),
        "removeFinalizer withheld controlPlaneNode"
    );
    assert_eq!(
        withheld(&format!("node n1 {held} {silent}\n node n2 {silent}")),
        "removeFinalizer withheld severalNodesSilent:silent:2"
    );
}
