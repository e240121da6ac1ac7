//! Finalizers by name: which of them Kubernetes itself clears, and which project ships the program that clears another. A
//! finalizer is a domain, most often with a path: `acme.cert-manager.io/finalizer`.

use crate::object::Object;

/// The finalizers that the API server and the controllers of the control plane clear, which no teardown deletes
/// (<https://github.com/kubernetes/kubernetes>: `pkg/controller`, `staging/src/k8s.io/apiextensions-apiserver`).
const BUILT_IN: &[&str] = &[
    "foregroundDeletion",
    "orphan",
    "kubernetes",
    "kubernetes.io/pvc-protection",
    "kubernetes.io/pv-protection",
    "kubernetes.io/pv-controller",
    "kubernetes.io/vac-protection",
    "batch.kubernetes.io/job-tracking",
    "customresourcecleanup.apiextensions.k8s.io",
    "networking.k8s.io/service-cidr-finalizer",
    "resource.kubernetes.io/delete-protection",
    "scheduling.k8s.io/podgroup-protection",
];

/// Domains, and the names under which their projects ship the program that clears the finalizer: a workload's own name or
/// its label `app.kubernetes.io/name`, `app` or `k8s-app`, whole or up to a `-`.
const SHIPPED: &[(&str, &[&str])] = &[
    ("acme.cert-manager.io", &["cert-manager"]),
    ("argocd.argoproj.io", &["argocd-application-controller"]),
    ("ceph.rook.io", &["rook-ceph-operator"]),
    ("chaos-mesh", &["chaos-controller-manager"]),
    ("cnpg.io", &["cloudnative-pg", "cnpg-controller-manager"]),
    ("cnrm.cloud.google.com", &["cnrm-controller-manager"]),
    ("crossplane.io", &["crossplane", "provider"]),
    ("elbv2.k8s.aws", &["aws-load-balancer-controller"]),
    ("external-secrets.io", &["external-secrets"]),
    ("externalsecrets.io", &["external-secrets"]),
    ("finalizer.keda.sh", &["keda-operator"]),
    ("finalizers.fluxcd.io", &["kustomize-controller", "helm-controller", "source-controller"]),
    ("ingress.k8s.aws", &["aws-load-balancer-controller"]),
    ("karpenter.sh", &["karpenter"]),
    ("kubevirt.io", &["virt-controller", "virt-operator", "cdi-deployment"]),
    ("kueue.x-k8s.io", &["kueue-controller-manager"]),
    ("longhorn.io", &["longhorn-manager"]),
    ("operators.coreos.com", &["olm-operator"]),
    ("percona.com", &["percona-xtradb-cluster-operator", "pxc-operator"]),
    ("rabbitmqclusters.rabbitmq.com", &["rabbitmq-cluster-operator"]),
    ("ray.io", &["kuberay-operator"]),
    ("secrets.hashicorp.com", &["vault-secrets-operator"]),
    ("service.k8s.aws", &["aws-load-balancer-controller"]),
    ("serviceoperator.azure.com", &["azureserviceoperator-controller-manager"]),
    ("snapshot.storage.kubernetes.io", &["snapshot-controller", "csi-snapshotter"]),
    ("strimzi.io", &["entity-operator", "strimzi-topic-operator"]),
    ("tekton.dev", &["tekton-operator"]),
    ("tigera.io", &["tigera-operator"]),
    ("velero.io", &["velero"]),
    ("workflows.argoproj.io", &["workflow-controller", "argo-workflows-workflow-controller"]),
];

/// Whether the control plane clears the finalizer.
pub(crate) fn is_built_in(finalizer: &str) -> bool {
    BUILT_IN.contains(&finalizer)
}

/// Whether a workload is the program of the project that ships the finalizer.
pub(crate) fn is_shipped_with(finalizer: &str, workload: &Object) -> bool {
    let domain = finalizer.split('/').next().unwrap_or_default();
    let is_within = |project: &str| {
        domain.strip_suffix(project).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let labels = ["app.kubernetes.io/name", "app", "k8s-app"];
    let own = labels.iter().filter_map(|label| workload.labels.get(label)).map(|name| &**name);
    let names: Vec<&str> = own.chain([&*workload.name]).collect();
    let is_named = |program: &&str| {
        names.iter().any(|name| {
            name.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    // The longest domain knows best: `acme.cert-manager.io` before `cert-manager.io`.
    let known = SHIPPED.iter().filter(|(project, _)| is_within(project));
    known
        .max_by_key(|(project, _)| project.len())
        .is_some_and(|(_, programs)| programs.iter().any(is_named))
}
