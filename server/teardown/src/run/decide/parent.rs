//! Keeps the parents of a plan suspended, from before the first object that they declare goes until they go themselves.
//!
//! # Decisions
//! - A parent outside the plan is not touched. While it is active, what it declares waits: it would come back, a claim without
//!   its data.
//! - The watch, not the answer to the PATCH, says that a parent is suspended. No object that it declares is deleted before.
//! - A parent is suspended once. Whoever makes it active again has a reason: the run then waits and says so.
//! - A reconciliation that was under way when the parent was suspended still applies its objects, so the run waits for its end,
//!   but not for ever: Flux may wait for the health of what it applied.

use jiff::{SignedDuration, Timestamp};

use super::{Progress, ReconcileContext, Run, RunEvent, Stage, Step};
use crate::{
    action::Action,
    index::Index,
    object::Facts,
    relation::parent_of,
    suspension::suspend,
    unit::{DeclaringParent, declaring_parents},
    unknown_reason::UnknownReason,
};

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
        let object = context.index.get(&step.uid).map(|object| &object.facts);
        let Some(Facts::Parent(parent)) = object else { return false };
        let Some(active) = &parent.active else { return false };
        match progress.suspension.as_ref().and_then(|suspension| suspension.since) {
            None => {
                let (id, kind, object) = (step.id, step.kind.clone(), step.object.clone());
                let patch = suspend(&kind, &step.uid, active);
                let decision = &mut context.decision;
                decision
                    .events
                    .push(RunEvent::SuspendStarted { step: id, was: active.to_string() });
                decision.actions.push(Action::Suspend { step: id, kind, object, patch });
            }
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
        let ReconcileContext { index, now, .. } = *context;
        let Some(object) = index.get(&step.uid) else { return Ok(true) };
        for named in declaring_parents(object) {
            let Some(parent) = parent_of(&named, index) else {
                self.check_would_be_seen(&named, index)?;
                continue;
            };
            if parent.deletion.is_some() || parent.uid == step.uid {
                continue;
            }
            let Facts::Parent(facts) = &parent.facts else { continue };
            let planned = self.step_of(&parent.uid).and_then(|id| self.progress(id));
            let suspension = planned.and_then(|progress| progress.suspension.as_ref());
            let since = suspension.and_then(|suspension| suspension.since);
            if facts.active.is_some() {
                let will_be_suspended = planned.is_some_and(|progress| {
                    progress.stage != Stage::Skipped
                        && since.is_none_or(|since| now < later(since, WATCH_LAG))
                });
                if will_be_suspended {
                    return Ok(false);
                }
                return Err(UnknownReason::ParentActive { parent: parent.reference() });
            }
            if facts.applying
                && planned.is_some()
                && now < later(since.unwrap_or(self.started), APPLYING)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a parent that cannot be found would be seen. A kind that was hidden when the plan was made is named in the plan.
    fn check_would_be_seen(
        &self,
        parent: &DeclaringParent,
        index: &Index,
    ) -> Result<(), UnknownReason> {
        let resource = format!("{}.{}", parent.plural, parent.group);
        if self.plan.hidden.contains(&resource) {
            return Ok(());
        }
        index.check_visible(&resource, parent.namespace.as_deref())
    }

    /// The times at which a run stops waiting for the watch, and for the end of a reconciliation.
    pub(super) fn parent_deadlines(
        &self,
        step: &Step,
        progress: &Progress,
    ) -> [Option<Timestamp>; 2] {
        if !step.suspends {
            return [None, None];
        }
        let since = progress.suspension.as_ref().and_then(|suspension| suspension.since);
        let applied = later(since.unwrap_or(self.started), APPLYING);
        [since.map(|since| later(since, WATCH_LAG)), Some(applied)]
    }
}

fn later(since: Timestamp, after: SignedDuration) -> Timestamp {
    since.checked_add(after).unwrap_or(since)
}
