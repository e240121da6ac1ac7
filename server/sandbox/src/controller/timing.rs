//! The waits of the controllers, with their sources in Kubernetes. [`Timing`] has the ones that can be set.

use std::time::Duration;

/// The waits that Kubernetes has flags for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The time for which a node may be silent before it is `Unknown`: `--node-monitor-grace-period`,
    /// pkg/controller/nodelifecycle/config/v1alpha1/defaults.go.
    pub node_monitor_grace: Duration,
    /// The validity of a kubelet's Lease: `nodeLeaseDurationSeconds` in pkg/kubelet/apis/config/v1beta1/defaults.go.
    pub lease: Duration,
    /// The period of the node lifecycle controller: `--node-monitor-period`, kube-controller-manager.
    pub node_monitor_period: Duration,
    /// The period of the autoscaler: `--horizontal-pod-autoscaler-sync-period`.
    pub autoscaler_period: Duration,
    /// The period at which claims and volumes are reconciled: `--pvclaimbinder-sync-period`.
    pub binder_period: Duration,
    /// How long a Pod without tolerations of its own stays on a lost node: `--default-not-ready-toleration-seconds` and
    /// `--default-unreachable-toleration-seconds` of kube-apiserver.
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
    /// The flags of the control plane in `end2end/cluster/servers.mjs`, which shorten the waits of tests.
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

    /// The period at which a kubelet renews its Lease: `nodeLeaseRenewIntervalFraction` in pkg/kubelet/kubelet.go.
    pub(crate) fn lease_renewal(&self) -> Duration {
        self.lease / 4
    }
}

/// `namespaceDeletionGracePeriod` in pkg/controller/namespace/namespace_controller.go.
pub(crate) const NAMESPACE_GRACE: Duration = Duration::from_secs(5);
/// The longest wait before a namespace is tried again: `nsControllerRateLimiter`, same file.
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
/// The time for which a kubelet waits until all volumes of a Pod are unmounted, before it reports the volumes that are left and waits
/// anew: `podAttachAndMountTimeout` in pkg/kubelet/volumemanager/volume_manager.go.
pub(crate) const UNMOUNT_WAIT: Duration = Duration::from_secs(123);
/// The seconds of a node's shutdown for its Pods, and after that for its critical ones: `shutdownGracePeriod: 30s` and
/// `shutdownGracePeriodCriticalPods: 10s`, the example of
/// <https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/>. By default a kubelet has neither.
pub(crate) const SHUTDOWN_GRACE: [i64; 2] = [20, 10];
/// `MaxWaitForUnmountDuration`: pkg/controller/volume/attachdetach/config/v1alpha1/defaults.go
/// (`reconcilerMaxWaitForUnmountDuration`).
pub(crate) const FORCE_DETACH: Duration = Duration::from_secs(360);
/// The attach-detach controller reconciles every 100 ms (`reconcilerLoopPeriod`) and lists Pods every minute. Here it
/// reconciles when something changes, and its pending work with this period.
pub(crate) const DETACH_PERIOD: Duration = Duration::from_secs(1);
/// How long a ServiceCIDR that is being deleted stays for components that have not observed it: `deletionGracePeriod`
/// in pkg/controller/servicecidrs/servicecidrs_controller.go.
pub(crate) const RANGE_GRACE: Duration = Duration::from_secs(10);
/// The period at which quotas are counted: `--resource-quota-sync-period` of kube-controller-manager.
pub(crate) const QUOTA_PERIOD: Duration = Duration::from_secs(300);
/// The period at which the CRD finalizer checks for remaining objects: pkg/controller/finalizer/crd_finalizer.go of
/// apiextensions-apiserver polls every 5 seconds.
pub(crate) const INSTANCE_CHECK: Duration = Duration::from_secs(5);
/// The time that containers take to start on a node of the sandbox.
pub(crate) const CONTAINER_START: Duration = Duration::from_millis(500);
/// The time that containers take to stop, unless an annotation or their grace period says otherwise.
pub(crate) const CONTAINER_STOP: Duration = Duration::from_secs(1);
/// The time that an unmount takes.
pub(crate) const UNMOUNT: Duration = Duration::from_millis(200);
