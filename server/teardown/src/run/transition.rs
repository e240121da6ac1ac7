//! The transitions of a run and of its steps that are possible. [`Run::apply`](super::Run::apply) refuses every other one, so that
//! a journal with a record lost or from elsewhere is set aside instead of leading to a call.
//!
//! # Decisions
//! - An event that only leaves an open step waiting, or says once more that its object is gone, is taken in any open stage: no
//!   call follows from it that would not follow without it. Journals of earlier versions repeat such events.

use super::{Call, Progress, RunEvent, RunState, Stage};

impl RunState {
    /// Whether this event can follow in this state.
    ///
    /// A repeated command writes no event, so a run that is paused is never paused again. Nothing follows the end.
    pub(super) fn allows(self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Paused { .. } => self == Self::Running,
            RunEvent::Resumed { .. } | RunEvent::Stopping { .. } => {
                matches!(self, Self::Running | Self::Paused)
            }
            RunEvent::Stopped => self == Self::Stopping,
            _ => !self.is_ended(),
        }
    }
}

impl Progress {
    /// Whether this event can follow in the stage of the step.
    pub(super) fn allows(&self, event: &RunEvent) -> bool {
        use Stage::{Calling, CameBack, Requested, Skipped, Suspended, Terminating, Waiting};
        let is_open = matches!(self.stage, Waiting | Calling(_) | Requested | Terminating);
        match event {
            // A read is followed by the next call at once: the object, then the Pods that use it, then its DELETE.
            RunEvent::CallStarted { .. } => {
                matches!(self.stage, Waiting | Calling(Call::Read | Call::ReadPods))
            }
            RunEvent::SuspendStarted { .. } | RunEvent::StaysSuspended { .. } => {
                self.stage == Waiting
            }
            RunEvent::Suspended { .. } => self.stage == Calling(Call::Suspend),
            RunEvent::Accepted { .. } => matches!(self.stage, Calling(Call::Read | Call::Delete)),
            RunEvent::Terminating { .. } => {
                matches!(self.stage, Waiting | Calling(_) | Requested)
            }
            RunEvent::Postponed { .. }
            | RunEvent::RefusedAgain { .. }
            | RunEvent::NoEffect { .. }
            | RunEvent::Recalled { .. } => matches!(self.stage, Waiting | Calling(_)),
            RunEvent::BecameUnknown { .. }
            | RunEvent::BecameKnown { .. }
            | RunEvent::Overdue { .. }
            | RunEvent::TakenOn { .. } => is_open,
            RunEvent::Gone { .. } => !matches!(self.stage, Suspended | Skipped),
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
