//! The card of a diagnosis: the facts that somebody needs first, and a number that changes with everything that its advice says.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    mem::discriminant,
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    diagnosis::{Cause, Diagnosis, before, course},
    fetched::{Answer, Permission},
    graph::Graph,
    incident::{Incident, data_at_risk, joined},
    index::{Index, Renewal},
    message::DiagnosisCard,
    object::{Facts, Object, ObjectRef, Uid},
    relation::EdgeKind,
    remedy::{AT_RISK, Attempt},
};

/// The labels that say whose an object is: those that Kubernetes recommends, and those that teams use most.
const CONTACT: [&str; 6] = [
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
    "team",
    "owner",
    ZONE,
];
const ZONE: &str = "topology.kubernetes.io/zone";

/// The card of a diagnosis.
pub fn diagnosis_card<'a>(
    index: &Index,
    graph: &Graph,
    diagnosis: &Diagnosis,
    now: Timestamp,
    attempts: impl IntoIterator<Item = &'a Attempt>,
) -> DiagnosisCard {
    let mut hasher = DefaultHasher::new();
    let incident = Incident {
        contact: contact(index, diagnosis),
        before: before(index, diagnosis),
        course: course(index, graph, diagnosis, now),
        data: data_at_risk(index, diagnosis),
        joined: joined(index, diagnosis, now),
    };
    (&diagnosis.evidence, &incident).hash(&mut hasher);
    diagnosis.waiting.iter().for_each(|held| (held.on, held.starts).hash(&mut hasher));
    hash_ways(index, graph, diagnosis, &mut hasher);
    (diagnosis.confidence, &diagnosis.impact).hash(&mut hasher);
    for attempt in attempts {
        // The note has everything that is switched off.
        if attempt.is_about(diagnosis) || attempt.switched_off(index).is_some() {
            (&attempt.id, attempt.is_open()).hash(&mut hasher);
        }
    }
    // Half of it is enough to distinguish two states of one card.
    let stamp = hasher.finish() as u32;
    let (explains, harms, ..) = diagnosis.harm();
    DiagnosisCard {
        diagnosis: Arc::new(diagnosis.clone()),
        said: String::new(),
        explains,
        harms,
        namespaces: namespaces(index, diagnosis),
        incident: Arc::new(incident),
        stamp,
    }
}

/// The first namespaces of the objects that wait. A namespace that waits is in itself.
fn namespaces(index: &Index, diagnosis: &Diagnosis) -> Vec<String> {
    let held = diagnosis.held.iter().filter_map(|uid| index.get(uid));
    let names: BTreeSet<&str> = held
        .filter_map(|object| match &*object.kind.kind {
            "Namespace" => Some(&*object.name),
            _ => object.namespace.as_deref(),
        })
        .collect();
    names.into_iter().take(DiagnosisCard::NAMESPACES).map(str::to_owned).collect()
}

/// Hashes the facts on which the needs, the guards and the reach of the ways out hang, without working those out: the hub makes
/// each card anew with every change of the cluster.
fn hash_ways(index: &Index, graph: &Graph, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
    let sources = |uid: &Uid, kind: EdgeKind, is_one: fn(&Object) -> bool| {
        let edges = graph.to(uid).filter(move |edge| edge.kind == kind);
        let found = edges.filter_map(|edge| index.get(edge.from)).filter(|it| is_one(it));
        // The order of edges is not that of the objects.
        found.fold((0_usize, 0_u64), |(count, sum), object| {
            let mut one = DefaultHasher::new();
            object.uid.hash(&mut one);
            (count + 1, sum.wrapping_add(one.finish()))
        })
    };
    if let Some(name) = diagnosis.cause.node() {
        index.silent_with(name).hash(hasher);
        if let Some(node) = index.find("", "Node", None, name) {
            if let Facts::Node(facts) = &node.facts {
                (facts.is_silent(), &facts.taints).hash(hasher);
            }
            sources(&node.uid, EdgeKind::RunsOn, |_| true).hash(hasher);
        }
        discriminant::<Renewal>(&index.node_renewal(name)).hash(hasher);
    }
    let waiting = || diagnosis.waiting.iter().filter_map(|held| index.get(&held.uid));
    for namespace in waiting().filter(|object| object.kind.is("", "Namespace")) {
        let is_pod = |object: &Object| matches!(object.facts, Facts::Pod(_));
        sources(&namespace.uid, EdgeKind::Contains, is_pod).hash(hasher);
    }
    for volume in waiting().filter(|object| matches!(object.facts, Facts::Volume(_))) {
        index.attached_to(&volume.name).hash(hasher);
    }
    for resource in AT_RISK {
        index.check_visible(resource, None).is_ok().hash(hasher);
    }
    // They are few, and asked for only while somebody reads a card.
    for (permission, answer) in index.reviews().filter(|(it, _)| may_concern(diagnosis, it)) {
        permission.hash(hasher);
        match answer {
            Ok(Answer::Review(review)) => review.allowed.hash(hasher),
            _ => discriminant::<Result<_, _>>(answer).hash(hasher),
        }
    }
}

/// Whether a way out of a diagnosis may need a right. With many cards, one that somebody opens changes no other.
fn may_concern(diagnosis: &Diagnosis, permission: &Permission) -> bool {
    let is_named = |object: &ObjectRef| object.name == permission.name;
    match &diagnosis.cause {
        // Their ways out change volumes, workloads, users and configurations.
        Cause::ClaimInUse { .. }
        | Cause::ClaimHeldByCompletedPods { .. }
        | Cause::InUse { .. }
        | Cause::VolumeBound { .. }
        | Cause::WebhookDown { .. }
        | Cause::ConversionDown { .. } => true,
        _ => {
            permission.name.is_empty()
                || is_named(&diagnosis.root)
                || diagnosis.waiting.iter().any(|held| is_named(&held.object))
        }
    }
}

/// Whom to call about a diagnosis: the labels of its root, or of the object that waits for it.
fn contact(index: &Index, diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let root = index.named(&diagnosis.root);
    let waiting = || diagnosis.waiting.iter().find_map(|held| index.get(&held.uid));
    let Some(object) = root.or_else(waiting) else { return Vec::new() };
    let value = |name: &str| Some((name.to_owned(), object.labels.get(name)?.to_string()));
    let mut found: Vec<(String, String)> = CONTACT.into_iter().filter_map(value).collect();
    found.extend(place(index, diagnosis));
    found
}

/// Where the node of a cause is: its zone, and the name that the provider has for the machine.
fn place(index: &Index, diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let node = diagnosis.cause.node().and_then(|name| index.find("", "Node", None, name));
    let Some(node) = node else { return Vec::new() };
    let is_root = diagnosis.root == node.reference();
    let zone = node.labels.get(ZONE).filter(|_| !is_root);
    let provider = match &node.facts {
        Facts::Node(facts) => facts.provider.as_ref(),
        _ => None,
    };
    let zone = zone.map(|zone| (ZONE.to_owned(), zone.to_string()));
    zone.into_iter()
        .chain(provider.map(|it| ("spec.providerID".to_owned(), it.to_string())))
        .collect()
}
