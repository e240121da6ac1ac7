//! The transitions of a run and of its steps that are possible. [`Run::apply`](super::Run::apply) refuses every other one, so that
//! a journal with a record lost or from elsewhere is set aside instead of being folded into a state that never was.

use super::{Call, Progress, RunEvent, RunState, Stage};

impl RunState {
    /// Whether this event can follow in this state.
    ///
    /// Commands are idempotent, so a run that is paused is never paused again. Nothing follows the end.
    pub(super) fn allows(self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Paused { .. } => self == Self::Running,
            RunEvent::Resumed { .. } => matches!(self, Self::Running | Self::Paused),
            RunEvent::Stopping { .. } => matches!(self, Self::Running | Self::Paused),
            RunEvent::Stopped => self == Self::Stopping,
            _ => !self.is_ended(),
        }
    }
}

impl Progress {
    /// Whether this event can follow in the stage of the step.
    pub(super) fn allows(&self, event: &RunEvent) -> bool {
        use Stage::{Calling, CameBack, Gone, Requested, Skipped, Suspended, Terminating, Waiting};
        match event {
            // A read is followed by the next call at once: the object, then the Pods that use it, then its DELETE.
            RunEvent::CallStarted { .. } => {
                matches!(self.stage, Waiting | Calling(Call::Read | Call::ReadPods))
            }
            RunEvent::SuspendStarted { .. }
            | RunEvent::StaysSuspended { .. }
            | RunEvent::TakenOn { .. } => self.stage == Waiting,
            RunEvent::Suspended { .. } => self.stage == Calling(Call::Suspend),
            RunEvent::Accepted { .. }
            | RunEvent::Postponed { .. }
            | RunEvent::RefusedAgain { .. }
            | RunEvent::NoEffect { .. }
            | RunEvent::Recalled { .. } => matches!(self.stage, Calling(_)),
            RunEvent::Terminating { .. } => {
                matches!(self.stage, Waiting | Calling(_) | Requested)
            }
            RunEvent::BecameUnknown { .. }
            | RunEvent::BecameKnown { .. }
            | RunEvent::Overdue { .. } => {
                matches!(self.stage, Waiting | Calling(_) | Requested | Terminating)
            }
            RunEvent::Gone { .. } => !matches!(self.stage, Gone | Suspended | Skipped),
            RunEvent::CameBack { .. } => !matches!(self.stage, CameBack | Suspended | Skipped),
            RunEvent::Skipped { .. } => {
                matches!(self.stage, Waiting | Requested | Terminating | CameBack)
            }
            RunEvent::Started { .. }
            | RunEvent::Recovered
            | RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::DataChecked { .. }
            | RunEvent::Finished
            | RunEvent::Stopped => true,
        }
    }
}
