//! How a plan differs from one that was confirmed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Fate, Plan, Propagation, Step, StepAction};
use crate::{
    object::{Kind, ObjectRef, Uid},
    relation::{DeletionPhase, EdgeKind},
};

/// How the cluster differs from a plan that was made earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Difference {
    /// A new plan would take this object, the old one does not know it.
    Added {
        /// The object.
        object: ObjectRef,
    },
    /// The old plan takes this object, a new one would not: it is gone or kept.
    Removed {
        /// The object.
        object: ObjectRef,
    },
    /// The name is another object's now.
    Recreated {
        /// The object.
        object: ObjectRef,
    },
    /// The same object would be taken in another way or another place.
    Changed {
        /// The object.
        object: ObjectRef,
    },
    /// A kind cannot be seen any more, so that the new plan knows nothing of it.
    Hidden {
        /// The kind as a path names it, or the group version.
        resource: String,
    },
}

/// How a new plan of the same unit differs from what a person confirmed; empty where the old one may still be performed.
///
/// What a controller makes or removes on behalf of an object of both plans is no difference: the Job of a CronJob, the
/// Pods of a rollout, what a network keeps of a Pod. The garbage collector takes it with its owner. Where it has to go before something else, it is none
/// only if the old plan waits there until its owner has no Pods. Anything else that an owner brought along is one, as
/// nobody has confirmed its end: a claim, a snapshot, whatever an operator makes. So is data that would now be lost.
pub fn differences(old: &Plan, new: &Plan) -> Vec<Difference> {
    let olds: BTreeMap<&ObjectRef, &Step> =
        old.steps.iter().map(|step| (&step.object, step)).collect();
    let news: BTreeMap<&ObjectRef, &Step> =
        new.steps.iter().map(|step| (&step.object, step)).collect();
    let vanished = taken_by_owners(old, new, |_| true);
    let appeared = taken_by_owners(new, old, |step| {
        is_made_in_passing(&step.kind) || owners(new, step).any(|owner| owner.kind.is("", "Pod"))
    });
    let kept: BTreeSet<&Uid> = new.kept.iter().map(|kept| &kept.uid).collect();
    let gone = olds.iter().filter_map(|(object, before)| match news.get(object) {
        None if vanished.contains(&before.uid) && !kept.contains(&before.uid) => None,
        None => Some(Difference::Removed { object: (*object).clone() }),
        Some(after) if after.uid != before.uid => {
            let replaced = vanished.contains(&before.uid) && appeared.contains(&after.uid);
            (!replaced).then(|| Difference::Recreated { object: (*object).clone() })
        }
        Some(after) => (before.action != after.action
            || waits_for_more((old, before), (new, after), &appeared))
        .then(|| Difference::Changed { object: (*object).clone() }),
    });
    let added = news
        .iter()
        .filter(|(object, step)| !olds.contains_key(*object) && !appeared.contains(&step.uid));
    let lost = new.data.iter().filter(|data| {
        let before = old.data.iter().find(|before| before.volume == data.volume);
        matches!(data.fate, Fate::Destroyed | Fate::Unknown)
            && before.is_none_or(|before| before.fate != data.fate)
            && !news.contains_key(&data.volume)
    });
    let hidden = new.hidden.iter().filter(|resource| !old.hidden.contains(resource));
    gone.chain(added.map(|(object, _)| Difference::Added { object: (*object).clone() }))
        .chain(lost.map(|data| Difference::Changed { object: data.volume.clone() }))
        .chain(hidden.map(|resource| Difference::Hidden { resource: resource.clone() }))
        .collect()
}

/// What controllers of Kubernetes make and remove all the time.
pub(crate) fn is_made_in_passing(kind: &Kind) -> bool {
    kind.is("", "Pod")
        || kind.is("apps", "ReplicaSet")
        || kind.is("apps", "ControllerRevision")
        || kind.is("batch", "Job")
}

/// The objects of a plan, of this sort, that the other one lacks and that the garbage collector takes with an owner
/// both have.
fn taken_by_owners<'a>(
    plan: &'a Plan,
    other: &'a Plan,
    is_one: impl Fn(&Step) -> bool,
) -> BTreeSet<&'a Uid> {
    let others: BTreeMap<&Uid, &Step> = other.steps.iter().map(|step| (&step.uid, step)).collect();
    let with_dependents =
        |step: &Step| step.action == StepAction::Delete { propagation: Propagation::Background };
    let mut taken = BTreeSet::new();
    // Owners stand before what they own.
    for step in &plan.steps {
        if others.contains_key(&step.uid) || step.holds_storage || !is_one(step) {
            continue;
        }
        let mut owners = owners(plan, step).peekable();
        let follows = |owner: &Step| {
            with_dependents(owner)
                && (taken.contains(&owner.uid)
                    || others.get(&owner.uid).is_some_and(|same| with_dependents(same)))
        };
        if owners.peek().is_some() && owners.all(follows) {
            taken.insert(&step.uid);
        }
    }
    taken
}

fn owners<'a>(plan: &'a Plan, step: &'a Step) -> impl Iterator<Item = &'a Step> {
    let blockers = step.after.iter().filter(|blocker| blocker.edge == EdgeKind::Owns);
    blockers.filter_map(|blocker| plan.step(blocker.step))
}

/// Whether something is in front of a step that was not, or has to get further. Less in front changes nothing: what has
/// gone is proven gone at once. Nor does what appeared and is gone anyway once the step waits no longer; a namespace
/// waits for all that is in it. That a name is another object's now is said of that object.
fn waits_for_more(
    (old, before): (&Plan, &Step),
    (new, after): (&Plan, &Step),
    appeared: &BTreeSet<&Uid>,
) -> bool {
    let in_front = || {
        let blockers = before.after.iter();
        blockers.filter_map(|blocker| Some((old.step(blocker.step)?, blocker.phase)))
    };
    let known: BTreeMap<&ObjectRef, DeletionPhase> =
        in_front().map(|(first, phase)| (&first.object, phase)).collect();
    let pods_gone: BTreeSet<&Uid> = in_front()
        .filter(|(_, phase)| *phase == DeletionPhase::PodsGone)
        .map(|(first, _)| &first.uid)
        .collect();
    after.after.iter().any(|blocker| {
        new.step(blocker.step).is_some_and(|first| {
            if appeared.contains(&first.uid) {
                !after.kind.is("", "Namespace") && !descends_from(new, first, &pods_gone)
            } else {
                known.get(&first.object).is_none_or(|phase| *phase < blocker.phase)
            }
        })
    })
}

/// Whether one of these owns the step's object, or an owner of it.
fn descends_from(plan: &Plan, step: &Step, ancestors: &BTreeSet<&Uid>) -> bool {
    owners(plan, step)
        .any(|owner| ancestors.contains(&owner.uid) || descends_from(plan, owner, ancestors))
}
