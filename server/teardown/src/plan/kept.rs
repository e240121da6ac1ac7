//! What belongs to a unit and stays, and why.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, ObjectRef, Reclaim, Uid},
    relation::{Edge, EdgeKind, Reason, served_namespaces},
    unit::{PART_OF, Unit, UnitOrigin, belongs_by_use, is_protected},
};

/// An object that belongs to the unit and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its identity.
    pub uid: Uid,
    /// What a person calls it.
    pub object: ObjectRef,
    /// Why it stays.
    pub reason: KeptReason,
}

/// Why an object of the unit stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeptReason {
    /// Something that is not part of the unit uses it.
    UsedBy {
        /// What uses it.
        user: ObjectRef,
        /// How.
        edge: EdgeKind,
        /// The field and value the edge comes from.
        reason: Reason,
    },
    /// Something that is kept itself needs it.
    NeededBy {
        /// What needs it.
        user: ObjectRef,
        /// How.
        edge: EdgeKind,
        /// The field and value the edge comes from.
        reason: Reason,
    },
    /// A Retain volume that nobody declared part of the unit: it is left as Released, its data with it.
    RetainedVolume,
    /// A volume that nobody declared part of the unit and that is scrubbed and offered again: it stays, its data does not.
    RecycledVolume,
    /// The cluster needs it: a node, or a namespace that is `default` or begins with `kube-`.
    Protected,
    /// It gives people their rights in a namespace and is not declared part of the unit: it goes with the namespace,
    /// for whoever takes the unit apart may hold their rights through it.
    Access,
    /// The cluster makes it and removes it by itself.
    MadeByCluster,
    /// What controls it cannot be seen and may be there: it would go before its owner, and be made again.
    HiddenController {
        /// The owner's kind, as the object names it.
        kind: Arc<str>,
        /// The owner's name.
        name: Arc<str>,
    },
    /// Others may use it, and not all who could can be seen: what mounts a claim that says nothing of itself, the Pods of
    /// an account that a binding gives rights, the claim that a volume names, the objects of a definition's kind.
    HiddenUsers {
        /// The kind that cannot be seen, as a path names it.
        resource: String,
        /// Where it cannot; everywhere if none.
        namespace: Option<Arc<str>>,
    },
}

/// Why each member of the unit that stays does so.
pub(super) fn reasons(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    now: Timestamp,
) -> BTreeMap<Uid, KeptReason> {
    let mut kept = kept_from_the_start(index, graph, unit, now);
    keep_what_is_needed(index, graph, unit, &mut kept);
    bind_volumes_whose_claims_stay(index, graph, unit, &mut kept);
    let volumes = unit.members.iter().filter(|uid| !kept.contains_key(*uid));
    let volumes = volumes.filter_map(|uid| index.get(uid));
    let reserved: Vec<(Uid, KeptReason)> = volumes
        .filter_map(|object| {
            let reason = reserved(object, index, |claim| kept.contains_key(claim))?;
            Some((object.uid.clone(), reason))
        })
        .collect();
    kept.extend(reserved);
    kept
}

/// How many objects of the unit a plan would keep because something outside the unit uses them.
pub fn shared(index: &Index, graph: &Graph, unit: &Unit, now: Timestamp) -> usize {
    let kept = kept_from_the_start(index, graph, unit, now);
    // Users outside come first among the reasons, so what is kept on the way changes no answer.
    let used = |uid: &&Uid| {
        let reason = users(uid, index, graph, unit, &kept);
        !kept.contains_key(*uid) && matches!(reason, Some(KeptReason::UsedBy { .. }))
    };
    unit.members.iter().filter(used).count()
}

fn kept_from_the_start(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    now: Timestamp,
) -> BTreeMap<Uid, KeptReason> {
    let members = unit.members.iter().filter_map(|uid| index.get(uid));
    members
        .filter_map(|object| {
            let reason = if object.is_made_by_cluster() {
                KeptReason::MadeByCluster
            } else if matches!(object.facts, Facts::Node { .. })
                || matches!(object.facts, Facts::Namespace) && is_protected(&object.name)
            {
                KeptReason::Protected
            } else if let Some(reason) = outlives_its_claim(object, graph, unit) {
                reason
            } else if is_access(object, index, graph, unit) {
                KeptReason::Access
            } else if let Some(owner) = index.hidden_controller(object, now) {
                KeptReason::HiddenController { kind: owner.kind.clone(), name: owner.name.clone() }
            } else {
                return hidden_pod_kind(object, index, graph, unit)
                    .or_else(|| reserved(object, index, |claim| !unit.members.contains(claim)))
                    .map(|reason| (object.uid.clone(), reason));
            };
            Some((object.uid.clone(), reason))
        })
        .collect()
}

/// Whether others may use an object that nobody sees. Where Pods of the unit's own are hidden, no run is started at all.
fn hidden_pod_kind(
    object: &Object,
    index: &Index,
    graph: &Graph,
    unit: &Unit,
) -> Option<KeptReason> {
    let (resource, namespace) = match &object.facts {
        Facts::Binding(_) => {
            let is_hidden = |namespace: &&Arc<str>| {
                object.namespace.as_ref() != Some(*namespace)
                    && index.check_pods_visible(Some(namespace)).is_err()
            };
            ("pods", Some(served_namespaces(object).into_iter().find(is_hidden)?))
        }
        Facts::Volume(volume) => {
            index.claim_of(volume).err()?;
            ("persistentvolumeclaims", volume.claim.as_ref().map(|claim| &claim.namespace))
        }
        Facts::Definition(_) => {
            index.check_kind_visible(&object.name).err()?;
            (&*object.name, None)
        }
        _ if unit.origin == UnitOrigin::PartOf && belongs_by_use(object, index, graph) => {
            let namespace = object.namespace.as_ref()?;
            (index.hidden_pod_kind(namespace)?, Some(namespace))
        }
        _ => return None,
    };
    Some(KeptReason::HiddenUsers { resource: resource.to_owned(), namespace: namespace.cloned() })
}

/// The claim that stays for which a volume is reserved, though it is not bound to it yet.
fn reserved(object: &Object, index: &Index, stays: impl Fn(&Uid) -> bool) -> Option<KeptReason> {
    let Facts::Volume(volume) = &object.facts else { return None };
    let claim = index.claim_of(volume).ok()??;
    let Facts::Claim(facts) = &claim.facts else { return None };
    if facts.volume.is_some() || !stays(&claim.uid) {
        return None;
    }
    let value = format!("{}/{}", claim.namespace.as_deref().unwrap_or_default(), claim.name);
    let reason = Reason { field: "spec.claimRef".into(), value: value.into() };
    Some(KeptReason::UsedBy { user: claim.reference(), edge: EdgeKind::Binds, reason })
}

/// A volume that came into the unit only because a claim of it is bound to it, and that does not go with the claim.
fn outlives_its_claim(object: &Object, graph: &Graph, unit: &Unit) -> Option<KeptReason> {
    let Facts::Volume(volume) = &object.facts else { return None };
    let bound = graph.to(&object.uid).any(|edge| edge.kind == EdgeKind::Binds);
    let reason = match volume.reclaim {
        Reclaim::Retain => KeptReason::RetainedVolume,
        Reclaim::Recycle => KeptReason::RecycledVolume,
        Reclaim::Delete => return None,
    };
    (bound && !is_declared(object, unit)).then_some(reason)
}

/// A binding of people in a namespace, or a Role that only such bindings give, unless the unit claims it by its label.
fn is_access(object: &Object, index: &Index, graph: &Graph, unit: &Unit) -> bool {
    if is_declared(object, unit) || object.namespace.is_none() {
        return false;
    }
    if let Facts::Binding(binding) = &object.facts {
        return binding.people;
    }
    let mut given = graph
        .to(&object.uid)
        .filter(|edge| edge.kind == EdgeKind::RunsAs)
        .filter_map(|edge| index.get(&edge.from))
        .filter(|giver| matches!(giver.facts, Facts::Binding(_)))
        .peekable();
    object.kind.is("rbac.authorization.k8s.io", "Role")
        && given.peek().is_some()
        && given.all(|giver| is_access(giver, index, graph, unit))
}

fn is_declared(object: &Object, unit: &Unit) -> bool {
    object.labels.get(PART_OF).is_some_and(|name| **name == *unit.id.as_str())
}

fn keep_what_is_needed(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    kept: &mut BTreeMap<Uid, KeptReason>,
) {
    let mut open: Vec<Uid> = unit.members.iter().cloned().collect();
    while let Some(uid) = open.pop() {
        if kept.contains_key(&uid) {
            continue;
        }
        let Some(reason) = users(&uid, index, graph, unit, kept) else { continue };
        kept.insert(uid.clone(), reason);
        let followers =
            graph.around(&uid).filter_map(Edge::ordered).filter(|(first, ..)| **first == uid);
        open.extend(
            followers.map(|(_, then, _)| then.clone()).filter(|then| unit.members.contains(then)),
        );
    }
}

/// A volume that would outlive its claim is not released, nor scrubbed, where the claim stays.
fn bind_volumes_whose_claims_stay(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    kept: &mut BTreeMap<Uid, KeptReason>,
) {
    let outlives = |reason: &KeptReason| {
        matches!(reason, KeptReason::RetainedVolume | KeptReason::RecycledVolume)
    };
    let volumes: Vec<Uid> =
        kept.iter().filter(|(_, reason)| outlives(reason)).map(|(uid, _)| uid.clone()).collect();
    for volume in volumes {
        let stays = |claim: &Uid| kept.contains_key(claim) || !unit.members.contains(claim);
        let is_bound =
            graph.to(&volume).any(|edge| edge.kind == EdgeKind::Binds && stays(&edge.from));
        let needed = is_bound.then(|| users(&volume, index, graph, unit, kept)).flatten();
        if let Some(needed) = needed {
            kept.insert(volume, needed);
        }
    }
}

/// What stays and goes before this object, so that this object has to stay as well. Of several the one that a person
/// knows best: what nothing owns, then by name.
fn users(
    uid: &Uid,
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    kept: &BTreeMap<Uid, KeptReason>,
) -> Option<KeptReason> {
    let staying = |first: &Uid| match kept.get(first) {
        // It goes with its namespace and must not hold it.
        Some(KeptReason::Access) => false,
        Some(_) => true,
        None => !unit.members.contains(first),
    };
    let needs = graph.around(uid).filter_map(|edge| {
        let (first, then, _) = edge.ordered()?;
        let user = index.get(first).filter(|user| !user.is_made_by_cluster())?;
        (then == uid && staying(first)).then_some((user, edge))
    });
    let (user, edge) = needs.min_by_key(|(user, edge)| {
        (
            unit.members.contains(&user.uid),
            !user.owners.is_empty(),
            user.reference(),
            edge.reason.clone(),
        )
    })?;
    let (user_ref, edge_kind, reason) = (user.reference(), edge.kind, edge.reason.clone());
    Some(if unit.members.contains(&user.uid) {
        KeptReason::NeededBy { user: user_ref, edge: edge_kind, reason }
    } else {
        KeptReason::UsedBy { user: user_ref, edge: edge_kind, reason }
    })
}
