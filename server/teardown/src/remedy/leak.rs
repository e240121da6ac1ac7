//! The things that stay, or are lost, if a finalizer is removed by hand and nobody does its work.

use super::loss::Loss;

/// Finalizers, or their domains with the domains below, each with what stays; from the source of the projects. The longest entry
/// knows best.
const LEAKS: &[(&str, Loss)] = &[
    ("acme.cert-manager.io", Loss::DnsRecords),
    ("actions.github.com", Loss::Elsewhere),
    ("addons.cluster.x-k8s.io", Loss::Deployed),
    ("apiextensions.crossplane.io", Loss::InUse),
    ("argocd.argoproj.io", Loss::Deployed),
    ("argocd.argoproj.io/hook-finalizer", Loss::Hooks),
    ("autoscaling.internal.knative.dev", Loss::Deployed),
    ("batch.kubernetes.io/job-tracking", Loss::JobCount),
    ("cattle.io", Loss::Access),
    ("cdi.kubevirt.io", Loss::Copy),
    ("ceph.rook.io", Loss::NodeStorage),
    ("ceph.rook.io/disaster-protection", Loss::Keys),
    ("chaos-mesh", Loss::Injected),
    ("cloud.google.com", Loss::Cloud),
    ("cluster.open-cluster-management.io", Loss::Deployed),
    ("cluster.x-k8s.io", Loss::MachineLeft),
    ("cnpg.io", Loss::Elsewhere),
    ("composite.apiextensions.crossplane.io", Loss::Deployed),
    ("crossplane.io", Loss::Cloud),
    ("elbv2.k8s.aws", Loss::LoadBalancer),
    ("external-attacher", Loss::Attachment),
    ("external-provisioner.volume.kubernetes.io", Loss::Storage),
    ("external-secrets.io", Loss::Access),
    ("externalsecrets.io", Loss::Access),
    ("finalizer.apiextensions.crossplane.io", Loss::Deployed),
    ("finalizer.keda.sh", Loss::Replicas),
    ("finalizers.fluxcd.io", Loss::Deployed),
    ("gateway-exists-finalizer.gateway.networking.k8s.io", Loss::InUse),
    ("gateway-operator.konghq.com", Loss::Deployed),
    ("gateway.k8s.aws", Loss::LoadBalancer),
    ("gateway.konghq.com", Loss::Elsewhere),
    ("gke.networking.io", Loss::LoadBalancer),
    ("groupsnapshot.storage.kubernetes.io", Loss::Snapshot),
    ("in-use.crossplane.io", Loss::InUse),
    ("ingress.k8s.aws", Loss::LoadBalancer),
    ("karpenter.sh", Loss::MachineLeft),
    ("kubernetes.io/pv-controller", Loss::Storage),
    ("kubevirt.io", Loss::VirtualMachine),
    ("kueue.x-k8s.io", Loss::Quota),
    ("kueue.x-k8s.io/resource-in-use", Loss::InUse),
    ("longhorn.io", Loss::NodeStorage),
    ("machine.sapcloud.io", Loss::MachineLeft),
    ("monitoring.coreos.com", Loss::Status),
    ("networking.gke.io", Loss::LoadBalancer),
    ("operators.coreos.com", Loss::Deployed),
    ("percona.com", Loss::Claims),
    ("percona.com/delete-backup", Loss::Files),
    ("percona.com/delete-psmdb-pods-in-order", Loss::StopOrder),
    ("percona.com/delete-pxc-pods-in-order", Loss::StopOrder),
    ("pkg.crossplane.io", Loss::InUse),
    ("post-delete-finalizer.argocd.argoproj.io", Loss::Hooks),
    ("pre-delete-finalizer.argocd.argoproj.io", Loss::Hooks),
    ("provisioner.storage.kubernetes.io", Loss::Copy),
    ("rabbitmqclusters.rabbitmq.com", Loss::StopOrder),
    ("ray.io", Loss::Deployed),
    ("ray.io/gcs-ft-redis-cleanup-finalizer", Loss::Elsewhere),
    ("secrets.hashicorp.com", Loss::Access),
    ("service.k8s.aws", Loss::LoadBalancer),
    ("service.kubernetes.io", Loss::LoadBalancer),
    ("serviceoperator.azure.com", Loss::Cloud),
    ("services.k8s.aws", Loss::Cloud),
    ("serving.knative.dev", Loss::Deployed),
    ("snapshot.storage.kubernetes.io", Loss::Snapshot),
    ("snapshot.storage.kubernetes.io/pvc-as-source-protection", Loss::Copy),
    ("strimzi.io", Loss::Elsewhere),
    ("tekton.dev", Loss::Deployed),
    ("tigera.io", Loss::PodNetwork),
    ("velero.io", Loss::Files),
    ("workflows.argoproj.io", Loss::Files),
    ("workflows.argoproj.io/status", Loss::Output),
];

/// The thing that stays, or is lost, if a finalizer is removed by hand.
pub(super) fn leak(finalizer: &str) -> Loss {
    let domain = finalizer.split('/').next().unwrap_or_default();
    let is_within = |known: &str| {
        domain.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let known = LEAKS.iter().filter(|(known, _)| *known == finalizer || is_within(known));
    known.max_by_key(|(known, _)| known.len()).map_or(Loss::CleanUp, |(_, loss)| *loss)
}

/// Whether data is lost with it, or may be damaged.
pub(super) fn loses_data(leak: Loss) -> bool {
    matches!(leak, Loss::Keys | Loss::VirtualMachine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relation::{is_built_in, project_domains};

    /// The finalizers that are found in clusters, each with what its removal by hand leaves behind.
    const FOUND: &[(&str, Loss)] = &[
        ("batch.kubernetes.io/job-tracking", Loss::JobCount),
        ("kubernetes.io/pv-controller", Loss::Storage),
        ("service.kubernetes.io/load-balancer-cleanup", Loss::LoadBalancer),
        ("external-provisioner.volume.kubernetes.io/finalizer", Loss::Storage),
        ("external-attacher/disk-example", Loss::Attachment),
        ("provisioner.storage.kubernetes.io/cloning-protection", Loss::Copy),
        ("provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection", Loss::Copy),
        ("snapshot.storage.kubernetes.io/pvc-as-source-protection", Loss::Copy),
        ("snapshot.storage.kubernetes.io/volumesnapshot-bound-protection", Loss::Snapshot),
        ("snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection", Loss::Snapshot),
        ("snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection", Loss::Snapshot),
        ("snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection", Loss::Snapshot),
        (
            "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection",
            Loss::Snapshot,
        ),
        (
            "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection",
            Loss::Snapshot,
        ),
        ("resources-finalizer.argocd.argoproj.io", Loss::Deployed),
        ("resources-finalizer.argocd.argoproj.io/foreground", Loss::Deployed),
        ("post-delete-finalizer.argocd.argoproj.io", Loss::Hooks),
        ("post-delete-finalizer.argocd.argoproj.io/cleanup", Loss::Hooks),
        ("pre-delete-finalizer.argocd.argoproj.io", Loss::Hooks),
        ("argocd.argoproj.io/hook-finalizer", Loss::Hooks),
        ("finalizers.fluxcd.io", Loss::Deployed),
        ("finalizer.managedresource.crossplane.io", Loss::Cloud),
        ("composite.apiextensions.crossplane.io", Loss::Deployed),
        ("finalizer.apiextensions.crossplane.io", Loss::Deployed),
        ("defined.apiextensions.crossplane.io", Loss::InUse),
        ("offered.apiextensions.crossplane.io", Loss::InUse),
        ("in-use.crossplane.io", Loss::InUse),
        ("usage.apiextensions.crossplane.io", Loss::InUse),
        ("revision.pkg.crossplane.io", Loss::InUse),
        ("lock.pkg.crossplane.io", Loss::InUse),
        ("cephcluster.ceph.rook.io", Loss::NodeStorage),
        ("ceph.rook.io/disaster-protection", Loss::Keys),
        ("longhorn.io", Loss::NodeStorage),
        ("acme.cert-manager.io/finalizer", Loss::DnsRecords),
        ("finalizer.acme.cert-manager.io", Loss::DnsRecords),
        ("externalsecrets.external-secrets.io/externalsecret-cleanup", Loss::Access),
        ("secretstore.externalsecrets.io/finalizer", Loss::Access),
        ("pushsecret.externalsecrets.io/finalizer", Loss::Access),
        ("vaultstaticsecret.secrets.hashicorp.com/finalizer", Loss::Access),
        ("vaultdynamicsecret.secrets.hashicorp.com/finalizer", Loss::Access),
        ("vaultauth.secrets.hashicorp.com/finalizer", Loss::Access),
        ("vaultconnection.secrets.hashicorp.com/finalizer", Loss::Access),
        ("ingress.k8s.aws/resources", Loss::LoadBalancer),
        ("group.ingress.k8s.aws/shared", Loss::LoadBalancer),
        ("service.k8s.aws/resources", Loss::LoadBalancer),
        ("elbv2.k8s.aws/resources", Loss::LoadBalancer),
        ("gateway.k8s.aws/alb", Loss::LoadBalancer),
        ("networking.gke.io/ingress-finalizer-V2", Loss::LoadBalancer),
        ("networking.gke.io/neg-finalizer", Loss::LoadBalancer),
        ("networking.gke.io/service-attachment-finalizer", Loss::LoadBalancer),
        ("gke.networking.io/l4-ilb-v2", Loss::LoadBalancer),
        ("finalizers.s3.services.k8s.aws/Bucket", Loss::Cloud),
        ("cnrm.cloud.google.com/finalizer", Loss::Cloud),
        ("cnrm.cloud.google.com/deletion-defender", Loss::Cloud),
        ("serviceoperator.azure.com/finalizer", Loss::Cloud),
        ("karpenter.sh/termination", Loss::MachineLeft),
        ("machine.cluster.x-k8s.io", Loss::MachineLeft),
        ("cluster.cluster.x-k8s.io", Loss::MachineLeft),
        ("cluster.x-k8s.io/machineset", Loss::MachineLeft),
        ("cluster.x-k8s.io/machinedeployment", Loss::MachineLeft),
        ("machinepool.cluster.x-k8s.io", Loss::MachineLeft),
        ("kubeadm.controlplane.cluster.x-k8s.io", Loss::MachineLeft),
        ("addons.cluster.x-k8s.io", Loss::Deployed),
        ("machine.sapcloud.io/machine-controller", Loss::MachineLeft),
        ("machine.sapcloud.io/machine-controller-manager", Loss::MachineLeft),
        ("finalizer.keda.sh", Loss::Replicas),
        ("routes.serving.knative.dev", Loss::Deployed),
        ("podautoscalers.autoscaling.internal.knative.dev", Loss::Deployed),
        ("tektonpipelines.operator.tekton.dev", Loss::Deployed),
        ("velero.io/pod-volume-finalizer", Loss::Files),
        ("velero.io/data-upload-download-finalizer", Loss::Files),
        ("restores.velero.io/external-resources-finalizer", Loss::Files),
        ("kueue.x-k8s.io/resource-in-use", Loss::InUse),
        ("kueue.x-k8s.io/managed", Loss::Quota),
        ("operators.coreos.com/csv-cleanup", Loss::Deployed),
        ("ray.io/gcs-ft-redis-cleanup-finalizer", Loss::Elsewhere),
        ("ray.io/rayjob-finalizer", Loss::Deployed),
        ("ray.io/rayservice-finalizer", Loss::Deployed),
        ("workflows.argoproj.io/artifact-gc", Loss::Files),
        ("workflows.argoproj.io/status", Loss::Output),
        ("kubevirt.io/foregroundDeleteVirtualMachine", Loss::VirtualMachine),
        ("kubevirt.io/virtualMachineControllerFinalize", Loss::VirtualMachine),
        ("kubevirt.io/migrationJobFinalize", Loss::VirtualMachine),
        ("cdi.kubevirt.io/cloneSource", Loss::Copy),
        ("cdi.kubevirt.io/dataVolumeFinalizer", Loss::Copy),
        ("strimzi.io/topic-operator", Loss::Elsewhere),
        ("cnpg.io/deleteDatabase", Loss::Elsewhere),
        ("percona.com/delete-pxc-pods-in-order", Loss::StopOrder),
        ("percona.com/delete-pxc-pvc", Loss::Claims),
        ("deletion.finalizers.rabbitmqclusters.rabbitmq.com", Loss::StopOrder),
        ("gateway-exists-finalizer.gateway.networking.k8s.io", Loss::InUse),
        ("gateway-operator.konghq.com/wait-for-owner", Loss::Deployed),
        ("gateway.konghq.com/konnect-cleanup", Loss::Elsewhere),
        ("operator.tigera.io/installation-controller", Loss::PodNetwork),
        ("tigera.io/cni-protector", Loss::PodNetwork),
        ("tigera.io/operator-cleanup", Loss::PodNetwork),
        ("controller.cattle.io/namespace-auth", Loss::Access),
        ("wrangler.cattle.io/auth-prov-v2-rb", Loss::Access),
        ("clusterscoped.controller.cattle.io/project", Loss::Access),
        ("chaos-mesh/records", Loss::Injected),
        ("cluster.open-cluster-management.io/resource-cleanup", Loss::Deployed),
        ("monitoring.coreos.com/status-cleanup", Loss::Status),
        ("actions.github.com/cleanup-protection", Loss::Elsewhere),
    ];

    /// Those that the control plane clears and that nobody removes by hand, so that nothing is said of what stays.
    const NEVER: &[&str] = &[
        "foregroundDeletion",
        "orphan",
        "kubernetes",
        "kubernetes.io/pvc-protection",
        "kubernetes.io/pv-protection",
        "kubernetes.io/vac-protection",
        "customresourcecleanup.apiextensions.k8s.io",
        "networking.k8s.io/service-cidr-finalizer",
        "resource.kubernetes.io/delete-protection",
        "scheduling.k8s.io/podgroup-protection",
    ];

    #[test]
    fn finalizer_that_is_found_in_clusters_says_what_stays() {
        for (finalizer, expected) in FOUND {
            assert_eq!(leak(finalizer), *expected, "{finalizer}");
            assert_ne!(leak(finalizer), Loss::CleanUp, "{finalizer}");
        }
        for finalizer in NEVER {
            assert_eq!(leak(finalizer), Loss::CleanUp, "{finalizer}");
            assert!(is_built_in(finalizer), "{finalizer}");
        }
    }

    #[test]
    fn every_project_whose_program_is_known_says_what_stays() {
        let unsaid: Vec<&str> =
            project_domains().filter(|domain| leak(domain) == Loss::CleanUp).collect();
        assert_eq!(unsaid, [""; 0]);
    }

    #[test]
    fn finalizer_of_another_domain_with_the_same_end_says_nothing() {
        for finalizer in ["notlonghorn.io", "example.com/x", "longhorn.io.example.com/x"] {
            assert_eq!(leak(finalizer), Loss::CleanUp, "{finalizer}");
        }
    }
}
