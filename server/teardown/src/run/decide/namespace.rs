//! Checks that a namespace contains only what goes with it: by the index at any time, and by consistent lists just before its
//! DELETE; and by a consistent list just before its DELETE that a definition has no object.
//!
//! # Decisions
//! - The index alone is not enough. A watch whose connection died is noticed after some 50 s, and a new kind is watched after
//!   the next discovery; a claim that somebody creates meanwhile would go with its namespace, and its data with it.
//! - An object in the lists is judged by its UID and name, and for the rest as the index has it. One that the index does not
//!   have yet holds the namespace until the index does.
//! - A namespace that is held is read again ever more rarely, and soon after an object that the watches show came into it or went.
//!   Where that happens all the time and changes nothing, the early reads become rare too. A DELETE follows only its own read.
//! - A kind that cannot be listed holds the namespace, unless a person chose that it goes without that proof and the API server
//!   forbids the list. The journal then says of which kinds the namespace was not proven empty.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Decision, ReconcileContext, Run, answer::doubled};
use crate::{
    action::{Action, ActionTarget, ContentSight, Outcome},
    index::Index,
    object::{Facts, Object, Uid},
    plan::{KeptReason, Step},
    run::{Progress, RunEvent, StepProblem},
    unknown_reason::UnknownReason,
};

/// The first and the longest delay between two reads of a namespace's content; the delay doubles with each read. Each is kept
/// in the journal, and a namespace may be held for a weekend.
const REREAD: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(1), SignedDuration::from_mins(10));

impl Run {
    /// For a namespace: whether it is visible and contains only what goes with it.
    pub(super) fn check_namespace_empty(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        if step.kind.is("", "Namespace") {
            check_visible(step, context.index)?;
            self.check_empty(&step.object.name, context.index)?;
        }
        Ok(true)
    }

    /// Checks that a namespace contains only objects that go with it. Late objects are in no step, and nobody has
    /// confirmed their deletion.
    fn check_empty(&self, namespace: &str, index: &Index) -> Result<(), UnknownReason> {
        let late_object = self.content(namespace, index).map(|object| object.reference()).min();
        late_object.map_or(Ok(()), |object| Err(UnknownReason::NamespaceNotEmpty { by: object }))
    }

    /// The objects in a namespace that do not go with it.
    pub(super) fn content<'a>(
        &self,
        namespace: &str,
        index: &'a Index,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        index.in_namespace(namespace).filter(move |object| !self.goes_with_it(object, index))
    }

    fn goes_with_it(&self, object: &Object, index: &Index) -> bool {
        object.is_made_by_cluster()
            // The namespace controller leaves it alone.
            || index.is_undeletable(&object.kind)
            || matches!(&object.facts, Facts::Binding(it) if it.is_access(object.namespace.as_ref()))
            || self.is_left(&object.uid)
            || self.came_back_to_go(object, index)
    }

    /// Whether an object is kept and its namespace may go all the same. One whose kind had no verb `delete` stays only as long as
    /// that is so: the namespace controller would delete it through a version that has it.
    fn is_left(&self, uid: &Uid) -> bool {
        let mut kept = self.plan.kept.iter().filter(|kept| kept.uid == *uid);
        kept.any(|kept| kept.reason != KeptReason::NoDeleteVerb)
    }

    pub(super) fn is_kept(&self, uid: &Uid) -> bool {
        self.plan.kept.iter().any(|kept| kept.uid == *uid)
    }

    /// The same checks over a read of the content, and once more over the index: it may have learned of an object since.
    fn check_content(
        &self,
        step: &Step,
        content: &[ContentSight],
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let index = context.index;
        let left = content.iter().filter(|sight| {
            !sight.object.is_made_by_cluster()
                && match index.get(&sight.uid) {
                    Some(object) => !self.goes_with_it(object, index),
                    None => !self.is_left(&sight.uid),
                }
        });
        match left.map(|sight| &sight.object).min() {
            Some(by) => Err(UnknownReason::NamespaceNotEmpty { by: by.clone() }),
            None => self.check_ready(step, context),
        }
    }

    /// Checks that a read of a definition's objects shows none: every one that is planned has gone before.
    fn check_no_objects(
        &self,
        step: &Step,
        objects: &[ContentSight],
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        match objects.iter().map(|sight| &sight.object).min() {
            Some(by) => Err(UnknownReason::InUse { by: by.clone() }),
            None => self.check_ready(step, context),
        }
    }

    /// Checks that only what goes with a namespace is left in a consistent read of its content, or nothing of a definition's
    /// kind.
    ///
    /// Somebody created a claim in it a moment ago, and no watch has shown it yet: the content is read again later.
    pub(super) fn check_listed_content(
        &self,
        step: &Step,
        action: &Action,
        outcome: &Outcome,
        context: &mut ReconcileContext<'_>,
    ) -> Result<ActionTarget, Decision> {
        let no_effect = || Decision::event(RunEvent::NoEffect { step: step.id });
        let progress = self.progress(step.id).ok_or_else(no_effect)?;
        let is_definition = step.kind.is_definition();
        let checked = match outcome {
            Outcome::Content { objects, .. } if is_definition => {
                self.check_no_objects(step, objects, context)
            }
            Outcome::Content { objects, .. } => self.check_content(step, objects, context),
            Outcome::Unlisted { resource, message } => {
                let namespace = (!is_definition).then(|| step.object.name.to_string());
                let resource = resource.clone();
                Err(UnknownReason::Hidden { resource, namespace, message: message.clone() })
            }
            _ => return Err(no_effect()),
        };
        match checked {
            Ok(true) => {
                if let Outcome::Content { unlisted, .. } = outcome
                    && *unlisted != progress.unproven
                {
                    let (step, resources) = (step.id, unlisted.clone());
                    context.decision.events.push(RunEvent::Unproven { step, resources });
                }
                Ok(action.target().clone())
            }
            Ok(false) => Err(no_effect()),
            Err(reason) => Err(Decision::event(read_again(step, progress, reason, context.now))),
        }
    }
}

/// The first moment at which a namespace whose content was read may be read early; `None` if no such read holds the step.
pub(super) fn earliest_reread(step: &Step, progress: &Progress) -> Option<Timestamp> {
    let is_held = step.kind.is("", "Namespace") && progress.hold.is_unknown();
    let span = progress.hold.retry_window.as_ref().filter(|_| is_held)?;
    span.start.checked_add(doubled(REREAD, progress.hold.hasty)).ok()
}

/// Whether a namespace whose content was read may be read early, because an object came into it since, or went.
pub(super) fn is_content_changed(
    step: &Step,
    progress: &Progress,
    index: &Index,
    now: Timestamp,
) -> bool {
    let read = progress.hold.retry_window.as_ref().map(|span| span.start);
    earliest_reread(step, progress).is_some_and(|earliest| earliest <= now)
        && index.content_changed_at(&step.object.name) > read
}

/// Checks that every namespaced kind is visible in a namespace, but for those of which it need not be proven empty.
///
/// A person chose that the namespace goes although nobody gave the server the right to list `widgets.example.com`.
fn check_visible(step: &Step, index: &Index) -> Result<(), UnknownReason> {
    let is_waived = |why: &UnknownReason| match why {
        UnknownReason::Hidden { resource, .. } => {
            step.unproven.contains(resource) && index.may_not_list(resource)
        }
        _ => false,
    };
    let mut unseen = index.unseen_in_namespace(&step.object.name);
    unseen.find(|why| !is_waived(why)).map_or(Ok(()), Err)
}

/// The content is read again, each time after twice the delay.
fn read_again(step: &Step, progress: &Progress, reason: UnknownReason, now: Timestamp) -> RunEvent {
    let is_again = matches!(
        &progress.hold.problem,
        Some(StepProblem::Unknown {
            reason: UnknownReason::NamespaceNotEmpty { .. }
                | UnknownReason::InUse { .. }
                | UnknownReason::Hidden { .. }
        })
    );
    let tries = if is_again { progress.hold.attempts } else { 0 };
    RunEvent::Postponed {
        step: step.id,
        until: now.checked_add(doubled(REREAD, tries)).unwrap_or(now),
        effect_unknown: false,
        problem: StepProblem::Unknown { reason },
    }
}
