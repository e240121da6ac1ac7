//! Objects that wait for each other in a circle: each has an explanation, and none of them a root.
//!
//! The garbage collector breaks circles of owners itself, by taking `blockOwnerDeletion` off one of them (`attemptToDeleteItem` in
//! `pkg/controller/garbagecollector/garbagecollector.go`). A circle that stays is one that it does not look at.

use std::{
    collections::{BTreeSet, HashMap},
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
        found.push((*object, verdict(object)));
    }
    found
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

fn verdict(object: &Object) -> Verdict {
    let is_owner = object.finalizers.iter().any(|it| &**it == "foregroundDeletion");
    let cause = if is_owner {
        Cause::ControllerSilent { controller: "garbage-collector-controller".into() }
    } else {
        Cause::Unknown
    };
    let confidence = if is_owner { Confidence::Inferred } else { Confidence::Unknown };
    let owners = object.owners.iter().take(3);
    let owners = owners.map(|it| {
        Evidence::field(object, "metadata.ownerReferences", format!("{} {}", it.kind, it.name))
    });
    Verdict::new(cause, object, confidence).with(owners)
}
