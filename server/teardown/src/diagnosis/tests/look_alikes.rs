//! For each cause a situation that looks like it and is another one.

use super::*;

/// A cause, objects that look as if it were theirs, and all verdicts on them, each with its root and how sure it is.
const ALL: [(&str, &str, &str); 46] = [
    (
        "withinGrace",
        "node n1\npod shop/web node=n1 deleted=400 grace=300 containers=c1:running preStop=yes",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "nodeSilent",
        "node n1 ready=Ready:False:KubeletNotReady:600:PLEG taints=node.kubernetes.io/not-ready:NoExecute
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:running disruption=DeletionByTaintManager",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "nodeMissing",
        "node n9 ready=no\npod shop/web node=n9 deleted=400 grace=30 containers=c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "containersRunning",
        "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        "nodeSilent at Node n1 (Inferred)",
    ),
    (
        "kubeletUnaware",
        "node n1\nns shop\npod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "staticPod",
        "node n1\npod shop/web owner=ds/web node=n1 deleted=400 grace=30 containers=c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "neverStarted",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 containers=init:terminated,c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "sandboxLeft",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated",
        "podDirectoryLeft at Pod shop/web (Inferred)",
    ),
    (
        "devicesLeft",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 containers=c1:running devices=yes",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "volumesMounted",
        "node n1
        pvc shop/data volume=disk-1
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:terminated uses=claim:data",
        "sandboxLeft at Pod shop/web (Inferred)",
    ),
    (
        "claimGone",
        "node n1
        pvc shop/data age=900
        pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data",
        "volumesMounted at Pod shop/web (Inferred)",
    ),
    (
        "driverMissing",
        "node n1
        csinode n1 drivers=disk.example
        pvc shop/data volume=disk-1
        pv disk-1 claim=shop/data driver=disk.example
        pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data",
        "volumesMounted at Pod shop/web (Inferred)",
    ),
    (
        "podDirectoryLeft",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated volumes=yes",
        "volumesMounted at Pod shop/web (Inferred)",
    ),
    (
        "claimInUse",
        "node n1
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/web uses=claim:data
        pod other/web node=n1 uses=claim:data",
        "controllerSilent at PersistentVolumeClaim shop/data (Inferred)",
    ),
    (
        "claimHeldByCompletedPods",
        "node n1
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/job node=n1 phase=Succeeded uses=claim:data
        pod shop/web node=n1 uses=claim:data",
        "claimInUse at PersistentVolumeClaim shop/data (Confirmed)",
    ),
    (
        "inUse",
        "vac fast deleted=300 finalizers=kubernetes.io/vac-protection\npvc shop/data attributes=slow",
        "controllerSilent at VolumeAttributesClass fast (Inferred)",
    ),
    (
        "keptForDependents",
        "ns rook
        deploy rook/operator ready=1 replicas=1 uses=account:operator
        crb operator role=clusterrole/operator accounts=rook/operator
        clusterrole operator updates=cephclusters.ceph.rook.io
        CephCluster.ceph.rook.io rook/ceph deleted=4000 finalizers=cephcluster.ceph.rook.io conditions=DeletionIsBlocked:False:ObjectHasDependents:290:CephBlockPool:_[a]
        CephBlockPool.ceph.rook.io rook/a",
        "finisherBusy at Deployment rook/operator (Inferred)",
    ),
    (
        "copied",
        "pvc shop/data deleted=300 finalizers=provisioner.storage.kubernetes.io/cloning-protection
        pvc shop/copy from=pvc/data
        snapshot shop/s claim=data ready=no",
        "finisherGone at PersistentVolumeClaim  (Inferred)",
    ),
    (
        "volumeBound",
        "pvc shop/data volume=disk-1 deleted=300 finalizers=a.example/b
        pv disk-1 claim=shop/data deleted=300 finalizers=kubernetes.io/pv-protection",
        "finisherGone at PersistentVolumeClaim  (Inferred)",
    ),
    (
        "detachFailed",
        "node n1
        pv disk-1 deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example
        attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=200
        attachment a2 volume=disk-2 node=n1 attacher=disk.example error=busy",
        "volumeAttached at VolumeAttachment a1 (Inferred)",
    ),
    (
        "volumeAttached",
        "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped
        pv disk-1 deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example
        attachment a1 volume=disk-1 node=n1 attacher=disk.example",
        "nodeSilent at Node n1 (Inferred)",
    ),
    (
        "backendLeft",
        "node n1
        pv disk-1 deleted=300 phase=Released finalizers=external-provisioner.volume.kubernetes.io/finalizer,external-attacher/disk-example driver=disk.example
        attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=200",
        "volumeAttached at VolumeAttachment a1 (Inferred)",
    ),
    (
        "apiDown",
        "ns shop deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale
        apiservice v1beta1.metrics.k8s.io service=ops/metrics available=Available:True:Passed:10:ok",
        "looksAgain at APIService v1beta1.metrics.k8s.io (Inferred)",
    ),
    (
        "looksAgain",
        "ns shop deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale
        apiservice v1beta1.metrics.k8s.io service=ops/metrics
        apiservice v1.other.example service=ops/other available=Available:True:Passed:10:ok",
        "apiDown at APIService v1beta1.metrics.k8s.io (Confirmed)",
    ),
    (
        "webhookDown",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:admission_webhook_"gate.example.com"_denied_the_request:_the_backend_is_down
        webhook gate service=ops/gate guards=configmaps
        cm shop/c"#,
        "webhookDenies at ValidatingWebhookConfiguration gate (Confirmed)",
    ),
    (
        "webhookDenies",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_"gate.example.com":_the_server_denied_the_request
        webhook gate service=ops/gate guards=configmaps
        cm shop/c"#,
        "webhookDown at ValidatingWebhookConfiguration gate (Confirmed)",
    ),
    (
        "policyDenies",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:configmaps_"c"_is_forbidden:_User_"system:serviceaccount:kube-system:namespace-controller"_cannot_delete_resource_"configmaps"
        policy keep
        cm shop/c"#,
        "contentRefused at Namespace shop (Confirmed)",
    ),
    (
        "conversionDown",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_"convert.example.com":_no_endpoints
        crd widgets.example.com defines=Widget.example.com service=ops/convert
        Widget.example.com shop/w"#,
        "webhookDown at Namespace shop (Inferred)",
    ),
    (
        "unreadable",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:admission_webhook_"gate.example.com"_denied_the_request:_the_key_/registry/secrets/shop/a_is_kept
        webhook gate service=ops/gate guards=secrets"#,
        "webhookDenies at ValidatingWebhookConfiguration gate (Confirmed)",
    ),
    (
        "updateRejected",
        "node n1
        mutating sidecar service=ops/sidecar guards=pods asked=UPDATE
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "contentRefused",
        "node n1
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:unexpected_items_still_remain_in_namespace:_shop_for_gvr:_/v1,_Resource=pods
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    (
        "discoveryFailed",
        "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_unexpected_GroupVersion_string:_a/b/c
        cm shop/c",
        "contentRefused at Namespace shop (Confirmed)",
    ),
    (
        "namespaceFinalizer",
        "ns shop deleted=400 spec=kubernetes finalizers=example.com/hold",
        "finisherGone at Namespace  (Inferred)",
    ),
    (
        "contentUnseen",
        "ns shop deleted=400 conditions=NamespaceContentRemaining:True:SomeResourcesRemain:390:Some_resources_are_remaining:_configmaps._has_1_resource_instances
        cm shop/c deleted=390 finalizers=example.com/x",
        "finisherGone at ConfigMap  (Inferred)",
    ),
    (
        "namespaceGone",
        "ns shop deleted=390
        node n1
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        "containersRunning at Pod shop/web (Inferred)",
    ),
    ("managerSilent", "ns shop deleted=400", "controllerSilent at Namespace shop (Inferred)"),
    (
        "controllerSilent",
        "cm shop/owner deleted=200 finalizers=foregroundDeletion
        cm shop/child owner=cm/owner deleted=200 finalizers=example.com/x",
        "finisherGone at ConfigMap  (Inferred)",
    ),
    // The garbage collector breaks it.
    (
        "ownersCircle",
        "cm shop/a owner=cm/b deleted=200 finalizers=foregroundDeletion
        cm shop/b owner=cm/a",
        "controllerSilent at ConfigMap shop/a (Inferred)",
    ),
    (
        "finisherGone",
        "Challenge.acme.cert-manager.io shop/c deleted=200 finalizers=acme.cert-manager.io/finalizer
        deploy ops/cert-manager ready=1 replicas=1 uses=account:cert-manager
        crb cm role=clusterrole/cm accounts=ops/cert-manager
        clusterrole cm updates=challenges.acme.cert-manager.io",
        "finisherBusy at Deployment ops/cert-manager (Inferred)",
    ),
    (
        "finisherNotReady",
        "Challenge.acme.cert-manager.io shop/c deleted=200 finalizers=acme.cert-manager.io/finalizer
        deploy ops/cert-manager ready=1 replicas=2 uses=account:cert-manager
        crb cm role=clusterrole/cm accounts=ops/cert-manager
        clusterrole cm updates=challenges.acme.cert-manager.io",
        "finisherBusy at Deployment ops/cert-manager (Inferred)",
    ),
    (
        "finisherBusy",
        "Challenge.acme.cert-manager.io shop/c deleted=200 finalizers=acme.cert-manager.io/finalizer
        deploy ops/cert-manager ready=0 replicas=1 uses=account:cert-manager
        crb cm role=clusterrole/cm accounts=ops/cert-manager
        clusterrole cm updates=challenges.acme.cert-manager.io",
        "finisherNotReady at Deployment ops/cert-manager (Inferred)",
    ),
    (
        "finisherUnknown",
        "Topic.queue.example shop/orders deleted=200 finalizers=queue.example/topic
        crd topics.queue.example defines=Topic.queue.example
        deploy ops/runner uses=account:runner ready=1 replicas=1
        crb runner role=clusterrole/topics accounts=ops/runner
        clusterrole topics updates=topics.queue.example",
        "finisherBusy at Deployment ops/runner (Inferred)",
    ),
    (
        "managedElsewhere",
        "job shop/train managedBy=kubernetes.io/job-controller
        pod shop/web owner=job/train node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking containers=c1:terminated",
        "controllerSilent at Pod shop/web (Inferred)",
    ),
    (
        "loadBalancerLeft",
        "svc shop/front type=LoadBalancer deleted=200 finalizers=example.com/hold",
        "finisherGone at Service  (Inferred)",
    ),
    (
        "cannotSee",
        "pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection",
        "controllerSilent at PersistentVolumeClaim shop/data (Inferred)",
    ),
    ("unknown", "cm shop/c deleted=300 finalizers=example.com/x", "finisherGone at ConfigMap  (Inferred)"),
];

#[test]
fn look_alike_of_each_cause_is_told_from_it() {
    assert_eq!(ALL.map(|(cause, ..)| cause), Cause::NAMES);
    let mut failed = Vec::new();
    for (cause, text, expected) in ALL {
        let index = fixture::index(text);
        let found = verdicts(&diagnose(&index, &Graph::of(&index), fixture::now()));
        if found != expected || found.split(' ').any(|word| word == cause) {
            failed.push(format!("{cause}: {found}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
