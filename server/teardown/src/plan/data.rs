//! Determines the fate of the data that a plan affects: on volumes, in snapshots of them, and outside of the cluster.
//!
//! # Decisions
//! - A volume that no claim is bound to any more goes with its data if its reclaim policy is Delete: its provisioner keeps the
//!   policy by a finalizer (`pv.kubernetes.io/provisioned-by`, KEP-2644).
//! - A custom resource whose finalizer removes something outside of the cluster stands for that data, and so does one whose spec
//!   says that it is destroyed. One whose spec says that it stays leaves it behind.
//! - An operator that deletes the claims of its object does so whatever the plan says of them: they are counted with the field
//!   that says it, also claims outside of the unit. A plan that keeps one of them by choice is refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::KeptReason;
use crate::{
    graph::Graph,
    index::Index,
    object::{
        Claim, DataEffect, DataPolicy, Facts, Object, ObjectRef, Reclaim, SnapshotContent, Uid,
        Volume,
    },
    relation::{EdgeKind, is_bound_pair, is_external},
    unit::Unit,
};

/// The fate of the data on one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFate {
    /// The volume, the snapshot, or the custom resource that stands for data elsewhere.
    pub volume: ObjectRef,
    /// The claim bound to it, if there is one.
    pub claim: Option<ObjectRef>,
    /// Its capacity, as the API writes it.
    pub capacity: Option<String>,
    /// The place where the data is stored.
    pub source: Option<String>,
    /// Its reclaim policy; none if the volume is hidden. A page shows the fate that follows from it.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub reclaim: Option<Reclaim>,
    /// The fate of the data.
    pub fate: Fate,
    /// The object whose operator deletes the claim, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_by: Option<ClaimDeleter>,
}

/// An object whose operator deletes claims together with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClaimDeleter {
    /// The object.
    pub object: ObjectRef,
    /// Its field or finalizer that says so.
    pub mark: String,
}

/// The possible fates of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// Destroyed: the volume is deleted or scrubbed.
    Destroyed,
    /// Unknown: the volume is hidden.
    Unknown,
    /// The volume object is deleted or becomes Released; the data stays in its place.
    LeftBehind,
    /// The volume stays in use.
    Kept,
}

impl Fate {
    /// Whether the data is destroyed, or nobody can say that it is not.
    pub(crate) fn may_be_destroyed(self) -> bool {
        matches!(self, Self::Destroyed | Self::Unknown)
    }
}

/// The fate of the data on every volume of the unit, and behind every claim to delete. The claim decides over the data,
/// even if the volume is hidden or belongs to another unit.
pub(super) fn fates(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    kept: &BTreeMap<Uid, KeptReason>,
) -> Vec<DataFate> {
    let members = || unit.members.iter().filter_map(|uid| index.get(uid));
    let claim_of = |volume: &Object| {
        let edge = graph.to(&volume.uid).find(|edge| edge.kind == EdgeKind::Binds)?;
        index.get(edge.from)
    };
    let own = members().filter_map(|object| {
        let Facts::Volume(volume) = &object.facts else { return None };
        let claim = claim_of(object);
        let goes = |uid: &Uid| unit.members.contains(uid) && !kept.contains_key(uid);
        let fate = match claim {
            Some(claim) if goes(&claim.uid) => after_its_claim(volume.reclaim),
            Some(_) => Fate::Kept,
            None if goes(&object.uid) && volume.claim.is_some() => after_its_claim(volume.reclaim),
            None if goes(&object.uid) => Fate::LeftBehind,
            None => Fate::Kept,
        };
        Some(data_fate(object, volume, claim.map(|claim| &**claim), fate))
    });
    let others = members().filter_map(|object| {
        let Facts::Claim(claim) = &object.facts else { return None };
        let name = claim.volume.as_ref().filter(|_| !kept.contains_key(&object.uid))?;
        let Some(found) = index.find("", "PersistentVolume", None, name) else {
            return fate_of_hidden_volume(object, claim, name, index);
        };
        let Facts::Volume(volume) = &found.facts else { return None };
        let is_bound = claim_of(found).is_some_and(|bound| bound.uid == object.uid);
        (is_bound && !unit.members.contains(&found.uid))
            .then(|| data_fate(found, volume, Some(object), after_its_claim(volume.reclaim)))
    });
    let going = || members().filter(|object| !kept.contains_key(&object.uid));
    // A content that goes with its snapshot is counted there.
    let own_snapshot = |content: &Object| {
        let bound = graph.to(&content.uid).find(|edge| edge.kind == EdgeKind::Binds);
        bound.is_some_and(|edge| unit.members.contains(edge.from) && !kept.contains_key(edge.from))
    };
    let snapshots =
        going().filter(|it| !own_snapshot(it)).filter_map(|object| snapshot_fate(object, index));
    let external = going().filter_map(|object| external_fate(object));
    let mut data: Vec<DataFate> = own.chain(others).chain(snapshots).chain(external).collect();
    name_deleters(&mut data, going(), index);
    data.sort_by(|a, b| (a.fate, &a.volume).cmp(&(b.fate, &b.volume)));
    data
}

/// A recycled volume stays, but its data is scrubbed
/// (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#recycle>).
fn after_its_claim(reclaim: Reclaim) -> Fate {
    match reclaim {
        Reclaim::Delete | Reclaim::Recycle => Fate::Destroyed,
        Reclaim::Retain => Fate::LeftBehind,
    }
}

fn data_fate(object: &Object, volume: &Volume, claim: Option<&Object>, fate: Fate) -> DataFate {
    DataFate {
        volume: object.reference(),
        claim: claim.map(Object::reference),
        capacity: volume.capacity.as_deref().map(str::to_owned),
        source: volume.source.as_deref().map(str::to_owned),
        reclaim: Some(volume.reclaim),
        fate,
        deleted_by: None,
    }
}

/// Names the objects whose operators delete claims, and counts the claims that only they delete.
fn name_deleters<'a>(
    data: &mut Vec<DataFate>,
    going: impl Iterator<Item = &'a Arc<Object>>,
    index: &'a Index,
) {
    for object in going {
        for (claim, mark) in deleted_claims(object, index) {
            let deleter = ClaimDeleter { object: object.reference(), mark: mark.to_string() };
            let claim_ref = claim.reference();
            let known = data.iter_mut().find(|it| it.claim.as_ref() == Some(&claim_ref));
            if let Some(known) = known.filter(|it| it.fate != Fate::Kept) {
                known.deleted_by.get_or_insert(deleter);
                continue;
            }
            let Some(fate) = fate_of_claim(claim, index) else { continue };
            data.retain(|it| it.claim.as_ref() != Some(&claim_ref));
            data.push(DataFate { deleted_by: Some(deleter), ..fate });
        }
    }
}

/// The fate of the data behind a claim that is deleted, if it has a volume.
fn fate_of_claim(claim: &Object, index: &Index) -> Option<DataFate> {
    let Facts::Claim(facts) = &claim.facts else { return None };
    let name = facts.volume.as_ref()?;
    let volume = index.find("", "PersistentVolume", None, name);
    match volume.map(|it| (it, &it.facts)) {
        Some((volume, Facts::Volume(of_it))) => {
            let fate = after_its_claim(of_it.reclaim);
            Some(data_fate(volume, of_it, Some(claim), fate))
        }
        _ => fate_of_hidden_volume(claim, facts, name, index),
    }
}

/// The data that the deletion of an object destroys, or may, as the cluster is now: what stands for it in [`Plan::data`]. A
/// volume that another claim is bound to is none of a claim's.
///
/// [`Plan::data`]: super::Plan::data
pub(crate) fn destroyed_with(object: &Object, index: &Index) -> Vec<ObjectRef> {
    let own = match &object.facts {
        Facts::Claim(claim) => {
            let volume = claim.volume.as_ref();
            let volume = volume.and_then(|name| index.find("", "PersistentVolume", None, name));
            let is_anothers = volume.is_some_and(|volume| match &volume.facts {
                Facts::Volume(volume) => !is_bound_pair(object, volume),
                _ => false,
            });
            fate_of_claim(object, index).filter(|_| !is_anothers)
        }
        Facts::Volume(volume) if volume.claim.is_some() => {
            Some(data_fate(object, volume, None, after_its_claim(volume.reclaim)))
        }
        _ => snapshot_fate(object, index).or_else(|| external_fate(object)),
    };
    let claims = deleted_claims(object, index).filter_map(|(claim, _)| fate_of_claim(claim, index));
    let lost = own.into_iter().chain(claims).filter(|data| data.fate.may_be_destroyed());
    lost.map(|data| data.volume).collect()
}

/// The claims that an operator deletes together with its object, each with the field that says so.
fn deleted_claims<'a>(
    object: &'a Object,
    index: &'a Index,
) -> impl Iterator<Item = (&'a Arc<Object>, &'a Arc<str>)> {
    let policy = data_policy(object).and_then(|policy| match &policy.effect {
        DataEffect::DeletesClaims { label } => Some((label, &policy.field)),
        DataEffect::DestroysData | DataEffect::LeavesData => None,
    });
    let near = object.namespace.as_deref().and_then(|namespace| Some((namespace, policy?)));
    near.into_iter().flat_map(move |(namespace, (label, field))| {
        let claims = index.in_namespace(namespace).filter(move |it| {
            let is_its = it.labels.get(label).is_some_and(|name| **name == *object.name);
            matches!(it.facts, Facts::Claim(_)) && is_its
        });
        claims.map(move |claim| (claim, field))
    })
}

fn data_policy(object: &Object) -> Option<&DataPolicy> {
    match &object.facts {
        Facts::References(references) => references.data.as_deref(),
        _ => None,
    }
}

/// The fate of the snapshot that a VolumeSnapshot or its content stands for
/// (<https://kubernetes.io/docs/concepts/storage/volume-snapshots/#delete>).
fn snapshot_fate(object: &Object, index: &Index) -> Option<DataFate> {
    let fate = |content: &SnapshotContent| {
        if content.deletes { Fate::Destroyed } else { Fate::LeftBehind }
    };
    let (fate, source) = match &object.facts {
        Facts::SnapshotContent(content) => (fate(content), Some(content.driver.to_string())),
        _ if object.kind.is(SNAPSHOTS, "VolumeSnapshot") => {
            let is_its_own = |content: &SnapshotContent| {
                content.snapshot.as_ref().is_some_and(|(namespace, name)| {
                    Some(namespace) == object.namespace.as_ref() && **name == *object.name
                })
            };
            let of_kind = index.of_resource(SNAPSHOT_CONTENTS);
            let mut contents = of_kind.filter_map(|it| match &it.facts {
                Facts::SnapshotContent(content) => Some(content),
                _ => None,
            });
            match contents.find(|content| is_its_own(content)) {
                Some(content) => (fate(content), Some(content.driver.to_string())),
                None if index.check_kind_visible(SNAPSHOT_CONTENTS).is_ok() => return None,
                None => (Fate::Unknown, None),
            }
        }
        _ => return None,
    };
    let (volume, capacity, claim, reclaim) = (object.reference(), None, None, None);
    Some(DataFate { volume, claim, capacity, source, reclaim, fate, deleted_by: None })
}

const SNAPSHOTS: &str = "snapshot.storage.k8s.io";
const SNAPSHOT_CONTENTS: &str = "volumesnapshotcontents.snapshot.storage.k8s.io";

/// An object that goes and that says that its operator then deletes claims which are to stay: by a finalizer, as
/// `percona.com/delete-pxc-pvc`, in a namespace where claims are to stay, or by a field, of a claim that names it.
pub(super) fn claim_deleter(
    index: &Index,
    going: &BTreeSet<&Uid>,
    claims_stay_in: impl Fn(&str) -> bool,
    stays: impl Fn(&Uid) -> bool,
) -> Option<ClaimDeleter> {
    let objects = going.iter().filter_map(|uid| index.get(uid));
    let is_near = |it: &Object| it.namespace.as_deref().is_some_and(&claims_stay_in);
    let found =
        objects.filter(|it| it.kind.is_an_operators() && is_near(it)).filter_map(|object| {
            let says_so = |finalizer: &&Arc<str>| {
                let name = finalizer.rsplit('/').next().unwrap_or_default();
                name.starts_with("delete-") && name.ends_with("-pvc") || name == "delete-pvc"
            };
            let finalizer = object.finalizers.iter().find(says_so)?;
            let mark = format!("finalizer {finalizer}");
            Some(ClaimDeleter { object: object.reference(), mark })
        });
    let by_field = going.iter().filter_map(|uid| index.get(uid)).filter_map(|object| {
        let mut deleted = deleted_claims(object, index);
        let seen = deleted.find(|(claim, _)| stays(&claim.uid)).map(|(_, field)| field);
        let unseen = || {
            let namespace = object.namespace.as_deref().filter(|it| claims_stay_in(it))?;
            let is_hidden = index.check_claims_visible(Some(namespace)).is_err();
            let policy = data_policy(object).filter(|_| is_hidden)?;
            let deletes = matches!(policy.effect, DataEffect::DeletesClaims { .. });
            deletes.then_some(&policy.field)
        };
        let field = seen.or_else(unseen)?;
        Some(ClaimDeleter { object: object.reference(), mark: field.to_string() })
    });
    found.chain(by_field).min()
}

fn external_fate(object: &Object) -> Option<DataFate> {
    let finalizer = object.finalizers.iter().find(|finalizer| is_external(finalizer));
    let policy = data_policy(object).map(|policy| (&policy.effect, &policy.field));
    let (mark, fate) = match (policy, finalizer) {
        (Some((DataEffect::DestroysData, field)), _) => (field, Fate::Destroyed),
        (Some((DataEffect::LeavesData, field)), _) => (field, Fate::LeftBehind),
        (_, Some(finalizer)) => (finalizer, Fate::Destroyed),
        (_, None) => return None,
    };
    object.kind.is_an_operators().then(|| DataFate {
        volume: object.reference(),
        claim: None,
        capacity: None,
        source: Some(mark.to_string()),
        reclaim: None,
        fate,
        deleted_by: None,
    })
}

/// The name of a volume, which may be hidden.
fn volume_named(name: &Arc<str>) -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "PersistentVolume".into(),
        namespace: None,
        name: name.clone(),
    }
}

/// The fate of a claim's data while its volume is not known; none if it is proven that the volume does not exist.
fn fate_of_hidden_volume(
    object: &Object,
    claim: &Claim,
    name: &Arc<str>,
    index: &Index,
) -> Option<DataFate> {
    (!index.can_see_volumes()).then(|| DataFate {
        volume: volume_named(name),
        claim: Some(object.reference()),
        capacity: claim.capacity.as_deref().map(str::to_owned),
        source: None,
        reclaim: None,
        fate: Fate::Unknown,
        deleted_by: None,
    })
}
