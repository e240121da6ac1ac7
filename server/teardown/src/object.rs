//! The stored fields of one object: its identity, the metadata that deletion needs, and the few fields of its spec and
//! status from which edges and decisions are derived.

mod access;
mod annotations;
mod data_policy;
mod deletion;
mod hints;
mod made_by_cluster;
mod migration;
mod parent;
mod pod_reference;
mod reference;
mod shape;
mod sidecars;
mod status;
mod storage;
mod uid;

use std::{
    fmt,
    num::{NonZeroI64, NonZeroU32},
    sync::Arc,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::made_by_cluster::{is_copy_of_olm, is_made_by_cluster};
pub(crate) use self::migration::driver_of_provisioner;
pub(crate) use self::{
    access::RBAC,
    hints::{CHANGE_RULE, DEPENDS_ON, SYNC_WAVE, dependency_text},
    uid::UidHasher,
};
pub use self::{
    access::{Binding, ResourceRule, Role, ServiceAccount},
    annotations::{Annotations, asks_to_keep},
    data_policy::{DataEffect, DataPolicy},
    deletion::{Deletion, FinalizerManager, Held},
    hints::{ChangeRule, Hints},
    migration::driver_of_source,
    parent::Parent,
    pod_reference::{PodReference, PodReferenceKind},
    reference::{Reference, References},
    sidecars::Sidecars,
    status::{
        ApiService, Attachment, Condition, ConditionStatus, Container, ContainerState, CsiNode,
        Ending, Namespace, Node, OUT_OF_SERVICE,
    },
    storage::{Claim, ClaimRef, Reclaim, Snapshot, SnapshotContent, Volume},
    uid::Uid,
};

use crate::{labels::Labels, selector::Selector};

/// The groups with a dot that the API server has itself, beside those without one: the folders of `staging/src/k8s.io/api`, and
/// the groups of its extension servers and of the metrics APIs, whose objects are stored nowhere.
const BUILT_IN: [&str; 22] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "custom.metrics.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "external.metrics.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "imagepolicy.k8s.io",
    "internal.apiserver.k8s.io",
    "metrics.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// A kind as discovery names it. All objects of a kind share one value. A page reads no more of it than group and kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// The kind, such as `Pod`.
    pub kind: Arc<str>,
    /// The version its objects are read in.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub version: Arc<str>,
    /// The plural in request paths, such as `pods`.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub plural: Arc<str>,
    /// Whether its objects live in a namespace.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub namespaced: bool,
}

impl Kind {
    /// Whether this is the kind `kind` of the group `group`, in any version.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        &*self.group == group && &*self.kind == kind
    }

    /// Whether it is CustomResourceDefinition.
    pub fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Whether an operator, and not Kubernetes, defines the kind. The groups of Kubernetes have no dot or end in `.k8s.io`;
    /// those that its community defines elsewhere end in `.x-k8s.io`.
    pub fn is_an_operators(&self) -> bool {
        self.group.contains('.')
            && (!self.group.ends_with(".k8s.io") || self.group.ends_with(".x-k8s.io"))
    }

    /// Whether the kind's objects are custom resources, which includes those of Kubernetes' own projects: a VolumeSnapshot of
    /// `snapshot.storage.k8s.io`, a Bucket of `objectstorage.k8s.io`, a Gateway of `gateway.networking.k8s.io`.
    pub fn is_custom_resource(&self) -> bool {
        self.may_have_definition() && !BUILT_IN.contains(&&*self.group)
    }

    /// Whether a CustomResourceDefinition may define the kind: its group must be a domain with a dot
    /// (`apiextensions-apiserver/pkg/apis/apiextensions/validation`).
    pub(crate) fn may_have_definition(&self) -> bool {
        self.group.contains('.')
    }

    /// `pods` or `deployments.apps`, as kubectl writes a resource.
    pub fn resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// An object's name for people: kind, namespace, name. It does not identify the object, because a name can be used
/// again; the UID does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRef {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// The kind, such as `Pod`.
    pub kind: Arc<str>,
    /// The namespace, for kinds that have one.
    pub namespace: Option<Arc<str>>,
    /// The object's name.
    pub name: Arc<str>,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {}/{}", self.kind, namespace, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

impl ObjectRef {
    /// The same as of the object: [`Object::is_made_by_cluster`].
    pub fn is_made_by_cluster(&self) -> bool {
        is_made_by_cluster(&self.group, &self.kind, &self.name)
    }
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OwnerRef {
    /// The owner's UID, by which the garbage collector finds it.
    pub uid: Uid,
    /// The owner's group, from its apiVersion.
    pub group: Arc<str>,
    /// The owner's kind.
    pub kind: Arc<str>,
    /// The owner's name.
    pub name: Arc<str>,
    /// Whether this owner manages the object.
    pub controller: bool,
    /// `blockOwnerDeletion`: a foreground deletion of the owner waits for the object.
    #[serde(default)]
    pub blocks: bool,
}

/// A moment in whole seconds, as `metav1.Time` is written; half as long as a [`Timestamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(NonZeroI64);

impl From<Timestamp> for Seconds {
    /// `NonZeroI64` cannot represent the first second of 1970, so another value stands for it.
    fn from(at: Timestamp) -> Self {
        Self(NonZeroI64::new(at.as_second()).unwrap_or(NonZeroI64::MIN))
    }
}

impl From<Seconds> for Timestamp {
    fn from(Seconds(seconds): Seconds) -> Self {
        Self::from_second(seconds.get()).unwrap_or_default()
    }
}

/// The stored fields of one object. Of its managed fields only the creator is stored, and those of finalizers while it is being
/// deleted; the data of Secrets and ConfigMaps, and all other annotations, never are.
///
/// There is one value per object of the cluster, so rare fields are behind a pointer, and objects can share equal
/// values.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its identity.
    pub uid: Uid,
    /// Its kind.
    pub kind: Arc<Kind>,
    /// Its namespace, for kinds that have one.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// The annotations that matter, and the creator; none if it has none of them.
    pub annotations: Option<Arc<Annotations>>,
    /// `metadata.ownerReferences`.
    pub owners: Arc<[OwnerRef]>,
    /// `metadata.finalizers`.
    pub finalizers: Arc<Vec<Arc<str>>>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Seconds>,
    /// Set once a DELETE was accepted.
    pub deletion: Option<Box<Held>>,
    /// Fields of its kind.
    pub facts: Facts,
}

/// The label that kubeadm and most distributions put on nodes of the control plane.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

impl Object {
    /// Whether a Node runs the control plane, by its label.
    pub fn is_control_plane(&self) -> bool {
        self.labels.get(CONTROL_PLANE).is_some()
    }

    /// The name a person uses for it.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            group: self.kind.group.clone(),
            kind: self.kind.kind.clone(),
            namespace: self.namespace.clone(),
            name: (*self.name).into(),
        }
    }

    /// The names that its spec refers to, of a kind of which they are read.
    pub fn references(&self) -> &[Reference] {
        match &self.facts {
            Facts::References(facts) => &facts.names,
            Facts::Parent(parent) => &parent.names,
            _ => &[],
        }
    }

    /// Whether it has this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|it| &**it == finalizer)
    }

    /// The condition by which its operator says that it keeps it although it is being deleted.
    pub fn blocked(&self) -> Option<&Condition> {
        match &self.facts {
            Facts::References(facts) => facts.told.iter().find(|it| it.blocks_deletion()),
            _ => None,
        }
    }

    /// The conditions by which its program may say why it keeps it although it is being deleted, those about the deletion first.
    pub fn told(&self) -> &[Condition] {
        match &self.facts {
            Facts::References(facts) => &facts.told,
            _ => &[],
        }
    }

    /// The Service that converts the objects that it defines.
    pub fn converter(&self) -> Option<&ServiceRef> {
        match &self.facts {
            Facts::Definition(definition) => definition.converter.as_deref(),
            _ => None,
        }
    }

    /// The owner that manages it, if it has one.
    pub fn controller(&self) -> Option<&OwnerRef> {
        self.owners.iter().find(|owner| owner.controller)
    }

    /// Whether the cluster creates this object by itself and removes it with its namespace or its owner, so that it is
    /// never a step of its own: the default ServiceAccount, the root certificates, endpoints, Events, Leases and the
    /// attachments of volumes. Istio and OpenShift put a root certificate into every namespace as well, and OLM copies of the
    /// operators that serve it.
    pub fn is_made_by_cluster(&self) -> bool {
        is_made_by_cluster(&self.kind.group, &self.kind.kind, &self.name) || is_copy_of_olm(self)
    }
}

/// Fields of a kind that edges or decisions need in addition to the metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Facts {
    /// The metadata is sufficient.
    #[default]
    None,
    /// `v1 Pod`.
    Pod(Box<Pod>),
    /// Every kind with a Pod template: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob,
    /// ReplicationController.
    Workload(Box<Workload>),
    /// `v1 PersistentVolumeClaim`.
    Claim(Box<Claim>),
    /// `v1 PersistentVolume`.
    Volume(Box<Volume>),
    /// `v1 Service`.
    Service(Box<Service>),
    /// `networking.k8s.io Ingress`.
    Ingress(Box<Ingress>),
    /// `autoscaling HorizontalPodAutoscaler`.
    Autoscaler(Box<Target>),
    /// `policy PodDisruptionBudget`: its `spec.selector`.
    Disruption(Option<Box<Selector>>),
    /// `networking.k8s.io NetworkPolicy`: its `spec.podSelector`.
    NetworkPolicy(Box<Selector>),
    /// `rbac.authorization.k8s.io` RoleBinding or ClusterRoleBinding.
    Binding(Box<Binding>),
    /// `rbac.authorization.k8s.io` Role or ClusterRole.
    Role(Box<Role>),
    /// `v1 ServiceAccount`.
    ServiceAccount(Box<ServiceAccount>),
    /// `admissionregistration.k8s.io` webhook configurations.
    Webhooks(Box<Webhooks>),
    /// `apiregistration.k8s.io APIService`.
    ApiService(Box<ApiService>),
    /// `apiextensions.k8s.io CustomResourceDefinition`.
    Definition(Box<Definition>),
    /// `v1 Node`.
    Node(Box<Node>),
    /// `snapshot.storage.k8s.io VolumeSnapshotContent`.
    SnapshotContent(Box<SnapshotContent>),
    /// `snapshot.storage.k8s.io VolumeSnapshot`.
    Snapshot(Box<Snapshot>),
    /// `v1 Namespace`.
    Namespace(Box<Namespace>),
    /// `storage.k8s.io VolumeAttachment`.
    Attachment(Box<Attachment>),
    /// `storage.k8s.io CSINode`.
    CsiNode(Box<CsiNode>),
    /// A Kustomization or HelmRelease of Flux, or an Application of Argo CD.
    Parent(Box<Parent>),
    /// A kind of which only the names matter that its spec refers to: classes, routes, custom resources.
    References(Box<References>),
}

/// The stored fields of a Pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pod {
    /// `spec.nodeName`.
    pub node: Option<Arc<str>>,
    /// `status.phase`.
    pub phase: Option<Phase>,
    /// Condition Ready is True.
    pub ready: bool,
    /// Its priority class keeps the cluster running: `system-node-critical` or `system-cluster-critical`.
    pub critical: bool,
    /// Seconds for which it stays on a node that is unreachable: its toleration of that taint, 1 s at least. None if for ever.
    pub stays_unreachable: Option<NonZeroU32>,
    /// Every name it refers to, its ServiceAccount among them.
    pub uses: Arc<[PodReference]>,
    /// Its status, once it is being deleted or has run to completion.
    pub ending: Option<Box<Ending>>,
}

/// `status.phase` of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Accepted; not all of its containers have been started.
    Pending,
    /// On a node, and at least one container runs or is about to run.
    Running,
    /// All containers ended successfully, and none will be restarted.
    Succeeded,
    /// All containers ended, at least one of them with an error.
    Failed,
    /// Its node does not answer.
    Unknown,
}

impl Phase {
    /// The phase with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Succeeded, Self::Failed, Self::Unknown]
            .into_iter()
            .find(|phase| phase.name() == name)
    }

    /// The phase as the API writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }

    /// Whether the Pod has run to completion, so that it no longer uses anything.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The stored fields of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// `spec.replicas`; 1 where the kind has the field and it is absent.
    pub replicas: Option<i64>,
    /// `status.readyReplicas`, or `status.numberReady`.
    pub ready: Option<i64>,
    /// `spec.selector`.
    pub selector: Option<Selector>,
    /// Labels of the Pods that it creates.
    pub template_labels: Labels,
    /// The priority class of its Pods keeps the cluster running, as for a Pod.
    pub critical: bool,
    /// Every name that its Pods will refer to.
    pub uses: Arc<[PodReference]>,
    /// Names of a StatefulSet's `volumeClaimTemplates`.
    pub claim_templates: Box<[Arc<str>]>,
    /// A StatefulSet's `persistentVolumeClaimRetentionPolicy.whenDeleted` is `Delete`.
    pub claims_go_with_it: bool,
    /// Its `whenScaled` is `Delete`: the claims of a replica that is removed go (`remedy/scale_down.rs`).
    pub claims_go_when_scaled: bool,
    /// A Deployment's `strategy.type` is `Recreate`: no Pod of a new version before those of the old one are over.
    pub recreates: bool,
    /// `spec.managedBy` of a Job: the controller that it is left to.
    pub managed_by: Option<Arc<str>>,
    /// The CSI drivers that its Pods are, by the folder of the kubelet's plugins that they mount from their node.
    pub drivers: Box<[Arc<str>]>,
    /// The names of the provisioners that its containers are told to be, in their arguments or by `PROVISIONER_NAME`.
    pub provisioners: Box<[Arc<str>]>,
    /// The sidecars of a driver among its containers.
    pub sidecars: Sidecars,
}

/// The stored fields of a Service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// `spec.selector`; none if its endpoints are managed by hand.
    pub selector: Option<Selector>,
    /// `spec.type` is `LoadBalancer`: a load balancer outside the cluster was created for it.
    pub load_balancer: bool,
}

/// The stored fields of an Ingress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ingress {
    /// The Services to which it routes: field and name.
    pub backends: Box<[(Arc<str>, Arc<str>)]>,
    /// Secrets with its certificates.
    pub uses: Arc<[PodReference]>,
    /// `spec.ingressClassName`.
    pub class: Option<Arc<str>>,
}

/// `spec.scaleTargetRef`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The target's group, from its apiVersion.
    pub group: Arc<str>,
    /// The target's kind.
    pub kind: Arc<str>,
    /// The target's name.
    pub name: Arc<str>,
}

/// The stored fields of a webhook configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Webhooks {
    /// The Services it calls.
    pub services: Box<[ServiceRef]>,
    /// The rules by which it is asked about deletions and updates.
    pub guards: Box<[Guard]>,
}

/// A rule of a webhook, as far as it concerns what a deletion does: DELETE, and UPDATE, by which finalizers are cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The field that holds the rule, such as `webhooks[0].rules[1]`.
    pub field: Arc<str>,
    /// `name` of the webhook.
    pub webhook: Arc<str>,
    /// The Service of the webhook; none where it is called by URL.
    pub service: Option<ServiceRef>,
    /// `failurePolicy` is `Fail`, the default: while the webhook does not answer, the request is refused.
    pub fails_closed: bool,
    /// `apiGroups` and `resources`, `*` included.
    pub covers: ResourceRule,
    /// Its operations include DELETE.
    pub deletes: bool,
    /// Its operations include UPDATE.
    pub updates: bool,
    /// `scope`: whether it concerns only objects in a namespace, or only others; both if there is none.
    pub namespaced: Option<bool>,
    /// `namespaceSelector` of the webhook, by the labels of the namespace.
    pub namespaces: Selector,
    /// `objectSelector` of the webhook.
    pub objects: Selector,
    /// The webhook has `matchConditions`: expressions that may exclude any request. They are not evaluated.
    pub is_conditional: bool,
}

/// A Service named from a webhook configuration or an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRef {
    /// The Service's namespace.
    pub namespace: Arc<str>,
    /// The Service's name.
    pub name: Arc<str>,
    /// The field that names it.
    pub field: Arc<str>,
}

/// The stored fields of a CustomResourceDefinition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// `spec.group`.
    pub group: Arc<str>,
    /// `spec.names.kind`.
    pub kind: Arc<str>,
    /// Whether a webhook converts its objects: `spec.conversion.strategy` is `Webhook`.
    pub is_converted: bool,
    /// The Service of `spec.conversion.webhook`, which converts its objects between versions.
    pub converter: Option<Box<ServiceRef>>,
    /// `status.storedVersions`: the versions in which its objects may be stored.
    pub stored_versions: Box<[Arc<str>]>,
    /// Condition Terminating, once the definition is being deleted.
    pub terminating: Option<Box<Condition>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_types_are_small() {
        assert!(size_of::<Facts>() <= 16, "{}", size_of::<Facts>());
        assert!(size_of::<Object>() <= 144, "{}", size_of::<Object>());
        assert!(size_of::<Pod>() <= 48, "{}", size_of::<Pod>());
    }
}
