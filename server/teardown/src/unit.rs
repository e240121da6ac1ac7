//! Groups objects into units, each of which is one application or one namespace.
//!
//! An object belongs to the labelled unit of the first of these that has one: its own label; its owner; for a claim,
//! the StatefulSet that created it; for a volume, the claim bound to it; for an autoscaler, the workload it scales; its
//! namespace; for a claim, all workloads that mount it. The nearest answer wins, so that another application in one of
//! the unit's namespaces keeps its own objects. A claim can be in several units only if nothing but its users
//! determines its unit. Then it is, with its volume, in each unit that mounts it, and a plan keeps it while others use
//! it.
//!
//! # Decisions
//! A claim without a label, in a namespace without a label, is a member of each unit that mounts it, and its volume too. It
//! is deleted if all Pods that mount it are that unit's and every kind that could mount it is visible; otherwise it is kept.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    graph::Graph,
    index::Index,
    labels::PART_OF,
    object::{Facts, Object, Uid},
    relation::EdgeKind,
};

/// The longest chain of owners that is followed. Real chains are shorter, and a cycle must not loop forever.
const DEPTH: usize = 16;

/// A unit's id, unique in the cluster: the value of the label, or `ns:NAME` for a namespace. A label's value has no
/// colon, so the two cannot collide.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnitId(String);

impl UnitId {
    /// The id from its text in a URL.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id of the unit for this namespace.
    pub fn of_namespace(name: &str) -> Self {
        Self(format!("ns:{name}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace, if the unit is one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.strip_prefix("ns:")
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The ways to recognise a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnitOrigin {
    /// Its objects carry `app.kubernetes.io/part-of` with its name.
    PartOf,
    /// It is a namespace and everything in it.
    Namespace,
}

/// A unit: its id and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The id.
    pub id: UnitId,
    /// The way it was recognised.
    pub origin: UnitOrigin,
    /// Its members.
    pub members: BTreeSet<Uid>,
}

/// Whether the cluster itself needs the namespace.
pub fn is_protected(namespace: &str) -> bool {
    namespace == "default" || namespace.starts_with("kube-")
}

/// Every unit of the cluster, by id.
pub fn units(index: &Index, graph: &Graph) -> BTreeMap<UnitId, Unit> {
    let mut units = BTreeMap::new();
    let belonging = belonging(index, graph);
    let shared = shared_storage(index, graph, &belonging);
    for (uid, name) in belonging.into_iter().chain(shared) {
        let id = UnitId::new(&*name);
        let unit = units.entry(id.clone()).or_insert_with(|| Unit {
            id,
            origin: UnitOrigin::PartOf,
            members: BTreeSet::new(),
        });
        unit.members.insert(uid);
    }
    for object in
        index.objects().filter(|object| is_namespace(object) && !is_protected(&object.name))
    {
        let id = UnitId::of_namespace(&object.name);
        let members = BTreeSet::from([object.uid.clone()]);
        units.insert(id.clone(), Unit { id, origin: UnitOrigin::Namespace, members });
    }
    for object in index.objects() {
        let Some(unit) = namespace_of(object, index, graph)
            .and_then(|name| units.get_mut(&UnitId::of_namespace(&name)))
        else {
            continue;
        };
        unit.members.insert(object.uid.clone());
    }
    units
}

fn is_namespace(object: &Object) -> bool {
    matches!(object.facts, Facts::Namespace(_))
}

/// The namespace of an object, or of the claim bound to it.
fn namespace_of(object: &Object, index: &Index, graph: &Graph) -> Option<Arc<str>> {
    match object.facts {
        Facts::Volume(_) => {
            claim_of(object, index, graph).and_then(|claim| claim.namespace.clone())
        }
        _ => object.namespace.clone(),
    }
}

fn claim_of<'a>(volume: &Object, index: &'a Index, graph: &Graph) -> Option<&'a Arc<Object>> {
    graph
        .to(&volume.uid)
        .find(|edge| edge.kind == EdgeKind::Binds)
        .and_then(|edge| index.get(&edge.from))
}

/// The labelled unit of every object that has one.
fn belonging(index: &Index, graph: &Graph) -> HashMap<Uid, Arc<str>> {
    let belonging = Belonging { index, graph };
    index
        .objects()
        .filter_map(|object| {
            belonging.unit_of(object, DEPTH).map(|name| (object.uid.clone(), name))
        })
        .collect()
}

/// Every claim without a unit of its own, and its volume, with the units that mount it.
fn shared_storage(
    index: &Index,
    graph: &Graph,
    belonging: &HashMap<Uid, Arc<str>>,
) -> Vec<(Uid, Arc<str>)> {
    let is_nobodys = |uid: &&Uid| !belonging.contains_key(*uid);
    let mut shared = Vec::new();
    let claims = index.objects().filter(|object| matches!(object.facts, Facts::Claim(_)));
    for claim in claims.filter(|claim| is_nobodys(&&claim.uid)) {
        let volumes = graph.from(&claim.uid).filter(|edge| edge.kind == EdgeKind::Binds);
        let storage = [&claim.uid].into_iter().chain(volumes.map(|edge| &edge.to));
        let storage: Vec<&Uid> = storage.filter(is_nobodys).collect();
        let users = graph.to(&claim.uid).filter(|edge| edge.kind == EdgeKind::Mounts);
        for unit in users.filter_map(|edge| belonging.get(&edge.from)) {
            shared.extend(storage.iter().map(|uid| ((*uid).clone(), unit.clone())));
        }
    }
    shared
}

/// Whether a claim belongs to a labelled unit only because the unit mounts it.
pub(crate) fn belongs_by_use(object: &Object, index: &Index, graph: &Graph) -> bool {
    let belonging = Belonging { index, graph };
    matches!(object.facts, Facts::Claim(_)) && belonging.unit_of_itself(object, DEPTH).is_none()
}

struct Belonging<'a> {
    index: &'a Index,
    graph: &'a Graph,
}

impl Belonging<'_> {
    fn unit_of(&self, object: &Object, depth: usize) -> Option<Arc<str>> {
        let depth = depth.checked_sub(1)?;
        self.unit_of_itself(object, depth).or_else(|| self.unit_of_users(object, depth))
    }

    fn unit_of_itself(&self, object: &Object, depth: usize) -> Option<Arc<str>> {
        if let Some(name) = object.labels.get(PART_OF).filter(|name| !name.is_empty()) {
            return Some(name.clone());
        }
        self.unit_of_relatives(object, depth).or_else(|| self.unit_of_namespace(object))
    }

    fn unit_of_relatives(&self, object: &Object, depth: usize) -> Option<Arc<str>> {
        let owners = self
            .graph
            .from(&object.uid)
            .filter(|edge| edge.kind == EdgeKind::Owns)
            .map(|edge| &edge.to);
        let lookup = self
            .graph
            .to(&object.uid)
            .filter(|edge| edge.kind == EdgeKind::Claims)
            .map(|edge| &edge.from);
        let claims = self
            .graph
            .to(&object.uid)
            .filter(|edge| edge.kind == EdgeKind::Binds)
            .map(|edge| &edge.from);
        let scaled = self
            .graph
            .from(&object.uid)
            .filter(|edge| edge.kind == EdgeKind::Scales)
            .map(|edge| &edge.to);
        owners
            .chain(lookup)
            .chain(claims)
            .chain(scaled)
            .filter_map(|uid| self.index.get(uid))
            .find_map(|relative| self.unit_of(relative, depth))
    }

    fn unit_of_namespace(&self, object: &Object) -> Option<Arc<str>> {
        let namespace = self.index.find("", "Namespace", None, object.namespace.as_deref()?)?;
        namespace.labels.get(PART_OF).filter(|name| !name.is_empty()).cloned()
    }

    /// The unit to which all Pods and Pod templates that mount a claim belong: storage belongs to the only application
    /// that uses it. If the users belong to several units, or one of them to none, the claim belongs to no unit.
    fn unit_of_users(&self, object: &Object, depth: usize) -> Option<Arc<str>> {
        if !matches!(object.facts, Facts::Claim(_)) {
            return None;
        }
        let mut units = self
            .graph
            .to(&object.uid)
            .filter(|edge| edge.kind == EdgeKind::Mounts)
            .map(|edge| self.index.get(&edge.from).and_then(|user| self.unit_of(user, depth)));
        let first = units.next()??;
        units.all(|unit| unit.as_ref() == Some(&first)).then_some(first)
    }
}

#[cfg(test)]
mod tests;
