//! The waits of the controllers, with their sources in Kubernetes. [`Timing`] has the ones that can be set.

use std::time::Duration;

/// What an administrator can set with flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// How long a node may be silent before it is `Unknown`: `--node-monitor-grace-period`,
    /// pkg/controller/nodelifecycle/config/v1alpha1/defaults.go.
    pub node_monitor_grace: Duration,
    /// How long a kubelet's Lease is good for: `nodeLeaseDurationSeconds` in pkg/kubelet/apis/config/v1beta1/defaults.go.
    pub lease: Duration,
    /// How often nodes are looked at: `--node-monitor-period`, kube-controller-manager.
    pub node_monitor_period: Duration,
    /// How often the autoscaler looks: `--horizontal-pod-autoscaler-sync-period`.
    pub autoscaler_period: Duration,
    /// How often claims and volumes are looked at anyway: `--pvclaimbinder-sync-period`.
    pub binder_period: Duration,
    /// How long a Pod stays on a node that is lost, unless it says:
    /// `--default-not-ready-toleration-seconds` and `--default-unreachable-toleration-seconds` of kube-apiserver.
    pub toleration: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            node_monitor_grace: Duration::from_secs(50),
            lease: Duration::from_secs(40),
            node_monitor_period: Duration::from_secs(5),
            autoscaler_period: Duration::from_secs(15),
            binder_period: Duration::from_secs(15),
            toleration: Duration::from_secs(300),
        }
    }
}

impl Timing {
    /// What `end2end/cluster/servers.mjs` starts the real control plane with, so that nobody waits for minutes.
    #[must_use]
    pub fn brisk() -> Self {
        Self {
            node_monitor_grace: Duration::from_secs(8),
            lease: Duration::from_secs(8),
            node_monitor_period: Duration::from_secs(1),
            toleration: Duration::from_secs(3),
            ..Self::default()
        }
    }

    /// How often a kubelet renews its Lease: `nodeLeaseRenewIntervalFraction` in pkg/kubelet/kubelet.go.
    pub(crate) fn lease_renewal(&self) -> Duration {
        self.lease / 4
    }
}

/// `namespaceDeletionGracePeriod` in pkg/controller/namespace/namespace_controller.go.
pub(crate) const NAMESPACE_GRACE: Duration = Duration::from_secs(5);
/// The longest wait between two looks at a namespace: `nsControllerRateLimiter`, same file.
pub(crate) const NAMESPACE_RETRY: Duration = Duration::from_secs(60);
/// `finalizerEstimateSeconds` in pkg/controller/namespace/deletion/namespaced_resources_deleter.go.
pub(crate) const FINALIZER_ESTIMATE: i64 = 15;
/// `gcCheckPeriod` in pkg/controller/podgc/gc_controller.go.
pub(crate) const POD_GC_PERIOD: Duration = Duration::from_secs(20);
/// `quarantineTime` in the same file.
pub(crate) const POD_GC_QUARANTINE: Duration = Duration::from_secs(40);
/// `nodeStatusReportFrequency` in pkg/kubelet/apis/config/v1beta1/defaults.go.
pub(crate) const STATUS_REPORT: Duration = Duration::from_secs(300);
/// First and longest wait after a failed unmount: `initialDurationBeforeRetry` and `maxDurationBeforeRetry` in
/// pkg/util/goroutinemap/exponentialbackoff.
pub(crate) const UNMOUNT_RETRY: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(122));
/// `MaxWaitForUnmountDuration`: pkg/controller/volume/attachdetach/config/v1alpha1/defaults.go
/// (`reconcilerMaxWaitForUnmountDuration`).
pub(crate) const FORCE_DETACH: Duration = Duration::from_secs(360);
/// How often the attach-detach controller reconciles: `reconcilerLoopPeriod`... 100 ms, with a look at Pods each minute;
/// here it looks when something changes, and this often at what it waits for.
pub(crate) const DETACH_PERIOD: Duration = Duration::from_secs(1);
/// How long a range of addresses that is to go stays for who has not heard of it: `deletionGracePeriod` in
/// pkg/controller/servicecidrs/servicecidrs_controller.go.
pub(crate) const RANGE_GRACE: Duration = Duration::from_secs(10);
/// How often quotas are counted anyway: `--resource-quota-sync-period` of kube-controller-manager.
pub(crate) const QUOTA_PERIOD: Duration = Duration::from_secs(300);
/// How long the CRD finalizer waits between two looks at what is left: pkg/controller/finalizer/crd_finalizer.go of
/// apiextensions-apiserver polls every 5 seconds.
pub(crate) const INSTANCE_CHECK: Duration = Duration::from_secs(5);
/// How long containers take to start on a machine of the sandbox.
pub(crate) const CONTAINER_START: Duration = Duration::from_millis(500);
/// How long containers take to stop, if no annotation says otherwise and their grace lasts that long.
pub(crate) const CONTAINER_STOP: Duration = Duration::from_secs(1);
/// How long an unmount that works takes.
pub(crate) const UNMOUNT: Duration = Duration::from_millis(200);
