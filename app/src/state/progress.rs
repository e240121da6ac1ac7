//! The progress of a step's deletion, as far as a page can know. It decides what stopping a run or leaving a step out
//! means.

use teardown::message::{Key, Record, State, StepCard};

use super::scene::Records;

/// The progress of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was not accepted.
    Untouched,
    /// DELETE was sent, and it is not known whether it was accepted.
    Open,
    /// This run requested it, or that of an owner, and it was accepted: it cannot be undone.
    Accepted,
    /// The object is terminating, and not through this run.
    Foreign,
    /// The object is gone.
    Gone,
}

impl Progress {
    /// The progress of this step's deletion.
    pub fn of(step: &StepCard, records: &Records) -> Self {
        let object = records.get(&Key::Object(step.uid.clone()));
        let ends = matches!(object, Some(Record::Object(card)) if card.deletion.is_some());
        match Self::seen(step.state, step.requested.is_some(), ends) {
            Self::Untouched | Self::Foreign if step.taken => Self::Accepted,
            reach => reach,
        }
    }

    /// From a step's state, whether a DELETE was ever sent for it, and whether its object is on its way out.
    fn seen(state: State, sent: bool, ends: bool) -> Self {
        match state {
            State::Gone | State::CameBack => Self::Gone,
            // Without a DELETE of this run it obeys somebody else's.
            _ if ends && !sent => Self::Foreign,
            State::Requested | State::Terminating | State::Finalizing => Self::Accepted,
            State::Slow | State::Stuck if sent => Self::Accepted,
            // Only the object itself says whether the DELETE of a skipped step was accepted: it may have been refused.
            State::Skipped if ends => Self::Accepted,
            State::Waiting | State::Unknown if sent => Self::Open,
            State::Slow
            | State::Stuck
            | State::Skipped
            | State::Waiting
            | State::Unknown
            | State::Planned
            | State::Refused
            | State::Present
            | State::Kept => Self::Untouched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_accepted_deletion_cannot_be_taken_back() {
        for (state, sent, ends, expected) in [
            (State::Waiting, false, false, Progress::Untouched),
            (State::Refused, true, false, Progress::Untouched),
            (State::Unknown, false, false, Progress::Untouched),
            (State::Skipped, false, false, Progress::Untouched),
            // Skipped after it was refused.
            (State::Skipped, true, false, Progress::Untouched),
            (State::Skipped, true, true, Progress::Accepted),
            // An object that its controller has to remove, and does not.
            (State::Stuck, false, false, Progress::Untouched),
            (State::Stuck, false, true, Progress::Foreign),
            (State::Stuck, true, false, Progress::Accepted),
            (State::Requested, true, false, Progress::Accepted),
            (State::Terminating, true, true, Progress::Accepted),
            // Terminating before the run started.
            (State::Waiting, false, true, Progress::Foreign),
            (State::Terminating, false, true, Progress::Foreign),
            (State::Skipped, false, true, Progress::Foreign),
            (State::Waiting, true, false, Progress::Open),
            (State::Unknown, true, false, Progress::Open),
            (State::Gone, true, false, Progress::Gone),
            (State::CameBack, true, false, Progress::Gone),
        ] {
            assert_eq!(Progress::seen(state, sent, ends), expected, "{state:?} {sent} {ends}");
        }
    }
}
