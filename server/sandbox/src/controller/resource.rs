//! The resources that controllers read and write.

use crate::store::Key;

/// A kind of object, as request paths and objects name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub kind: &'static str,
}

impl Resource {
    /// A resource by its API group (empty for the core group), version, plural and kind.
    #[must_use]
    pub const fn new(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self { group, version, plural, kind }
    }

    /// Whether an object of this resource has this key.
    #[must_use]
    pub fn has(&self, key: &Key) -> bool {
        key.is_of(self.group, self.plural)
    }

    /// The key of an object of this resource; `namespace` is empty for a cluster-scoped one.
    #[must_use]
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        Key::new(self.group, self.plural, namespace, name)
    }

    /// `apps/v1`, or `v1` for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

pub(crate) const PODS: Resource = Resource::new("", "v1", "pods", "Pod");
pub(crate) const NODES: Resource = Resource::new("", "v1", "nodes", "Node");
pub(crate) const NAMESPACES: Resource = Resource::new("", "v1", "namespaces", "Namespace");
pub(crate) const SERVICES: Resource = Resource::new("", "v1", "services", "Service");
pub(crate) const ENDPOINTS: Resource = Resource::new("", "v1", "endpoints", "Endpoints");
pub(crate) const EVENTS: Resource = Resource::new("", "v1", "events", "Event");
pub(crate) const CONFIG_MAPS: Resource = Resource::new("", "v1", "configmaps", "ConfigMap");
pub(crate) const SECRETS: Resource = Resource::new("", "v1", "secrets", "Secret");
pub(crate) const SERVICE_ACCOUNTS: Resource =
    Resource::new("", "v1", "serviceaccounts", "ServiceAccount");
pub(crate) const RESOURCE_QUOTAS: Resource =
    Resource::new("", "v1", "resourcequotas", "ResourceQuota");
pub(crate) const CLAIMS: Resource =
    Resource::new("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
pub(crate) const VOLUMES: Resource =
    Resource::new("", "v1", "persistentvolumes", "PersistentVolume");
pub(crate) const DEPLOYMENTS: Resource = Resource::new("apps", "v1", "deployments", "Deployment");
pub(crate) const REPLICA_SETS: Resource = Resource::new("apps", "v1", "replicasets", "ReplicaSet");
pub(crate) const REPLICATION_CONTROLLERS: Resource =
    Resource::new("", "v1", "replicationcontrollers", "ReplicationController");
pub(crate) const STATEFUL_SETS: Resource =
    Resource::new("apps", "v1", "statefulsets", "StatefulSet");
pub(crate) const DAEMON_SETS: Resource = Resource::new("apps", "v1", "daemonsets", "DaemonSet");
pub(crate) const CONTROLLER_REVISIONS: Resource =
    Resource::new("apps", "v1", "controllerrevisions", "ControllerRevision");
pub(crate) const JOBS: Resource = Resource::new("batch", "v1", "jobs", "Job");
pub(crate) const CRON_JOBS: Resource = Resource::new("batch", "v1", "cronjobs", "CronJob");
pub(crate) const AUTOSCALERS: Resource =
    Resource::new("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler");
pub(crate) const ENDPOINT_SLICES: Resource =
    Resource::new("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice");
pub(crate) const BUDGETS: Resource =
    Resource::new("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget");
pub(crate) const LEASES: Resource = Resource::new("coordination.k8s.io", "v1", "leases", "Lease");
pub(crate) const STORAGE_CLASSES: Resource =
    Resource::new("storage.k8s.io", "v1", "storageclasses", "StorageClass");
pub(crate) const SERVICE_CIDRS: Resource =
    Resource::new("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR");
pub(crate) const IP_ADDRESSES: Resource =
    Resource::new("networking.k8s.io", "v1", "ipaddresses", "IPAddress");
pub(crate) const RESOURCE_CLAIMS: Resource =
    Resource::new("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim");
pub(crate) const ATTRIBUTES_CLASSES: Resource =
    Resource::new("storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass");
pub(crate) const CSI_DRIVERS: Resource =
    Resource::new("storage.k8s.io", "v1", "csidrivers", "CSIDriver");
pub(crate) const CSI_NODES: Resource = Resource::new("storage.k8s.io", "v1", "csinodes", "CSINode");
pub(crate) const ATTACHMENTS: Resource =
    Resource::new("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment");
pub(crate) const API_SERVICES: Resource =
    Resource::new("apiregistration.k8s.io", "v1", "apiservices", "APIService");
pub(crate) const DEFINITIONS: Resource = Resource::new(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
);
