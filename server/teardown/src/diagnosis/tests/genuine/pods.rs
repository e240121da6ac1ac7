//! Pods and nodes.

use super::{Genuine, NOTHING_ELSE, Told};

const CALICO: &str = r#"error killing pod: failed to "KillPodSandbox" for "5b7a7e8e-6c0d-4c53-8a51-f3d6a6f1a0b2" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for sandbox \"0c2a6e0f4a0f9f3b1b8d5d3f7f1a5a52c7b8f2f2a93ce0f5c9a1e4d6b7c8d9e0\": plugin type=\"calico\" failed (delete): error getting ClusterInformation: connection is unauthorized: Unauthorized""#;

const CRIO: &str = r#"error killing pod: failed to "KillPodSandbox" for "d94c0a8b-92a1-4f3e-a7a7-2f0c9d4c3b11" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for pod sandbox k8s_loki-read-5d8f7b7c9d-kx2vq_logging_d94c0a8b-92a1-4f3e-a7a7-2f0c9d4c3b11_0(7f0e6b6a1c): error removing pod logging_loki-read-5d8f7b7c9d-kx2vq from CNI network \"multus-cni-network\": plugin type=\"multus-shim\" name=\"multus-cni-network\" failed (delete): CmdDel (shim): failed to send CNI request: Post \"http://dummy/cni\": dial unix /run/multus/multus.sock: connect: connection refused""#;

const UNKILLABLE: &str = r#"error killing pod: [failed to "KillContainer" for "trainer" with KillContainerError: "rpc error: code = DeadlineExceeded desc = an error occurs during waiting for container \"a96e7dc6ce5cae0af965d63a71238f78932e00520f8103fc24850db7a7b94bb8\" to be killed: wait container \"a96e7dc6ce5cae0af965d63a71238f78932e00520f8103fc24850db7a7b94bb8\": context deadline exceeded", failed to "KillPodSandbox" for "2d6a9c51-0f4e-4f43-9b2c-6f1e0e9d8c7b" with KillPodSandboxError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"]"#;

pub(super) const ALL: [Genuine; 11] = [
    Genuine {
        is: "An instance was stopped in the cloud's console; Pods of three namespaces wait for it",
        objects: "ns payments deleted=700 conditions={discovered};{parsed};{deleted};{removed};{finished}
            node ip-10-3-41-207.eu-west-1.compute.internal ready=Ready:Unknown:NodeStatusUnknown:1010:Kubelet_stopped_posting_node_status. taints=node.cloudprovider.kubernetes.io/shutdown:NoSchedule,node.kubernetes.io/unreachable:NoSchedule,node.kubernetes.io/unreachable:NoExecute provider=aws:///eu-west-1a/i-0c4fd3bb3f0f6a1e2
            node ip-10-3-7-19.eu-west-1.compute.internal
            sts payments/ledger replicas=2 ready=1 selector=app.kubernetes.io/name:ledger template=app.kubernetes.io/name:ledger templates=data deleted=699 finalizers=foregroundDeletion
            pod payments/ledger-1 owner=sts/ledger labels=app.kubernetes.io/name:ledger ready=no node=ip-10-3-41-207.eu-west-1.compute.internal deleted=700 grace=60 containers=ledger:running,istio-proxy:running disruption=DeletionByTaintManager uses=claim:data-ledger-1
            pvc payments/data-ledger-1 deleted=690 finalizers=kubernetes.io/pvc-protection access=ReadWriteOnce volume=pvc-1fd0
            pv pvc-1fd0 claim=payments/data-ledger-1 reclaim=Delete driver=ebs.csi.aws.com
            pod search/indexer-6c9f7d4b5-x2x9p ready=no node=ip-10-3-41-207.eu-west-1.compute.internal deleted=705 grace=30 containers=indexer:running disruption=DeletionByTaintManager
            ds kube-system/aws-node selector=k8s-app:aws-node template=k8s-app:aws-node
            pod kube-system/aws-node-7kq2v owner=ds/aws-node labels=k8s-app:aws-node ready=no stays=forever node=ip-10-3-41-207.eu-west-1.compute.internal
            pod batch/nightly-28411920-lx8dd node=ip-10-3-41-207.eu-west-1.compute.internal phase=Pending deleted=500 grace=30 containers=main:waiting",
        told: &[
            Told::Still("ip-10-3-41-207.eu-west-1.compute.internal"),
            Told::Renews("ip-10-3-7-19.eu-west-1.compute.internal"),
        ],
        expected: &["nodeSilent Node ip-10-3-41-207.eu-west-1.compute.internal confirmed StartNode"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A node that never posted a status holds a Recreate Deployment; its replacement cannot attach the disk",
        objects: "node gke-prod-pool-2-9a7d3f41-nlfp ready=Ready:Unknown:NodeStatusNeverUpdated:900:Kubelet_never_posted_node_status.
            node gke-prod-pool-2-9a7d3f41-x0qw
            deploy ci/gitea strategy=Recreate replicas=1 ready=0 selector=app:gitea template=app:gitea uses=claim:gitea-shared
            rs ci/gitea-5c6b owner=deploy/gitea selector=app:gitea,pod-template-hash:5c6b template=app:gitea,pod-template-hash:5c6b replicas=1
            pod ci/gitea-5c6b-old owner=rs/gitea-5c6b labels=app:gitea,pod-template-hash:5c6b ready=no node=gke-prod-pool-2-9a7d3f41-nlfp deleted=560 grace=60 containers=gitea:running uses=claim:gitea-shared
            pod ci/gitea-5c6b-new owner=rs/gitea-5c6b labels=app:gitea,pod-template-hash:5c6b ready=no node=gke-prod-pool-2-9a7d3f41-x0qw phase=Pending containers=gitea:waiting uses=claim:gitea-shared age=555
            pvc ci/gitea-shared volume=pvc-77aa access=ReadWriteOnce
            pv pvc-77aa claim=ci/gitea-shared driver=pd.csi.storage.gke.io
            attachment csi-8f31 volume=pvc-77aa node=gke-prod-pool-2-9a7d3f41-nlfp attacher=pd.csi.storage.gke.io finalizers=external-attacher/pd-csi-storage-gke-io",
        told: &[
            Told::Still("gke-prod-pool-2-9a7d3f41-nlfp"),
            Told::Event(
                "pod ci/gitea-5c6b-new",
                550,
                "attachdetach-controller",
                "FailedAttachVolume",
                r#"Multi-Attach error for volume "pvc-77aa" Volume is already used by pod(s) gitea-5c6b-old"#,
            ),
        ],
        expected: &["nodeSilent Node gke-prod-pool-2-9a7d3f41-nlfp confirmed StartNode"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The network agents of a node have lost their token, and their socket",
        objects: "node w2-k8s
            node w3-k8s
            sts monitoring/prometheus-server replicas=1 ready=0 selector=app:prometheus template=app:prometheus
            pod monitoring/prometheus-server-0 owner=sts/prometheus-server ready=no node=w2-k8s deleted=900 grace=300 containers=prometheus-server:terminated,config-reloader:terminated
            pod logging/loki-read-5d8f7b7c9d-kx2vq ready=no node=w2-k8s deleted=850 grace=30 containers=loki:terminated uses=config:loki volumes=yes
            pod logging/loki-read-5d8f7b7c9d-zzzzz node=w3-k8s",
        told: &[
            Told::Renews("w2-k8s"),
            Told::Renews("w3-k8s"),
            Told::Event("pod monitoring/prometheus-server-0", 899, "kubelet", "Killing", "Stopping container prometheus-server"),
            Told::Event("pod monitoring/prometheus-server-0", 890, "kubelet", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
            Told::Event("pod monitoring/prometheus-server-0", 40, "kubelet", "FailedKillPod", CALICO),
            Told::Event("pod logging/loki-read-5d8f7b7c9d-kx2vq", 849, "kubelet", "Killing", "Stopping container loki"),
            Told::Event("pod logging/loki-read-5d8f7b7c9d-kx2vq", 12, "kubelet", "FailedKillPod", CRIO),
        ],
        expected: &[
            "sandboxLeft Pod monitoring/prometheus-server-0 confirmed RepairNetwork",
            "sandboxLeft Pod logging/loki-read-5d8f7b7c9d-kx2vq confirmed RepairNetwork",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A process that cannot be killed; the Event names the container and the sandbox",
        objects: "node gpu-a100-04
            job ml/finetune-llama selector=job-name:finetune-llama
            pod ml/finetune-llama-3-qm7fd owner=job/finetune-llama ready=no node=gpu-a100-04 deleted=1300 grace=120 containers=sidecar:terminated,trainer:running",
        told: &[
            Told::Event("pod ml/finetune-llama-3-qm7fd", 1299, "kubelet", "Killing", "Stopping container trainer"),
            Told::Event("pod ml/finetune-llama-3-qm7fd", 1299, "kubelet", "Killing", "Stopping container sidecar"),
            Told::Event("pod ml/finetune-llama-3-qm7fd", 95, "kubelet", "FailedKillPod", UNKILLABLE),
        ],
        expected: &["containersRunning Pod ml/finetune-llama-3-qm7fd confirmed EndProcess"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The runtime of a node hangs: the kubelet says that it is not ready, and lives",
        objects: "node ip-10-42-10-121.ec2.internal ready=Ready:False:KubeletNotReady:2200:PLEG_is_not_healthy:_pleg_was_last_seen_active_37m12.704970756s_ago taints=node.kubernetes.io/not-ready:NoSchedule,node.kubernetes.io/not-ready:NoExecute
            node ip-10-42-11-3.ec2.internal
            pod web/catalog-7d4f-a ready=no node=ip-10-42-10-121.ec2.internal deleted=1800 grace=30 containers=app:running disruption=DeletionByTaintManager
            pod web/cart-6f5b-b ready=no node=ip-10-42-10-121.ec2.internal deleted=1795 grace=30 containers=app:running,linkerd-proxy:running disruption=DeletionByTaintManager",
        told: &[Told::Renews("ip-10-42-10-121.ec2.internal"), Told::Renews("ip-10-42-11-3.ec2.internal")],
        expected: &[
            "containersRunning Pod web/catalog-7d4f-a inferred EndProcess",
            "containersRunning Pod web/cart-6f5b-b inferred EndProcess",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A cloud disk is busy, as the log of the kubelet says between other lines",
        objects: "node ip-10-0-60-95.us-west-2.compute.internal
            csinode ip-10-0-60-95.us-west-2.compute.internal drivers=efs.csi.aws.com,ebs.csi.aws.com
            pvc elastic/elasticsearch-data-es-default-0 volume=pvc-4fd9 class=gp3
            pv pvc-4fd9 claim=elastic/elasticsearch-data-es-default-0 driver=ebs.csi.aws.com class=gp3
            pod elastic/es-default-0 uid=18ba147d-9f0f-4255-816f-5d07998d6908 ready=no node=ip-10-0-60-95.us-west-2.compute.internal deleted=800 grace=180 phase=Failed containers=elasticsearch:terminated uses=claim:elasticsearch-data-es-default-0 volumes=yes",
        told: &[Told::Renews("ip-10-0-60-95.us-west-2.compute.internal")],
        log: r#"Jan 15 07:58:29 ip-10-0-60-95.us-west-2.compute.internal kubelet[2783]: I0115 07:58:29.011002    2783 reconciler_common.go:162] "operationExecutor.UnmountVolume started for volume \"elasticsearch-data\" (UniqueName: \"kubernetes.io/csi/ebs.csi.aws.com^vol-0a1b2c3d4e5f60718\") pod \"18ba147d-9f0f-4255-816f-5d07998d6908\" (UID: \"18ba147d-9f0f-4255-816f-5d07998d6908\") "
Jan 15 07:58:31 ip-10-0-60-95.us-west-2.compute.internal kubelet[2783]: E0115 07:58:31.402911    2783 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/ebs.csi.aws.com^vol-0a1b2c3d4e5f60718 podName:18ba147d-9f0f-4255-816f-5d07998d6908 nodeName:}" failed. No retries permitted until 2027-01-15 08:00:33.402876512 +0000 UTC m=+1209600.118301 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume "elasticsearch-data" (UniqueName: "kubernetes.io/csi/ebs.csi.aws.com^vol-0a1b2c3d4e5f60718") pod "18ba147d-9f0f-4255-816f-5d07998d6908" (UID: "18ba147d-9f0f-4255-816f-5d07998d6908") : kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = Could not unmount "/var/lib/kubelet/pods/18ba147d-9f0f-4255-816f-5d07998d6908/volumes/kubernetes.io~csi/pvc-4fd9/mount": unmount failed: exit status 32
Jan 15 07:58:31 ip-10-0-60-95.us-west-2.compute.internal kubelet[2783]: Unmounting arguments: /var/lib/kubelet/pods/18ba147d-9f0f-4255-816f-5d07998d6908/volumes/kubernetes.io~csi/pvc-4fd9/mount
Jan 15 07:58:31 ip-10-0-60-95.us-west-2.compute.internal kubelet[2783]: Output: umount: /var/lib/kubelet/pods/18ba147d-9f0f-4255-816f-5d07998d6908/volumes/kubernetes.io~csi/pvc-4fd9/mount: target is busy.
Jan 15 07:58:40 ip-10-0-60-95.us-west-2.compute.internal kubelet[2783]: I0115 07:58:40.100000    2783 kubelet.go:2421] "SyncLoop (PLEG): event for pod" pod="kube-system/coredns-5db795bd57-z4257"
"#,
        expected: &["volumesMounted Pod elastic/es-default-0 confirmed Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A FUSE client died; the mount point answers no more",
        objects: "node compute-0
            csinode compute-0 drivers=fuse.csi.fluid.io
            pvc datasets/imagenet volume=datasets-imagenet
            pv datasets-imagenet claim=datasets/imagenet driver=fuse.csi.fluid.io
            pod datasets/reader-0 uid=d0c35690-3318-4c89-a13f-f146ae41a2dd ready=no node=compute-0 deleted=3000 grace=30 phase=Succeeded containers=reader:terminated uses=claim:imagenet",
        log: r#"2027-01-15T07:57:02.011342+00:00 compute-0 kubelet[24343]: E0115 07:57:02.011200   24343 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/fuse.csi.fluid.io^datasets-imagenet podName:d0c35690-3318-4c89-a13f-f146ae41a2dd nodeName:}" failed. No retries permitted until 2027-01-15 07:59:04.011150934 +0000 UTC m=+20077.724479529 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume "imagenet" (UniqueName: "kubernetes.io/csi/fuse.csi.fluid.io^datasets-imagenet") pod "d0c35690-3318-4c89-a13f-f146ae41a2dd" (UID: "d0c35690-3318-4c89-a13f-f146ae41a2dd") : kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = NodeUnpublishVolume: remove symlink error lstat targetPath /var/lib/kubelet/pods/d0c35690-3318-4c89-a13f-f146ae41a2dd/volumes/kubernetes.io~csi/datasets-imagenet/mount error lstat /var/lib/kubelet/pods/d0c35690-3318-4c89-a13f-f146ae41a2dd/volumes/kubernetes.io~csi/datasets-imagenet/mount: transport endpoint is not connected
"#,
        expected: &["volumesMounted Pod datasets/reader-0 confirmed Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "Claims of two organisations went before the Pods that mount a part of them",
        objects: "node k8s-dqnew-d04
            pod org1/peer0-org1-6d9c8-p2k ready=no node=k8s-dqnew-d04 deleted=600 grace=30 phase=Succeeded containers=peer:terminated,couchdb:terminated uses=claim:peer0-data,config:core subPath=yes
            pv fabric-peer0-org1 claim=org1/peer0-data phase=Released reclaim=Retain
            pod org2/orderer0-7c4d-q9x ready=no node=k8s-dqnew-d04 deleted=590 grace=30 phase=Failed containers=orderer:terminated uses=claim:orderer0-data subPath=yes
            pvc org2/orderer1-data",
        told: &[Told::Renews("k8s-dqnew-d04")],
        expected: &[
            "claimGone Pod org1/peer0-org1-6d9c8-p2k inferred RestoreExport",
            "claimGone Pod org2/orderer0-7c4d-q9x inferred RestoreExport",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A storage system was uninstalled before the Pods that use it",
        objects: "node worker-7
            csinode worker-7 drivers=nfs.csi.k8s.io
            node worker-8
            csinode worker-8 drivers=driver.longhorn.io,nfs.csi.k8s.io
            pvc wiki/pgdata volume=pvc-9941
            pv pvc-9941 claim=wiki/pgdata driver=driver.longhorn.io
            pvc chat/mongo volume=pvc-76c2
            pv pvc-76c2 claim=chat/mongo driver=driver.longhorn.io
            pod wiki/pg-0 uid=80621856-bf9a-4406-be77-06cc31242e87 ready=no node=worker-7 deleted=500 grace=30 phase=Failed containers=pg:terminated uses=claim:pgdata
            pod chat/mongo-0 ready=no node=worker-7 deleted=480 grace=30 phase=Succeeded containers=mongo:terminated uses=claim:mongo",
        log: r#"E0115 07:58:20.566432    1907 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/driver.longhorn.io^pvc-9941 podName:80621856-bf9a-4406-be77-06cc31242e87 nodeName:}" failed. No retries permitted until 2027-01-15 08:00:22.566409131 +0000 UTC m=+65.995713484 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume "pgdata" (UniqueName: "kubernetes.io/csi/driver.longhorn.io^pvc-9941") pod "80621856-bf9a-4406-be77-06cc31242e87" (UID: "80621856-bf9a-4406-be77-06cc31242e87") : kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name driver.longhorn.io not found in the list of registered CSI drivers
"#,
        expected: &["driverMissing CSINode worker-7 confirmed RepairDriver"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A device was never prepared, so that its kubelet cannot give it back",
        objects: "node dra-node-1
            pod vms/virt-launcher-vmi-dra-pgpu-nic-8m27v uid=b5e97be2-3bbc-4805-8ac2-ae30e53e86a1 ready=no node=dra-node-1 deleted=1500 grace=30 containers=compute:terminated devices=yes uses=devices:pgpu-nic",
        told: &[Told::Renews("dra-node-1")],
        log: r#"Jan 15 07:58:16 dra-node-1 kubelet[4419]: E0115 07:58:16.697328    4419 pod_workers.go:1324] "Error syncing pod, skipping" err="unprepare dynamic resources: pod \"vms/virt-launcher-vmi-dra-pgpu-nic-8m27v\": ResourceClaim not created yet" pod="vms/virt-launcher-vmi-dra-pgpu-nic-8m27v" podUID="b5e97be2-3bbc-4805-8ac2-ae30e53e86a1"
"#,
        expected: &["devicesLeft Pod vms/virt-launcher-vmi-dra-pgpu-nic-8m27v confirmed RepairDevices"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "One namespace, two roots: an operator that went, and a volume that stays",
        objects: "ns lab deleted=1000 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:700:Failed_to_delete_all_resource_types,_1_remaining:_unexpected_items_still_remain_in_namespace:_lab_for_gvr:_/v1,_Resource=pods;{removed};{finished}
            ns argo
            node n-17
            crd workflows.argoproj.io defines=Workflow.argoproj.io
            Workflow.argoproj.io lab/etl-8q2xn
            pod lab/etl-8q2xn-1048 owner=Workflow.argoproj.io/etl-8q2xn ready=no node=n-17 deleted=990 grace=0 phase=Failed finalizers=workflows.argoproj.io/status containers=main:terminated,wait:terminated
            pvc lab/claim-ada volume=pvc-ada
            pv pvc-ada claim=lab/claim-ada driver=cephfs.csi.ceph.com
            csinode n-17 drivers=cephfs.csi.ceph.com
            pod lab/jupyter-ada ready=no node=n-17 deleted=990 grace=30 phase=Failed containers=notebook:terminated uses=claim:claim-ada",
        gone: "deploy argo/workflow-controller",
        told: &[Told::Renews("n-17")],
        expected: &[
            "finisherGone Pod * inferred RestoreFinisher",
            "volumesMounted Pod lab/jupyter-ada inferred Wait",
        ],
        ..NOTHING_ELSE
    },
];
