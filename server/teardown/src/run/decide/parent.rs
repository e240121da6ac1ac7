//! Suspends the parents of a plan before the first object that they declare goes.
//!
//! # Decisions
//! - A parent outside the plan is not touched. While it is active, what it declares waits: it would come back, a claim without
//!   its data.
//! - The watch, not the answer to the PATCH, says that a parent is suspended. No object that it declares is deleted before.
//! - A parent is suspended once. Whoever makes it active again has a reason: the run then waits and says so. An owner in the plan,
//!   such as an ApplicationSet, would do so at once, so it goes before.
//! - A reconciliation that was under way when the parent was suspended still applies its objects, so the run waits for its end,
//!   but not for ever: Flux may wait for the health of what it applied.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Progress, ReconcileContext, Run, RunEvent, Step, sequence::target};
use crate::{
    action::Action,
    declaration::{DeclaringParent, declaring_parents},
    index::Index,
    object::{Facts, Object},
    relation::{EdgeKind, parent_of},
    suspension::suspend,
    unknown_reason::UnknownReason,
};

/// The finalizer by which Argo CD deletes what an Application declares; it may have a suffix.
const ARGO_CD_PRUNES: &str = "resources-finalizer.argocd.argoproj.io";
/// The time within which the watch shows what the API server has accepted.
const WATCH_LAG: SignedDuration = SignedDuration::from_secs(10);
/// The longest time for which a run waits for the end of a reconciliation.
const APPLYING: SignedDuration = SignedDuration::from_mins(2);

impl Run {
    /// Suspends a parent that is active. Returns whether nothing else can be decided about its step now.
    pub(super) fn suspend_first(
        &self,
        step: &Step,
        progress: &Progress,
        context: &mut ReconcileContext<'_>,
    ) -> bool {
        let index = context.index;
        let object = index.get(&step.uid).map(|object| &object.facts);
        let Some(Facts::Parent(parent)) = object else { return false };
        let Some(active) = &parent.active else { return false };
        let is_owner_left =
            step.after.iter().any(|it| it.has(EdgeKind::Owns) && !self.is_gone_for_good(it.step));
        match progress.suspended() {
            None if is_owner_left => {}
            None => match self.check_parents_suspended(step, context) {
                Ok(true) => {
                    let (id, target) = (step.id, target(step, index));
                    let (patch, was) = (suspend(&step.kind, &step.uid, active), active.to_string());
                    let decision = &mut context.decision;
                    decision.events.push(RunEvent::SuspendStarted { step: id, was });
                    decision.actions.push(Action::Suspend { step: id, target, patch });
                }
                // Its own parent would make it active again.
                Ok(false) => {}
                Err(reason) => context.note_unknown(step, progress, reason),
            },
            Some(since) if context.now < later(since, WATCH_LAG) => {}
            Some(_) => {
                let parent = step.object.clone();
                context.note_unknown(step, progress, UnknownReason::ParentActive { parent });
            }
        }
        true
    }

    /// Whether the parents that declare an object make it again no more.
    ///
    /// A ConfigMap that a Kustomization declares is not deleted while the Kustomization is active: Flux would create it again
    /// within its interval.
    pub(super) fn check_parents_suspended(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let ReconcileContext { index, now, has_guessed_parents, .. } = *context;
        let Some(object) = index.get(&step.uid) else { return Ok(true) };
        for named in declaring_parents(object).filter(|it| !it.is_guess || has_guessed_parents) {
            let Some(parent) = parent_of(&named, object, index) else {
                if !named.is_guess {
                    self.check_would_be_seen(&named, index)?;
                }
                continue;
            };
            if parent.deletion.is_some() || parent.uid == step.uid {
                continue;
            }
            let Facts::Parent(facts) = &parent.facts else { continue };
            let planned = self.step_of(&parent.uid).and_then(|id| self.progress(id));
            let since = planned.and_then(Progress::suspended);
            if facts.active.is_some() {
                let will_be_suspended = planned.is_some_and(|progress| {
                    progress.end.is_none()
                        && since.is_none_or(|since| now < later(since, WATCH_LAG))
                });
                if will_be_suspended {
                    return Ok(false);
                }
                return Err(UnknownReason::ParentActive { parent: parent.reference() });
            }
            if planned.is_some_and(|it| facts.applying && now < self.applied_by(it)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the deletion of a parent prunes nothing any more. What is suspended of Flux or kapp-controller prunes nothing, but an
    /// Application with Argo CD's finalizer deletes whatever it declares, suspended or not
    /// (<https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/>).
    ///
    /// An Application whose claim a person skipped stays, because the claim would go with it.
    pub(super) fn check_nothing_pruned(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let index = context.index;
        let prunes = |object: &Arc<Object>| {
            object.kind.is("argoproj.io", "Application")
                && object.finalizers.iter().any(|it| it.starts_with(ARGO_CD_PRUNES))
        };
        let Some(parent) = index.get(&step.uid).filter(|it| prunes(it)) else { return Ok(true) };
        // A namespace of the plan that the Application lives in waits for it.
        let waits_for_it = |object: &Object| {
            self.step_of(&object.uid).and_then(|id| self.plan.step(id)).is_some_and(|other| {
                let is_left = self.progress(other.id).is_some_and(|it| !it.is_settled());
                is_left && other.after.iter().any(|blocker| blocker.step == step.id)
            })
        };
        let declares = |object: &&Arc<Object>| {
            object.uid != step.uid
                && declaring_parents(object).any(|named| named.is_meant(parent, object))
                && !waits_for_it(object)
        };
        match index.objects().filter(declares).map(|object| object.reference()).min() {
            Some(it) => Err(UnknownReason::WouldCollect { it }),
            None => Ok(true),
        }
    }

    /// Whether a parent that cannot be found would be seen. A kind that was hidden when the plan was made is named in the plan.
    fn check_would_be_seen(
        &self,
        parent: &DeclaringParent,
        index: &Index,
    ) -> Result<(), UnknownReason> {
        let resource = parent.resource;
        if self.plan.hidden.iter().any(|hidden| hidden == resource) {
            return Ok(());
        }
        index.check_visible(resource, parent.namespace.as_deref())
    }

    /// The times at which a run stops waiting for the watch, and for the end of a reconciliation.
    pub(super) fn parent_deadlines(
        &self,
        step: &Step,
        progress: &Progress,
    ) -> [Option<Timestamp>; 2] {
        if !step.is_parent() {
            return [None, None];
        }
        let seen = progress.suspended().map(|since| later(since, WATCH_LAG));
        [seen, Some(self.applied_by(progress))]
    }

    /// The time at which a run stops waiting for a reconciliation of a parent. An answer may have been lost, so it counts from
    /// the request.
    fn applied_by(&self, parent: &Progress) -> Timestamp {
        later(parent.suspension.as_ref().map_or(self.started, |it| it.asked), APPLYING)
    }
}

fn later(since: Timestamp, after: SignedDuration) -> Timestamp {
    since.checked_add(after).unwrap_or(since)
}
