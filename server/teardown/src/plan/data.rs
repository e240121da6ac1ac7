//! Determines the fate of the data on the volumes that a plan affects.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::KeptReason;
use crate::{
    graph::Graph,
    index::Index,
    object::{Claim, Facts, Object, ObjectRef, Reclaim, Uid, Volume},
    relation::EdgeKind,
    unit::Unit,
};

/// The fate of the data on one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFate {
    /// The volume.
    pub volume: ObjectRef,
    /// The claim bound to it, if there is one.
    pub claim: Option<ObjectRef>,
    /// Its capacity, as the API writes it.
    pub capacity: Option<String>,
    /// The place where the data is stored.
    pub source: Option<String>,
    /// Its reclaim policy; none if the volume is hidden.
    pub reclaim: Option<Reclaim>,
    /// The fate of the data.
    pub fate: Fate,
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
        index.get(&edge.from)
    };
    let own = members().filter_map(|object| {
        let Facts::Volume(volume) = &object.facts else { return None };
        let claim = claim_of(object);
        let goes = |uid: &Uid| unit.members.contains(uid) && !kept.contains_key(uid);
        let fate = match claim {
            Some(claim) if goes(&claim.uid) => after_its_claim(volume.reclaim),
            Some(_) => Fate::Kept,
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
    let mut data: Vec<DataFate> = own.chain(others).collect();
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
    }
}

/// The name of a volume, which may be hidden.
pub(crate) fn volume_named(name: &Arc<str>) -> ObjectRef {
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
    })
}
