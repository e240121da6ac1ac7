//! Compares a plan with one that was confirmed earlier.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Plan, Propagation, Step, StepAction};
use crate::{
    object::{Kind, ObjectRef, Uid},
    relation::{DeletionPhase, EdgeKind},
};

/// A difference between a new plan and one that was made earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Difference {
    /// The new plan deletes this object, and the old plan does not know it.
    Added {
        /// The object.
        object: ObjectRef,
    },
    /// The old plan deletes this object, and the new plan does not: it is gone or kept.
    Removed {
        /// The object.
        object: ObjectRef,
    },
    /// The name belongs to another object now.
    Recreated {
        /// The object.
        object: ObjectRef,
    },
    /// The new plan deletes the same object by another action or in another order.
    Changed {
        /// The object.
        object: ObjectRef,
    },
    /// A kind is hidden now, so the new plan has no objects of it.
    Hidden {
        /// The kind as a path names it, or the group version.
        resource: String,
    },
}

/// The differences between a new plan of the same unit and the one that a person confirmed. If there are none, the old
/// plan may still be executed.
///
/// Objects that a controller creates or removes on behalf of an object of both plans are no difference: the Job of a
/// CronJob, the Pods of a rollout, a network plugin's objects for a Pod. The garbage collector deletes them with their
/// owner. If such an object has to go before another step, it is only ignored if that step of the old plan already
/// waits until the owner has no Pods. Any other dependent is a difference, because nobody has confirmed its deletion: a
/// claim, a snapshot, any other object of an operator. Data that would now be lost is a difference too, and so is another user of
/// an object that goes although others use it.
pub fn differences(old: &Plan, new: &Plan) -> Vec<Difference> {
    let olds: BTreeMap<&ObjectRef, &Step> =
        old.steps.iter().map(|step| (&step.object, step)).collect();
    let news: BTreeMap<&ObjectRef, &Step> =
        new.steps.iter().map(|step| (&step.object, step)).collect();
    let vanished = taken_by_owners(old, new, |_| true);
    let appeared = taken_by_owners(new, old, |step| {
        is_created_by_controllers(&step.kind)
            || owners(new, step).any(|owner| owner.kind.is("", "Pod"))
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
        data.fate.may_be_destroyed()
            && before.is_none_or(|before| before.fate != data.fate)
            && !news.contains_key(&data.volume)
    });
    // A user that came after the old plan may be one that nobody would take something from.
    let joined = new.waived.iter().filter(|row| {
        let known = |user: &Uid| {
            let mut before = old.waived.iter().filter(|it| it.object == row.object);
            before.any(|it| it.edge == row.edge && it.knows(user))
        };
        !row.known.iter().all(known)
    });
    let hidden = new.hidden.iter().filter(|resource| !old.hidden.contains(resource));
    gone.chain(added.map(|(object, _)| Difference::Added { object: (*object).clone() }))
        .chain(lost.map(|data| Difference::Changed { object: data.volume.clone() }))
        .chain(joined.map(|row| Difference::Changed { object: row.object.clone() }))
        .chain(hidden.map(|resource| Difference::Hidden { resource: resource.clone() }))
        .collect()
}

/// Kinds that the controllers of Kubernetes create and remove all the time.
pub(crate) fn is_created_by_controllers(kind: &Kind) -> bool {
    kind.is("", "Pod")
        || kind.is("apps", "ReplicaSet")
        || kind.is("apps", "ControllerRevision")
        || kind.is("batch", "Job")
}

/// The objects with this role in a plan that the other plan lacks, and that the garbage collector deletes with an owner
/// which is in both plans.
fn taken_by_owners<'a>(
    plan: &'a Plan,
    other: &'a Plan,
    is_one: impl Fn(&Step) -> bool,
) -> BTreeSet<&'a Uid> {
    let others: BTreeMap<&Uid, &Step> = other.steps.iter().map(|step| (&step.uid, step)).collect();
    let with_dependents =
        |step: &Step| step.action == StepAction::Delete { propagation: Propagation::Background };
    let mut taken = BTreeSet::new();
    // Steps are ordered so that an owner is before its dependents.
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
    let blockers = step.after.iter().filter(|blocker| blocker.has(EdgeKind::Owns));
    blockers.filter_map(|blocker| plan.step(blocker.step))
}

/// Whether a step waits for more than before: for a new step, or for a later deletion phase. Fewer blockers change
/// nothing, because their objects are proven gone. A new object that is gone when the other blockers are gone changes
/// nothing either, except for a namespace, which waits for everything in it. A name that belongs to another object now
/// is reported for that object.
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

/// Whether one of these steps has an object that owns the step's object, directly or indirectly.
fn descends_from(plan: &Plan, step: &Step, ancestors: &BTreeSet<&Uid>) -> bool {
    owners(plan, step)
        .any(|owner| ancestors.contains(&owner.uid) || descends_from(plan, owner, ancestors))
}
