//! The commands that a person gives to a run.

use std::fmt;

use crate::plan::StepId;

/// A person's command to a run. As text it is the end of the address to which the page sends it, below the run's own:
/// `pause`, or `steps/7/skip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunCommand {
    /// No more calls that change something until the run is resumed.
    Pause,
    /// The run continues. In a run that is not paused, refused calls are tried again at once.
    Resume,
    /// No more calls.
    Stop,
    /// Skips a step, and every step that waits for it, because those must not go while its object stays.
    Skip(StepId),
}

impl fmt::Display for RunCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pause => f.write_str("pause"),
            Self::Resume => f.write_str("resume"),
            Self::Stop => f.write_str("stop"),
            Self::Skip(step) => write!(f, "steps/{step}/skip"),
        }
    }
}

/// The reasons why a person's command has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The run has ended or is stopping.
    #[error("the run is over")]
    Ended,
    /// The plan has no such step.
    #[error("the run has no step {0}")]
    UnknownStep(StepId),
    /// The step does not wait for an end that nobody confirmed.
    #[error("step {0} waits for nothing that a person could take on")]
    NothingToTakeOn(StepId),
    /// The step waits for other objects than those that the person answered for.
    #[error("step {0} waits for other objects now")]
    OtherPods(StepId),
    /// The step is finished or skipped already, its call is in flight, or its object goes with one whose deletion was
    /// requested.
    #[error("step {0} can no longer be skipped")]
    TooLate(StepId),
}
