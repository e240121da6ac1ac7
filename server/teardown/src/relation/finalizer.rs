//! Finalizers by name: which of them Kubernetes itself clears, and which project ships the program that clears another. A
//! finalizer is a domain, most often with a path: `acme.cert-manager.io/finalizer`.

use crate::object::Object;

/// Set on a definition until its objects are gone. The API server clears it.
const DEFINITION: &str = "customresourcecleanup.apiextensions.k8s.io";

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
    DEFINITION,
    "networking.k8s.io/service-cidr-finalizer",
    "resource.kubernetes.io/delete-protection",
    "scheduling.k8s.io/podgroup-protection",
];

/// A project whose programs clear finalizers of a domain.
struct Project {
    /// The domain of its finalizers, and of the domains below.
    domain: &'static str,
    /// The names under which it ships the program: a workload's own name or its label `app.kubernetes.io/name`, `app` or
    /// `k8s-app`, whole or up to a `-`. None where many projects share the domain, as the control planes of Cluster API do.
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

/// The operator of Kong, and its name of before.
const KONG: &[&str] = &["kong-operator", "gateway-operator"];
/// The controller of snapshots in the cluster, and the sidecar of a CSI driver.
const SNAPSHOTTERS: &[&str] = &["snapshot-controller", "csi-snapshotter"];
/// The controller of Google's load balancers. In GKE it runs outside of the cluster.
const INGRESS_GCE: &[&str] = &["l7-lb-controller"];
/// The providers of Cluster API for AWS, Azure and vSphere. The right to their objects has the core provider too, by aggregation.
const INFRASTRUCTURE: &[&str] =
    &["capa-controller-manager", "capz-controller-manager", "capv-controller-manager"];

/// Every known project, by its domain.
const PROJECTS: &[Project] = &[
    project("acme.cert-manager.io", &["cert-manager"]),
    project("actions.github.com", &["gha-rs-controller", "gha-runner-scale-set-controller"]),
    project("addons.cluster.x-k8s.io", &["capi-controller-manager", "caaph-controller-manager"]),
    project("argocd.argoproj.io", &["argocd-application-controller"]),
    project("autoscaling.internal.knative.dev", &["knative-serving"]),
    project("cattle.io", &["rancher", "cattle-cluster-agent"]),
    external("ceph.rook.io", &["rook-ceph-operator"]),
    project("chaos-mesh", &["chaos-controller-manager"]),
    project("cluster.open-cluster-management.io", &["cluster-manager-registration-controller"]),
    external("cluster.x-k8s.io", &["capi-controller-manager"]),
    project("cnpg.io", &["cloudnative-pg", "cnpg-controller-manager"]),
    external("cnrm.cloud.google.com", &["cnrm-controller-manager"]),
    external("controlplane.cluster.x-k8s.io", &[]),
    project("crossplane.io", &["crossplane", "provider"]),
    project("elbv2.k8s.aws", &["aws-load-balancer-controller"]),
    project("external-secrets.io", &["external-secrets"]),
    project("externalsecrets.io", &["external-secrets"]),
    project("finalizer.keda.sh", &["keda-operator"]),
    project(
        "finalizers.fluxcd.io",
        &["kustomize-controller", "helm-controller", "source-controller"],
    ),
    project("gateway-operator.konghq.com", KONG),
    project("gateway.k8s.aws", &["aws-load-balancer-controller"]),
    external("gateway.konghq.com", KONG),
    project("gke.networking.io", INGRESS_GCE),
    project("groupsnapshot.storage.kubernetes.io", SNAPSHOTTERS),
    external("infrastructure.cluster.x-k8s.io", INFRASTRUCTURE),
    project("ingress.k8s.aws", &["aws-load-balancer-controller"]),
    external("karpenter.sh", &["karpenter"]),
    external("kubeadm.controlplane.cluster.x-k8s.io", &["capi-kubeadm-control-plane"]),
    project("kubevirt.io", &["virt-controller", "virt-operator", "cdi-deployment"]),
    project("kueue.x-k8s.io", &["kueue-controller-manager"]),
    external("longhorn.io", &["longhorn-manager"]),
    external("machine.sapcloud.io", &["machine-controller-manager"]),
    external("managedresource.crossplane.io", &["crossplane", "provider"]),
    project(
        "monitoring.coreos.com",
        &["prometheus-operator", "kube-prometheus-stack-prometheus-operator"],
    ),
    project("networking.gke.io", INGRESS_GCE),
    project("operators.coreos.com", &["olm-operator"]),
    project("percona.com", &["percona-xtradb-cluster-operator", "pxc-operator"]),
    project("rabbitmqclusters.rabbitmq.com", &["rabbitmq-cluster-operator"]),
    project("ray.io", &["kuberay-operator"]),
    project("secrets.hashicorp.com", &["vault-secrets-operator"]),
    project("service.k8s.aws", &["aws-load-balancer-controller"]),
    project("serving.knative.dev", &["knative-serving"]),
    external("serviceoperator.azure.com", &["azureserviceoperator-controller-manager"]),
    external("services.k8s.aws", &["ack"]),
    project("snapshot.storage.kubernetes.io", SNAPSHOTTERS),
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

/// Whether a controller in the kube-controller-manager clears the finalizer.
pub(crate) fn is_of_manager(finalizer: &str) -> bool {
    is_built_in(finalizer) && finalizer != DEFINITION
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

/// The domains of all known projects.
#[cfg(test)]
pub(crate) fn project_domains() -> impl Iterator<Item = &'static str> {
    PROJECTS.iter().map(|project| project.domain)
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

/// The names of provisioners that are no CSI drivers, and the names of their programs. One that is told its name in each
/// installation needs no row here, unless it has a name by default.
const PROVISIONERS: &[(&str, &[&str])] = &[
    ("ceph.com/cephfs", &["cephfs-provisioner"]),
    ("ceph.com/rbd", &["rbd-provisioner"]),
    ("ceph.rook.io/block", &["rook-ceph-operator"]),
    ("example.com/aws-efs", &["efs-provisioner"]),
    ("fuseim.pri/ifs", &["nfs-client-provisioner"]),
    (
        "k8s-sigs.io/nfs-subdir-external-provisioner",
        &["nfs-client-provisioner", "nfs-subdir-external-provisioner"],
    ),
    ("microk8s.io/hostpath", &["hostpath-provisioner"]),
    ("openebs.io/local", &["openebs-localpv-provisioner"]),
    ("rancher.io/local-path", &["local-path-provisioner"]),
];

/// The start of the name that the local static provisioner has on each node (`pkg/controller/controller.go` of
/// `kubernetes-sigs/sig-storage-local-static-provisioner`), and its programs.
const STATIC_PROVISIONER: (&str, &[&str]) =
    ("local-volume-provisioner-", &["local-static-provisioner", "local-volume-provisioner"]);

/// Whether a workload is the program of the provisioner that has this name by default.
pub(super) fn is_provisioner(provisioner: &str, workload: &Object) -> bool {
    let (start, programs) = STATIC_PROVISIONER;
    let known = PROVISIONERS.iter().find(|(name, _)| *name == provisioner);
    let programs = match known {
        Some((_, programs)) => *programs,
        None if provisioner.starts_with(start) => programs,
        None => return false,
    };
    is_named(workload, programs)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deadlines::Work, fixture};

    #[test]
    fn finalizer_of_a_known_project_names_its_program() {
        for (finalizer, program, is_data) in [
            (
                "actions.github.com/cleanup-protection",
                "arc app.kubernetes.io/name:gha-rs-controller",
                false,
            ),
            (
                "ephemeralrunner.actions.github.com/runner-registration-finalizer",
                "gha-rs-controller",
                false,
            ),
            ("addons.cluster.x-k8s.io", "capi-controller-manager", false),
            ("awsmachine.infrastructure.cluster.x-k8s.io", "capa-controller-manager", true),
            ("cluster.cluster.x-k8s.io", "capi-controller-manager", true),
            (
                "cluster.open-cluster-management.io/resource-cleanup",
                "cluster-manager-registration-controller",
                false,
            ),
            ("cluster.x-k8s.io/machineset", "capi-controller-manager", true),
            ("controller.cattle.io/namespace-auth", "cattle-cluster-agent", false),
            (
                "gateway-operator.konghq.com/wait-for-owner",
                "kong-operator-controller-manager",
                false,
            ),
            ("gateway.k8s.aws/alb", "aws-load-balancer-controller", false),
            ("gateway.konghq.com/konnect-cleanup", "gateway-operator-controller-manager", true),
            ("gke.networking.io/l4-netlb-v2", "l7-lb-controller", false),
            ("karpenter.sh/termination", "karpenter", true),
            (
                "kubeadm.controlplane.cluster.x-k8s.io",
                "capi-kubeadm-control-plane-controller-manager",
                true,
            ),
            ("machine.cluster.x-k8s.io", "capi-controller-manager", true),
            ("machine.sapcloud.io/machine-controller-manager", "machine-controller-manager", true),
            ("monitoring.coreos.com/status-cleanup", "prometheus-operator", false),
            ("networking.gke.io/neg-finalizer", "l7-lb-controller", false),
            (
                "podautoscalers.autoscaling.internal.knative.dev",
                "controller app.kubernetes.io/name:knative-serving",
                false,
            ),
            (
                "routes.serving.knative.dev",
                "controller app.kubernetes.io/name:knative-serving",
                false,
            ),
        ] {
            let (name, label) = program.split_once(' ').unwrap_or((program, "a:b"));
            let workload = fixture::object(&format!("deploy system/{name} labels={label}"));
            assert!(is_shipped_with(finalizer, &workload), "{finalizer} by {program}");
            assert_eq!(is_external(finalizer), is_data, "{finalizer}");
        }
    }

    #[test]
    fn program_of_another_project_is_not_named() {
        for (finalizer, name) in [
            ("awsmachine.infrastructure.cluster.x-k8s.io", "capi-controller-manager"),
            ("machine.cluster.x-k8s.io", "capa-controller-manager"),
            ("kubeadm.controlplane.cluster.x-k8s.io", "capi-controller-manager"),
            ("awsmanagedcontrolplane.controlplane.cluster.x-k8s.io", "capi-controller-manager"),
            ("rke2.controlplane.cluster.x-k8s.io", "capi-controller-manager"),
            ("cluster.x-k8s.io.example.com/machine", "capi-controller-manager"),
            ("routes.serving.knative.dev", "controller"),
        ] {
            let workload = fixture::object(&format!("deploy system/{name}"));
            assert!(!is_shipped_with(finalizer, &workload), "{finalizer} by {name}");
        }
    }

    #[test]
    fn finalizer_of_something_outside_has_the_longest_time() {
        for Project { domain, is_external, .. } in PROJECTS {
            let work = Work::before(domain);
            assert!(!is_external || work == Work::External, "{domain}: {work:?}");
        }
    }

    #[test]
    fn control_plane_of_cluster_api_is_external_whoever_provides_it() {
        let finalizer = "awsmanagedcontrolplane.controlplane.cluster.x-k8s.io";
        assert!(is_external(finalizer));
        assert_eq!(programs_of(finalizer), [""; 0]);
    }
}
