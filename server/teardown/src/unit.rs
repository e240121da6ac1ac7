//! Groups objects into units, each of which is one application or one namespace.
//!
//! An object belongs to the unit of the first of these that has one: its own label part-of; its owner; for a claim, the
//! StatefulSet that created it; for a volume, the claim bound to it; for the content of a snapshot, the snapshot; for an
//! autoscaler, the workload it scales; the release or the application that a tool installed it with; its namespace; for a
//! claim, all workloads that mount it. The nearest answer wins, so that another application in one of the unit's namespaces
//! keeps its own objects. A claim can be in several units only if nothing but its users determines its unit. Then it is, with
//! its volume, in each unit that mounts it, and a plan keeps it while others use it.
//!
//! # Decisions
//! - An object that only its namespace makes a member is *unclaimed* if any object of the namespace names a unit: somebody
//!   else may have put it there. A plan keeps it until a person includes it. Where no object names a unit, the namespace is
//!   all that people know the content by, and it belongs.
//! - A claim that only its users make a member is unclaimed as well: storage that nobody declared is not destroyed by default.
//! - The unit of a namespace has all of its content. Its name says so.

mod following;
mod identity;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

pub use self::following::Units;
use crate::{
    declaration::recorded_release,
    graph::Graph,
    index::Index,
    object::{Facts, Object, Uid},
    relation::EdgeKind,
};

/// The longest chain of owners that is followed. Real chains are shorter, and a cycle must not loop forever.
const DEPTH: usize = 16;

/// A unit's id, unique in the cluster: the value of the label part-of, or `ns:NAME`, `release:NAMESPACE/NAME`,
/// `argocd:NAME`, `flux:NAMESPACE/NAME`, `kapp:ID`. A label's value has no colon, so the two forms cannot collide.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnitId(Arc<str>);

impl UnitId {
    /// The id from its text in a URL.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The id of the unit for this namespace.
    pub fn of_namespace(name: &str) -> Self {
        Self(format!("ns:{name}").into())
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
    /// Its objects carry `app.kubernetes.io/instance` or the annotations of a Helm release.
    Release,
    /// Its objects are tracked by an Argo CD Application.
    ArgoCd,
    /// Its objects carry the labels of a Flux Kustomization or HelmRelease.
    Flux,
    /// Its objects carry the label of a kapp application.
    Kapp,
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
    /// Members that nobody declared part of it. What belongs to such an object is none of them.
    pub unclaimed: BTreeSet<Uid>,
    /// Members that belong because their namespace does, where no object names a unit.
    pub content: BTreeSet<Uid>,
}

impl Unit {
    fn of(id: UnitId, members: Vec<(Uid, Standing)>) -> Self {
        let origin = match id.namespace() {
            Some(_) => UnitOrigin::Namespace,
            None => identity::origin_of(id.as_str()),
        };
        let with = |wanted: Standing| {
            let members = members.iter().filter(|(_, standing)| *standing == wanted);
            members.map(|(uid, _)| uid.clone()).collect()
        };
        let (unclaimed, content) = (with(Standing::Unclaimed), with(Standing::Content));
        let members = members.into_iter().map(|(uid, _)| uid).collect();
        Self { id, origin, members, unclaimed, content }
    }

    fn add(&mut self, uid: &Uid, standing: Standing) {
        self.members.insert(uid.clone());
        match standing {
            Standing::Member => {}
            Standing::Content => {
                self.content.insert(uid.clone());
            }
            Standing::Unclaimed => {
                self.unclaimed.insert(uid.clone());
            }
        }
    }

    /// The object whose marks put a member into the unit, where the member's own do not: the workload that it scales, or its
    /// namespace. Its owner and the claim or the snapshot bound to it are left out, because they are deleted before it.
    pub(crate) fn named_by(&self, object: &Object, index: &Index, graph: &Graph) -> Option<Uid> {
        let names_it = |other: &&Arc<Object>| named_unit(other).as_ref() == Some(&self.id);
        if identity::part_of(object).is_some() {
            return None;
        }
        let scaled = graph.from(&object.uid).filter(|edge| edge.kind == EdgeKind::Scales);
        let mut scaled = scaled.filter_map(|edge| index.get(edge.to));
        let workload =
            scaled.find(names_it).filter(|_| holders(&object.uid, graph).next().is_none());
        let is_content = self.content.contains(&object.uid) || self.unclaimed.contains(&object.uid);
        let namespace = || {
            let name = object.namespace.as_deref().filter(|_| is_content)?;
            index.find("", "Namespace", None, name).filter(names_it)
        };
        workload.or_else(namespace).map(|object| object.uid.clone())
    }

    fn remove(&mut self, uid: &Uid) {
        for set in [&mut self.members, &mut self.unclaimed, &mut self.content] {
            set.remove(uid);
        }
    }
}

/// The reason why an object is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Standing {
    /// It, or an object that it belongs to, names the unit.
    Member,
    /// Its namespace belongs to the unit, and no object in it names one.
    Content,
    /// Its namespace belongs to the unit, or only members use it.
    Unclaimed,
}

/// Whether the cluster itself needs the namespace.
pub fn is_protected(namespace: &str) -> bool {
    namespace == "default" || namespace.starts_with("kube-")
}

/// Every unit of the cluster, by id.
pub fn units(index: &Index, graph: &Graph) -> BTreeMap<UnitId, Unit> {
    Units::of(index, graph).into()
}

/// The objects that an object belongs to: its owners, the StatefulSet that created it, the claim or snapshot bound to it. Where
/// there are several of a sort, the first by UID, so that the answer is the same each time.
fn holders<'a>(uid: &Uid, graph: &'a Graph) -> impl Iterator<Item = &'a Uid> + use<'a> {
    let owners = graph.from(uid).filter(|edge| edge.kind == EdgeKind::Owns).map(|edge| edge.to);
    let owners: Vec<&Uid> = owners.collect();
    let first = |kind: EdgeKind| {
        let sources = graph.to(uid).filter(move |edge| edge.kind == kind).map(|edge| edge.from);
        sources.min()
    };
    let (set, claim) = (first(EdgeKind::Claims), first(EdgeKind::Binds));
    owners.into_iter().chain(set).chain(claim)
}

fn is_namespace(object: &Object) -> bool {
    matches!(object.facts, Facts::Namespace(_))
}

/// The namespace of an object, or of the claim or snapshot bound to it.
fn namespace_of(object: &Object, index: &Index, graph: &Graph) -> Option<Arc<str>> {
    match object.facts {
        Facts::Volume(_) | Facts::SnapshotContent(_) => {
            bound_to(object, index, graph).and_then(|it| it.namespace.clone())
        }
        _ => object.namespace.clone(),
    }
}

/// The claim that is bound to a volume, or the snapshot that is bound to a content.
fn bound_to<'a>(object: &Object, index: &'a Index, graph: &Graph) -> Option<&'a Arc<Object>> {
    let bound = graph.to(&object.uid).filter(|edge| edge.kind == EdgeKind::Binds);
    bound.map(|edge| edge.from).min().and_then(|holder| index.get(holder))
}

/// The id of the unit that an object's own labels and annotations name.
pub fn named_unit(object: &Object) -> Option<UnitId> {
    identity::part_of(object)
        .or_else(|| identity::installed_with(object))
        .map(|name| UnitId::new(&*name))
}

/// Whether an object names a unit for its namespace. An object with an owner carries the labels of a template, which make no
/// unit: its owner decides.
fn names_a_unit(object: &Object) -> bool {
    !object.is_made_by_cluster()
        && (identity::part_of(object).is_some()
            || object.owners.is_empty() && identity::installed_with(object).is_some())
}

/// Finds the units of one object.
struct Belonging<'a> {
    index: &'a Index,
    graph: &'a Graph,
    /// The number of objects that name a unit, by namespace.
    named_in: &'a HashMap<Arc<str>, usize>,
}

impl Belonging<'_> {
    /// The units that an object is in, and the reason for each.
    fn places(&self, object: &Object) -> BTreeSet<(UnitId, Standing)> {
        // The objects that go with an unclaimed one are kept because of it.
        let with_holder = |standing: Standing| {
            let is_held = standing == Standing::Unclaimed
                && holders(&object.uid, self.graph).next().is_some();
            if is_held { Standing::Member } else { standing }
        };
        let mut places = BTreeSet::new();
        match self.unit_of(object, DEPTH) {
            Some((unit, standing)) => {
                places.insert((UnitId::new(unit), with_holder(standing)));
            }
            None => {
                let shared = self.units_of_storage(object);
                let standing = with_holder(Standing::Unclaimed);
                places.extend(shared.into_iter().map(|unit| (UnitId::new(unit), standing)));
            }
        }
        let own = is_namespace(object).then(|| Arc::from(&*object.name));
        let namespace = own.or_else(|| namespace_of(object, self.index, self.graph));
        let known = namespace.filter(|name| {
            !is_protected(name) && self.index.find("", "Namespace", None, name).is_some()
        });
        let unit = known.map(|name| UnitId::of_namespace(&name));
        places.extend(unit.map(|unit| (unit, Standing::Member)));
        places
    }

    /// The units that mount a claim without a unit of its own, or the claim of such a volume.
    fn units_of_storage(&self, object: &Object) -> Vec<Arc<str>> {
        let of_claim = |claim: &Uid| {
            let users = self.graph.to(claim).filter(|edge| edge.kind == EdgeKind::Mounts);
            let users = users.filter_map(|edge| self.index.get(edge.from));
            users.filter_map(|user| Some(self.unit_of(user, DEPTH)?.0)).collect::<Vec<_>>()
        };
        if matches!(object.facts, Facts::Claim(_)) {
            return of_claim(&object.uid);
        }
        let claims = self.graph.to(&object.uid).filter(|edge| edge.kind == EdgeKind::Binds);
        let claims = claims.filter_map(|edge| self.index.get(edge.from));
        let nobodys = claims.filter(|claim| self.unit_of(claim, DEPTH).is_none());
        nobodys.flat_map(|claim| of_claim(&claim.uid)).collect()
    }

    fn unit_of(&self, object: &Object, depth: usize) -> Option<(Arc<str>, Standing)> {
        let depth = depth.checked_sub(1)?;
        self.unit_of_itself(object, depth).or_else(|| {
            let unit = self.unit_of_users(object, depth)?;
            Some((unit, Standing::Unclaimed))
        })
    }

    fn unit_of_itself(&self, object: &Object, depth: usize) -> Option<(Arc<str>, Standing)> {
        let named = |unit: Arc<str>| (unit, Standing::Member);
        identity::part_of(object)
            .map(named)
            .or_else(|| self.unit_of_relatives(object, depth))
            .or_else(|| self.unit_of_release(object, depth))
            .or_else(|| identity::installed_with(object).map(named))
            .or_else(|| self.unit_of_namespace(object))
    }

    fn unit_of_relatives(&self, object: &Object, depth: usize) -> Option<(Arc<str>, Standing)> {
        let scaled = self
            .graph
            .from(&object.uid)
            .filter(|edge| edge.kind == EdgeKind::Scales)
            .map(|edge| edge.to);
        holders(&object.uid, self.graph)
            .chain(scaled)
            .filter_map(|uid| self.index.get(uid))
            .find_map(|relative| self.unit_of(relative, depth))
    }

    /// The unit of what a Helm release has installed, for its records, if all of that is in one.
    fn unit_of_release(&self, record: &Object, depth: usize) -> Option<(Arc<str>, Standing)> {
        let (namespace, name) = recorded_release(record)?;
        let newest = *self.index.records_of(namespace, name).first()?;
        let installed = self.graph.to(&newest.uid).filter(|edge| edge.kind == EdgeKind::Declares);
        let installed = installed.filter_map(|edge| self.index.get(edge.from));
        let mut units = installed.map(|object| Some(self.unit_of(object, depth)?.0));
        let first = units.next()??;
        units.all(|unit| unit.as_ref() == Some(&first)).then_some((first, Standing::Member))
    }

    fn unit_of_namespace(&self, object: &Object) -> Option<(Arc<str>, Standing)> {
        let name = object.namespace.as_deref()?;
        let namespace = self.index.find("", "Namespace", None, name)?;
        let unit = identity::part_of(namespace).or_else(|| identity::installed_with(namespace))?;
        let is_unclaimed = self.named_in.contains_key(name) && !object.is_made_by_cluster();
        Some((unit, if is_unclaimed { Standing::Unclaimed } else { Standing::Content }))
    }

    /// The unit to which all Pods and Pod templates that mount a claim belong. If the users belong to several units, or one
    /// of them to none, the claim belongs to no unit.
    fn unit_of_users(&self, object: &Object, depth: usize) -> Option<Arc<str>> {
        if !matches!(object.facts, Facts::Claim(_)) {
            return None;
        }
        let mut units =
            self.graph.to(&object.uid).filter(|edge| edge.kind == EdgeKind::Mounts).map(|edge| {
                self.index
                    .get(edge.from)
                    .and_then(|user| self.unit_of(user, depth))
                    .map(|(unit, _)| unit)
            });
        let first = units.next()??;
        units.all(|unit| unit.as_ref() == Some(&first)).then_some(first)
    }
}

#[cfg(test)]
mod tests;
