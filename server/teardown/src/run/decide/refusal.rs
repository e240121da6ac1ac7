//! Decides when a refused call is tried again. A refusal does not end by itself, so the delay doubles up to ten minutes. A
//! call is tried again at once when the party that refused it changes: the webhook configurations and policies, the Pods
//! behind a webhook that did not answer, the roles and bindings, and for everything else the object itself.
//!
//! # Decisions
//! - The text of the answer names a webhook and not its configuration, and a repaired certificate or URL is in no stored
//!   field. So a change of any configuration or policy counts, and so does one of any role or binding.
//! - Where the cause changes all the time, such as an object whose status is written every second, each early try that is
//!   refused again doubles the time before the next one.
//! - Many refused steps take turns: once their delays are at their longest, a run makes one such try in two minutes. Fifty
//!   objects behind a dead webhook would otherwise be fifty calls every ten minutes, and the journal of a weekend would
//!   grow by megabytes. When a call gets past a webhook or a right that refused others too, they are tried at once.

use std::{collections::HashMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{Decision, ReconcileContext, answer::doubled};
use crate::{
    api_problem::ApiProblem,
    object::{Facts, Seconds},
    plan::Step,
    refusal::{RefusalCause, WEBHOOK_CONFIGURATIONS},
    run::{Progress, Run, RunEvent, StepProblem},
};

/// The first and the longest delay after a refusal.
const BACKOFF: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(20), SignedDuration::from_mins(10));
/// The shortest time between two tries of different steps whose delay is the longest.
const TURN: SignedDuration = SignedDuration::from_mins(2);
/// The first and the longest time between a refusal and an early try. Past the delay itself, no try is early.
const EARLIEST: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(5), SignedDuration::from_hours(1));

impl Run {
    /// The events that follow from a refusal.
    pub(super) fn refused(
        &self,
        step: &Step,
        progress: &Progress,
        code: u16,
        message: &ApiProblem,
        now: Timestamp,
    ) -> Decision {
        let refused = StepProblem::Refused { code, message: message.clone(), refusals: None };
        let before = progress.hold.problem.as_ref().filter(|before| before.is_like(&refused));
        let times = before.and(progress.hold.refusals()).map_or(0, |refusals| refusals.count);
        let until = self.next_try(step, times, now);
        Decision::event(match before {
            Some(StepProblem::Refused { message: before, .. }) => RunEvent::RefusedAgain {
                step: step.id,
                until,
                message: (before != message).then(|| message.clone()),
            },
            _ => RunEvent::Postponed {
                step: step.id,
                until,
                // A refused read says nothing about the DELETE before it.
                effect_unknown: progress.effect_unknown,
                problem: refused,
            },
        })
    }

    /// The time of the next try after a call was refused `times` times before, in whole milliseconds, as the journal
    /// stores it.
    fn next_try(&self, step: &Step, times: u32, now: Timestamp) -> Timestamp {
        let delay = doubled(BACKOFF, times);
        let due = now.checked_add(delay).unwrap_or(now);
        let others = self.steps().filter(|(it, it_now)| it.id != step.id && it_now.is_refused());
        let last = others.filter_map(|(_, it)| Some(it.hold.retry_window.as_ref()?.end)).max();
        let turn = last
            .filter(|_| delay == BACKOFF.1)
            .map_or(due, |last| last.checked_add(TURN).unwrap_or(due));
        Timestamp::from_millisecond(due.max(turn).as_millisecond()).unwrap_or(due)
    }
}

/// The first moment at which a refused call may be tried early; `None` if it was not refused.
pub(super) fn earliest_try(progress: &Progress) -> Option<Timestamp> {
    let span = progress.hold.retry_window.as_ref().filter(|_| progress.is_refused())?;
    span.start.checked_add(doubled(EARLIEST, progress.hold.hasty)).ok()
}

impl ReconcileContext<'_> {
    /// The second of the last change of the cause of a step's refusal, if it came since, so that the call is tried early.
    /// The state of a webhook's backend is kept for the other steps.
    pub(super) fn find_cause_change(
        &mut self,
        step: &Step,
        progress: &Progress,
    ) -> Option<Seconds> {
        let Some(StepProblem::Refused { message, .. }) = &progress.hold.problem else {
            return None;
        };
        if earliest_try(progress).is_none_or(|earliest| self.now < earliest) {
            return None;
        }
        let refused = Seconds::from(progress.hold.retry_window.as_ref()?.start);
        let index = self.index;
        let object = index.changed_at(&step.uid);
        let changed = match RefusalCause::of(message) {
            RefusalCause::WebhookDown { webhook } => {
                index.admission_changed_at().max(self.backends_changed_at(webhook))
            }
            RefusalCause::WebhookDenies { .. } | RefusalCause::PolicyDenies { .. } => {
                index.admission_changed_at().max(object)
            }
            RefusalCause::Forbidden { .. } => index.rights_changed_at(),
            RefusalCause::Other => object,
        };
        // A change in the second of the refusal may have come after it.
        changed.filter(|changed| *changed >= refused)
    }

    /// The second of the last change of a webhook's Services and of the Pods behind them.
    fn backends_changed_at(&mut self, webhook: &str) -> Option<Seconds> {
        if let Some(known) = self.backends_changed.get(webhook) {
            return *known;
        }
        let index = self.index;
        let guards = WEBHOOK_CONFIGURATIONS
            .iter()
            .flat_map(|kind| index.of_resource(kind))
            .flat_map(|it| match &it.facts {
                Facts::Webhooks(webhooks) => &*webhooks.guards,
                _ => &[],
            });
        let mut changed = None;
        for service in guards.filter(|it| *it.webhook == *webhook).flat_map(|it| &it.service) {
            let namespace = Some(&*service.namespace);
            let Some(object) = index.find("", "Service", namespace, &service.name) else {
                continue;
            };
            changed = changed.max(index.changed_at(&object.uid));
            let Facts::Service(facts) = &object.facts else { continue };
            let Some(selector) = &facts.selector else { continue };
            let pods = self.users(&service.namespace).iter();
            let behind = pods.filter(|pod| selector.matches(&pod.labels));
            changed = changed.max(behind.map(|pod| index.changed_at(&pod.uid)).max().flatten());
        }
        self.backends_changed.insert(webhook.into(), changed);
        changed
    }
}

/// By webhook: the second of the last change of its Services and their Pods.
pub(super) type BackendsChanged = HashMap<Arc<str>, Option<Seconds>>;
