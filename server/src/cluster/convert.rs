//! From what the API server sends to what is kept: slim structs that name only the fields edges and verdicts need, so
//! that all else (managed fields, annotations, the data of Secrets and ConfigMaps) is skipped while it is being read.
//!
//! Kinds whose metadata says enough are asked for as `PartialObjectMetadata`, Secrets and ConfigMaps among them: their
//! data never leaves the API server. An object that cannot be read is an error, never a half-read object: a Pod whose
//! volumes went unnoticed would make its claim look unused.

mod access;
mod extension;
mod network;
mod pod;
mod storage;
mod workload;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;
use teardown::{
    action::PodSight,
    object::{Deletion, Facts, Kind, Object, OwnerRef, PodReferenceKind, Seconds, Uid},
    selector::{Labels, Operator, Requirement, Selector},
};

use super::interner::Interner;

/// Why an object could not be read; says where in it, never what it holds.
pub(super) type Unreadable = serde_json::Error;

/// The media type a kind is asked for in: the whole object where its fields matter, its metadata alone everywhere else.
///
/// Aggregated API servers need not know `PartialObjectMetadata`, so whole objects are accepted in its stead (as
/// client-go's metadata client does), except for Secrets and ConfigMaps: their data is not even to be sent.
pub(super) fn media_type(kind: &Kind) -> &'static str {
    if reader(kind).is_some() { super::request::JSON } else { metadata_media_type(kind) }
}

/// `meta.k8s.io/v1 PartialObjectMetadata`, and its list and watch events.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// The same for a list.
pub(super) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const METADATA_IF_POSSIBLE: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST_IF_POSSIBLE: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// As [`media_type`], for a read or a DELETE of one object of which only its metadata matters, whatever its kind.
pub(super) fn metadata_media_type(kind: &Kind) -> &'static str {
    match (&*kind.group, &*kind.kind) {
        ("", "Secret" | "ConfigMap") => METADATA,
        _ => METADATA_IF_POSSIBLE,
    }
}

/// As [`media_type`], for a list.
pub(super) fn list_media_type(kind: &Kind) -> &'static str {
    match media_type(kind) {
        METADATA => METADATA_LIST,
        METADATA_IF_POSSIBLE => METADATA_LIST_IF_POSSIBLE,
        whole => whole,
    }
}

/// Reads one object of this kind. None for an object without a UID: some aggregated API servers serve projections that
/// are stored nowhere and cannot be deleted.
pub(super) fn object(
    kind: &Arc<Kind>,
    json: &str,
    names: &Interner,
) -> Result<Option<Object>, Unreadable> {
    Ok(object_and_version(kind, json, names)?.map(|(object, _)| object))
}

/// As [`object`], with its resource version, which nobody needs once its watch has gone on.
pub(super) fn object_and_version(
    kind: &Arc<Kind>,
    json: &str,
    names: &Interner,
) -> Result<Option<(Object, String)>, Unreadable> {
    let (mut meta, facts) = match reader(kind) {
        Some(read) => read(json)?,
        None if kind.is("", "Namespace") => (meta(json)?, Facts::Namespace),
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

/// Reads a Pod as a consistent read reports it.
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

/// What a read of one object is judged by.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) uid: Option<Uid>,
    pub(super) terminating: bool,
}

/// Reads what a GET showed.
pub(super) fn metadata(json: &[u8]) -> Result<Metadata, Unreadable> {
    let Envelope { metadata } = serde_json::from_slice(json)?;
    Ok(Metadata {
        uid: metadata.uid.map(Uid::new),
        terminating: metadata.deletion_timestamp.is_some(),
    })
}

/// One page of a list, its objects not read yet.
#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    /// `metadata`.
    pub(super) metadata: PageMeta,
    /// The objects; `null` from servers that write an empty Go slice so.
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

/// `metav1.ListMeta`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageMeta {
    /// Where a watch goes on from.
    pub(super) resource_version: String,
    /// For the next page; empty on the last.
    #[serde(rename = "continue")]
    pub(super) next: String,
}

type Reader = fn(&str) -> Result<(Meta, Facts), Unreadable>;

/// How a kind with facts is read; none where its metadata is all that is asked for. What is not served any more
/// (`extensions`, the beta groups before 1.25) is not here.
fn reader(kind: &Kind) -> Option<Reader> {
    Some(match (&*kind.group, &*kind.kind) {
        ("", "Pod") => pod::read,
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") => workload::read_replicated,
        ("", "ReplicationController") => workload::read_replication_controller,
        ("apps", "DaemonSet") | ("batch", "Job") => workload::read,
        ("batch", "CronJob") => workload::read_cron_job,
        ("", "PersistentVolumeClaim") => storage::read_claim,
        ("", "PersistentVolume") => storage::read_volume,
        ("", "Service") => network::read_service,
        ("networking.k8s.io", "Ingress") => network::read_ingress,
        ("networking.k8s.io", "NetworkPolicy") => network::read_policy,
        ("autoscaling", "HorizontalPodAutoscaler") => workload::read_autoscaler,
        ("policy", "PodDisruptionBudget") => workload::read_disruption_budget,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::read_binding,
        ("", "ServiceAccount") => access::read_account,
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => extension::read_webhooks,
        ("apiregistration.k8s.io", "APIService") => extension::read_api_service,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => extension::read_definition,
        ("", "Node") => extension::read_node,
        _ => return None,
    })
}

/// `metadata`, without annotations and managed fields.
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
    owner_references: Vec<OwnerReference>,
    #[serde(default, deserialize_with = "or_default")]
    finalizers: Arc<Vec<Arc<str>>>,
    #[serde(default)]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_grace_period_seconds: Option<i64>,
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
}

impl Meta {
    fn object(self, kind: &Arc<Kind>, facts: Facts) -> Option<Object> {
        let owners = self.owner_references.into_iter().map(|owner| OwnerRef {
            uid: Uid::new(owner.uid),
            group: owner.api_version.split_once('/').map_or("", |(group, _)| group).into(),
            kind: owner.kind,
            name: owner.name,
            controller: owner.controller,
        });
        Some(Object {
            uid: Uid::new(self.uid.filter(|uid| !uid.is_empty())?),
            kind: kind.clone(),
            namespace: self.namespace.filter(|name| !name.is_empty()),
            name: self.name,
            labels: self.labels,
            owners: owners.collect(),
            finalizers: self.finalizers,
            created: self.creation_timestamp.map(Seconds::from),
            deletion: self.deletion_timestamp.map(|at| {
                let grace = self.deletion_grace_period_seconds.unwrap_or_default();
                Box::new(Deletion { at, grace })
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

/// An object of the usual shape.
#[derive(Deserialize)]
#[serde(bound = "S: DeserializeOwned + Default, T: DeserializeOwned + Default")]
struct Whole<S, T> {
    metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    spec: S,
    #[serde(default, deserialize_with = "or_default")]
    status: T,
}

/// A part of an object that is not read.
#[derive(Debug, Default)]
struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// `null` is the default: Go writes a nil slice or map so where the field has no `omitempty`.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A reference that has only a name: `v1.LocalObjectReference` and its likes.
#[derive(Debug, Default, Deserialize)]
struct Named {
    #[serde(default)]
    name: Option<Arc<str>>,
}

impl Named {
    /// The name, if it is one.
    fn get(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| !name.is_empty())
    }
}

/// A status or Ready condition.
#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    kind: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    status: Box<str>,
}

fn is_ready(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| &*condition.kind == "Ready" && &*condition.status == "True")
}

/// `metav1.LabelSelector`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LabelSelector {
    #[serde(deserialize_with = "or_default")]
    match_labels: Labels,
    #[serde(deserialize_with = "or_default")]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
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
