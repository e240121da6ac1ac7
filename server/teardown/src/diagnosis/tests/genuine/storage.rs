//! Claims, volumes, attachments and snapshots.

use super::{Genuine, NOTHING_ELSE, Told};

pub(super) const ALL: [Genuine; 4] = [
    Genuine {
        is: "The cloud refuses to delete the disk",
        objects: "pv pvc-6d0c4a11 claim=shop/data-pg-0 claim-uid=11 deleted=600 phase=Released reclaim=Delete driver=ebs.csi.aws.com finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer
            pvc shop/data-pg-1 volume=pvc-other
            pv pvc-other claim=shop/data-pg-1 driver=ebs.csi.aws.com
            csidriver ebs.csi.aws.com
            deploy kube-system/ebs-csi-controller replicas=2 ready=2 drivers=ebs.csi.aws.com sidecars=provisioner,attacher",
        told: &[Told::Event(
            "pv pvc-6d0c4a11",
            55,
            "ebs.csi.aws.com_ebs-csi-controller-7f7d9d8c5b-2xkqv_0e1c",
            "VolumeFailedDelete",
            r#"rpc error: code = Internal desc = Could not delete volume ID "vol-0f3b2a1c": DeleteDisk could not delete volume: operation error EC2: DeleteVolume, https response error StatusCode: 403, RequestID: 5b1d, api error UnauthorizedOperation: You are not authorized to perform this operation."#,
        )],
        expected: &["backendLeft PersistentVolume pvc-6d0c4a11 confirmed RepairDriver"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The cloud refuses to detach the disk, and the volume waits with its attachment",
        objects: "node aks-nodepool1-22124581-vmss000004 provider=azure:///subscriptions/0/vmss000004
            pv pvc-77d1 claim=crm/mssql deleted=1700 phase=Released reclaim=Delete driver=disk.csi.azure.com finalizers=external-provisioner.volume.kubernetes.io/finalizer,external-attacher/disk-csi-azure-com
            attachment csi-3bcd858cce844edca0cc volume=pvc-77d1 node=aks-nodepool1-22124581-vmss000004 attacher=disk.csi.azure.com deleted=1800 finalizers=external-attacher/disk-csi-azure-com failed=30 error=rpc_error:_code_=_Internal_desc_=_Could_not_detach_volume_pvc-77d1_from_node_aks-nodepool1-22124581-vmss000004:_GET_https://management.azure.com/..._RESPONSE_429:_TooManyRequests
            attachment csi-other volume=pvc-fine node=aks-nodepool1-22124581-vmss000004 attacher=disk.csi.azure.com",
        expected: &[
            "detachFailed VolumeAttachment csi-3bcd858cce844edca0cc confirmed RepairDriver",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A snapshot of a backup cannot go, because no Pod of its driver's controller is ready",
        objects: "snapshot apps/velero-mysql-data-k2v9x deleted=3100 claim=mysql-data content=snapcontent-3f5e finalizers=snapshot.storage.kubernetes.io/volumesnapshot-bound-protection
            content snapcontent-3f5e of-snapshot=apps/velero-mysql-data-k2v9x policy=Delete driver=rook-ceph.rbd.csi.ceph.com deleted=3090 finalizers=snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection
            pvc apps/mysql-data volume=pvc-0b
            deploy rook-ceph/csi-rbdplugin-provisioner replicas=2 ready=0 drivers=rook-ceph.rbd.csi.ceph.com sidecars=provisioner,attacher uses=account:rook-csi-rbd-provisioner-sa
            crb rbd-csi-provisioner-role role=clusterrole/rbd-external-provisioner-runner accounts=rook-ceph/rook-csi-rbd-provisioner-sa
            clusterrole rbd-external-provisioner-runner updates=persistentvolumes,volumesnapshotcontents.snapshot.storage.k8s.io
            deploy kube-system/snapshot-controller replicas=2 ready=2 uses=account:snapshot-controller
            crb snapshot-controller-role role=clusterrole/snapshot-controller-runner accounts=kube-system/snapshot-controller
            clusterrole snapshot-controller-runner updates=volumesnapshots.snapshot.storage.k8s.io,volumesnapshotcontents.snapshot.storage.k8s.io,persistentvolumeclaims",
        expected: &[
            "finisherNotReady Deployment rook-ceph/csi-rbdplugin-provisioner inferred RepairFinisher",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The content of a snapshot is deleted, and nobody deletes the snapshot",
        objects: "snapshot apps/nightly claim=mysql-data content=snapcontent-77
            content snapcontent-77 of-snapshot=apps/nightly policy=Delete driver=ebs.csi.aws.com deleted=900 finalizers=snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection
            deploy kube-system/snapshot-controller replicas=2 ready=2",
        expected: &["inUse VolumeSnapshotContent snapcontent-77 confirmed Look"],
        ..NOTHING_ELSE
    },
];
