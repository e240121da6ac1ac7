//! The objects that a run suspended, in the form in which every page shows things that are switched off.

use super::{Run, Suspension};
use crate::{
    plan::{Step, StepId},
    remedy::{Attempt, AttemptOutcome},
};

impl Run {
    /// The suspensions of parents that are not gone, as attempts, so that they are shown and put back as what remedies
    /// switched off.
    pub fn suspensions(&self) -> impl Iterator<Item = Attempt> {
        let steps = self.steps().filter(|(_, progress)| !progress.has_left());
        steps.filter_map(|(step, progress)| {
            let Suspension { was, asked, since } = progress.suspension.as_ref()?;
            let outcome = match since {
                Some(_) => AttemptOutcome::Accepted { meanwhile: None },
                None => AttemptOutcome::Unknown { message: None, meanwhile: None },
            };
            let id = self.suspension_id(step.id);
            let attempt = Attempt::suspending(id, step, was, self.by.clone(), *asked)?;
            Some(Attempt { outcome, ended: *since, ..attempt })
        })
    }

    fn suspension_id(&self, step: StepId) -> String {
        format!("{}-{step}", self.id)
    }

    /// Whether an attempt of this id is one of [`Run::suspensions`], or was at some time.
    pub fn is_suspension(&self, id: &str) -> bool {
        let step = id.strip_prefix(self.id.as_str()).and_then(|rest| rest.strip_prefix('-'));
        let step = step.and_then(|number| number.parse().ok()).map(StepId);
        step.and_then(|step| self.plan.step(step)).is_some_and(Step::is_parent)
    }
}
