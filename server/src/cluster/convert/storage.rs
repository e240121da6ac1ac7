//! PersistentVolumeClaims, PersistentVolumes, and the attachment of volumes to nodes.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use teardown::object::{
    Attachment, Claim, ClaimRef, CsiNode, Facts, Reclaim, Reference as ObjectReference, Seconds,
    Snapshot, SnapshotContent, Uid, Volume, driver_of_source,
};

use super::{Meta, Unread, Unreadable, Whole, names::is_name, or_default};
use crate::cluster::text::bounded;

/// Reads a PersistentVolumeClaim.
pub(super) fn read_claim(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ClaimSpec, ClaimStatus> { metadata, spec, status } = serde_json::from_str(json)?;
    // The API server writes both where one is given, but only `dataSourceRef` can name another namespace.
    let source =
        [("spec.dataSourceRef", spec.data_source_ref), ("spec.dataSource", spec.data_source)];
    let source = source.into_iter().find_map(|(field, source)| source?.named(field).map(Box::new));
    let claim = Claim {
        volume: spec.volume_name.filter(|name| !name.is_empty()),
        class: spec.storage_class_name,
        capacity: status.capacity.storage,
        phase: status.phase,
        attributes: spec.volume_attributes_class_name.filter(|name| !name.is_empty()),
        source,
        one_node: !spec.access_modes.is_empty()
            && spec.access_modes.iter().all(|it| it.starts_with("ReadWriteOnce")),
    };
    Ok((metadata, Facts::Claim(Box::new(claim))))
}

/// A PersistentVolumeClaim as the answer to a GET shows it.
#[derive(Debug)]
pub(in crate::cluster) struct ClaimSight {
    pub(in crate::cluster) uid: Option<Uid>,
    /// `status.phase`.
    pub(in crate::cluster) phase: Option<Arc<str>>,
    pub(in crate::cluster) terminating: bool,
}

/// Reads the answer to a GET of a PersistentVolumeClaim.
pub(in crate::cluster) fn claim_sight(json: &[u8]) -> Result<ClaimSight, Unreadable> {
    let Whole::<Unread, ClaimStatus> { metadata, spec: _, status } = serde_json::from_slice(json)?;
    Ok(ClaimSight {
        uid: metadata.uid.filter(|uid| !uid.is_empty()).map(Uid::new),
        phase: status.phase,
        terminating: metadata.deletion_timestamp.is_some(),
    })
}

/// Reads a PersistentVolume. The default reclaim policy is Retain, as in the API server.
pub(super) fn read_volume(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<VolumeSpec, VolumeStatus> { mut metadata, spec, status } =
        serde_json::from_str(json)?;
    let volume = Volume {
        node_local: spec.is_on_a_node(),
        source: spec.source().map(|source| bounded(&source).into()),
        driver: spec.driver(),
        provisioner: metadata.annotations.provisioner.take().filter(|name| is_name(name)),
        claim: spec.claim_ref.map(|claim| ClaimRef {
            namespace: claim.namespace,
            name: claim.name,
            uid: claim.uid.filter(|uid| !uid.is_empty()).map(Uid::new),
        }),
        reclaim: match spec.persistent_volume_reclaim_policy.as_deref() {
            Some("Delete") => Reclaim::Delete,
            Some("Recycle") => Reclaim::Recycle,
            _ => Reclaim::Retain,
        },
        class: spec.storage_class_name,
        capacity: spec.capacity.storage,
        phase: status.phase,
        attributes: spec.volume_attributes_class_name.filter(|name| !name.is_empty()),
    };
    Ok((metadata, Facts::Volume(Box::new(volume))))
}

/// Reads a VolumeSnapshotContent.
pub(super) fn read_snapshot_content(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<SnapshotContentSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let of = spec.volume_snapshot_ref;
    let content = SnapshotContent {
        deletes: spec.deletion_policy.as_deref() == Some("Delete"),
        snapshot: (!of.name.is_empty()).then_some((of.namespace, of.name)),
        driver: spec.driver,
        class: spec.volume_snapshot_class_name.filter(|name| !name.is_empty()),
    };
    Ok((metadata, Facts::SnapshotContent(Box::new(content))))
}

/// Reads a VolumeSnapshot.
pub(super) fn read_snapshot(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<SnapshotSpec, SnapshotStatus> { metadata, spec, status } =
        serde_json::from_str(json)?;
    let SnapshotSource { persistent_volume_claim_name, volume_snapshot_content_name } = spec.source;
    let content = status.bound_volume_snapshot_content_name.filter(|name| !name.is_empty());
    let snapshot = Snapshot {
        claim: persistent_volume_claim_name.filter(|name| !name.is_empty()),
        content: content.or(volume_snapshot_content_name).filter(|name| !name.is_empty()),
        class: spec.volume_snapshot_class_name.filter(|name| !name.is_empty()),
        ready: status.ready_to_use,
    };
    Ok((metadata, Facts::Snapshot(Box::new(snapshot))))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SnapshotSpec {
    #[serde(deserialize_with = "or_default")]
    source: SnapshotSource,
    volume_snapshot_class_name: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SnapshotSource {
    persistent_volume_claim_name: Option<Arc<str>>,
    volume_snapshot_content_name: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SnapshotStatus {
    bound_volume_snapshot_content_name: Option<Arc<str>>,
    #[serde(deserialize_with = "or_default")]
    ready_to_use: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SnapshotContentSpec {
    deletion_policy: Option<Box<str>>,
    #[serde(deserialize_with = "or_default")]
    driver: Arc<str>,
    #[serde(deserialize_with = "or_default")]
    volume_snapshot_ref: Reference,
    volume_snapshot_class_name: Option<Arc<str>>,
}

/// Reads a VolumeAttachment.
pub(super) fn read_attachment(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<AttachmentSpec, AttachmentStatus> { metadata, spec, status } =
        serde_json::from_str(json)?;
    let error = status.detach_error;
    let attachment = Attachment {
        volume: spec.source.persistent_volume_name,
        node: spec.node_name,
        attacher: spec.attacher,
        attached: status.attached,
        detach_failed: error.as_ref().and_then(|error| error.time).map(Seconds::from),
        detach_error: error.map(|error| bounded(&error.message).into()),
    };
    Ok((metadata, Facts::Attachment(Box::new(attachment))))
}

/// Reads a CSINode.
pub(super) fn read_csi_node(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<CsiNodeSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let drivers = spec.drivers.into_iter().map(|driver| driver.name).collect();
    Ok((metadata, Facts::CsiNode(Box::new(CsiNode { drivers }))))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AttachmentSpec {
    #[serde(deserialize_with = "or_default")]
    source: AttachmentSource,
    #[serde(deserialize_with = "or_default")]
    node_name: Arc<str>,
    #[serde(deserialize_with = "or_default")]
    attacher: Arc<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AttachmentSource {
    persistent_volume_name: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AttachmentStatus {
    #[serde(deserialize_with = "or_default")]
    attached: bool,
    detach_error: Option<VolumeError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VolumeError {
    #[serde(deserialize_with = "or_default")]
    message: Box<str>,
    time: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CsiNodeSpec {
    #[serde(deserialize_with = "or_default")]
    drivers: Vec<CsiNodeDriver>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CsiNodeDriver {
    #[serde(deserialize_with = "or_default")]
    name: Arc<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSpec {
    volume_name: Option<Arc<str>>,
    storage_class_name: Option<Arc<str>>,
    volume_attributes_class_name: Option<Arc<str>>,
    data_source: Option<DataSource>,
    data_source_ref: Option<DataSource>,
    #[serde(deserialize_with = "or_default")]
    access_modes: Vec<Box<str>>,
}

/// `v1.TypedObjectReference`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DataSource {
    #[serde(deserialize_with = "or_default")]
    api_group: Arc<str>,
    #[serde(deserialize_with = "or_default")]
    kind: Arc<str>,
    namespace: Option<Arc<str>>,
    #[serde(deserialize_with = "or_default")]
    name: Arc<str>,
}

impl DataSource {
    fn named(self, field: &str) -> Option<ObjectReference> {
        let Self { api_group, kind, namespace, name } = self;
        (!name.is_empty()).then(|| ObjectReference {
            group: api_group,
            kind,
            namespace: namespace.filter(|it| !it.is_empty()),
            name,
            field: field.into(),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimStatus {
    #[serde(deserialize_with = "or_default")]
    capacity: Capacity,
    phase: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Capacity {
    storage: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VolumeSpec {
    claim_ref: Option<Reference>,
    persistent_volume_reclaim_policy: Option<Box<str>>,
    storage_class_name: Option<Arc<str>>,
    volume_attributes_class_name: Option<Arc<str>>,
    #[serde(deserialize_with = "or_default")]
    capacity: Capacity,
    #[serde(deserialize_with = "or_default")]
    node_affinity: NodeAffinity,
    /// One of these fields is the volume source. Sources differ too much for a struct each.
    nfs: Option<Source>,
    csi: Option<Source>,
    host_path: Option<Source>,
    local: Option<Source>,
    iscsi: Option<Source>,
    fc: Option<Source>,
    rbd: Option<Source>,
    cephfs: Option<Source>,
    cinder: Option<Source>,
    aws_elastic_block_store: Option<Source>,
    gce_persistent_disk: Option<Source>,
    azure_disk: Option<Source>,
    azure_file: Option<Source>,
    vsphere_volume: Option<Source>,
    flex_volume: Option<Source>,
    glusterfs: Option<Source>,
    portworx_volume: Option<Source>,
}

type Source = BTreeMap<String, Value>;

/// `v1.VolumeNodeAffinity`: the labels of the nodes that can use the volume.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeAffinity {
    #[serde(deserialize_with = "or_default")]
    required: NodeSelector,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeSelector {
    #[serde(deserialize_with = "or_default")]
    node_selector_terms: Vec<NodeSelectorTerm>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeSelectorTerm {
    #[serde(deserialize_with = "or_default")]
    match_expressions: Vec<LabelRequirement>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LabelRequirement {
    #[serde(deserialize_with = "or_default")]
    key: Box<str>,
}

/// Whether a label has another value on each node. `kubernetes.io/hostname` is Kubernetes' own; the drivers of local disks
/// have theirs, such as `topology.topolvm.io/node` and `openebs.io/nodename`.
fn names_a_node(label: &str) -> bool {
    ["hostname", "node", "nodename"].contains(&label.rsplit('/').next().unwrap_or_default())
}

impl VolumeSpec {
    fn is_on_a_node(&self) -> bool {
        let terms = self.node_affinity.required.node_selector_terms.iter();
        self.local.is_some()
            || self.host_path.is_some()
            || terms.flat_map(|it| &it.match_expressions).any(|it| names_a_node(&it.key))
    }

    fn driver(&self) -> Option<Arc<str>> {
        if let Some(csi) = &self.csi {
            return csi.get("driver")?.as_str().map(|driver| bounded(driver).into());
        }
        let migrated = [
            ("awsElasticBlockStore", &self.aws_elastic_block_store),
            ("azureDisk", &self.azure_disk),
            ("azureFile", &self.azure_file),
            ("cinder", &self.cinder),
            ("gcePersistentDisk", &self.gce_persistent_disk),
            ("portworxVolume", &self.portworx_volume),
            ("vsphereVolume", &self.vsphere_volume),
        ];
        let (source, _) = migrated.into_iter().find(|(_, source)| source.is_some())?;
        driver_of_source(source).map(Arc::from)
    }

    /// The location of the data in one line. CSI attributes are left out, because drivers keep credentials there.
    fn source(&self) -> Option<String> {
        let field = |source: &Source, name: &str| match source.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
            }
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let spaced = |word: &str, source: &Source, fields: &[&str]| {
            let mut text = word.to_owned();
            for part in
                fields.iter().map(|name| field(source, name)).filter(|part| !part.is_empty())
            {
                text.push(' ');
                text.push_str(&part);
            }
            text
        };
        if let Some(nfs) = &self.nfs {
            return Some(format!("nfs {}:{}", field(nfs, "server"), field(nfs, "path")));
        }
        [
            ("csi", &self.csi, &["driver", "volumeHandle"] as &[&str]),
            ("hostPath", &self.host_path, &["path"]),
            ("local", &self.local, &["path"]),
            ("iscsi", &self.iscsi, &["targetPortal", "iqn", "lun"]),
            ("fc", &self.fc, &["targetWWNs", "lun"]),
            ("rbd", &self.rbd, &["pool", "image"]),
            ("cephfs", &self.cephfs, &["monitors", "path"]),
            ("cinder", &self.cinder, &["volumeID"]),
            ("awsElasticBlockStore", &self.aws_elastic_block_store, &["volumeID"]),
            ("gcePersistentDisk", &self.gce_persistent_disk, &["pdName"]),
            ("azureDisk", &self.azure_disk, &["diskName"]),
            ("azureFile", &self.azure_file, &["shareName"]),
            ("vsphereVolume", &self.vsphere_volume, &["volumePath"]),
            ("flexVolume", &self.flex_volume, &["driver"]),
            ("glusterfs", &self.glusterfs, &["endpoints", "path"]),
            ("portworxVolume", &self.portworx_volume, &["volumeID"]),
        ]
        .into_iter()
        .find_map(|(word, source, fields)| {
            source.as_ref().map(|source| spaced(word, source, fields))
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reference {
    namespace: Arc<str>,
    name: Arc<str>,
    uid: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VolumeStatus {
    phase: Option<Arc<str>>,
}
