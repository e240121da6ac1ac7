//! The transitions of a run and of its steps that are possible. [`Run::apply`](super::Run::apply) refuses every other one, so that
//! a journal with a record lost or from elsewhere is set aside instead of leading to a call.
//!
//! # Decisions
//! - An event that only leaves an open step waiting, or says once more that its object is gone, is taken in any open state: no
//!   call follows from it that would not follow without it. Journals of earlier versions repeat such events.

use super::{Call, Progress, RunEvent, RunState};

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
    /// Whether this event can follow in the state of the step.
    pub(super) fn allows(&self, event: &RunEvent) -> bool {
        match event {
            RunEvent::CallStarted { call, .. } => {
                let is_next = self.call.is_none_or(|before| is_guard_of(before, *call));
                self.is_present() && is_next
            }
            RunEvent::SuspendStarted { .. } | RunEvent::StaysSuspended { .. } => self.is_waiting(),
            RunEvent::Suspended { .. } => self.call == Some(Call::Suspend),
            RunEvent::Accepted { .. } => matches!(self.call, Some(Call::Read | Call::Delete)),
            RunEvent::Terminating { .. } => self.is_open() && self.terminating.is_none(),
            RunEvent::Postponed { .. }
            | RunEvent::RefusedAgain { .. }
            | RunEvent::NoEffect { .. }
            | RunEvent::Recalled { .. } => self.is_present(),
            RunEvent::Unproven { .. } => self.call == Some(Call::ReadContent),
            RunEvent::BecameUnknown { .. }
            | RunEvent::BecameKnown { .. }
            | RunEvent::Overdue { .. }
            | RunEvent::TakenOn { .. } => self.is_open(),
            RunEvent::Gone { .. } => self.end.is_none(),
            RunEvent::CameBack { .. } => self.end.is_none() && !self.has_come_back(),
            RunEvent::Skipped { .. } => !self.is_settled() && self.call.is_none(),
            RunEvent::Started { .. }
            | RunEvent::Recovered
            | RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::KeptClaim { .. }
            | RunEvent::DataChecked { .. }
            | RunEvent::Finished
            | RunEvent::Stopped => true,
        }
    }
}

/// Whether a read that is in flight may be followed at once by a call: the object, then the Pods that use it or its content, then
/// its DELETE.
fn is_guard_of(read: Call, next: Call) -> bool {
    matches!(
        (read, next),
        (Call::Read, Call::ReadPods | Call::ReadContent | Call::Delete)
            | (Call::ReadPods | Call::ReadContent, Call::Delete)
    )
}
