//! Finds the workload that clears an object's finalizer, so that the object is proven gone before the workload is asked to
//! go.
//!
//! # Decisions
//! - Candidates are the workloads whose ServiceAccount may update or patch the object, by a rule that names its resource;
//!   only where there are none, those that a rule with `*` lets do so, for they may change anything and tell nothing.
//! - Of several candidates the one that the finalizer's project ships is chosen, then the only one in the unit or release of
//!   the object's definition. A single candidate is the finisher.
//! - Where no one is chosen, each candidate is a *possible* finisher. It goes later, where that closes no cycle, and that is
//!   all: it is never kept or shared because of the object.
//! - Where nobody has such rights, they may be hidden, or given by other means than RBAC. Then the workloads of the
//!   definition's unit, or of the object's, are possible finishers of an operator's object.

use std::sync::Arc;

use super::{
    DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, PodReferenceKind, Precedence, Strength,
    finalizer::{is_built_in, is_shipped_with},
    rights::{Account, Rights},
    selection, uses,
};
use crate::{
    index::Index,
    labels::PART_OF,
    object::{Facts, Object},
};

/// The label by which Helm and others name a release.
const INSTANCE: &str = "app.kubernetes.io/instance";

/// The longest chain of a finisher's owners that is followed.
const DEPTH: usize = 8;

/// Whether a rule that names the resource of an object lets the ServiceAccount of a program change it. The program itself
/// may be gone.
pub(crate) fn is_entitled(index: &Index, program: &Object, object: &Object) -> bool {
    let Some(namespace) = program.namespace.clone() else { return false };
    let rights = Rights::of_account(index, &(namespace, account_of(program)));
    rights.by_name(object).next().is_some()
}

/// The programs that clear a finalizer of an object, and how certain that is.
fn of_finalizer<'a>(
    object: &Object,
    finalizer: &str,
    lookup: &EdgeLookup<'_>,
    index: &'a Index,
) -> (Strength, Vec<&'a Arc<Object>>) {
    let programs = |accounts: Vec<&Account>| {
        let mut found: Vec<&Arc<Object>> = accounts
            .into_iter()
            .flat_map(|(namespace, account)| {
                programs_in(namespace, index).filter(move |it| account_of(it) == *account)
            })
            .filter(|program| can_finish(program, object, index))
            .collect();
        found.sort_by(|a, b| a.uid.cmp(&b.uid));
        found.dedup_by(|a, b| a.uid == b.uid);
        found
    };
    let (rights, definition) = (lookup.rights(), lookup.definition_of(&object.kind));
    let named = programs(rights.by_name(object).collect());
    let (candidates, is_by_name) = if named.is_empty() {
        (programs(rights.by_wildcard(object).collect()), false)
    } else {
        (named, true)
    };
    let shipped: Vec<&Arc<Object>> =
        candidates.iter().copied().filter(|program| is_shipped_with(finalizer, program)).collect();
    if !shipped.is_empty() {
        return (Strength::Hard, shipped);
    }
    if candidates.is_empty() && object.kind.is_an_operators() {
        return (Strength::Hint, neighbours(object, definition, index));
    }
    let released: Vec<&Arc<Object>> = candidates
        .iter()
        .copied()
        .filter(|program| definition.is_some_and(|it| is_one_release(it, program)))
        .collect();
    let chosen = if released.is_empty() { candidates } else { released };
    let strength =
        if is_by_name && chosen.len() == 1 { Strength::Hard } else { Strength::Yielding };
    (strength, chosen)
}

/// The programs of a namespace that may clear finalizers: workloads that no workload owns, and such Pods. What runs to
/// completion is none.
fn programs_in<'a>(
    namespace: &str,
    index: &'a Index,
) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
    index.workers_in(namespace).filter(move |object| is_program(object, index))
}

/// The programs of the definition's unit; of the object's unit or namespace if the definition has none.
fn neighbours<'a>(
    object: &Object,
    definition: Option<&Object>,
    index: &'a Index,
) -> Vec<&'a Arc<Object>> {
    let units = definition.into_iter().chain([object]).filter_map(|it| it.labels.get(PART_OF));
    let mut in_units = units.map(|unit| -> Vec<&'a Arc<Object>> {
        index.workers_of(unit).filter(|object| is_program(object, index)).collect()
    });
    let in_namespace = || match &object.namespace {
        Some(namespace) => programs_in(namespace, index).collect(),
        None => Vec::new(),
    };
    let mut programs = in_units.find(|found| !found.is_empty()).unwrap_or_else(in_namespace);
    programs.retain(|program| can_finish(program, object, index));
    programs
}

/// An object goes before the workload that clears its finalizer, and before the owners of that workload.
pub(super) fn finishes(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let object = found.from;
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    for (i, finalizer) in object.finalizers.iter().enumerate() {
        if is_built_in(finalizer) {
            continue;
        }
        let (strength, programs) = of_finalizer(object, finalizer, lookup, index);
        for program in programs {
            let field = format!("metadata.finalizers[{i}]");
            found.push_with(
                strength,
                program,
                EdgeKind::Finishes,
                order,
                &*field,
                finalizer.clone(),
            );
            for owner in owners(program, index) {
                // An owner of both goes first anyway.
                if owner.uid == object.uid || index.descends(&object.uid, &owner.uid) {
                    continue;
                }
                let value = format!("{finalizer} → {}", program.name);
                found.push_with(strength, owner, EdgeKind::Finishes, order, &*field, value);
            }
        }
    }
}

fn owners<'a>(program: &Object, index: &'a Index) -> Vec<&'a Arc<Object>> {
    let mut found: Vec<&Arc<Object>> = Vec::new();
    let mut open: Vec<&Arc<Object>> = owners_of(program, index).collect();
    for _ in 0..DEPTH {
        let Some(owner) = open.pop() else { break };
        if found.iter().all(|known| known.uid != owner.uid) {
            open.extend(owners_of(owner, index));
            found.push(owner);
        }
    }
    found
}

fn owners_of<'a>(object: &Object, index: &'a Index) -> impl Iterator<Item = &'a Arc<Object>> {
    object.owners.iter().filter_map(|owner| index.get(&owner.uid))
}

fn is_program(object: &Object, index: &Index) -> bool {
    let runs = match object.facts {
        Facts::Workload(_) => &*object.kind.group != "batch",
        Facts::Pod(_) => true,
        _ => false,
    };
    runs && owners_of(object, index).all(|owner| !matches!(owner.facts, Facts::Workload(_)))
}

fn account_of(program: &Object) -> Arc<str> {
    let account = uses(program).iter().find(|used| used.what == PodReferenceKind::ServiceAccount);
    account.map_or_else(|| "default".into(), |used| used.name.clone())
}

/// Whether a program can clear the finalizer of an object: not if the object is its own Pod, or goes only after it because
/// it mounts or serves it.
fn can_finish(program: &Object, object: &Object, index: &Index) -> bool {
    let is_neighbour = program.namespace == object.namespace;
    let mounts = PodReferenceKind::of(&object.kind).is_some_and(|what| {
        uses(program).iter().any(|used| used.what == what && *used.name == *object.name)
    });
    let labels = match &program.facts {
        Facts::Workload(workload) => &workload.template_labels,
        _ => &program.labels,
    };
    let is_selected =
        selection(&object.facts).is_some_and(|(selector, _)| selector.matches(labels));
    program.uid != object.uid
        && !(is_neighbour && (mounts || is_selected))
        && !(matches!(object.facts, Facts::Pod(_) | Facts::Workload(_))
            && index.descends(&object.uid, &program.uid))
}

/// Whether two objects are parts of one unit, or were installed as one release.
fn is_one_release(a: &Object, b: &Object) -> bool {
    [PART_OF, INSTANCE].iter().any(|label| {
        let name = a.labels.get(label).filter(|name| !name.is_empty());
        name.is_some() && name == b.labels.get(label)
    })
}

#[cfg(test)]
mod tests;
