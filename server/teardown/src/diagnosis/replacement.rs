//! Pods that cannot start because the disk that they share with a Pod that is gone is still attached to the node of that one.
//!
//! A volume that one node alone can use is detached from a node once its kubelet has unmounted it. From a node that is not ready
//! it is detached by force 6 min after the last Pod there wanted it, and at once if the node is out of service. Until then every
//! Pod on another node that wants it stays in ContainerCreating, with the Event `Multi-Attach error`
//! (`pkg/controller/volume/attachdetach/reconciler/reconciler.go`).
//!
//! # Decisions
//! - After the last Pod of a node was forced away nothing is being deleted any more, and the application is still down. So the
//!   Pod that is to replace it waits for the root that the deletion would wait for: the node that is silent, or the attachment.
//! - It waits at once for a node that is silent or gone. Another one may detach the volume in time, so there it waits once that
//!   takes longer than expected, counted from the Pod that was seen to go by force.
//! - While a Pod of the old node wants the volume, that one holds it, and has a card of its own if it is being deleted.
//! - An attachment that is being deleted has its own card once it is late.

use std::{collections::HashSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{
    case::Case,
    cause::{Evidence, Verdict},
    course::FORCED_DETACH,
    storage::attached,
};
use crate::{
    deadlines::{Deadlines, Overdue},
    object::{Attachment, Facts, Node, Object, Phase},
    relation::EdgeKind,
};

/// A Pod that cannot start, the root that it waits for, and how late that is.
pub(super) type Held<'a> = (&'a Arc<Object>, Verdict, Overdue);

/// The time until the next look of the attach-detach controller after the time for its detach by force has come.
const NEXT_LOOK: SignedDuration = SignedDuration::from_secs(60);

/// The Pods that cannot start, by name.
pub(super) fn held<'a>(case: &Case<'a>) -> Vec<Held<'a>> {
    let mut found = Vec::new();
    for object in case.index.of_resource("volumeattachments.storage.k8s.io") {
        let Facts::Attachment(facts) = &object.facts else { continue };
        let Attachment { volume: Some(volume), node, attached: true, .. } = &**facts else {
            continue;
        };
        if object.deletion.is_some() || !may_hold(case, node) {
            continue;
        }
        let pods = waiting_for(case, volume, node);
        let overdue = overdue(case, object, &pods, volume, node);
        if overdue == Overdue::No {
            continue;
        }
        for pod in pods {
            let field = "spec.source.persistentVolumeName";
            let is_attached = Evidence::field(object, field, &**volume);
            let verdict = attached(case, object).map(|verdict| verdict.with([is_attached]));
            found.extend(verdict.map(|verdict| (pod, verdict, overdue)));
        }
    }
    // All that one Pod waits for in a row.
    found.sort_by(|(a, ..), (b, ..)| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    found
}

/// Whether a volume of this node may wait for a detach that takes long: few do, and most clusters have many attachments.
fn may_hold(case: &Case<'_>, node: &str) -> bool {
    case.index.has_unconfirmed() || case.node(node).is_none_or(|(_, node)| !node.is_ready())
}

/// The Pods on other nodes that cannot start before a volume is detached from this one: none while a Pod here wants it, or where
/// several nodes can use it.
pub(super) fn waiting_for<'a>(
    case: &Case<'a>,
    volume: &str,
    node: &Arc<str>,
) -> Vec<&'a Arc<Object>> {
    let claim = case.claim_of_volume(volume);
    let is_of_one_node = |claim: &&Arc<Object>| match &claim.facts {
        Facts::Claim(facts) => facts.one_node && !case.is_wanted(claim, node),
        _ => false,
    };
    let Some(claim) = claim.filter(is_of_one_node) else { return Vec::new() };
    let mut pods: Vec<&Arc<Object>> = case
        .sources(claim, EdgeKind::Mounts)
        .filter(|pod| place_of(pod).is_some_and(|on| on != node))
        .collect();
    if !pods.is_empty() {
        // A volume that is attached to its own node too does not keep it waiting.
        let all = case.index.of_resource("volumeattachments.storage.k8s.io");
        let nodes: HashSet<&Arc<str>> = all.filter_map(|it| node_of(it, volume)).collect();
        pods.retain(|pod| place_of(pod).is_some_and(|on| !nodes.contains(on)));
    }
    pods
}

/// The node of a Pod that is to start there.
fn place_of(object: &Object) -> Option<&Arc<str>> {
    let Facts::Pod(pod) = &object.facts else { return None };
    let is_over = pod.phase.is_some_and(Phase::is_over);
    pod.node.as_ref().filter(|_| !pod.ready && !is_over && object.deletion.is_none())
}

/// The node of an attachment, if it is of this volume.
fn node_of<'a>(attachment: &'a Object, volume: &str) -> Option<&'a Arc<str>> {
    match &attachment.facts {
        Facts::Attachment(facts) if facts.volume.as_deref() == Some(volume) => Some(&facts.node),
        _ => None,
    }
}

/// How late the detach of an attachment is, for which these Pods wait.
fn overdue(
    case: &Case<'_>,
    attachment: &Object,
    pods: &[&Arc<Object>],
    volume: &str,
    name: &Arc<str>,
) -> Overdue {
    let node = case.node(name).map(|(_, node)| node);
    let is_out_of_service = node.is_some_and(Node::is_out_of_service);
    let is_away = node.map_or_else(|| case.index.is_missing_node(name), Node::is_silent);
    let is_by_force = is_away && !is_out_of_service;
    let created = pods.iter().filter_map(|pod| pod.created).map(Timestamp::from).min();
    // Without a Pod nothing waits.
    let Some(created) = created else { return Overdue::No };
    let unwanted = case.unwanted_since(volume, name);
    let Some(since) = unwanted.or(is_by_force.then_some(created)) else { return Overdue::No };
    let usual = case.index.deadlines_of(attachment);
    let stuck = FORCED_DETACH + NEXT_LOOK;
    let limits = match node {
        _ if is_by_force => Deadlines { slow: SignedDuration::ZERO, stuck },
        Some(node) if !node.is_ready() && !is_out_of_service => Deadlines { stuck, ..usual },
        _ => usual,
    };
    limits.overdue(case.now.duration_since(since))
}
