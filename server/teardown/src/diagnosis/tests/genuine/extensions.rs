//! Owners, definitions, and programs that clear finalizers.

use super::{Genuine, NOTHING_ELSE, Told};

pub(super) const ALL: [Genuine; 3] = [
    Genuine {
        is: "A Deployment is deleted in the foreground, and a queue's finalizer holds a Pod of it",
        objects: "deploy data/airflow-scheduler deleted=800 finalizers=foregroundDeletion selector=component:scheduler template=component:scheduler
            rs data/airflow-scheduler-6b7c owner=deploy/airflow-scheduler deleted=799 finalizers=foregroundDeletion selector=component:scheduler template=component:scheduler
            pod data/airflow-scheduler-6b7c-x7t2m owner=rs/airflow-scheduler-6b7c labels=component:scheduler ready=no node=n4 deleted=798 grace=0 phase=Failed finalizers=kueue.x-k8s.io/managed containers=scheduler:terminated
            node n4
            crd workloads.kueue.x-k8s.io defines=Workload.kueue.x-k8s.io
            crd clusterqueues.kueue.x-k8s.io defines=ClusterQueue.kueue.x-k8s.io",
        gone: "deploy kueue-system/kueue-controller-manager",
        told: &[Told::Renews("n4"), Told::ManagerRenews],
        expected: &["finisherGone Pod * inferred RestoreFinisher"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A chart was uninstalled: its controller first, then its definitions",
        objects: "crd challenges.acme.cert-manager.io defines=Challenge.acme.cert-manager.io deleted=360 finalizers=customresourcecleanup.apiextensions.k8s.io terminating=Terminating:True:InstanceDeletionInProgress:359:CustomResource_deletion_is_in_progress
            Challenge.acme.cert-manager.io web/www-tls-1-3316 deleted=359 finalizers=acme.cert-manager.io/finalizer
            Challenge.acme.cert-manager.io api/api-tls-1-9021 deleted=359 finalizers=acme.cert-manager.io/finalizer",
        gone: "deploy cert-manager/cert-manager-webhook
            deploy cert-manager/cert-manager
            deploy cert-manager/cert-manager-cainjector",
        told: &[Told::ManagerRenews],
        expected: &["finisherGone * * inferred RestoreFinisher"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The cloud's load balancer is in a state from which it cannot be deleted",
        objects: "ns ingress-nginx deleted=905 conditions={discovered};{parsed};{deleted};NamespaceContentRemaining:True:SomeResourcesRemain:890:Some_resources_are_remaining:_services._has_1_resource_instances;NamespaceFinalizersRemaining:True:SomeFinalizersRemain:890:Some_content_in_the_namespace_has_finalizers_remaining:_service.kubernetes.io/load-balancer-cleanup_in_1_resource_instances
            svc ingress-nginx/ingress-nginx-controller type=LoadBalancer selector=app.kubernetes.io/component:controller deleted=900 finalizers=service.kubernetes.io/load-balancer-cleanup",
        told: &[
            Told::Event(
                "svc ingress-nginx/ingress-nginx-controller",
                899,
                "service-controller",
                "DeletingLoadBalancer",
                "Deleting load balancer",
            ),
            Told::Event(
                "svc ingress-nginx/ingress-nginx-controller",
                60,
                "service-controller",
                "SyncLoadBalancerFailed",
                "Error syncing load balancer: failed to delete load balancer: load balancer 9476c89a-a894-41b4-a46d-02d4e777e0fa is not ACTIVE, current provisioning status: ERROR",
            ),
        ],
        expected: &[
            "loadBalancerLeft Service ingress-nginx/ingress-nginx-controller confirmed RepairLoadBalancer",
        ],
        ..NOTHING_ELSE
    },
];
