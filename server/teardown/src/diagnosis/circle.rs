//! Objects that wait for each other in a circle: each has an explanation, and none of them a root.
//!
//! The garbage collector breaks a circle of owners if it looks at the next one before that is deleted too: it takes
//! `blockOwnerDeletion` off. Once each of them has `foregroundDeletion`, it only waits for their dependents, for ever
//! (`attemptToDeleteItem` and `processDeletingDependentsItem` in `pkg/controller/garbagecollector/garbagecollector.go`). So it is
//! with an object that owns itself. A second DELETE of one of them, with Background, lets all of them go. On a control plane of 1.36.3
//! two of four pairs that were deleted at once stayed, and so did a circle of three.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use super::{
    case::Case,
    cause::{Cause, Confidence, Evidence, Link, Verdict},
};
use crate::{
    deadlines::Overdue,
    object::{Object, Uid},
};

/// The finalizer of an owner that waits for what it owns.
const FOREGROUND: &str = "foregroundDeletion";

/// A verdict for one object of each circle of waiting objects that no root explains, if it is late. `waits` are the objects
/// that wait for others, in the order in which they are looked at, and `explained` those that wait for a root itself.
pub(super) fn roots<'a>(
    case: &Case<'a>,
    waits: &[&'a Arc<Object>],
    waiters: &HashMap<&Uid, Vec<(&'a Arc<Object>, Link)>>,
    explained: impl IntoIterator<Item = &'a Uid>,
) -> Vec<(&'a Arc<Object>, Verdict)> {
    let mut reached: BTreeSet<&Uid> = BTreeSet::new();
    let reach = |from: Vec<&'a Uid>, reached: &mut BTreeSet<&'a Uid>| {
        let mut next = from;
        while let Some(uid) = next.pop() {
            if reached.insert(uid) {
                next.extend(waiters.get(uid).into_iter().flatten().map(|(waiter, _)| &waiter.uid));
            }
        }
    };
    reach(explained.into_iter().collect(), &mut reached);
    let mut found = Vec::new();
    for object in waits {
        let is_late = || case.overdue(object) > Overdue::No;
        // Most of what waits is explained.
        if reached.contains(&object.uid) || !is_late() || !waits_for_itself(object, waiters) {
            continue;
        }
        reach(vec![&object.uid], &mut reached);
        found.push((*object, verdict(case, object)));
    }
    found
}

/// The verdict for an object that owns itself, if it is late: the graph has no edge from an object to itself.
pub(super) fn of_itself(case: &Case<'_>, object: &Arc<Object>) -> Option<Verdict> {
    let owns = object.owners.iter().any(|owner| owner.uid == object.uid && owner.blocks);
    (owns && case.overdue(object) > Overdue::No).then(|| verdict(case, object))
}

/// Whether an object is among those that wait for it.
fn waits_for_itself(object: &Object, waiters: &HashMap<&Uid, Vec<(&Arc<Object>, Link)>>) -> bool {
    let mut known: BTreeSet<&Uid> = BTreeSet::new();
    let mut next = vec![&object.uid];
    while let Some(uid) = next.pop() {
        for (waiter, _) in waiters.get(uid).into_iter().flatten() {
            if waiter.uid == object.uid {
                return true;
            }
            if known.insert(&waiter.uid) {
                next.push(&waiter.uid);
            }
        }
    }
    false
}

/// The owners of an object, and their owners, back to the object itself, if each of them waits for what it owns.
fn owners<'a>(case: &Case<'a>, object: &'a Arc<Object>) -> Option<Vec<&'a Arc<Object>>> {
    let waits = |it: &Arc<Object>| it.deletion.is_some() && it.has_finalizer(FOREGROUND);
    let mut owned_by: BTreeMap<&Uid, &'a Arc<Object>> = BTreeMap::new();
    let mut next = VecDeque::from([object]);
    while let Some(owned) = next.pop_front() {
        for owner in owned.owners.iter().filter(|owner| owner.blocks) {
            let Some(owner) = case.index.get(&owner.uid).filter(|owner| waits(owner)) else {
                continue;
            };
            if owner.uid == object.uid {
                let back = |it: &&'a Arc<Object>| owned_by.get(&it.uid).copied();
                return Some(std::iter::successors(Some(owned), back).collect());
            }
            owned_by.entry(&owner.uid).or_insert_with(|| {
                next.push_back(owner);
                owned
            });
        }
    }
    None
}

fn verdict(case: &Case<'_>, object: &Arc<Object>) -> Verdict {
    let owns = |it: &Arc<Object>| {
        let owners = it.owners.iter().take(3);
        owners
            .map(|owner| format!("{} {}", owner.kind, owner.name))
            .map(|owner| Evidence::field(it, "metadata.ownerReferences", owner))
            .collect::<Vec<_>>()
    };
    let Some(circle) = owners(case, object) else {
        let verdict = Verdict::new(Cause::Unknown, object, Confidence::Unknown);
        return verdict.with(owns(object));
    };
    let evidence = circle.iter().take(3).flat_map(|it| {
        let held = Evidence::field(it, "metadata.finalizers", FOREGROUND);
        owns(it).into_iter().chain([held])
    });
    let evidence: Vec<Evidence> = evidence.collect();
    let owners = circle.iter().map(|it| it.reference()).collect();
    Verdict::new(Cause::OwnersCircle { owners }, object, Confidence::Confirmed).with(evidence)
}
