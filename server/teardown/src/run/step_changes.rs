//! The steps that changed since somebody last looked, so that a page makes only their cards again.

use super::{Run, RunEvent};
use crate::{
    bookmark::{Bookmark, ChangeCount},
    plan::{Plan, StepId},
};

/// When each step changed last, counted in events.
#[derive(Clone, Debug)]
pub(super) struct StepChanges {
    events: ChangeCount,
    all: u64,
    steps: Vec<u64>,
}

impl StepChanges {
    pub(super) fn of(plan: &Plan) -> Self {
        let steps = vec![0; plan.steps.len()];
        Self { events: ChangeCount::default(), all: 0, steps }
    }

    /// Notes an event. One that is about no step may change what all of them show.
    pub(super) fn note(&mut self, event: &RunEvent) {
        self.events.next();
        let changed = match event.step() {
            Some(step) => self.steps.get_mut(step.0 as usize),
            None => Some(&mut self.all),
        };
        if let Some(changed) = changed {
            *changed = self.events.count();
        }
    }
}

impl Run {
    /// The place after the latest event.
    pub(crate) fn bookmark(&self) -> Bookmark {
        self.step_changes.events.bookmark()
    }

    /// Whether an event came since a bookmark.
    pub(crate) fn has_changed_since(&self, bookmark: &Bookmark) -> bool {
        let StepChanges { events, .. } = &self.step_changes;
        events.count_at(bookmark) != Some(events.count())
    }

    /// The steps that events were about since a bookmark; `None` if all may have changed.
    pub(crate) fn changed_since(
        &self,
        bookmark: &Bookmark,
    ) -> Option<impl Iterator<Item = StepId>> {
        let StepChanges { events, all, steps } = &self.step_changes;
        let seen = events.count_at(bookmark).filter(|seen| all <= seen)?;
        let steps = self.plan.steps.iter().zip(steps);
        Some(steps.filter(move |(_, changed)| **changed > seen).map(|(step, _)| step.id))
    }
}
