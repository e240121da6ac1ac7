//! The objects that the cluster creates by itself.

/// The ConfigMaps that a controller creates in every namespace, and creates again: of Kubernetes
/// (`pkg/controller/certificates/rootcacertpublisher`), of Istio (`security/pkg/k8s/configutil.go` and
/// `pilot/pkg/serviceregistry/kube/controller/namespacecontroller.go`) and of OpenShift's service CA operator.
const ROOT_CERTIFICATES: [&str; 3] =
    ["kube-root-ca.crt", "istio-ca-root-cert", "openshift-service-ca.crt"];

/// Whether the cluster creates an object of this group, kind and name by itself, and removes it again.
pub(super) fn is_made_by_cluster(group: &str, kind: &str, name: &str) -> bool {
    match (group, kind) {
        ("", "ServiceAccount") => name == "default",
        ("", "ConfigMap") => ROOT_CERTIFICATES.contains(&name),
        ("", "Endpoints" | "Event") | ("discovery.k8s.io", "EndpointSlice") => true,
        ("events.k8s.io", "Event") | ("coordination.k8s.io", "Lease") => true,
        // The controller that attaches volumes makes one for each volume and node, and removes it after the last Pod.
        ("metrics.k8s.io", _) | ("storage.k8s.io", "VolumeAttachment") => true,
        _ => false,
    }
}
