//! Converts the API server's JSON to objects. The structs have only the fields that edges and diagnoses need. All other
//! fields (most managed fields, most annotations, the data of Secrets and ConfigMaps) are skipped while the JSON is read.
//!
//! Kinds whose metadata is enough are requested as `PartialObjectMetadata`. Secrets and ConfigMaps are among them, so
//! that their data never leaves the API server. An object that cannot be read is an error, never a partial object: a Pod
//! without its volumes would make its claim look unused.

mod access;
mod annotations;
mod container;
mod custom;
mod data_policy;
mod extension;
mod managed;
mod names;
mod network;
mod parent;
mod path;
mod pod;
mod reference;
mod storage;
mod subscription;
mod uses;
mod workload;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;
use teardown::{
    action::{ContentSight, PodSight},
    object::{
        Condition, ConditionStatus, Deletion, Facts, Held, Kind, Object, OwnerRef,
        PodReferenceKind, Seconds, Uid,
    },
    selector::{Labels, Operator, Requirement, Selector},
    unit::{UnitId, named_unit},
};

use self::managed::Managed;
pub(super) use self::storage::claim_sight;
use super::{interner::Interner, text::bounded};

/// The reason why an object cannot be read. It names the position, never the content.
pub(super) type Unreadable = serde_json::Error;

/// The media type of requests for a kind: the whole object if its fields matter, else only its metadata.
///
/// Aggregated API servers need not know `PartialObjectMetadata`, so whole objects are accepted too, as client-go's
/// metadata client does. Secrets and ConfigMaps are the exception, because their data must not be sent.
pub(super) fn media_type(kind: &Kind) -> &'static str {
    if reader(kind).is_some() || reference::is_read(kind) {
        super::request::JSON
    } else {
        metadata_media_type(kind)
    }
}

/// `PartialObjectMetadata` of `meta.k8s.io/v1`, for objects and for watch events.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// `PartialObjectMetadataList` of `meta.k8s.io/v1`.
pub(super) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const METADATA_IF_POSSIBLE: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST_IF_POSSIBLE: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The media type for a GET or DELETE of one object, of which only the metadata is used.
pub(super) fn metadata_media_type(kind: &Kind) -> &'static str {
    match (&*kind.group, &*kind.kind) {
        ("", "Secret" | "ConfigMap") => METADATA,
        _ => METADATA_IF_POSSIBLE,
    }
}

/// The media type for a list; see [`media_type`].
pub(super) fn list_media_type(kind: &Kind) -> &'static str {
    of_list(media_type(kind))
}

/// The media type for a list of which only the metadata is used.
pub(super) fn metadata_list_media_type(kind: &Kind) -> &'static str {
    of_list(metadata_media_type(kind))
}

fn of_list(media_type: &'static str) -> &'static str {
    match media_type {
        METADATA => METADATA_LIST,
        METADATA_IF_POSSIBLE => METADATA_LIST_IF_POSSIBLE,
        whole => whole,
    }
}

/// Reads one object of this kind. Returns `None` for an object without a UID: some aggregated API servers serve
/// projections that are stored nowhere and cannot be deleted.
pub(super) fn object(
    kind: &Arc<Kind>,
    json: &str,
    names: &Interner,
) -> Result<Option<Object>, Unreadable> {
    Ok(object_and_version(kind, json, names)?.map(|(object, _)| object))
}

/// Like [`object`], with the resource version, which only the watch needs.
pub(super) fn object_and_version(
    kind: &Arc<Kind>,
    json: &str,
    names: &Interner,
) -> Result<Option<(Object, String)>, Unreadable> {
    let (mut meta, facts) = match reader(kind) {
        Some(read) => read(json)?,
        None if reference::is_read(kind) => reference::read(kind, json)?,
        None => (meta(json)?, Facts::None),
    };
    let version = std::mem::take(&mut meta.resource_version);
    Ok(meta.object(kind, facts).map(|object| (names.share(object), version)))
}

/// Reads the UID and resource version of an object, for its DELETED event.
pub(super) fn uid_and_version(json: &str) -> Result<(Option<Uid>, String), Unreadable> {
    let meta = meta(json)?;
    Ok((meta.uid.map(Uid::new), meta.resource_version))
}

/// Reads a Pod of a consistent list.
pub(super) fn pod_sight(
    kind: &Arc<Kind>,
    json: &str,
    names: &Interner,
) -> Result<Option<PodSight>, Unreadable> {
    Ok(object(kind, json, names)?.map(|object| PodSight {
        object: object.reference(),
        claims: match &object.facts {
            Facts::Pod(pod) => pod
                .uses
                .iter()
                .filter(|used| used.what == PodReferenceKind::Claim)
                .map(|used| used.name.clone())
                .collect(),
            _ => Vec::new(),
        },
        uid: object.uid,
        labels: object.labels,
        owners: object.owners,
    }))
}

/// Reads an object of a consistent list of a namespace. Returns `None` for an object without a UID, as [`object`] does, and for
/// one that the cluster made by itself, which goes with the namespace.
pub(super) fn content_sight(
    kind: &Arc<Kind>,
    json: &str,
) -> Result<Option<ContentSight>, Unreadable> {
    let object = meta(json)?.object(kind, Facts::None).filter(|it| !it.is_made_by_cluster());
    Ok(object.map(|object| ContentSight { object: object.reference(), uid: object.uid }))
}

/// The metadata that decides the outcome of a read of one object.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) uid: Option<Uid>,
    pub(super) terminating: bool,
    pub(super) version: String,
    /// The unit that the labels and annotations name.
    pub(super) named: Option<UnitId>,
    /// The annotation that asks to keep the object.
    pub(super) keep: Option<Arc<str>>,
}

/// Reads the metadata in the answer to a GET.
pub(super) fn metadata(kind: &Kind, json: &[u8]) -> Result<Metadata, Unreadable> {
    let Envelope { mut metadata } = serde_json::from_slice(json)?;
    let version = std::mem::take(&mut metadata.resource_version);
    let terminating = metadata.deletion_timestamp.is_some();
    let object = metadata.object(&Arc::new(kind.clone()), Facts::None);
    let named = object.as_ref().and_then(named_unit);
    let keep = object.as_ref().and_then(|object| object.annotations.as_ref()?.keep.clone());
    Ok(Metadata { uid: object.map(|object| object.uid), terminating, version, named, keep })
}

/// One page of a list, with the JSON of its objects.
#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    /// `metadata`.
    pub(super) metadata: PageMeta,
    /// The objects; a Go server may write `null` for an empty list.
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

/// `metav1.ListMeta`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageMeta {
    /// The position where a watch continues.
    pub(super) resource_version: String,
    /// The token of the next page; empty on the last page.
    #[serde(rename = "continue")]
    pub(super) next: String,
}

type Reader = fn(&str) -> Result<(Meta, Facts), Unreadable>;

/// The function that reads a kind with facts of its own; `None` if only its metadata is used, or the names it refers to.
/// Groups that are no longer served (`extensions`, the beta groups before 1.25) are not listed.
fn reader(kind: &Kind) -> Option<Reader> {
    Some(match (&*kind.group, &*kind.kind) {
        ("", "Pod") => pod::read,
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") => workload::read_replicated,
        ("", "ReplicationController") => workload::read_replication_controller,
        ("apps", "DaemonSet") | ("batch", "Job") => workload::read,
        ("batch", "CronJob") => workload::read_cron_job,
        ("", "PersistentVolumeClaim") => storage::read_claim,
        ("", "PersistentVolume") => storage::read_volume,
        ("snapshot.storage.k8s.io", "VolumeSnapshotContent") => storage::read_snapshot_content,
        ("snapshot.storage.k8s.io", "VolumeSnapshot") => storage::read_snapshot,
        ("", "Service") => network::read_service,
        ("networking.k8s.io", "Ingress") => network::read_ingress,
        ("networking.k8s.io", "NetworkPolicy") => network::read_policy,
        ("autoscaling", "HorizontalPodAutoscaler") => workload::read_autoscaler,
        ("policy", "PodDisruptionBudget") => workload::read_disruption_budget,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::read_binding,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => access::read_role,
        ("", "ServiceAccount") => access::read_account,
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => extension::read_webhooks,
        ("apiregistration.k8s.io", "APIService") => extension::read_api_service,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => extension::read_definition,
        ("", "Node") => extension::read_node,
        ("", "Namespace") => extension::read_namespace,
        ("storage.k8s.io", "VolumeAttachment") => storage::read_attachment,
        ("storage.k8s.io", "CSINode") => storage::read_csi_node,
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => parent::read_kustomization,
        ("helm.toolkit.fluxcd.io", "HelmRelease") => parent::read_helm_release,
        ("argoproj.io", "Application") => parent::read_application,
        ("operators.coreos.com", "Subscription") => subscription::read,
        ("kappctrl.k14s.io", "App") => parent::read_app,
        ("packaging.carvel.dev", "PackageInstall") => parent::read_package_install,
        _ => return None,
    })
}

/// `metadata`, with the annotations that matter, the creator and the managed fields of finalizers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default, deserialize_with = "or_default")]
    name: Box<str>,
    #[serde(default)]
    namespace: Option<Arc<str>>,
    #[serde(default)]
    uid: Option<Arc<str>>,
    #[serde(default, deserialize_with = "or_default")]
    resource_version: String,
    #[serde(default, deserialize_with = "or_default")]
    labels: Labels,
    #[serde(default, deserialize_with = "or_default")]
    annotations: annotations::Read,
    #[serde(default, deserialize_with = "or_default")]
    owner_references: Vec<OwnerReference>,
    #[serde(default, deserialize_with = "or_default")]
    finalizers: Arc<Vec<Arc<str>>>,
    #[serde(default)]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_grace_period_seconds: Option<i64>,
    #[serde(default, deserialize_with = "managed::managed")]
    managed_fields: Managed,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerReference {
    uid: Arc<str>,
    #[serde(default, deserialize_with = "or_default")]
    api_version: Arc<str>,
    #[serde(default, deserialize_with = "or_default")]
    kind: Arc<str>,
    #[serde(default, deserialize_with = "or_default")]
    name: Arc<str>,
    #[serde(default, deserialize_with = "or_default")]
    controller: bool,
    #[serde(default, deserialize_with = "or_default")]
    block_owner_deletion: bool,
}

impl Meta {
    fn object(self, kind: &Arc<Kind>, facts: Facts) -> Option<Object> {
        let is_owned = !self.owner_references.is_empty();
        let creator = self.managed_fields.creator(self.creation_timestamp).filter(|_| !is_owned);
        let mut annotations = self.annotations.stored;
        let writers =
            if kind.is_an_operators() { self.managed_fields.writers() } else { Box::default() };
        if creator.is_some() || !writers.is_empty() {
            let annotations = Arc::make_mut(annotations.get_or_insert_default());
            (annotations.creator, annotations.writers) = (creator, writers);
        }
        let owners = self.owner_references.into_iter().map(|owner| OwnerRef {
            uid: Uid::new(owner.uid),
            group: owner.api_version.split_once('/').map_or("", |(group, _)| group).into(),
            kind: owner.kind,
            name: owner.name,
            controller: owner.controller,
            blocks: owner.block_owner_deletion,
        });
        Some(Object {
            uid: Uid::new(self.uid.filter(|uid| !uid.is_empty())?),
            kind: kind.clone(),
            namespace: self.namespace.filter(|name| !name.is_empty()),
            name: self.name,
            labels: self.labels,
            annotations,
            owners: owners.collect(),
            finalizers: self.finalizers,
            created: self.creation_timestamp.map(Seconds::from),
            deletion: self.deletion_timestamp.map(|at| {
                let grace = self.deletion_grace_period_seconds.unwrap_or_default();
                let managers = self.managed_fields.finalizers.into();
                Box::new(Held { deletion: Deletion { at, grace }, managers })
            }),
            facts,
        })
    }
}

#[derive(Deserialize)]
struct Envelope {
    metadata: Meta,
}

fn meta(json: &str) -> Result<Meta, Unreadable> {
    serde_json::from_str(json).map(|Envelope { metadata }| metadata)
}

/// An object with `metadata`, `spec` and `status`.
#[derive(Deserialize)]
#[serde(bound = "S: DeserializeOwned + Default, T: DeserializeOwned + Default")]
struct Whole<S, T> {
    metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    spec: S,
    #[serde(default, deserialize_with = "or_default")]
    status: T,
}

/// A field that is skipped.
#[derive(Debug, Default)]
struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Reads `null` as the default. Go writes `null` for a nil slice or map without `omitempty`.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A reference with only a name, such as `v1.LocalObjectReference`.
#[derive(Debug, Default, Deserialize)]
struct Named {
    #[serde(default)]
    name: Option<Arc<str>>,
}

impl Named {
    /// The name, unless it is empty.
    fn get(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| !name.is_empty())
    }
}

/// An entry of `status.conditions`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCondition {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    kind: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    status: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    reason: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    message: Box<str>,
    #[serde(default)]
    last_transition_time: Option<Timestamp>,
}

impl RawCondition {
    fn is_true(&self, name: &str) -> bool {
        &*self.kind == name && &*self.status == "True"
    }
}

impl From<&RawCondition> for Condition {
    fn from(raw: &RawCondition) -> Self {
        Self {
            name: bounded(&raw.kind).into(),
            status: match &*raw.status {
                "True" => ConditionStatus::True,
                "False" => ConditionStatus::False,
                _ => ConditionStatus::Unknown,
            },
            reason: bounded(&raw.reason).into(),
            message: bounded(&raw.message).into(),
            since: raw.last_transition_time.map(Seconds::from),
        }
    }
}

/// The condition of this type, if it was written.
fn condition(conditions: &[RawCondition], name: &str) -> Option<Condition> {
    conditions.iter().find(|condition| &*condition.kind == name).map(Condition::from)
}

fn is_ready(conditions: &[RawCondition]) -> bool {
    conditions.iter().any(|condition| condition.is_true("Ready"))
}

/// `metav1.LabelSelector`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LabelSelector {
    #[serde(deserialize_with = "or_default")]
    match_labels: Labels,
    #[serde(deserialize_with = "or_default")]
    match_expressions: Vec<Expression>,
}

#[derive(Clone, Debug, Deserialize)]
struct Expression {
    key: Arc<str>,
    operator: Operator,
    #[serde(default, deserialize_with = "or_default")]
    values: Box<[Arc<str>]>,
}

impl From<LabelSelector> for Selector {
    fn from(selector: LabelSelector) -> Self {
        let expressions = selector.match_expressions.into_iter().map(|expression| Requirement {
            key: expression.key,
            operator: expression.operator,
            values: expression.values,
        });
        Self { labels: selector.match_labels, expressions: expressions.collect() }
    }
}

#[cfg(test)]
mod tests;
