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

/// A project whose programs clear finalizers of a domain.
struct Project {
    /// The domain of its finalizers, and of the domains below.
    domain: &'static str,
    /// The names under which it ships the program: a workload's own name or its label `app.kubernetes.io/name`, `app` or
    /// `k8s-app`, whole or up to a `-`.
    programs: &'static [&'static str],
    /// Whether the finalizer removes what its object stands for outside of the cluster, or on the disks of its nodes.
    is_external: bool,
}

const fn project(domain: &'static str, programs: &'static [&'static str]) -> Project {
    Project { domain, programs, is_external: false }
}

const fn external(domain: &'static str, programs: &'static [&'static str]) -> Project {
    Project { domain, programs, is_external: true }
}

/// Every known project, by its domain.
const PROJECTS: &[Project] = &[
    project("acme.cert-manager.io", &["cert-manager"]),
    project("argocd.argoproj.io", &["argocd-application-controller"]),
    project("cattle.io", &["rancher"]),
    external("ceph.rook.io", &["rook-ceph-operator"]),
    project("chaos-mesh", &["chaos-controller-manager"]),
    project("cnpg.io", &["cloudnative-pg", "cnpg-controller-manager"]),
    external("cnrm.cloud.google.com", &["cnrm-controller-manager"]),
    project("crossplane.io", &["crossplane", "provider"]),
    project("elbv2.k8s.aws", &["aws-load-balancer-controller"]),
    project("external-secrets.io", &["external-secrets"]),
    project("externalsecrets.io", &["external-secrets"]),
    project("finalizer.keda.sh", &["keda-operator"]),
    project(
        "finalizers.fluxcd.io",
        &["kustomize-controller", "helm-controller", "source-controller"],
    ),
    project("ingress.k8s.aws", &["aws-load-balancer-controller"]),
    project("karpenter.sh", &["karpenter"]),
    project("kubevirt.io", &["virt-controller", "virt-operator", "cdi-deployment"]),
    project("kueue.x-k8s.io", &["kueue-controller-manager"]),
    external("longhorn.io", &["longhorn-manager"]),
    external("managedresource.crossplane.io", &["crossplane", "provider"]),
    project("operators.coreos.com", &["olm-operator"]),
    project("percona.com", &["percona-xtradb-cluster-operator", "pxc-operator"]),
    project("rabbitmqclusters.rabbitmq.com", &["rabbitmq-cluster-operator"]),
    project("ray.io", &["kuberay-operator"]),
    project("secrets.hashicorp.com", &["vault-secrets-operator"]),
    project("service.k8s.aws", &["aws-load-balancer-controller"]),
    external("serviceoperator.azure.com", &["azureserviceoperator-controller-manager"]),
    external("services.k8s.aws", &["ack"]),
    project("snapshot.storage.kubernetes.io", &["snapshot-controller", "csi-snapshotter"]),
    external("strimzi.io", &["entity-operator", "strimzi-topic-operator"]),
    project("tekton.dev", &["tekton-operator"]),
    project("tigera.io", &["tigera-operator"]),
    project("velero.io", &["velero"]),
    project(
        "workflows.argoproj.io",
        &["workflow-controller", "argo-workflows-workflow-controller"],
    ),
];

/// Whether the control plane clears the finalizer.
pub(crate) fn is_built_in(finalizer: &str) -> bool {
    BUILT_IN.contains(&finalizer)
}

/// Whether a CSI driver's own sidecars clear the finalizer of a volume or attachment (KEP-2644, `external-attacher`).
pub(crate) fn is_a_drivers(finalizer: &str) -> bool {
    is_an_attachers(finalizer) || finalizer == "external-provisioner.volume.kubernetes.io/finalizer"
}

/// Whether the sidecar that clears the finalizer is the external-attacher of a driver, and not its external-provisioner.
pub(crate) fn is_an_attachers(finalizer: &str) -> bool {
    finalizer.starts_with("external-attacher/")
}

/// Whether a workload is the program of the project that ships the finalizer.
pub(crate) fn is_shipped_with(finalizer: &str, workload: &Object) -> bool {
    project_of(finalizer).is_some_and(|project| is_named(workload, project.programs))
}

/// The names under which the project that ships a finalizer ships its programs; none for one of no known project.
pub(crate) fn programs_of(finalizer: &str) -> &'static [&'static str] {
    project_of(finalizer).map_or(&[], |project| project.programs)
}

/// Whether an object with the finalizer stands for data outside of the cluster, which goes with it.
pub(crate) fn is_external(finalizer: &str) -> bool {
    project_of(finalizer).is_some_and(|project| project.is_external)
}

/// The project that ships a finalizer. The longest domain knows best: `acme.cert-manager.io` before `cert-manager.io`.
fn project_of(finalizer: &str) -> Option<&'static Project> {
    let domain = finalizer.split('/').next().unwrap_or_default();
    let is_within = |project: &&Project| {
        domain
            .strip_suffix(project.domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    PROJECTS.iter().filter(is_within).max_by_key(|project| project.domain.len())
}

/// The names by which classes name their controllers, and the names of the programs.
const CONTROLLERS: &[(&str, &[&str])] = &[
    ("gateway.envoyproxy.io/gatewayclass-controller", &["envoy-gateway"]),
    ("gateway.nginx.org/nginx-gateway-controller", &["nginx-gateway"]),
    ("haproxy.org/ingress-controller", &["haproxy-ingress", "kubernetes-ingress"]),
    ("ingress.k8s.aws/alb", &["aws-load-balancer-controller"]),
    ("io.cilium/gateway-controller", &["cilium-operator"]),
    ("istio.io/gateway-controller", &["istiod"]),
    ("istio.io/ingress-controller", &["istiod"]),
    ("k8s.io/ingress-nginx", &["ingress-nginx"]),
    ("nginx.org/ingress-controller", &["nginx-ingress"]),
    ("projectcontour.io/gateway-controller", &["contour"]),
    ("traefik.io/gateway-controller", &["traefik"]),
    ("traefik.io/ingress-controller", &["traefik"]),
];

/// Whether a workload is the controller that a class names.
pub(super) fn is_controller(controller: &str, workload: &Object) -> bool {
    let known = CONTROLLERS.iter().find(|(name, _)| *name == controller);
    known.is_some_and(|(_, programs)| is_named(workload, programs))
}

/// Whether a workload has one of these names, or a name that begins with one and a `-`.
fn is_named(workload: &Object, programs: &[&str]) -> bool {
    let labels = ["app.kubernetes.io/name", "app", "k8s-app"];
    let own = labels.iter().filter_map(|label| workload.labels.get(label)).map(|name| &**name);
    let names: Vec<&str> = own.chain([&*workload.name]).collect();
    programs.iter().any(|program| {
        names.iter().any(|name| {
            name.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    })
}
