//! Each cause once more, as other clusters show it: other names and operators, several containers, conditions in another order,
//! words of other versions, missing Events. The names of the catalogue are those of a reader's handbook of causes.

use super::*;

/// A name, the objects, and the first lines of all diagnoses: cause and root.
const ALL: [(&str, &str, &[&str]); VARIANTS] = [
    (
        "a Pod past its grace whose second container ignores the signal, beside one that crashed",
        "node ip-10-1-2-3
        ns payments
        pod payments/ledger-0 node=ip-10-1-2-3 deleted=700 grace=60 containers=proxy:terminated,db:running,log:waiting",
        &["containersRunning at Pod payments/ledger-0"],
    ),
    (
        "a node of which no status was ever posted",
        "node edge-7 ready=Ready:Unknown:NodeStatusNeverUpdated:900:Kubelet_never_posted_node_status.
        node edge-8
        pod iot/reader node=edge-7 deleted=400 grace=30 containers=app:running",
        &["nodeSilent at Node edge-7"],
    ),
    (
        "a node whose runtime is down and whose kubelet still reports",
        "node w3 ready=Ready:False:KubeletNotReady:500:container_runtime_is_down taints=node.kubernetes.io/not-ready:NoExecute
        pod web/front-1 node=w3 deleted=500 grace=30 containers=nginx:running",
        &["containersRunning at Pod web/front-1"],
    ),
    (
        "an init container that ended, and an application container that waits",
        "node w3
        pod web/front-1 node=w3 deleted=500 grace=30 phase=Pending containers=setup:terminated,nginx:waiting",
        &["neverStarted at Pod web/front-1"],
    ),
    (
        "a Pod of which the kubelet reported no container at all",
        "node w3\npod web/front-1 node=w3 deleted=500 grace=30 phase=Pending",
        &["neverStarted at Pod web/front-1"],
    ),
    (
        "two containers that ended, and a phase that says Running",
        "node w3\npod web/front-1 node=w3 deleted=500 grace=30 containers=a:terminated,b:terminated",
        &["sandboxLeft at Pod web/front-1"],
    ),
    (
        "a completed Job's Pod with an ephemeral volume of a driver",
        "node w3
        ns batch
        pod batch/etl-x node=w3 deleted=500 grace=30 phase=Succeeded containers=etl:terminated volumes=yes",
        &["volumesMounted at Pod batch/etl-x"],
    ),
    (
        "a claim that went first, with its volume kept as Released",
        "node w3
        ns data
        pv nfs-1 claim=data/files phase=Released reclaim=Retain
        pvc data/other
        pod data/reader node=w3 deleted=500 grace=30 phase=Failed containers=app:terminated uses=claim:files,claim:other",
        &["claimGone at Pod data/reader"],
    ),
    (
        "two drivers, one of which is registered",
        "node w3
        csinode w3 drivers=ebs.csi.aws.com
        pvc data/a volume=pv-a
        pvc data/b volume=pv-b
        pv pv-a claim=data/a driver=ebs.csi.aws.com
        pv pv-b claim=data/b driver=efs.csi.aws.com
        pod data/reader node=w3 deleted=500 grace=30 phase=Failed containers=app:terminated uses=claim:a,claim:b",
        &["driverMissing at CSINode w3"],
    ),
    (
        "a Pod whose node side is done, held by an Argo workflow's finalizer",
        "node w3
        pod ci/build-1 node=w3 phase=Succeeded deleted=500 grace=0 containers=main:terminated finalizers=workflows.argoproj.io/status
        deploy argo/workflow-controller ready=0 replicas=1",
        &["finisherNotReady at Deployment argo/workflow-controller"],
    ),
    (
        "a Job's Pod that a ReplicaSet took over",
        "rs shop/web
        pod shop/job-1 owner=rs/web node=w3 phase=Failed deleted=500 grace=0 containers=main:terminated finalizers=batch.kubernetes.io/job-tracking",
        &["finisherGone at Pod "],
    ),
    (
        "a claim that a Deployment's Pod and a debug Pod use",
        "node w3
        pvc shop/cache deleted=300 finalizers=kubernetes.io/pvc-protection,example.com/audit
        pod shop/web-1 node=w3 uses=claim:cache
        pod shop/debug node=w3 phase=Succeeded uses=claim:cache",
        &["claimInUse at PersistentVolumeClaim shop/cache", "finisherGone at PersistentVolumeClaim "],
    ),
    (
        "a claim that only a Pod without a node names",
        "pvc shop/cache deleted=300 finalizers=kubernetes.io/pvc-protection\npod shop/pending phase=Pending uses=claim:cache",
        &["controllerSilent at PersistentVolumeClaim shop/cache"],
    ),
    (
        "a snapshot that is being cut of a claim that nobody uses",
        "pvc shop/db deleted=300 finalizers=kubernetes.io/pvc-protection,snapshot.storage.kubernetes.io/pvc-as-source-protection
        snapshot shop/nightly claim=db ready=no",
        &["controllerSilent at PersistentVolumeClaim shop/db", "copied at PersistentVolumeClaim shop/db"],
    ),
    (
        "an in-tree volume without a deleter",
        "pv nfs-1 deleted=300 phase=Failed reclaim=Delete finalizers=kubernetes.io/pv-controller",
        &["backendLeft at PersistentVolume nfs-1"],
    ),
    (
        "a bound volume that somebody deleted",
        "pvc shop/db volume=disk-9\npv disk-9 claim=shop/db deleted=300 finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer",
        &["volumeBound at PersistentVolume disk-9"],
    ),
    (
        "a detach that fails on a node that is gone",
        "pv disk-9 deleted=300 phase=Released finalizers=external-attacher/ebs-csi-aws-com driver=ebs.csi.aws.com
        attachment csi-8 volume=disk-9 node=w9 attacher=ebs.csi.aws.com deleted=250 error=rpc_error:_code_=_Internal",
        &["detachFailed at VolumeAttachment csi-8"],
    ),
    (
        "a snapshot's content whose sidecar is not ready",
        "content snapcontent-1 deleted=300 policy=Delete finalizers=snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection
        deploy kube-system/snapshot-controller ready=0 replicas=2",
        &["finisherNotReady at Deployment kube-system/snapshot-controller"],
    ),
    (
        "devices that a Pod still holds",
        "node w3
        devices ml/gpu deleted=300 finalizers=resource.kubernetes.io/delete-protection
        pod ml/train node=w3 uses=devices:gpu",
        &["inUse at ResourceClaim ml/gpu"],
    ),
    (
        "two APIs that are down, in the words of Kubernetes before aggregated discovery",
        "ns team-a deleted=200 conditions=NamespaceContentRemaining:False:ContentRemoved:190:;NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:Discovery_failed_for_some_groups,_2_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_custom.metrics.k8s.io/v1beta1:_the_server_is_currently_unable_to_handle_the_request,_metrics.k8s.io/v1beta1:_the_server_is_currently_unable_to_handle_the_request
        apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:FailedDiscoveryCheck:210:timeout
        apiservice v1beta1.custom.metrics.k8s.io service=monitoring/adapter available=Available:False:ServiceNotFound:210:none",
        &["apiDown at APIService v1beta1.custom.metrics.k8s.io", "apiDown at APIService v1beta1.metrics.k8s.io"],
    ),
    (
        "a group version that no client understands",
        "ns team-a deleted=400 conditions=NamespaceDeletionGroupVersionParsingFailure:True:GroupVersionParsingFailed:390:unexpected_GroupVersion_string:_a/b/c",
        &["discoveryFailed at Namespace team-a"],
    ),
    (
        "a webhook that is down, in the words of Kubernetes 1.19",
        r#"ns team-a deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Internal_error_occurred:_failed_calling_webhook_"validate.kyverno.svc":_Post_"https://kyverno-svc.kyverno.svc:443/validate?timeout=10s":_no_endpoints_available_for_service_"kyverno-svc"
        webhook kyverno service=kyverno/kyverno-svc guards=configmaps"#,
        &["webhookDown at Namespace team-a"],
    ),
    (
        "Pods that only a finalizer holds, while all five conditions are well",
        "ns team-a deleted=400 conditions=NamespaceFinalizersRemaining:False:ContentHasNoFinalizers:390:;NamespaceContentRemaining:False:ContentRemoved:390:;NamespaceDeletionContentFailure:False:ContentDeleted:390:
        pod team-a/p node=w3 phase=Succeeded deleted=390 grace=0 containers=a:terminated finalizers=example.com/hold
        cm team-a/c",
        &["finisherGone at Pod "],
    ),
    (
        "Rancher's finalizer in the metadata of a namespace",
        "ns team-a deleted=400 finalizers=controller.cattle.io/namespace-auth conditions=NamespaceContentRemaining:False:ContentRemoved:390:
        deploy cattle-system/rancher ready=0 replicas=3 uses=account:rancher",
        &["finisherNotReady at Deployment cattle-system/rancher"],
    ),
    (
        "a namespace that nobody has looked at",
        "ns team-a deleted=300\ncm team-a/c",
        &["controllerSilent at Namespace team-a"],
    ),
    (
        "three owners in a row, the last with a custom resource of an operator that is gone",
        "App.a.example x/root deleted=300 finalizers=foregroundDeletion
        deploy x/mid owner=App.a.example/root deleted=300 finalizers=foregroundDeletion
        Bucket.b.example x/leaf owner=deploy/mid deleted=300 finalizers=b.example/bucket",
        &["finisherGone at Bucket "],
    ),
    (
        "two owners that own each other",
        "cm x/a owner=cm/b deleted=300 finalizers=foregroundDeletion\ncm x/b owner=cm/a deleted=300 finalizers=foregroundDeletion",
        &["ownersCircle at ConfigMap x/a"],
    ),
    (
        "an object that owns itself",
        "cm x/a owner=cm/a deleted=300 finalizers=foregroundDeletion",
        &["ownersCircle at ConfigMap x/a"],
    ),
    (
        "dependents that are to be orphaned",
        "sts x/db deleted=300 finalizers=orphan\npod x/db-0 owner=sts/db",
        &["controllerSilent at StatefulSet x/db"],
    ),
    (
        "a definition whose instance cannot be listed by its converter",
        r#"crd backups.velero.io defines=Backup.velero.io deleted=300 finalizers=customresourcecleanup.apiextensions.k8s.io service=velero/converter terminating=Terminating:True:InstanceDeletionFailed:290:could_not_list_instances:_conversion_webhook_for_velero.io/v1,_Kind=Backup_failed:_Post_"https://converter.velero.svc":_service_"converter"_not_found"#,
        &["conversionDown at CustomResourceDefinition backups.velero.io"],
    ),
    (
        "a definition that waits for an instance in another namespace",
        "crd topics.kafka.strimzi.io defines=KafkaTopic.kafka.strimzi.io deleted=300 finalizers=customresourcecleanup.apiextensions.k8s.io terminating=Terminating:True:InstanceDeletionInProgress:290:
        KafkaTopic.kafka.strimzi.io other/orders deleted=300 finalizers=strimzi.io/topic-operator
        deploy kafka/my-cluster-entity-operator labels=app.kubernetes.io/name:entity-operator ready=0 replicas=1",
        &["finisherNotReady at Deployment kafka/my-cluster-entity-operator"],
    ),
    (
        "a policy that denies, quoted behind another refusal",
        r#"ns team-a deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_2_remaining:_admission_webhook_"guard.corp.example"_denied_the_request:_change_freeze,_configmaps_"c"_is_forbidden:_ValidatingAdmissionPolicy_'freeze'_with_binding_'all'_denied_request:_no"#,
        &[
            "policyDenies at Namespace team-a",
            "webhookDenies at Namespace team-a",
        ],
    ),
    (
        "an Ingress whose controller is scaled to zero",
        "ing web/front deleted=300 finalizers=ingress.k8s.aws/resources
        deploy kube-system/aws-load-balancer-controller ready=0 replicas=0",
        &["finisherNotReady at Deployment kube-system/aws-load-balancer-controller"],
    ),
    (
        "a Service with a load balancer and a finalizer of a project",
        "svc web/front type=LoadBalancer deleted=300 finalizers=service.k8s.aws/resources,service.kubernetes.io/load-balancer-cleanup
        deploy kube-system/aws-load-balancer-controller ready=2 replicas=2",
        &[
            "finisherBusy at Deployment kube-system/aws-load-balancer-controller",
            "loadBalancerLeft at Service web/front",
        ],
    ),
    (
        "two Services with load balancers, and a cloud controller that has no ready Pod",
        "svc web/front type=LoadBalancer deleted=300 finalizers=service.kubernetes.io/load-balancer-cleanup
        svc api/edge type=LoadBalancer deleted=300 finalizers=service.kubernetes.io/load-balancer-cleanup
        ds kube-system/openstack-cloud-controller-manager ready=0 replicas=3",
        &["finisherNotReady at DaemonSet kube-system/openstack-cloud-controller-manager"],
    ),
    (
        "a Service with a load balancer, and a cloud controller that runs",
        "svc web/front type=LoadBalancer deleted=300 finalizers=service.kubernetes.io/load-balancer-cleanup
        ds kube-system/openstack-cloud-controller-manager ready=3 replicas=3",
        &["loadBalancerLeft at Service web/front"],
    ),
    (
        "a Crossplane claim whose provider runs",
        "Bucket.s3.aws.crossplane.io logs deleted=300 finalizers=finalizer.managedresource.crossplane.io
        deploy crossplane-system/provider-aws-s3 ready=1 replicas=1 uses=account:s3
        crb s3 role=clusterrole/s3 accounts=crossplane-system/s3
        clusterrole s3 updates=buckets.s3.aws.crossplane.io",
        &["finisherBusy at Deployment crossplane-system/provider-aws-s3"],
    ),
    (
        "a webhook of cert-manager that runs, while its controller does not exist",
        "Challenge.acme.cert-manager.io web/tls deleted=300 finalizers=acme.cert-manager.io/finalizer
        deploy cert-manager/cert-manager-webhook ready=1 replicas=1",
        &["finisherGone at Challenge "],
    ),
    (
        "a Pod that the taint manager deleted from a node that is gone by now",
        "node w1
        pod web/front-1 node=w9 deleted=500 grace=30 containers=nginx:running disruption=DeletionByTaintManager",
        &["nodeMissing at Node w9"],
    ),
    (
        "a Pod that was left in a namespace which was forced away",
        "ns other
        node w3
        pod gone/web node=w3 deleted=500 grace=30 containers=nginx:running",
        &["containersRunning at Pod gone/web", "namespaceGone at Namespace gone"],
    ),
    (
        "a database that was left in a namespace which was forced away, while its operator runs elsewhere",
        "ns pg-operators
        crd clusters.postgresql.cnpg.io defines=Cluster.postgresql.cnpg.io
        Cluster.postgresql.cnpg.io billing/main deleted=500 finalizers=postgresql.cnpg.io/cluster
        deploy pg-operators/cnpg-controller-manager ready=1 replicas=1 uses=account:cnpg
        crb cnpg role=clusterrole/cnpg accounts=pg-operators/cnpg
        clusterrole cnpg updates=clusters.postgresql.cnpg.io",
        &["namespaceGone at Namespace billing"],
    ),
    (
        "the same database and operator, in a namespace that somebody created again and deleted",
        "ns pg-operators
        ns billing deleted=20
        crd clusters.postgresql.cnpg.io defines=Cluster.postgresql.cnpg.io
        Cluster.postgresql.cnpg.io billing/main deleted=500 finalizers=postgresql.cnpg.io/cluster
        deploy pg-operators/cnpg-controller-manager ready=1 replicas=1 uses=account:cnpg
        crb cnpg role=clusterrole/cnpg accounts=pg-operators/cnpg
        clusterrole cnpg updates=clusters.postgresql.cnpg.io",
        &["finisherBusy at Deployment pg-operators/cnpg-controller-manager"],
    ),
];

const VARIANTS: usize = 42;

#[test]
fn cause_is_recognised_as_other_clusters_show_it() {
    let mut failed = Vec::new();
    for (name, text, expected) in ALL {
        let index = fixture::index(text);
        let found = diagnose(&index, &Graph::of(&index), fixture::now());
        let mut found: Vec<String> =
            found.iter().map(|it| format!("{} at {}", it.cause.name(), it.root)).collect();
        found.sort();
        if found != *expected {
            failed.push(format!("{name}: {found:?}, expected {expected:?}"));
        }
    }
    assert!(failed.is_empty(), "{} of {VARIANTS}:\n{}", failed.len(), failed.join("\n"));
}
