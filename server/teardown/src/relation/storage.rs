//! The edges of claims to their volumes, of copies of volumes, and of attachments to nodes.

use std::sync::Arc;

use super::{DeletionPhase, EdgeCollector, EdgeKind, Precedence, Strength};
use crate::{
    index::Index,
    object::{Claim, Facts, Object, Seconds, Snapshot, Volume},
};

const SNAPSHOTS: &str = "snapshot.storage.k8s.io";

/// A snapshot and a clone go before the claim that they come from, and a restored claim before its snapshot: many drivers
/// refuse to delete a volume that has copies. While the copy is being made, it needs its source
/// (<https://kubernetes.io/docs/concepts/storage/volume-snapshots/#persistent-volume-claim-as-snapshot-source-protection>).
pub(super) fn snapshots(found: &mut EdgeCollector<'_>, index: &Index) {
    match &found.from.facts {
        Facts::Snapshot(snapshot) => of_snapshot(found, snapshot, index),
        Facts::Claim(claim) => of_clone(found, claim, index),
        _ => {}
    }
}

fn of_snapshot(found: &mut EdgeCollector<'_>, snapshot: &Snapshot, index: &Index) {
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    if let Some(name) = &snapshot.claim
        && let Some(claim) = index.find("", "PersistentVolumeClaim", found.namespace(), name)
        // A claim that is younger than the snapshot is another one, such as the claim restored from it.
        && !is_younger(claim.created, found.from.created)
    {
        let strength = strength(snapshot.ready);
        let field = "spec.source.persistentVolumeClaimName";
        found.push_with(strength, claim, EdgeKind::Snapshots, order, field, name.clone());
    }
    if let Some(content) = content_of(found.from, snapshot, index)
        && let Some(name) = &snapshot.content
    {
        let field = "status.boundVolumeSnapshotContentName";
        found.push(content, EdgeKind::Binds, order, field, name.clone());
    }
}

/// The content that a snapshot is bound to. Both must refer to each other.
pub(super) fn content_of<'a>(
    object: &Object,
    snapshot: &Snapshot,
    index: &'a Index,
) -> Option<&'a Object> {
    let content =
        index.find(SNAPSHOTS, "VolumeSnapshotContent", None, snapshot.content.as_ref()?)?;
    let Facts::SnapshotContent(facts) = &content.facts else { return None };
    let (namespace, name) = facts.snapshot.as_ref()?;
    (Some(namespace) == object.namespace.as_ref() && **name == *object.name).then_some(&**content)
}

fn of_clone(found: &mut EdgeCollector<'_>, claim: &Claim, index: &Index) {
    let Some(source) = &claim.source else { return };
    let is_volume = source.group.is_empty() && &*source.kind == "PersistentVolumeClaim"
        || &*source.group == SNAPSHOTS && &*source.kind == "VolumeSnapshot";
    let namespace = source.namespace.as_deref().or(found.namespace());
    if !is_volume {
        return;
    }
    if let Some(target) = index.find(&source.group, &source.kind, namespace, &source.name) {
        let strength = strength(claim.phase.as_deref() == Some("Bound"));
        let order = Precedence::FromFirst(DeletionPhase::Gone);
        let value = format!("{} {}", source.kind, source.name);
        found.push_with(strength, target, EdgeKind::Snapshots, order, source.field.clone(), value);
    }
}

fn strength(is_complete: bool) -> Strength {
    if is_complete { Strength::Yielding } else { Strength::Hard }
}

fn is_younger(one: Option<Seconds>, other: Option<Seconds>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one > other)
}

/// An attachment is gone before its volume: the disk would stay with the machine.
pub(super) fn attaches(found: &mut EdgeCollector<'_>, index: &Index) {
    let Facts::Attachment(attachment) = &found.from.facts else { return };
    if let Some(name) = &attachment.volume
        && let Some(volume) = index.find("", "PersistentVolume", None, name)
    {
        let order = Precedence::FromFirst(DeletionPhase::Gone);
        let field = "spec.source.persistentVolumeName";
        found.push(volume, EdgeKind::Attaches, order, field, name.clone());
    }
    if let Some(node) = index.find("", "Node", None, &attachment.node) {
        let (order, name) = (Precedence::Unordered, attachment.node.clone());
        found.push(node, EdgeKind::Attaches, order, "spec.nodeName", name);
    }
}

/// Whether a volume that a claim names belongs to the claim. A volume that names another claim does not.
pub(crate) fn is_bound_pair(claim: &Object, volume: &Volume) -> bool {
    volume.claim.as_ref().is_none_or(|named| {
        Some(&named.namespace) == claim.namespace.as_ref()
            && *named.name == *claim.name
            && named.uid.as_ref().is_none_or(|uid| *uid == claim.uid)
    })
}

/// A claim goes before the volume it is bound to. Both must refer to each other.
pub(super) fn binds(found: &mut EdgeCollector<'_>, index: &Index) {
    let Facts::Claim(claim) = &found.from.facts else { return };
    let Some(name) = &claim.volume else { return };
    if let Some(volume) = volume_of(found.from, index) {
        let order = Precedence::FromFirst(DeletionPhase::Gone);
        found.push(volume, EdgeKind::Binds, order, "spec.volumeName", name.clone());
    }
}

/// The volume that a claim is bound to. A volume that names another claim is not.
pub(super) fn volume_of<'a>(claim: &Object, index: &'a Index) -> Option<&'a Object> {
    let Facts::Claim(facts) = &claim.facts else { return None };
    let volume = index.find("", "PersistentVolume", None, facts.volume.as_ref()?)?;
    let Facts::Volume(facts) = &volume.facts else { return None };
    is_bound_pair(claim, facts).then_some(&**volume)
}

/// The StorageClass that a claim without one gets from the admission plugin: of several the newest, then the first by name
/// (`GetDefaultClass` in `pkg/volume/util/storageclass.go`).
pub(super) fn default_class(index: &Index) -> Option<&Arc<Object>> {
    let classes = index.of_resource("storageclasses.storage.k8s.io");
    let is_default =
        |class: &Object| class.annotations.as_ref().is_some_and(|it| it.is_default_class);
    classes
        .filter(|class| is_default(class))
        .min_by(|a, b| b.created.cmp(&a.created).then_with(|| a.name.cmp(&b.name)))
}
