//! The work that is done before an object is gone, by its kind and its finalizers, with the time that it may take.
//!
//! # Decisions
//! - A deletion is stuck once it has outlived the longest pause of the program that it waits for, and one more try. Before that,
//!   the next try may end it.
//! - Upstream says when it gives up or tries again, and seldom the usual time. Where it does not, slow is our estimate: it only
//!   shows a card, and wakes nobody.
//! - Of several works the longest decides, until the object is gone. Nobody sees in which order they are done.
//! - A finalizer that is not in the table counts as work of a program in the cluster. If such a program removes something
//!   elsewhere, its deletions count as stuck too early.

use crate::object::Kind;

/// The work that is done before an object is gone, by how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// A program in the cluster writes to the API. It tries again at once at first, and after 120 s it has done so over ten
    /// times (`DefaultTypedControllerRateLimiter` in `k8s.io/client-go/util/workqueue`: 5 ms, doubled each time).
    Program,
    /// A Pod may use its whole grace period; then its volumes are unmounted and the kubelet sends a last DELETE, which takes
    /// seconds. One that fails is tried again at most 2m2s later (`pkg/util/goroutinemap/exponentialbackoff`), and the kubelet
    /// waits for unmounts for 2m3s at a time (`pkg/kubelet/volumemanager`): a Pod that is left 150 s after its deadline has
    /// outlived the longest of these.
    Pod,
    /// A claim or a volume waits for the controllers of the control plane, which try the deletion of a volume again at most
    /// 2m2s later (`pkg/util/goroutinemap/exponentialbackoff`).
    Volume,
    /// A namespace waits for its content. Its controller waits 5 s before its first pass, and up to 60 s between two
    /// (`pkg/controller/namespace/namespace_controller.go`).
    Namespace,
    /// A storage driver detaches a volume, or deletes one or a snapshot. Its sidecar waits 10 s to 1 min for an answer
    /// (`--timeout`) and tries again at most 5 min later (`--retry-interval-max` of external-attacher, external-provisioner
    /// and external-snapshotter).
    Driver,
    /// A cloud removes a load balancer, which takes a minute or two. The controller tries again at most 5 min later
    /// (`maxRetryDelay` in `k8s.io/cloud-provider/controllers/service/controller.go`), and the tests of Kubernetes wait for 5 to
    /// 15 min (`LoadBalancerCleanupTimeout` in `test/e2e/framework/service/const.go`).
    LoadBalancer,
    /// A program removes something outside of the cluster, such as a database or a machine, or everything that a parent
    /// declares. A provider of Terraform, on which many such programs stand, waits for 20 min unless a resource says otherwise
    /// (`ResourceData.Timeout` in `helper/schema/resource_data.go` of `hashicorp/terraform-plugin-sdk`).
    External,
}

/// The domains of finalizers whose work takes longer than that of a program in the cluster, each with the domains below it.
/// The longest entry knows best.
const FINALIZERS: &[(&str, Work)] = &[
    ("addons.cluster.x-k8s.io", Work::Program),
    ("ceph.rook.io", Work::External),
    ("cluster.x-k8s.io", Work::External),
    ("cnrm.cloud.google.com", Work::External),
    ("crossplane.io", Work::External),
    ("elbv2.k8s.aws", Work::LoadBalancer),
    ("external-attacher", Work::Driver),
    ("external-provisioner.volume.kubernetes.io", Work::Driver),
    ("finalizers.fluxcd.io", Work::External),
    ("gateway.k8s.aws", Work::LoadBalancer),
    ("gateway.konghq.com", Work::External),
    ("gke.networking.io", Work::LoadBalancer),
    ("ingress.k8s.aws", Work::LoadBalancer),
    ("karpenter.sh", Work::External),
    ("longhorn.io", Work::External),
    ("machine.sapcloud.io", Work::External),
    ("networking.gke.io", Work::LoadBalancer),
    ("provisioner.storage.kubernetes.io", Work::Driver),
    ("resources-finalizer.argocd.argoproj.io", Work::External),
    ("service.k8s.aws", Work::LoadBalancer),
    ("service.kubernetes.io", Work::LoadBalancer),
    ("serviceoperator.azure.com", Work::External),
    ("services.k8s.aws", Work::External),
    ("snapshot.storage.kubernetes.io", Work::Driver),
    ("strimzi.io", Work::External),
];

impl Work {
    /// The longest work before an object of this kind with these finalizers is gone.
    pub fn of<'a>(kind: &Kind, finalizers: impl IntoIterator<Item = &'a str>) -> Self {
        let own = match (&*kind.group, &*kind.kind) {
            ("", "Pod") => Self::Pod,
            ("", "Namespace") => Self::Namespace,
            ("", "PersistentVolumeClaim" | "PersistentVolume") => Self::Volume,
            ("storage.k8s.io", "VolumeAttachment")
            | ("snapshot.storage.k8s.io", "VolumeSnapshot" | "VolumeSnapshotContent") => {
                Self::Driver
            }
            _ => Self::Program,
        };
        finalizers.into_iter().map(Self::before).fold(own, Self::max)
    }

    /// The work that is done before a finalizer is cleared.
    pub(crate) fn before(finalizer: &str) -> Self {
        let domain = finalizer.split('/').next().unwrap_or_default();
        let is_within = |(end, _): &&(&str, Self)| {
            domain.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let found = FINALIZERS.iter().filter(is_within).max_by_key(|(end, _)| end.len());
        found.map_or(Self::Program, |(_, work)| *work)
    }

    /// The seconds after which it is slow, and those after which it is stuck.
    pub(super) const fn limits(self) -> (i64, i64) {
        match self {
            Self::Program => (30, 120),
            Self::Pod => (15, 150),
            Self::Volume => (60, 180),
            Self::Namespace => (60, 300),
            Self::Driver => (30, 360),
            Self::LoadBalancer => (120, 600),
            Self::External => (180, 1_200),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `max` takes the longest of several.
    #[test]
    fn works_are_in_the_order_of_their_limits() {
        let all = [
            Work::Program,
            Work::Pod,
            Work::Volume,
            Work::Namespace,
            Work::Driver,
            Work::LoadBalancer,
            Work::External,
        ];
        assert!(all.is_sorted() && all.is_sorted_by_key(|work| work.limits().1));
    }

    #[test]
    fn finalizer_says_which_work_is_done_before_it_is_cleared() {
        for (finalizer, work) in [
            ("service.kubernetes.io/load-balancer-cleanup", Work::LoadBalancer),
            ("service.k8s.aws/resources", Work::LoadBalancer),
            ("networking.gke.io/neg-finalizer", Work::LoadBalancer),
            ("external-attacher/ebs-csi-aws-com", Work::Driver),
            ("external-provisioner.volume.kubernetes.io/finalizer", Work::Driver),
            ("provisioner.storage.kubernetes.io/cloning-protection", Work::Driver),
            ("snapshot.storage.kubernetes.io/pvc-as-source-protection", Work::Driver),
            ("finalizer.managedresource.crossplane.io", Work::External),
            ("composite.apiextensions.crossplane.io", Work::External),
            ("resources-finalizer.argocd.argoproj.io", Work::External),
            ("karpenter.sh/termination", Work::External),
            ("awsmachine.infrastructure.cluster.x-k8s.io", Work::External),
            ("addons.cluster.x-k8s.io", Work::Program),
            ("argocd.argoproj.io/hook-finalizer", Work::Program),
            ("acme.cert-manager.io/finalizer", Work::Program),
            ("kubernetes.io/pvc-protection", Work::Program),
            ("foregroundDeletion", Work::Program),
            ("notcrossplane.io", Work::Program),
            ("example.com/db", Work::Program),
        ] {
            assert_eq!(Work::before(finalizer), work, "{finalizer}");
        }
    }
}
