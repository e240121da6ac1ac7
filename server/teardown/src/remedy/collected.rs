//! The objects that go with an object once its last finalizer is removed by hand.
//!
//! # Decisions
//! - The garbage collector deletes a dependent once none of its owners is left (`attemptToDeleteItem` in
//!   `pkg/controller/garbagecollector/garbagecollector.go`), and then what that owns. An owner that is being deleted does not count
//!   as left, and neither does one that cannot be seen: an object too many in the list harms less than one too few.
//! - A finalizer that the control plane clears by itself does not keep the object. With `orphan` the dependents stay.
//! - An operator's object often owns claims. Nobody asked for their end, so they are named; where data goes with them, or may, the
//!   removal stands among the remedies that lose data. So it does for a claim that is itself the object.
//! - Where claims cannot be seen, one of them may be among the dependents: then nothing is removed from here.

use std::{collections::HashSet, sync::Arc};

use super::{
    act::{Harm, Loss, Remedy, Withheld},
    case::{Case, EACH},
    reach::{GoingClaim, Reach},
    retain::retain,
};
use crate::{
    object::{Facts, Object, Reclaim, Uid},
    relation::is_built_in,
};

/// The remedy that removes this finalizer, with everything that goes with the object.
pub(super) fn with_collected(
    case: &Case<'_>,
    object: &Arc<Object>,
    finalizer: &str,
    remedy: Remedy,
) -> Remedy {
    if !is_last(object, finalizer) {
        return remedy;
    }
    let gone = collected(case, object);
    let going: Vec<GoingClaim> =
        gone.iter().filter_map(|it| GoingClaim::of(case.index, it)).collect();
    let fates: Vec<Option<Reclaim>> =
        gone.iter().copied().chain([object]).filter_map(|it| fate(case, it)).collect();
    let destroys = fates.iter().any(|it| *it != Some(Reclaim::Retain));
    let keeps = fates.contains(&Some(Reclaim::Retain));
    let are_hidden = case.index.check_claims_visible(object.namespace.as_deref()).is_err();
    let resource = "persistentvolumeclaims".to_owned();
    let remedy = remedy
        .reach(reach(case, object, &gone).with_going(going))
        .loss(destroys.then_some(Loss::Data))
        .loss(keeps.then_some(Loss::Kept))
        .withhold(are_hidden.then_some(Withheld::CannotSee { resource }));
    if destroys { Remedy { harm: Harm::DataLoss, ..remedy } } else { remedy }
}

/// The remedies that keep the data which the removal would destroy. They stand in front of it.
pub(super) fn keep_data(case: &Case<'_>, object: &Arc<Object>, finalizer: &str) -> Vec<Remedy> {
    if !is_last(object, finalizer) {
        return Vec::new();
    }
    let gone = collected(case, object);
    let claims = [object].into_iter().chain(gone);
    claims.filter_map(|claim| retain(case, claim)).take(EACH).collect()
}

/// Whether the object goes without this finalizer.
fn is_last(object: &Object, finalizer: &str) -> bool {
    object.finalizers.iter().all(|it| &**it == finalizer || is_built_in(it))
}

/// Everything that nobody has deleted and that the garbage collector deletes once the object is gone, in the order of names.
fn collected<'a>(case: &Case<'a>, object: &'a Arc<Object>) -> Vec<&'a Arc<Object>> {
    let (mut gone, mut found) = (HashSet::from([&object.uid]), Vec::new());
    let mut owners = vec![object];
    while let Some(owner) = owners.pop() {
        if owner.finalizers.iter().any(|it| &**it == "orphan") {
            continue;
        }
        for dependent in case.index.dependents(&owner.uid) {
            let goes = dependent.deletion.is_none() && !is_kept(case, dependent, &gone);
            if goes && gone.insert(&dependent.uid) {
                found.push(dependent);
                owners.push(dependent);
            }
        }
    }
    found.sort_by_key(|it| it.reference());
    found
}

/// Whether another owner of a dependent is left.
fn is_kept(case: &Case<'_>, dependent: &Object, gone: &HashSet<&Uid>) -> bool {
    let others = dependent.owners.iter().filter(|owner| !gone.contains(&owner.uid));
    let mut others = others.filter_map(|owner| case.index.get(&owner.uid));
    others.any(|owner| owner.deletion.is_none())
}

/// The reclaim policy that decides over the data of an object that goes: `None` for one without data, `Some(None)` where its volume
/// cannot be seen. A volume that is itself the object keeps its storage, as its finalizer is that of whoever would delete it.
fn fate(case: &Case<'_>, object: &Object) -> Option<Option<Reclaim>> {
    let of = |volume: &Object| match &volume.facts {
        Facts::Volume(volume) => Some(volume.reclaim),
        _ => None,
    };
    match &object.facts {
        Facts::Claim(claim) => {
            let name = claim.volume.as_deref()?;
            Some(case.index.find("", "PersistentVolume", None, name).and_then(|it| of(it)))
        }
        Facts::Volume(_) if object.deletion.is_none() => Some(of(object)),
        _ => None,
    }
}

/// The Pods that end, and the other objects that go; the volume of a claim that is itself the object goes too, or is released.
fn reach(case: &Case<'_>, object: &Object, gone: &[&Arc<Object>]) -> Reach {
    let is_pod = |it: &Object| matches!(it.facts, Facts::Pod(_));
    let volume = match &object.facts {
        Facts::Claim(claim) => claim.volume.as_deref(),
        _ => None,
    };
    let volume = volume.and_then(|name| case.index.find("", "PersistentVolume", None, name));
    let others =
        gone.iter().copied().filter(|it| !is_pod(it) && !matches!(it.facts, Facts::Claim(_)));
    let pods = gone.iter().copied().filter(|it| is_pod(it));
    let pods = Reach::of_pods(case.index, pods.map(|pod| &**pod)).pods;
    Reach { pods, ..Reach::of(volume.into_iter().chain(others).map(|it| it.reference())) }
}
