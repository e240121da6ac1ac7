//! The changes just before a deletion began to wait, as the index saw them.
//!
//! # Decisions
//! - The objects that the cause names come first, then those that served, drove, owned or defined them, then their neighbours; of
//!   each the nearest to the beginning of the wait. A neighbour that went a second before is less of a suspect than the claim that
//!   the title names.
//! - A change after the beginning is no reason for it. It is shown only where the cause names the object: a node may fall silent
//!   while its Pods end.
//! - An object that a remedy for this card removed is no suspect, and neither is an API that no longer blocks: its removal was the
//!   repair. One that a run of Unwind or a remedy for another card removed is, and its line says so: the first question at night is
//!   whether it was us.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{
    Diagnosis,
    case::became,
    cause::{Cause, Evidence, Source},
};
use crate::{
    index::{Departure, Index, Transition},
    object::{Facts, Object, ObjectRef, PodReferenceKind, Uid},
};

/// The time before the first of the deletions that counts as just before.
const BEFORE: SignedDuration = SignedDuration::from_mins(30);
/// The most changes that are shown.
const SHOWN: usize = 4;

/// The party at whose request an object was deleted, as far as this server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remover {
    /// A remedy for the same card.
    Repair,
    /// A run of Unwind, or a remedy for another card, as the source of the fact.
    Unwind(Source),
}

/// The changes that may have to do with a diagnosis, the likeliest first. `remover` says at whose request of this server an object
/// was deleted.
pub(crate) fn before(
    index: &Index,
    diagnosis: &Diagnosis,
    remover: impl Fn(&Uid) -> Option<Remover>,
) -> Vec<Evidence> {
    let surroundings = Surroundings::of(index, diagnosis);
    let from = diagnosis.since - BEFORE;
    let is_shown = |nearness: Nearness, at: Timestamp| {
        at >= from && (nearness == Nearness::Named || !diagnosis.waited_at(at))
    };
    let deleted = index.departures().filter_map(|it| {
        let nearness = surroundings.nearness(&it.object)?;
        if !is_shown(nearness, it.at) {
            return None;
        }
        let mut deleted = Evidence::deleted(it);
        match remover(&it.object.uid) {
            Some(Remover::Repair) => return None,
            Some(Remover::Unwind(source)) => deleted.source = source,
            None => {}
        }
        Some((nearness, it.at, deleted))
    });
    // Of a node that comes and goes the latest state tells most.
    let node = surroundings.node.and_then(|(node, nearness)| {
        let is_its = |it: &&Transition| it.node.name == *node && is_shown(nearness, it.at);
        let latest = index.transitions().rev().find(is_its)?;
        Some((nearness, latest.at, became(latest)))
    });
    let mut found: Vec<(Nearness, Timestamp, Evidence)> = deleted.chain(node).collect();
    let apart = |at: Timestamp| at.duration_since(diagnosis.since).abs();
    found.sort_by_key(|(nearness, at, _)| (*nearness, apart(*at), Reverse(*at)));
    found.truncate(SHOWN);
    found.into_iter().map(|(.., evidence)| evidence).collect()
}

/// How near a change is to a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// The cause names it.
    Named,
    /// It served, defined, owned, drove or carried what the cause names.
    Behind,
    /// It was in the same namespace.
    Beside,
}

/// The objects around a diagnosis.
struct Surroundings<'a> {
    /// The objects that the cause names.
    named: Vec<ObjectRef>,
    /// The node that the cause is about.
    node: Option<(&'a Arc<str>, Nearness)>,
    driver: Option<&'a str>,
    /// Namespaces of the Services behind a webhook, a converter or an API.
    behind: Vec<Arc<str>>,
    /// The claims of the first Pods that wait.
    claims: Vec<ObjectRef>,
    /// The controllers of the first objects that wait, up to the topmost.
    controllers: HashSet<Uid>,
    /// The API group of the root.
    group: &'a str,
    /// Namespaces of the root and of what waits for it.
    beside: Vec<&'a str>,
}

impl<'a> Surroundings<'a> {
    fn of(index: &Index, diagnosis: &'a Diagnosis) -> Self {
        let named = named(diagnosis);
        let waiting = || diagnosis.waiting.iter().take(SHOWN);
        let objects: Vec<&Arc<Object>> =
            waiting().filter_map(|held| index.get(&held.uid)).collect();
        let namespaces = waiting().filter_map(|held| held.object.namespace.as_deref());
        let root = &diagnosis.root;
        Self {
            node: diagnosis.cause.node().map(|node| {
                let is_named = &*root.kind == "Node" && root.name == *node;
                (node, if is_named { Nearness::Named } else { Nearness::Behind })
            }),
            driver: driver(&diagnosis.cause),
            behind: behind(index, &diagnosis.cause, &named),
            claims: objects.iter().flat_map(|object| claims(object)).collect(),
            controllers: controllers(index, &objects),
            group: &root.group,
            beside: namespaces.chain(root.namespace.as_deref()).collect(),
            named,
        }
    }

    fn nearness(&self, gone: &Object) -> Option<Nearness> {
        let namespace = gone.namespace.as_deref();
        let is_among = |names: &[ObjectRef]| names.iter().any(|name| is_called(gone, name));
        let is_owned = || gone.owners.iter().any(|owner| self.controllers.contains(&owner.uid));
        match &gone.facts {
            _ if is_among(&self.named) => Some(Nearness::Named),
            Facts::Node(_) => {
                self.node.filter(|(node, _)| ***node == *gone.name).map(|(_, nearness)| nearness)
            }
            Facts::Definition(definition) => (*definition.group == *self.group
                && !self.group.is_empty())
            .then_some(Nearness::Behind),
            Facts::ApiService(_) | Facts::Webhooks(_) => None,
            Facts::Workload(_) if self.driver.is_some_and(|driver| drives(gone, driver)) => {
                Some(Nearness::Behind)
            }
            _ if self.driver == Some(&*gone.name)
                && gone.kind.is("storage.k8s.io", "CSIDriver") =>
            {
                Some(Nearness::Behind)
            }
            _ if is_among(&self.claims) => Some(Nearness::Behind),
            _ if self.controllers.contains(&gone.uid) && !is_owned() => Some(Nearness::Behind),
            _ if self.behind.iter().any(|it| Some(&**it) == namespace) => Some(Nearness::Behind),
            _ if !gone.owners.is_empty() => None,
            _ => self.beside.iter().any(|it| Some(*it) == namespace).then_some(Nearness::Beside),
        }
    }
}

/// Whether an object has this name. Cards ask it of each object that was deleted lately.
fn is_called(object: &Object, name: &ObjectRef) -> bool {
    *name.name == *object.name
        && name.namespace == object.namespace
        && name.kind == object.kind.kind
        && name.group == object.kind.group
}

/// The objects that the cause names, with its root.
fn named(diagnosis: &Diagnosis) -> Vec<ObjectRef> {
    let root = &diagnosis.root;
    let others: Vec<ObjectRef> = match &diagnosis.cause {
        Cause::LooksAgain { .. } => return Vec::new(),
        Cause::FinisherGone { deleted: named, .. }
        | Cause::FinisherUnknown { possible: named, .. }
        | Cause::ClaimInUse { pods: named }
        | Cause::ClaimHeldByCompletedPods { pods: named }
        | Cause::InUse { users: named }
        | Cause::KeptForDependents { dependents: named }
        | Cause::OwnersCircle { owners: named }
        | Cause::Copied { copies: named }
        | Cause::UpdateRejected { webhooks: named }
        | Cause::WebhookDown { configurations: named, .. } => named.clone(),
        Cause::FinisherNotReady { finisher, .. } | Cause::FinisherBusy { finisher, .. } => {
            vec![finisher.clone()]
        }
        Cause::ApiDown { service: named, .. } | Cause::VolumeBound { claim: named } => {
            named.iter().cloned().collect()
        }
        Cause::ClaimGone { claims, .. } => {
            claims.iter().map(|name| claim(root.namespace.as_ref(), name)).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once(root.clone()).chain(others).collect()
}

/// The namespaces of the Services behind a webhook, a converter or an API.
fn behind(index: &Index, cause: &Cause, named: &[ObjectRef]) -> Vec<Arc<str>> {
    let mut behind: Vec<Arc<str>> = Vec::new();
    for name in named {
        let Some(object) = index.named(name) else { continue };
        if let Facts::Webhooks(webhooks) = &object.facts {
            let services = webhooks.guards.iter().filter_map(|guard| guard.service.as_ref());
            behind.extend(services.map(|service| service.namespace.clone()));
        }
        let is_unconverted = matches!(cause, Cause::ConversionDown { .. });
        let converter = object.converter().filter(|_| is_unconverted);
        behind.extend(converter.map(|service| service.namespace.clone()));
    }
    if let Cause::ApiDown { service, .. } = cause {
        behind.extend(service.iter().filter_map(|service| service.namespace.clone()));
    }
    behind
}

/// The CSI driver that the cause is about.
fn driver(cause: &Cause) -> Option<&str> {
    match cause {
        Cause::DriverMissing { driver, .. }
        | Cause::DetachFailed { attacher: driver, .. }
        | Cause::VolumeAttached { attacher: driver, .. } => Some(&**driver),
        Cause::BackendLeft { driver } => driver.as_deref(),
        _ => None,
    }
}

fn claim(namespace: Option<&Arc<str>>, name: &Arc<str>) -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        namespace: namespace.cloned(),
        name: name.clone(),
    }
}

/// The claims that a Pod uses.
fn claims(object: &Object) -> Vec<ObjectRef> {
    let Facts::Pod(pod) = &object.facts else { return Vec::new() };
    let used = pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
    used.map(|used| claim(object.namespace.as_ref(), &used.name)).collect()
}

/// The owners of these objects, with those of owners that were deleted lately: of a Pod the ReplicaSet and its Deployment.
fn controllers(index: &Index, objects: &[&Arc<Object>]) -> HashSet<Uid> {
    let mut found: HashSet<Uid> = objects
        .iter()
        .flat_map(|object| object.owners.iter())
        .map(|owner| owner.uid.clone())
        .collect();
    // Dependents go after their owner in the background, and before it in the foreground: the order says nothing.
    for _ in 0..2 {
        let known =
            |it: &&Departure| !it.object.owners.is_empty() && found.contains(&it.object.uid);
        let above: Vec<Uid> = index
            .departures()
            .filter(known)
            .flat_map(|it| it.object.owners.iter().map(|owner| owner.uid.clone()))
            .collect();
        found.extend(above);
    }
    found
}

/// Whether a workload runs a CSI driver, by the folder that it mounts or by its name: drivers are called as a domain, and their
/// workloads as its first part.
fn drives(workload: &Object, driver: &str) -> bool {
    let is_plugin = matches!(&workload.facts, Facts::Workload(it) if it.drivers.iter().any(|it| **it == *driver));
    let first = driver.split('.').next().unwrap_or(driver);
    is_plugin || first.len() > 2 && workload.name.contains(first)
}
