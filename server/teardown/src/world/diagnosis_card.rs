//! The card of a diagnosis: the facts that somebody needs first, and a number that changes with everything that its advice says.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    diagnosis::{Diagnosis, Remover, Source, before, course},
    incident::{Incident, data_at_risk, joined},
    index::Index,
    message::DiagnosisCard,
    object::{Facts, Uid},
    remedy::{Attempt, Stamps},
    run::Run,
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

/// The card of a diagnosis. `runs` and `attempts` are all of this server on the cluster.
pub fn diagnosis_card<'a>(
    stamps: &mut Stamps<'_>,
    diagnosis: &Diagnosis,
    now: Timestamp,
    runs: &[&Run],
    attempts: impl IntoIterator<Item = &'a Attempt>,
) -> DiagnosisCard {
    let attempts: Vec<&Attempt> = attempts.into_iter().collect();
    let Stamps { index, graph, .. } = *stamps;
    let mut hasher = DefaultHasher::new();
    let incident = Incident {
        contact: contact(index, diagnosis),
        before: before(index, diagnosis, |uid| remover(diagnosis, uid, runs, &attempts)),
        course: course(index, graph, diagnosis, now),
        data: data_at_risk(index, diagnosis),
        joined: joined(index, diagnosis, now),
    };
    (&diagnosis.evidence, &incident).hash(&mut hasher);
    diagnosis.waiting.iter().for_each(|held| (held.on, held.starts).hash(&mut hasher));
    stamps.hash(diagnosis, &mut hasher);
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

/// The request of this server by which an object went.
fn remover(
    diagnosis: &Diagnosis,
    object: &Uid,
    runs: &[&Run],
    attempts: &[&Attempt],
) -> Option<Remover> {
    let mut removing = attempts.iter().filter(|it| it.removes(object));
    if let Some(first) = removing.next() {
        let is_repair = first.is_about(diagnosis) || removing.any(|it| it.is_about(diagnosis));
        let source = Source::RemovedByRemedy { by: (*first.by).into() };
        return Some(if is_repair { Remover::Repair } else { Remover::Unwind(source) });
    }
    let run = runs.iter().find(|run| run.deletes(object))?;
    Some(Remover::Unwind(Source::DeletedByRun { by: run.by().into() }))
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
