//! The objects that the cluster creates by itself.

use super::Object;

/// The ConfigMaps that a controller creates in every namespace, and creates again: of Kubernetes
/// (`pkg/controller/certificates/rootcacertpublisher`), of Istio (`security/pkg/k8s/configutil.go` and
/// `pilot/pkg/serviceregistry/kube/controller/namespacecontroller.go`) and of OpenShift's service CA operator.
const ROOT_CERTIFICATES: [&str; 3] =
    ["kube-root-ca.crt", "istio-ca-root-cert", "openshift-service-ca.crt"];

/// The accounts that OpenShift creates in every namespace beside `default`, and creates again
/// (<https://docs.openshift.com/container-platform/latest/authentication/using-service-accounts-in-applications.html#default-service-accounts-and-roles>).
const OPENSHIFT_ACCOUNTS: [&str; 2] = ["builder", "deployer"];
/// The Secrets that OpenShift creates for each of these accounts, with five characters at the end: its token, and the
/// credentials of the internal registry.
const OPENSHIFT_SECRETS: [&str; 2] = ["-token-", "-dockercfg-"];

/// Whether a name is that of a Secret which OpenShift creates for an account of every namespace.
fn is_accounts_secret(name: &str) -> bool {
    let mut accounts = OPENSHIFT_ACCOUNTS.into_iter().chain(["default"]);
    accounts.any(|account| {
        let rest = name.strip_prefix(account);
        let of = |kind: &str| rest.and_then(|rest| rest.strip_prefix(kind));
        let is_random = |end: &str| {
            end.len() == 5 && end.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        };
        OPENSHIFT_SECRETS.iter().find_map(|kind| of(kind)).is_some_and(is_random)
    })
}

/// Whether OLM copied this ClusterServiceVersion from another namespace. It puts a copy into every namespace that an operator
/// serves, makes it again as long as the original exists, and removes it afterwards
/// (`pkg/controller/operators/olm/operatorgroup.go`, `removeDanglingChildCSVs` in `operator.go`).
pub(super) fn is_copy_of_olm(object: &Object) -> bool {
    object.kind.is("operators.coreos.com", "ClusterServiceVersion")
        && object
            .labels
            .get("olm.copiedFrom")
            .is_some_and(|from| object.namespace.as_ref() != Some(from))
}

/// Whether the cluster creates an object of this group, kind and name by itself, and removes it again.
pub(super) fn is_made_by_cluster(group: &str, kind: &str, name: &str) -> bool {
    match (group, kind) {
        ("", "ServiceAccount") => name == "default" || OPENSHIFT_ACCOUNTS.contains(&name),
        ("", "Secret") => is_accounts_secret(name),
        ("", "ConfigMap") => ROOT_CERTIFICATES.contains(&name),
        ("", "Endpoints" | "Event") | ("discovery.k8s.io", "EndpointSlice") => true,
        ("events.k8s.io", "Event") | ("coordination.k8s.io", "Lease") => true,
        // The controller that attaches volumes makes one for each volume and node, and removes it after the last Pod.
        ("metrics.k8s.io", _) | ("storage.k8s.io", "VolumeAttachment") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn accounts_of_every_namespace_and_their_secrets_are_the_clusters_and_namesakes_are_not() {
        for (kind, name, is_its) in [
            ("ServiceAccount", "default", true),
            ("ServiceAccount", "builder", true),
            ("ServiceAccount", "deployer", true),
            ("ServiceAccount", "builder-x", false),
            ("Secret", "builder-dockercfg-7xk2p", true),
            ("Secret", "deployer-token-abcde", true),
            ("Secret", "default-token-12345", true),
            ("Secret", "default-token-mine", false),
            ("Secret", "builder-dockercfg-", false),
            ("Secret", "shop-token-abcde", false),
            ("ConfigMap", "builder", false),
        ] {
            assert_eq!(is_made_by_cluster("", kind, name), is_its, "{kind} {name}");
        }
        assert!(!is_made_by_cluster("example.com", "ServiceAccount", "builder"));
    }

    #[test]
    fn copy_that_olm_made_in_another_namespace_is_the_clusters() {
        let csv = |labels: &str| {
            fixture::object(&format!(
                "ClusterServiceVersion.operators.coreos.com shop/queue.v1 {labels}"
            ))
        };
        assert!(csv("labels=olm.copiedFrom:operators").is_made_by_cluster());
        assert!(!csv("labels=olm.copiedFrom:shop").is_made_by_cluster());
        assert!(!csv("").is_made_by_cluster());
    }
}
