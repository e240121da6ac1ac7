//! Situations that look like another one.

use super::{Genuine, NOTHING_ELSE, Told};
use crate::observation::HiddenCause;

pub(super) const ALL: [Genuine; 18] = [
    Genuine {
        is: "A broker has an hour to hand over, and a hook that failed",
        objects: "node n1
            pvc kafka/data-broker-2 deleted=590 finalizers=kubernetes.io/pvc-protection
            pod kafka/broker-2 node=n1 deleted=600 grace=3600 preStop=yes containers=kafka:running uses=claim:data-broker-2",
        told: &[
            Told::Renews("n1"),
            Told::Event("pod kafka/broker-2", 599, "kubelet", "Killing", "Stopping container kafka"),
            Told::Event("pod kafka/broker-2", 580, "kubelet", "FailedPreStopHook", "PreStopHook failed"),
        ],
        expected: &["withinGrace Pod kafka/broker-2 confirmed Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A node is not ready for want of a network plugin, and its kubelet lives",
        objects: "node kube-node-12 ready=Ready:False:KubeletNotReady:3000:container_runtime_network_not_ready:_NetworkReady=false_reason:NetworkPluginNotReady_message:Network_plugin_returns_error:_cni_plugin_not_initialized taints=node.kubernetes.io/not-ready:NoExecute
            node kube-node-13
            pod shop/worker-0 ready=no node=kube-node-12 deleted=900 grace=30 containers=app:running disruption=DeletionByTaintManager",
        told: &[Told::Renews("kube-node-12"), Told::Renews("kube-node-13")],
        expected: &["containersRunning Pod shop/worker-0 inferred EndProcess"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A partitioned node: its status is old, and its lease is renewed all the same",
        objects: "node edge-fra-3 ready=Ready:Unknown:NodeStatusUnknown:400:Kubelet_stopped_posting_node_status. taints=node.kubernetes.io/unreachable:NoExecute
            node edge-fra-4
            sts db/pg replicas=1 ready=0 selector=app:pg template=app:pg
            pod db/pg-0 owner=sts/pg labels=app:pg ready=no node=edge-fra-3 deleted=300 grace=30 containers=pg:running uses=claim:pgdata-pg-0 disruption=DeletionByTaintManager
            pvc db/pgdata-pg-0 volume=pvc-5 access=ReadWriteOnce
            pv pvc-5 claim=db/pgdata-pg-0 driver=rbd.csi.ceph.com",
        told: &[Told::Renews("edge-fra-3"), Told::Renews("edge-fra-4")],
        expected: &["nodeSilent Node edge-fra-3 inferred StartNode"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A Pod on a silent node has ended there; only the accounting of its Job holds it",
        objects: "node n1 ready=Ready:Unknown:NodeStatusUnknown:900:Kubelet_stopped_posting_node_status.
            node n2
            job etl/load selector=job-name:load
            pod etl/load-7fqzd owner=job/load labels=job-name:load ready=no node=n1 deleted=700 grace=0 phase=Failed finalizers=batch.kubernetes.io/job-tracking containers=load:terminated",
        told: &[Told::Still("n1"), Told::Renews("n2"), Told::ManagerRenews],
        expected: &["controllerSilent Pod etl/load-7fqzd inferred RepairController"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A claim has a namesake in use elsewhere, and a Pod that was never placed",
        objects: "pvc forge/cache deleted=500 finalizers=kubernetes.io/pvc-protection
            pvc forge-dev/cache
            node n1
            pod forge-dev/runner-0 node=n1 uses=claim:cache
            pod forge/runner-9 phase=Pending uses=claim:cache
            pod forge/other node=n1 uses=claim:logs",
        told: &[Told::ManagerRenews],
        expected: &["controllerSilent PersistentVolumeClaim forge/cache inferred RepairController"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "Claims may not be listed, so nobody can say that one is gone",
        objects: "node n1
            pod media/encoder-1 ready=no node=n1 deleted=700 grace=30 phase=Failed containers=ffmpeg:terminated uses=claim:scratch subPath=yes",
        told: &[
            Told::Renews("n1"),
            Told::Hidden(
                "persistentvolumeclaims",
                HiddenCause::Forbidden,
                r#"persistentvolumeclaims is forbidden: User "system:serviceaccount:unwind:unwind" cannot list resource "persistentvolumeclaims" in API group "" at the cluster scope"#,
            ),
        ],
        expected: &["volumesMounted Pod media/encoder-1 inferred Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "Volumes are released and kept, a claim is lost, Pods are completed, and nothing is being deleted",
        objects: "pv pvc-old claim=shop/gone phase=Released reclaim=Retain
            pv pvc-bad claim=shop/gone2 phase=Failed reclaim=Delete driver=disk.csi.azure.com finalizers=external-provisioner.volume.kubernetes.io/finalizer
            pvc shop/lost volume=pvc-nowhere phase=Lost finalizers=kubernetes.io/pvc-protection
            node n1
            pod shop/migrate-1 node=n1 phase=Succeeded containers=main:terminated",
        told: &[Told::Event("pv pvc-bad", 20, "disk.csi.azure.com", "VolumeFailedDelete", "rpc error: code = Internal desc = failed to delete disk")],
        expected: &[],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "An APIService was removed a minute ago; the controller has not looked since",
        objects: "ns olm-test deleted=300 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:290:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_packages.operators.coreos.com/v1:_stale_GroupVersion_discovery:_packages.operators.coreos.com/v1;{parsed};{deleted};{removed};{finished}
            apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:True:Passed:90000:all_checks_passed",
        gone: "apiservice v1.packages.operators.coreos.com service=olm/packageserver-service available=Available:False:ServiceNotFound:900:service/packageserver-service_in_\"olm\"_is_not_present",
        told: &[Told::ManagerRenews],
        expected: &["looksAgain APIService v1.packages.operators.coreos.com inferred Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "All conditions of a namespace are fine, and a Pod's finalizer holds it; its program runs",
        objects: "ns rollout-test deleted=900 conditions={discovered};{parsed};{deleted};{removed};{finished}
            node n1
            pod rollout-test/db-migrate-presync ready=no node=n1 deleted=895 grace=0 phase=Succeeded finalizers=argocd.argoproj.io/hook-finalizer containers=main:terminated
            sts argocd/argocd-application-controller replicas=1 ready=1 uses=account:argocd-application-controller
            crb argocd-application-controller role=clusterrole/argocd-application-controller accounts=argocd/argocd-application-controller
            clusterrole argocd-application-controller updates=*.*
            crd applications.argoproj.io defines=Application.argoproj.io",
        told: &[Told::ManagerRenews, Told::Renews("n1")],
        expected: &["finisherBusy * * inferred Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "Dead webhooks that are not asked, or that let everything pass",
        objects: "ns vms deleted=600 conditions={discovered};{parsed};{deleted};NamespaceContentRemaining:True:SomeResourcesRemain:590:Some_resources_are_remaining:_virtualmachines.kubevirt.io_has_1_resource_instances;NamespaceFinalizersRemaining:True:SomeFinalizersRemain:590:Some_content_in_the_namespace_has_finalizers_remaining:_kubevirt.io/virtualMachineControllerFinalize_in_1_resource_instances
            crd virtualmachines.kubevirt.io defines=VirtualMachine.kubevirt.io
            VirtualMachine.kubevirt.io vms/win11 deleted=595 finalizers=kubevirt.io/virtualMachineControllerFinalize
            deploy kubevirt/virt-controller replicas=2 ready=2 uses=account:kubevirt-controller
            crb kubevirt-controller role=clusterrole/kubevirt-controller accounts=kubevirt/kubevirt-controller
            clusterrole kubevirt-controller updates=virtualmachines.kubevirt.io
            mutating vault-agent-injector-cfg named=vault.hashicorp.com policy=Ignore service=vault/vault-agent-injector-svc guards=virtualmachines.kubevirt.io asked=UPDATE
            webhook gatekeeper-validating-webhook-configuration named=validation.gatekeeper.sh service=gatekeeper-system/gatekeeper-webhook-service guards=virtualmachines.kubevirt.io in=admission.gatekeeper.sh/enforce:yes asked=UPDATE",
        expected: &["finisherBusy * * inferred Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A webhook that answers denies, and quotes one that does not",
        objects: r#"ns vcluster-7 deleted=700 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:690:Failed_to_delete_all_resource_types,_1_remaining:_admission_webhook_"protect.vcluster.loft.sh"_denied_the_request:_cannot_ask_the_tenant:_failed_calling_webhook_"tenant.acme.io":_failed_to_call_webhook:_Post_"https://tenant.acme.svc:443/validate?timeout=10s":_context_deadline_exceeded
            webhook loft-protect named=protect.vcluster.loft.sh service=loft/loft guards=configmaps
            svc loft/loft
            cm vcluster-7/kubeconfig"#,
        told: &[Told::Endpoints("loft", "loft", 1)],
        expected: &["webhookDenies * * confirmed SatisfyPolicy"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A Job in the foreground whose stuck Pod does not block it",
        objects: "node n1
            job etl/import deleted=500 finalizers=foregroundDeletion selector=job-name:import
            pod etl/import-2xk9z owner=job/import blocks=no ready=no node=n1 deleted=480 grace=30 containers=main:running",
        told: &[
            Told::Renews("n1"),
            Told::ManagerRenews,
            Told::Event("pod etl/import-2xk9z", 479, "kubelet", "Killing", "Stopping container main"),
        ],
        expected: &[
            "containersRunning Pod etl/import-2xk9z inferred EndProcess",
            "controllerSilent Job etl/import inferred RepairController",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A neighbour of the operator was removed, and the operator runs",
        objects: "ns kafka
            crd kafkatopics.kafka.strimzi.io defines=KafkaTopic.kafka.strimzi.io
            KafkaTopic.kafka.strimzi.io kafka/orders deleted=400 finalizers=strimzi.io/topic-operator
            deploy kafka/events-entity-operator replicas=1 ready=1 uses=account:events-entity-operator
            rb kafka/strimzi-events-entity-topic-operator role=role/events-entity-topic-operator accounts=kafka/events-entity-operator
            role kafka/events-entity-topic-operator updates=kafkatopics.kafka.strimzi.io",
        gone: "deploy kafka/strimzi-drain-cleaner",
        expected: &["finisherBusy * * inferred Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "An Event about the sandbox is older than the deletion",
        objects: "node n1
            pod arena/lobby-4 ready=no node=n1 deleted=400 grace=30 containers=lobby:running",
        told: &[
            Told::Renews("n1"),
            Told::Event(
                "pod arena/lobby-4",
                5000,
                "kubelet",
                "FailedKillPod",
                r#"error killing pod: failed to "KillPodSandbox" for "d1" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for sandbox \"ab\": plugin type=\"cilium-cni\" name=\"cilium\" failed (delete): unable to connect to Cilium agent""#,
            ),
            Told::Event("pod arena/lobby-4", 395, "kubelet", "Killing", "Stopping container lobby"),
        ],
        expected: &["containersRunning Pod arena/lobby-4 inferred EndProcess"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The log is about the Pod of this name before the last one",
        objects: "node n1
            pvc mq/data-rabbit-0 volume=pvc-9
            pv pvc-9 claim=mq/data-rabbit-0
            pod mq/rabbit-0 uid=7c1b9d0e-4f6a-4d0b-8a53-1d2e3f405162 ready=no node=n1 deleted=600 grace=60 phase=Failed containers=rabbitmq:terminated uses=claim:data-rabbit-0",
        told: &[Told::Renews("n1")],
        log: r#"E0115 07:58:20.566432    1907 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/nfs/93db04c8-1a67-4aa2-bd22-487c135e7a27-pvc-9 podName:93db04c8-1a67-4aa2-bd22-487c135e7a27 nodeName:}" failed. No retries permitted until 2027-01-15 08:00:22.566409131 +0000 UTC m=+65.995713484 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume "data" (UniqueName: "kubernetes.io/nfs/93db04c8-1a67-4aa2-bd22-487c135e7a27-pvc-9") pod "93db04c8-1a67-4aa2-bd22-487c135e7a27" (UID: "93db04c8-1a67-4aa2-bd22-487c135e7a27") : unmount failed: exit status 32
Unmounting arguments: /var/lib/kubelet/pods/93db04c8-1a67-4aa2-bd22-487c135e7a27/volumes/kubernetes.io~nfs/pvc-9
Output: umount.nfs4: /var/lib/kubelet/pods/93db04c8-1a67-4aa2-bd22-487c135e7a27/volumes/kubernetes.io~nfs/pvc-9: Stale file handle
"#,
        expected: &["volumesMounted Pod mq/rabbit-0 inferred Wait"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A container could not be restarted an hour before the deletion",
        objects: "node n1
            pod arena/match-1 ready=no node=n1 deleted=400 grace=30 containers=match:running",
        told: &[
            Told::Renews("n1"),
            Told::Event("pod arena/match-1", 395, "kubelet", "Killing", "Stopping container match"),
            Told::Event(
                "pod arena/match-1",
                4000,
                "kubelet",
                "FailedKillPod",
                r#"error killing pod: failed to "KillContainer" for "match" with KillContainerError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded""#,
            ),
        ],
        expected: &["containersRunning Pod arena/match-1 inferred EndProcess"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A load balancer could not be made, an hour before its Service was deleted",
        objects: "svc shop/front type=LoadBalancer deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup",
        told: &[Told::Event(
            "svc shop/front",
            4000,
            "service-controller",
            "SyncLoadBalancerFailed",
            "Error syncing load balancer: failed to ensure load balancer: quota exceeded",
        )],
        expected: &["loadBalancerLeft Service shop/front inferred RepairLoadBalancer"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "An API server was repaired a minute ago, and discovery has not noticed",
        objects: "ns match-us-1 deleted=900 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:890:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_tap.linkerd.io/v1alpha1:_stale_GroupVersion_discovery:_tap.linkerd.io/v1alpha1
            apiservice v1alpha1.tap.linkerd.io service=linkerd-viz/tap available=Available:True:Passed:60:all_checks_passed",
        told: &[Told::Hidden("tap.linkerd.io/v1alpha1", HiddenCause::Discovery, "stale")],
        expected: &["looksAgain APIService v1alpha1.tap.linkerd.io inferred Wait"],
        ..NOTHING_ELSE
    },
];
