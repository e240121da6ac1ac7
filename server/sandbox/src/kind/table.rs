//! The built-in kinds, as `kubectl api-resources` of a 1.36 control plane lists them, except for six that the sandbox
//! does not need: ComponentStatus, MutatingAdmissionPolicy and its binding, and of resource.k8s.io all but
//! ResourceClaim.

use serde_json::Value;

use super::{Dependents, Kind, Subresource};

/// Version, kind, plural and short names, then words: `-` for cluster-scoped, `+` for a kind with a generation, `=` for
/// a kind whose PUT needs a resource version, `*` for the category `all`, `%` for `api-extensions`, `@verb` for the
/// only verbs of the kind, `/name` for subresources.
const TABLE: &str = "
v1 Namespace namespaces ns - /status /finalize
v1 Node nodes no - /status /proxy
v1 PersistentVolume persistentvolumes pv - /status
v1 Pod pods po + * /status /log /eviction /binding /ephemeralcontainers /exec /attach /portforward
v1 Service services svc * /status
v1 Endpoints endpoints ep
v1 ConfigMap configmaps cm
v1 Secret secrets
v1 ServiceAccount serviceaccounts sa /token
v1 PersistentVolumeClaim persistentvolumeclaims pvc /status
v1 ReplicationController replicationcontrollers rc + * /status /scale
v1 ResourceQuota resourcequotas quota /status
v1 LimitRange limitranges limits
v1 PodTemplate podtemplates + 
v1 Event events ev
v1 Binding bindings @create
apps/v1 Deployment deployments deploy + * /status /scale
apps/v1 ReplicaSet replicasets rs + * /status /scale
apps/v1 StatefulSet statefulsets sts + * /status /scale
apps/v1 DaemonSet daemonsets ds + * /status
apps/v1 ControllerRevision controllerrevisions
batch/v1 Job jobs + * /status
batch/v1 CronJob cronjobs cj + * /status
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers hpa * /status
policy/v1 PodDisruptionBudget poddisruptionbudgets pdb + = /status
networking.k8s.io/v1 Ingress ingresses ing + /status
networking.k8s.io/v1 IngressClass ingressclasses - +
networking.k8s.io/v1 NetworkPolicy networkpolicies netpol +
networking.k8s.io/v1 IPAddress ipaddresses ip -
networking.k8s.io/v1 ServiceCIDR servicecidrs - /status
discovery.k8s.io/v1 EndpointSlice endpointslices +
storage.k8s.io/v1 StorageClass storageclasses sc -
storage.k8s.io/v1 CSIDriver csidrivers - =
storage.k8s.io/v1 CSINode csinodes - =
storage.k8s.io/v1 VolumeAttachment volumeattachments - = /status
storage.k8s.io/v1 CSIStorageCapacity csistoragecapacities =
storage.k8s.io/v1 VolumeAttributesClass volumeattributesclasses vac -
resource.k8s.io/v1 ResourceClaim resourceclaims /status
scheduling.k8s.io/v1 PriorityClass priorityclasses pc - +
node.k8s.io/v1 RuntimeClass runtimeclasses - =
coordination.k8s.io/v1 Lease leases =
events.k8s.io/v1 Event events ev
rbac.authorization.k8s.io/v1 Role roles
rbac.authorization.k8s.io/v1 RoleBinding rolebindings
rbac.authorization.k8s.io/v1 ClusterRole clusterroles -
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings -
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations - + = %
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations - + = %
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies - + = % /status
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - + = %
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions crd,crds - + = % /status
apiregistration.k8s.io/v1 APIService apiservices - = % /status
flowcontrol.apiserver.k8s.io/v1 FlowSchema flowschemas - + /status
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration prioritylevelconfigurations - + /status
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests csr - /status /approval
authentication.k8s.io/v1 SelfSubjectReview selfsubjectreviews - @create
authentication.k8s.io/v1 TokenReview tokenreviews - @create
authorization.k8s.io/v1 SelfSubjectAccessReview selfsubjectaccessreviews - @create
authorization.k8s.io/v1 SubjectAccessReview subjectaccessreviews - @create
authorization.k8s.io/v1 LocalSubjectAccessReview localsubjectaccessreviews @create
authorization.k8s.io/v1 SelfSubjectRulesReview selfsubjectrulesreviews - @create
";

/// The verbs of a stored kind, in the order of discovery.
pub(super) const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

pub(super) fn built_in() -> impl Iterator<Item = Kind> {
    TABLE.lines().filter_map(row)
}

fn row(line: &str) -> Option<Kind> {
    let mut words = line.split_whitespace();
    let (api_version, kind, plural) = (words.next()?, words.next()?, words.next()?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let mut row = Kind {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: plural.into(),
        singular: kind.to_lowercase(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        verbs: VERBS.map(String::from).to_vec(),
        subresources: vec![],
        generation: false,
        dependents: dependents(plural),
        unconditional_update: true,
        definition: String::new(),
        api_service: String::new(),
        converter: Value::Null,
        declared: Value::Null,
        since: 0,
    };
    if plural == "namespaces" {
        row.verbs.retain(|verb| verb != "deletecollection");
    }
    for word in words {
        match word.split_at_checked(1) {
            Some(("-", "")) => row.namespaced = false,
            Some(("+", "")) => row.generation = true,
            Some(("=", "")) => row.unconditional_update = false,
            Some(("%", "")) => row.categories = vec!["api-extensions".into()],
            Some(("*", "")) => row.categories = vec!["all".into()],
            Some(("@", verb)) => row.verbs = vec![verb.into()],
            Some(("/", name)) => row.subresources.push(subresource(&row, name)),
            _ => row.short_names = word.split(',').map(String::from).collect(),
        }
    }
    Some(row)
}

/// `DefaultGarbageCollectionPolicy` in the strategies below `kubernetes/pkg/registry`. The policy of Jobs orphans in
/// `batch/v1`; that of CronJobs orphaned only in versions that were removed.
fn dependents(plural: &str) -> Dependents {
    match plural {
        "jobs" | "replicationcontrollers" => Dependents::Orphaned,
        "events" => Dependents::Unsupported,
        _ => Dependents::Deleted,
    }
}

/// A subresource of `kind`: the kind of its body, and its verbs.
pub(super) fn subresource(of: &Kind, name: &str) -> Subresource {
    let (group, version, kind, verbs): (&str, &str, &str, &[&str]) = match name {
        "scale" => ("autoscaling", "v1", "Scale", &["get", "patch", "update"]),
        "eviction" => ("policy", "v1", "Eviction", &["create"]),
        "binding" => ("", "v1", "Binding", &["create"]),
        "token" => ("authentication.k8s.io", "v1", "TokenRequest", &["create"]),
        "log" => (&*of.group, &*of.version, &*of.kind, &["get"]),
        "finalize" => (&*of.group, &*of.version, &*of.kind, &["update"]),
        "exec" => ("", "v1", "PodExecOptions", &["create", "get"]),
        "attach" => ("", "v1", "PodAttachOptions", &["create", "get"]),
        "portforward" => ("", "v1", "PodPortForwardOptions", &["create", "get"]),
        "proxy" => ("", "v1", "NodeProxyOptions", &["create", "delete", "get", "patch", "update"]),
        _ => (&*of.group, &*of.version, &*of.kind, &["get", "patch", "update"]),
    };
    Subresource {
        name: name.into(),
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: verbs.iter().map(|&verb| verb.into()).collect(),
    }
}
