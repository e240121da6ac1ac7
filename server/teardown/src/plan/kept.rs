//! Finds the objects of a unit that stay, and the reasons.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    choices::Choices,
    guards::{guards_outsiders, keep_guards_of_kept_objects},
    kept_reason::KeptReason,
    waiver::Waivers,
};
use crate::{
    declaration::is_parent,
    graph::Graph,
    index::Index,
    labels::PART_OF,
    object::{Facts, Object, ObjectRef, Reclaim, Uid},
    relation::{Edge, EdgeKind, Reason, served_namespaces},
    unit::{Unit, is_protected},
};

/// An object that belongs to the unit and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its identity.
    pub uid: Uid,
    /// Its kind, namespace and name.
    pub object: ObjectRef,
    /// The reason why it stays.
    pub reason: KeptReason,
}

/// The reason for each member of the unit that stays.
pub(super) fn reasons(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    choices: &Choices,
    waivers: &Waivers,
    now: Timestamp,
) -> BTreeMap<Uid, KeptReason> {
    let mut kept = kept_from_the_start(index, graph, unit, choices, waivers, now);
    keep_needed_objects(index, graph, unit, waivers, &mut kept);
    while keep_guards_of_kept_objects(index, unit, waivers, &mut kept) {
        keep_needed_objects(index, graph, unit, waivers, &mut kept);
    }
    bind_volumes_whose_claims_stay(index, graph, unit, waivers, &mut kept);
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

/// The number of objects of the unit that a plan would keep because an object outside the unit uses them.
pub fn shared(index: &Index, graph: &Graph, unit: &Unit, now: Timestamp) -> usize {
    let (choices, waivers) = (Choices::default(), Waivers::default());
    let kept = kept_from_the_start(index, graph, unit, &choices, &waivers, now);
    // Users outside the unit come first among the reasons, so the objects that are kept on the way do not change the
    // result.
    let is_used = |uid: &&Uid| {
        let reason = used_by(uid, index, graph, unit, &waivers, &kept);
        !kept.contains_key(*uid) && matches!(reason, Some(KeptReason::UsedBy { .. }))
    };
    unit.members.iter().filter(is_used).count()
}

fn kept_from_the_start(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    choices: &Choices,
    waivers: &Waivers,
    now: Timestamp,
) -> BTreeMap<Uid, KeptReason> {
    let members = unit.members.iter().filter_map(|uid| index.get(uid));
    members
        .filter_map(|object| {
            let reason = if object.is_made_by_cluster() {
                KeptReason::MadeByCluster
            } else if is_protected_object(object, index) {
                KeptReason::Protected
            } else if let Some(reason) = chosen(object, index, graph, choices) {
                reason
            } else if index.is_undeletable(&object.kind) {
                KeptReason::NoDeleteVerb
            } else if let Some(reason) = outlives_its_claim(object, graph, unit)
                .or_else(|| goes_with_its_snapshot(object, graph, unit))
            {
                reason
            } else if let Some(reason) = guards_outsiders(object, index, unit, waivers) {
                reason
            } else if is_access(object, index, graph, unit) {
                KeptReason::Access
            } else if let Some(owner) = index.hidden_controller(object, now) {
                KeptReason::HiddenController { kind: owner.kind.clone(), name: owner.name.clone() }
            } else {
                let is_included = choices.includes(&object.reference());
                let is_unclaimed = unit.unclaimed.contains(&object.uid) && !is_included;
                // A person cannot include what others use, unless that is waived too.
                let used = || used_by(&object.uid, index, graph, unit, waivers, &BTreeMap::new());
                return hidden_users(object, index, unit)
                    .or_else(|| reserved(object, index, |claim| !unit.members.contains(claim)))
                    .or_else(|| is_unclaimed.then(|| used().unwrap_or(KeptReason::Unclaimed)))
                    .map(|reason| (object.uid.clone(), reason));
            };
            Some((object.uid.clone(), reason))
        })
        .collect()
}

/// The namespaces of the claims that somebody chose to keep.
pub(super) fn namespaces_of_chosen_claims(
    index: &Index,
    kept: &BTreeMap<Uid, KeptReason>,
) -> BTreeSet<Arc<str>> {
    let chosen = kept.iter().filter(|(_, reason)| reason.is_chosen());
    let objects = chosen.filter_map(|(uid, _)| index.get(uid));
    objects
        .filter(|object| matches!(object.facts, Facts::Claim(_)))
        .filter_map(|object| object.namespace.clone())
        .collect()
}

/// Whether the cluster or the server itself needs an object.
fn is_protected_object(object: &Object, index: &Index) -> bool {
    let is_own = |namespace: &str| index.own_namespace() == Some(namespace);
    match &object.facts {
        Facts::Node(_) => true,
        Facts::Namespace(_) => is_protected(&object.name) || is_own(&object.name),
        Facts::Pod(pod) if pod.critical => true,
        Facts::Workload(workload) if workload.critical => true,
        _ => object.namespace.as_deref().is_some_and(is_own),
    }
}

/// The reason that a person's choices, or an annotation that no person overrode, give to keep an object.
fn chosen(object: &Object, index: &Index, graph: &Graph, choices: &Choices) -> Option<KeptReason> {
    let name = object.reference();
    if choices.leaves_out(&name) {
        return Some(KeptReason::LeftOut);
    }
    if !is_in_scope(object, index, graph, choices) {
        return Some(KeptReason::OtherNamespace);
    }
    if choices.keeps_data() && holds_data(object) && !is_ephemeral(object) {
        return Some(KeptReason::KeptData);
    }
    Some(KeptReason::KeepAnnotation { annotation: keep_annotation(object, choices)? })
}

/// The annotation that asks to keep an object, unless a person overrode it.
fn keep_annotation(object: &Object, choices: &Choices) -> Option<Arc<str>> {
    let annotation = object.annotations.as_ref()?.keep.clone()?;
    if has_copied_annotations(object) {
        return None;
    }
    (!choices.overrides(&object.reference())).then_some(annotation)
}

/// The mark for which a plan that is made now would keep an object, as `key: value`: an annotation that no person overrode, or
/// a priority class of what the cluster itself needs.
pub fn mark_to_keep(object: &Object, choices: &Choices) -> Option<Arc<str>> {
    let is_critical = match &object.facts {
        Facts::Pod(pod) => pod.critical,
        Facts::Workload(workload) => workload.critical,
        _ => false,
    };
    if is_critical {
        return Some("priorityClassName: system-*-critical".into());
    }
    keep_annotation(object, choices)
}

/// Whether the annotations of an object are copies of those of its workload: of a ReplicaSet and of a ControllerRevision. Nobody asked
/// to keep it, and it stays as long as its workload does (`SetNewReplicaSetAnnotations` in
/// `pkg/controller/deployment/util/deployment_util.go`, `newRevision` in `pkg/controller/statefulset/stateful_set_utils.go`).
fn has_copied_annotations(object: &Object) -> bool {
    let is_a_copy = |kind| object.kind.is("apps", kind);
    object.controller().is_some() && (is_a_copy("ReplicaSet") || is_a_copy("ControllerRevision"))
}

/// Whether an object is in the namespaces that a person chose. Of the objects without a namespace those namespaces
/// themselves are, and the volumes of claims in them, because a claim decides over its volume. So does a snapshot over its
/// content.
fn is_in_scope(object: &Object, index: &Index, graph: &Graph, choices: &Choices) -> bool {
    match (&object.namespace, &object.facts) {
        (Some(namespace), _) => choices.covers(namespace),
        (None, Facts::Namespace(_)) => choices.covers(&object.name),
        (None, Facts::Volume(_) | Facts::SnapshotContent(_)) => {
            let mut claims = graph.to(&object.uid).filter(|edge| edge.kind == EdgeKind::Binds);
            let namespace = claims.find_map(|edge| index.get(edge.from)?.namespace.clone());
            namespace.map_or(choices.covers_everything(), |namespace| choices.covers(&namespace))
        }
        (None, _) => choices.covers_everything(),
    }
}

fn holds_data(object: &Object) -> bool {
    matches!(object.facts, Facts::Claim(_) | Facts::Volume(_))
        || object.kind.is("snapshot.storage.k8s.io", "VolumeSnapshot")
        || object.kind.is("snapshot.storage.k8s.io", "VolumeSnapshotContent")
}

/// Whether a claim goes with the Pod that owns it, whatever a plan says
/// (<https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#lifecycle-and-persistentvolumeclaim>).
pub(super) fn is_ephemeral(object: &Object) -> bool {
    matches!(object.facts, Facts::Claim(_)) && object.owners.iter().any(|it| &*it.kind == "Pod")
}

/// The reason to keep an object that may have hidden users. Hidden Pods of the unit itself do not matter here, because
/// no run starts while they are hidden.
fn hidden_users(object: &Object, index: &Index, unit: &Unit) -> Option<KeptReason> {
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
        Facts::Claim(_) if unit.unclaimed.contains(&object.uid) => {
            let namespace = object.namespace.as_ref()?;
            (index.hidden_pod_kind(namespace)?, Some(namespace))
        }
        _ => return None,
    };
    Some(KeptReason::HiddenUsers { resource: resource.to_owned(), namespace: namespace.cloned() })
}

/// The claim that stays and for which a volume is reserved, although the two are not bound yet.
fn reserved(object: &Object, index: &Index, stays: impl Fn(&Uid) -> bool) -> Option<KeptReason> {
    let Facts::Volume(volume) = &object.facts else { return None };
    let claim = index.claim_of(volume).ok()??;
    let Facts::Claim(facts) = &claim.facts else { return None };
    if facts.volume.is_some() || !stays(&claim.uid) {
        return None;
    }
    let value = format!("{}/{}", claim.namespace.as_deref().unwrap_or_default(), claim.name);
    let reason = Reason { field: "spec.claimRef".into(), value: value.into(), attribution: None };
    Some(KeptReason::UsedBy { user: claim.reference(), edge: EdgeKind::Binds, reason })
}

/// Whether a volume is in the unit only because its claim is, and is not deleted with the claim; or a content with its
/// snapshot.
fn outlives_its_claim(object: &Object, graph: &Graph, unit: &Unit) -> Option<KeptReason> {
    let reason = match &object.facts {
        Facts::Volume(volume) => match volume.reclaim {
            Reclaim::Retain => KeptReason::RetainedVolume,
            Reclaim::Recycle => KeptReason::RecycledVolume,
            Reclaim::Delete => return None,
        },
        Facts::SnapshotContent(content) if !content.deletes => KeptReason::RetainedVolume,
        _ => return None,
    };
    (is_bound(object, graph) && !is_declared(object, unit)).then_some(reason)
}

/// Whether a snapshot's deletion takes its content along. The snapshot is gone only after its content, so the content is no
/// step that could wait for it (`external-snapshotter`: `pkg/common-controller/snapshot_controller.go`).
fn goes_with_its_snapshot(object: &Object, graph: &Graph, unit: &Unit) -> Option<KeptReason> {
    let Facts::SnapshotContent(content) = &object.facts else { return None };
    let mut snapshots = graph.to(&object.uid).filter(|edge| edge.kind == EdgeKind::Binds);
    let is_in_unit = snapshots.any(|edge| unit.members.contains(edge.from));
    (content.deletes && is_in_unit).then_some(KeptReason::MadeByCluster)
}

fn is_bound(object: &Object, graph: &Graph) -> bool {
    graph.to(&object.uid).any(|edge| edge.kind == EdgeKind::Binds)
}

/// Whether an object is a binding of people in a namespace, or of all accounts of another namespace, or a Role that only such
/// bindings refer to, unless its label declares it part of the unit.
fn is_access(object: &Object, index: &Index, graph: &Graph, unit: &Unit) -> bool {
    if is_declared(object, unit) || object.namespace.is_none() {
        return false;
    }
    if let Facts::Binding(binding) = &object.facts {
        return binding.is_access(object.namespace.as_ref());
    }
    let mut given = graph
        .to(&object.uid)
        .filter(|edge| edge.kind == EdgeKind::RunsAs)
        .filter_map(|edge| index.get(edge.from))
        .filter(|giver| matches!(giver.facts, Facts::Binding(_)))
        .peekable();
    object.kind.is("rbac.authorization.k8s.io", "Role")
        && given.peek().is_some()
        && given.all(|giver| is_access(giver, index, graph, unit))
}

fn is_declared(object: &Object, unit: &Unit) -> bool {
    object.labels.get(PART_OF).is_some_and(|name| **name == *unit.id.as_str())
}

fn keep_needed_objects(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    waivers: &Waivers,
    kept: &mut BTreeMap<Uid, KeptReason>,
) {
    let mut open: Vec<Uid> = unit.members.iter().cloned().collect();
    while let Some(uid) = open.pop() {
        if kept.contains_key(&uid) {
            continue;
        }
        let Some(reason) = used_by(&uid, index, graph, unit, waivers, kept) else { continue };
        kept.insert(uid.clone(), reason);
        let followers =
            graph.around(&uid).filter_map(Edge::ordered).filter(|(first, ..)| **first == uid);
        open.extend(
            followers.map(|(_, then, _)| then.clone()).filter(|then| unit.members.contains(then)),
        );
    }
}

/// The parents that stay because they declare something that stays, and would make again what goes: one that declares an object
/// of the plan, and one that declares such a parent, whose suspension it would revert.
pub(super) fn suspended<'a>(
    index: &'a Index,
    graph: &Graph,
    kept: &BTreeMap<Uid, KeptReason>,
    going: &BTreeSet<&Uid>,
) -> Vec<&'a Object> {
    let declares_what_stays = |uid: &Uid| {
        graph.to(uid).any(|edge| edge.kind == EdgeKind::Declares && kept.contains_key(edge.from))
    };
    // Of several reasons the one of an object outside the unit is recorded, so that here nobody else needs the parent.
    let parents = kept.iter().filter(|(uid, reason)| {
        matches!(reason, KeptReason::NeededBy { .. }) && declares_what_stays(uid)
    });
    let parents = parents.filter_map(|(uid, _)| Some(&**index.get(uid)?));
    let mut left: Vec<&Object> = parents.filter(|it| is_parent(&it.kind)).collect();
    let mut suspended: Vec<&Object> = Vec::new();
    loop {
        let reverts = |parent: &Object| {
            graph.to(&parent.uid).any(|edge| {
                let is_suspended = suspended.iter().any(|it| it.uid == *edge.from);
                edge.kind == EdgeKind::Declares && (is_suspended || going.contains(edge.from))
            })
        };
        let (found, rest): (Vec<&Object>, Vec<&Object>) =
            left.into_iter().partition(|parent| reverts(parent));
        if found.is_empty() {
            break;
        }
        left = rest;
        suspended.extend(found);
    }
    suspended.sort_by_key(|parent| parent.reference());
    suspended
}

/// A volume that would outlive its claim is neither released nor scrubbed if the claim stays, and a content does not go
/// if its snapshot stays.
fn bind_volumes_whose_claims_stay(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    waivers: &Waivers,
    kept: &mut BTreeMap<Uid, KeptReason>,
) {
    let follows = |uid: &Uid, reason: &KeptReason| match reason {
        KeptReason::RetainedVolume | KeptReason::RecycledVolume => true,
        KeptReason::MadeByCluster => {
            index.get(uid).is_some_and(|it| matches!(it.facts, Facts::SnapshotContent(_)))
        }
        _ => false,
    };
    let volumes: Vec<Uid> = kept
        .iter()
        .filter(|(uid, reason)| follows(uid, reason))
        .map(|(uid, _)| uid.clone())
        .collect();
    for volume in volumes {
        let stays = |claim: &Uid| kept.contains_key(claim) || !unit.members.contains(claim);
        let is_bound =
            graph.to(&volume).any(|edge| edge.kind == EdgeKind::Binds && stays(edge.from));
        let needed =
            is_bound.then(|| used_by(&volume, index, graph, unit, waivers, kept)).flatten();
        if let Some(needed) = needed {
            kept.insert(volume, needed);
        }
    }
}

/// The reason to keep an object that one needs which stays and has to go before it. Of several, the one that a person knows best:
/// first those without an owner, then by name.
fn used_by(
    uid: &Uid,
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    waivers: &Waivers,
    kept: &BTreeMap<Uid, KeptReason>,
) -> Option<KeptReason> {
    let object = index.get(uid)?;
    let is_outside = |user: &Object| !unit.members.contains(&user.uid);
    let needs = users(object, index, graph, unit, kept);
    let needs = needs.filter(|(user, edge)| !is_outside(user) || !waivers.lifts(object, edge.kind));
    let (user, edge) = needs.min_by_key(|(user, edge)| {
        (!is_outside(user), !user.owners.is_empty(), user.reference(), edge.reason.clone())
    })?;
    let (user_ref, edge_kind, reason) = (user.reference(), edge.kind, edge.reason.clone());
    Some(if is_outside(user) {
        KeptReason::UsedBy { user: user_ref, edge: edge_kind, reason }
    } else {
        KeptReason::NeededBy { user: user_ref, edge: edge_kind, reason }
    })
}

/// The objects that stay and have to go before this one, each with the edge that says so.
pub(super) fn users<'a>(
    object: &'a Object,
    index: &'a Index,
    graph: &'a Graph,
    unit: &'a Unit,
    kept: &'a BTreeMap<Uid, KeptReason>,
) -> impl Iterator<Item = (&'a Arc<Object>, Edge<'a>)> {
    let staying = move |first: &Uid, edge: Edge<'_>| match kept.get(first) {
        Some(reason) => reason.needs(edge),
        // The namespace controller leaves an object alone that cannot be deleted.
        None => {
            let is_left = || index.get(first).is_some_and(|it| index.is_undeletable(&it.kind));
            !(unit.members.contains(first)
                || edge.is_aggregation()
                || edge.kind == EdgeKind::Contains && is_left())
        }
    };
    graph.around(&object.uid).filter_map(move |edge| {
        let (first, then, _) = edge.ordered()?;
        let user = index.get(first).filter(|user| !user.is_made_by_cluster())?;
        (*then == object.uid && edge.keeps() && staying(first, edge)).then_some((user, edge))
    })
}
