//! The names that a Pod refers to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Kind;

/// A name that a Pod, a workload, a template or a ServiceAccount refers to, in its own namespace if the kind has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PodReference {
    /// The kind of the named object.
    pub what: PodReferenceKind,
    /// Its name; empty for the default StorageClass.
    pub name: Arc<str>,
    /// The field that names it, such as `spec.volumes[0].persistentVolumeClaim.claimName`.
    pub field: Arc<str>,
}

/// The kinds a Pod can refer to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodReferenceKind {
    /// PersistentVolumeClaim.
    Claim,
    /// ConfigMap.
    ConfigMap,
    /// Secret.
    Secret,
    /// ServiceAccount.
    ServiceAccount,
    /// PriorityClass, which has no namespace.
    PriorityClass,
    /// RuntimeClass, which has no namespace.
    RuntimeClass,
    /// ResourceClaim: devices that are allocated to it.
    ResourceClaim,
    /// ResourceClaimTemplate.
    ResourceClaimTemplate,
    /// PodGroup: Pods that are scheduled together, since 1.36.
    PodGroup,
    /// CSIDriver, which has no namespace: the driver of an inline volume. The driver may work without such an object.
    Driver,
    /// StorageClass, which has no namespace: the class of claims that are made from a template.
    StorageClass,
    /// The StorageClass of claims that name none. It has the name that an annotation says at the time.
    DefaultStorageClass,
    /// VolumeAttributesClass, which has no namespace: the same for the attributes of their volumes.
    VolumeAttributesClass,
}

impl PodReferenceKind {
    /// The kinds, each once.
    const ALL: [Self; 12] = [
        Self::Claim,
        Self::ConfigMap,
        Self::Secret,
        Self::ServiceAccount,
        Self::PriorityClass,
        Self::RuntimeClass,
        Self::ResourceClaim,
        Self::ResourceClaimTemplate,
        Self::PodGroup,
        Self::Driver,
        Self::StorageClass,
        Self::VolumeAttributesClass,
    ];

    /// The kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Claim => "PersistentVolumeClaim",
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::ServiceAccount => "ServiceAccount",
            Self::PriorityClass => "PriorityClass",
            Self::RuntimeClass => "RuntimeClass",
            Self::ResourceClaim => "ResourceClaim",
            Self::ResourceClaimTemplate => "ResourceClaimTemplate",
            Self::PodGroup => "PodGroup",
            Self::Driver => "CSIDriver",
            Self::StorageClass | Self::DefaultStorageClass => "StorageClass",
            Self::VolumeAttributesClass => "VolumeAttributesClass",
        }
    }

    /// The group of the kind; empty for the core group.
    pub fn group(self) -> &'static str {
        match self {
            Self::Claim | Self::ConfigMap | Self::Secret | Self::ServiceAccount => "",
            Self::PriorityClass | Self::PodGroup => "scheduling.k8s.io",
            Self::RuntimeClass => "node.k8s.io",
            Self::ResourceClaim | Self::ResourceClaimTemplate => "resource.k8s.io",
            Self::Driver
            | Self::StorageClass
            | Self::DefaultStorageClass
            | Self::VolumeAttributesClass => "storage.k8s.io",
        }
    }

    /// Whether the named object is in the namespace of the Pod.
    pub fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Self::PriorityClass
                | Self::RuntimeClass
                | Self::Driver
                | Self::StorageClass
                | Self::DefaultStorageClass
                | Self::VolumeAttributesClass
        )
    }

    /// The variant for a kind, if Pods can refer to objects of it by name.
    pub fn of(kind: &Kind) -> Option<Self> {
        Self::ALL.into_iter().find(|used| kind.is(used.group(), used.kind()))
    }
}
